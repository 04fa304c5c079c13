"""Messages on their way to Kafka: keys, values and headers, and the bytes that they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.engine.arrays import Ints

RECORD_OVERHEAD = 100
"""Bytes that a record costs beside key and value: at most 36 of its own, and 61 of a batch that it may be alone in
(https://kafka.apache.org/documentation/#messageformat)."""
HEADER_OVERHEAD = 10
"""Bytes that a header costs beside its name and value: two varints of at most 5 bytes."""

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True)
class MessageHeaders:
    """The headers of messages, message after message; they share arrays with those of other messages.

    bounds: where those of each message begin among `names` and `values`, and the end. names: of each header, the place
    of its name in `texts`, which are UTF-8. values: binary; null is none.
    """

    bounds: Ints
    names: Ints
    texts: Sequence[bytes]
    values: pa.BinaryArray

    @classmethod
    def none(cls, count: int) -> MessageHeaders:
        """Return those of messages that have none."""
        return cls(np.zeros(count + 1, np.int64), np.empty(0, np.int64), (), pa.array([], pa.binary()))

    def __len__(self) -> int:
        """Return how many messages they are of."""
        return len(self.bounds) - 1

    def slice(self, start: int, size: int) -> MessageHeaders:
        """Return those of `size` messages, from `start` on."""
        return replace(self, bounds=self.bounds[start : start + size + 1])

    def sizes(self) -> Ints:
        """Return the bytes that the headers of each message cost."""
        of_name = np.array([*map(len, self.texts), 0], np.int64)[self.names]
        before = np.append(0, np.cumsum(of_name + np.asarray(lengths(self.values), np.int64) + HEADER_OVERHEAD))
        return np.diff(before[self.bounds])

    def to_lists(self) -> list[Headers]:
        """Return the headers of each message, for those who read few."""
        begin, end = int(self.bounds[0]), int(self.bounds[-1])
        names = [self.texts[code].decode() for code in self.names[begin:end].tolist()]
        pairs = list(zip(names, self.values.slice(begin, end - begin).to_pylist(), strict=True))
        bounds = (self.bounds - begin).tolist()
        return [pairs[start:stop] for start, stop in pairwise(bounds)]


@dataclass(frozen=True)
class Messages:
    """Messages in order; keys and values are binary, of equal length. A null key is none, a null value a tombstone.

    topic_counts: the topics that they are for, each with the number of messages, of which there is at least one.
    headers: None where no message has any. sizes: the bytes of each message's key, value and headers. partitions: where
    each goes, or all do; -1: where its key belongs. timestamps: of each message, in milliseconds since 1970; 0, and
    None for all: the time at which it is sent.
    """

    topic_counts: Sequence[tuple[str, int]]
    keys: pa.BinaryArray
    values: pa.BinaryArray
    headers: MessageHeaders | None
    sizes: Ints
    partitions: Ints | int = -1
    timestamps: Ints | None = None

    @classmethod
    def of(
        cls,
        topic_counts: Sequence[tuple[str, int]],
        keys: pa.BinaryArray,
        values: pa.BinaryArray,
        headers: MessageHeaders | None = None,
        partitions: Ints | int = -1,
        timestamps: Ints | None = None,
    ) -> Messages:
        """Return messages, and what they cost."""
        sizes = np.asarray(pc.add(lengths(keys), lengths(values)), np.int64)
        if headers is not None:
            sizes = sizes + headers.sizes()
        return cls(topic_counts, keys, values, headers, sizes, partitions, timestamps)


def header_size(headers: Headers) -> int:
    """Return the bytes that headers cost."""
    return sum(len(name.encode()) + len(value or b"") + HEADER_OVERHEAD for name, value in headers)


def lengths(values: pa.Array) -> pa.Array:
    """Return the bytes of each value; null has none."""
    return pc.fill_null(pc.binary_length(values).cast(pa.int64()), 0)
