"""Messages wait for more of their topic: a request of a few costs the broker nearly as much as a full one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from integrator.outgoing import Messages

MOST_BYTES = 32 * 1024 * 1024
"""Bytes of messages that wait, of all topics. Of 500 topics those that go are some 130 kB each, where the rows of one
block would be 30 kB: half of the broker's time."""


@dataclass
class Batches:
    """Messages by topic, each in their order, until those of a topic fill a batch of `batch_bytes`.

    Where those of all topics are many, the topic whose messages have waited longest goes on its way.
    """

    batch_bytes: int
    most_bytes: int = MOST_BYTES
    _waiting: dict[str, list[Messages]] = field(default_factory=dict)
    _bytes: dict[str, int] = field(default_factory=dict)
    _all_bytes: int = 0

    def add(self, messages: Messages) -> Iterator[list[Messages]]:
        """Take messages, and yield those of a topic that are to be sent now."""
        topic, size = messages.topic, int(messages.sizes.sum())
        self._waiting.setdefault(topic, []).append(messages)
        self._bytes[topic] = self._bytes.get(topic, 0) + size
        self._all_bytes += size
        if self._bytes[topic] >= self.batch_bytes:
            yield self._of(topic)
        while self._all_bytes >= self.most_bytes:
            yield self._of(next(iter(self._waiting)))

    def rest(self) -> Iterator[list[Messages]]:
        """Yield all that waits, topic after topic."""
        for topic in list(self._waiting):
            yield self._of(topic)

    def _of(self, topic: str) -> list[Messages]:
        self._all_bytes -= self._bytes.pop(topic)
        return self._waiting.pop(topic)
