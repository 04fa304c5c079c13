"""Messages wait for more of their topic: a request of a few costs the broker nearly as much as a full one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from integrator.contracts.outgoing import RECORD_OVERHEAD, Messages
from integrator.deliver.kafka.records import records_of
from integrator.librdkafka.rdkafka_h import Records

FULL_BYTES = 1_000_000
"""Bytes of a topic's messages that wait for no more: as many as a batch has (batch.size)."""
MOST_AFTER = 96 * 1024 * 1024
"""Bytes of messages, of all topics, that come after one that waits. Of 500 topics those that go are some 190 kB each,
where the rows of one block would be 30 kB: the broker's time is for requests (docs/contributing/speed.md)."""


@dataclass(frozen=True)
class Part:
    """Consecutive ones of `messages`, from `begin` to before `end`, for one topic; records: of all of the messages."""

    messages: Messages
    records: Records
    begin: int
    end: int

    def __len__(self) -> int:
        """Return how many messages it has."""
        return self.end - self.begin

    def slice(self, start: int, size: int) -> Part:
        """Return `size` of the messages, from `start` on."""
        return Part(self.messages, self.records, self.begin + start, self.begin + start + size)


@dataclass
class Batch:
    """Messages of one topic, in order. size: their bytes, with what records cost beside key and value."""

    topic: str
    parts: list[Part] = field(default_factory=list)
    size: int = 0
    since: int = 0
    """How many bytes of all topics had come before its first message."""

    def __len__(self) -> int:
        """Return how many messages it has."""
        return sum(map(len, self.parts))

    def slice(self, start: int, size: int) -> Batch:
        """Return `size` of the messages, from `start` on."""
        parts, before = [], 0
        for part in self.parts:
            begin, end = max(start - before, 0), min(start + size - before, len(part))
            if begin < end:
                parts.append(part.slice(begin, end - begin))
            before += len(part)
        return Batch(self.topic, parts, self.size * size // max(len(self), 1))


@dataclass
class TopicBatcher:
    """Messages by topic, each in their order, until those of a topic fill a batch, or have waited for many others.

    Messages are parts of larger arrays, which stay in memory with them: so the bound is on what comes meanwhile, not on
    the bytes that wait.
    """

    full_bytes: int = FULL_BYTES
    most_after: int = MOST_AFTER
    _waiting: dict[str, Batch] = field(default_factory=dict)
    """By topic; those that wait longest come first."""
    _come: int = 0

    def add(self, messages: Messages) -> Iterator[Batch]:
        """Take messages, and yield those of a topic that are to be sent now."""
        if not messages.topic_counts:
            return
        records = records_of(messages)
        counts = np.array([count for _, count in messages.topic_counts])
        ends = np.cumsum(counts)
        sizes = np.add.reduceat(messages.sizes, ends - counts) + RECORD_OVERHEAD * counts
        for (topic, count), end, size in zip(messages.topic_counts, ends.tolist(), sizes.tolist(), strict=True):
            batch = self._waiting.get(topic)
            if batch is None:
                batch = self._waiting[topic] = Batch(topic, since=self._come)
            batch.parts.append(Part(messages, records, end - count, end))
            batch.size += size
            self._come += size
            if batch.size >= self.full_bytes:
                yield self._waiting.pop(topic)
            while self._waiting and self._come - next(iter(self._waiting.values())).since >= self.most_after:
                yield self._waiting.pop(next(iter(self._waiting)))

    def rest(self) -> Iterator[Batch]:
        """Yield all that waits, topic after topic."""
        while self._waiting:
            yield self._waiting.pop(next(iter(self._waiting)))
