"""Messages wait for more of their topic: a request of a few costs the broker nearly as much as a full one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from integrator.outgoing import RECORD_OVERHEAD, Messages

FULL_BYTES = 1_000_000
"""Bytes of a topic's messages that wait for no more: as many as a batch has (batch.size)."""
MOST_BEHIND = 32 * 1024 * 1024
"""Bytes of messages, of all topics, that come behind one that waits. Of 500 topics those that go are some 65 kB each,
where the rows of one block would be 30 kB: half of the broker's time."""


@dataclass
class _Topic:
    since: int
    """How many bytes had come before its first message."""
    parts: list[Messages] = field(default_factory=list)
    size: int = 0


@dataclass
class Batches:
    """Messages by topic, each in their order, until those of a topic fill a batch, or have waited for many others.

    Messages are slices of larger parts, which stay in memory with them: so the bound is on what comes meanwhile, not on
    the bytes that wait.
    """

    full_bytes: int = FULL_BYTES
    most_behind: int = MOST_BEHIND
    _waiting: dict[str, _Topic] = field(default_factory=dict)
    """By topic; those that wait longest come first."""
    _come: int = 0

    def add(self, messages: Messages) -> Iterator[list[Messages]]:
        """Take messages, and yield those of a topic that are to be sent now."""
        size = int(messages.sizes.sum()) + RECORD_OVERHEAD * len(messages.sizes)
        of_topic = self._waiting.setdefault(messages.topic, _Topic(self._come))
        of_topic.parts.append(messages)
        of_topic.size += size
        self._come += size
        if of_topic.size >= self.full_bytes:
            yield self._waiting.pop(messages.topic).parts
        while self._waiting and self._come - next(iter(self._waiting.values())).since >= self.most_behind:
            yield self._waiting.pop(next(iter(self._waiting))).parts

    def rest(self) -> Iterator[list[Messages]]:
        """Yield all that waits, topic after topic."""
        while self._waiting:
            yield self._waiting.pop(next(iter(self._waiting))).parts
