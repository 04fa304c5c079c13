"""Messages on their way to Kafka: keys, values and headers, and the bytes that they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

RECORD_OVERHEAD = 100
"""Bytes that a record costs beside key and value: at most 36 of its own, and 61 of a batch that it may be alone in
(https://kafka.apache.org/documentation/#messageformat)."""
HEADER_OVERHEAD = 10
"""Bytes that a header costs beside its name and value: two varints of at most 5 bytes."""

Ints = npt.NDArray[np.int64]
Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Messages:
    """Messages for one topic, in order; keys and values are binary, of equal length.

    A null key is none, a null value a tombstone. headers: of each message, or empty where none has any. partition: the
    one they all go to, or -1 for what their keys say.
    """

    topic: str
    keys: pa.BinaryArray
    values: pa.BinaryArray
    headers: Sequence[Headers] = field(default=())
    partition: int = -1

    @property
    def header_bytes(self) -> Ints:
        """The bytes that the headers of each message cost."""
        return np.array([header_size(row) for row in self.headers] or [0] * len(self.values), np.int64)

    @property
    def bytes(self) -> int:
        """The bytes of all keys, values and headers."""
        body = sum(pc.sum(lengths(part)).as_py() or 0 for part in (self.keys, self.values))
        return body + int(self.header_bytes.sum()) if self.headers else body

    @property
    def longest(self) -> int:
        """The bytes of the longest message: its key, value and headers."""
        body = np.asarray(pc.add(lengths(self.keys), lengths(self.values)))
        return int((body + self.header_bytes).max() if self.headers else body.max()) if len(body) else 0

    def slice(self, start: int, size: int) -> Messages:
        """Return `size` of the messages, from `start` on."""
        headers = self.headers[start : start + size]
        return Messages(
            self.topic, self.keys.slice(start, size), self.values.slice(start, size), headers, self.partition
        )


def header_size(headers: Headers) -> int:
    """Return the bytes that headers cost."""
    return sum(len(name.encode()) + len(value or b"") + HEADER_OVERHEAD for name, value in headers)


def lengths(values: pa.Array) -> pa.Array:
    """Return the bytes of each value; null has none."""
    return pc.fill_null(pc.binary_length(values).cast(pa.int64()), 0)
