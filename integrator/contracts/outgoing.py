"""Messages on their way to Kafka: keys, values and headers, and the bytes that they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """Messages in order; keys and values are binary, of equal length. A null key is none, a null value a tombstone.

    runs: the topics that they are for, each with the number of messages, of which there is at least one. headers: of
    each message, or empty where none has any. sizes: the bytes of each message's key, value and headers. partition: the
    one they all go to, or -1 for what their keys say.
    """

    runs: Sequence[tuple[str, int]]
    keys: pa.BinaryArray
    values: pa.BinaryArray
    headers: Sequence[Headers]
    sizes: Ints
    partition: int = -1

    @classmethod
    def of(
        cls,
        runs: Sequence[tuple[str, int]],
        keys: pa.BinaryArray,
        values: pa.BinaryArray,
        headers: Sequence[Headers] = (),
        partition: int = -1,
    ) -> Messages:
        """Return messages, and what they cost."""
        sizes = np.asarray(pc.add(lengths(keys), lengths(values)), np.int64)
        if headers:
            sizes = sizes + np.array([header_size(row) for row in headers], np.int64)
        return cls(runs, keys, values, headers, sizes, partition)


def header_size(headers: Headers) -> int:
    """Return the bytes that headers cost."""
    return sum(len(name.encode()) + len(value or b"") + HEADER_OVERHEAD for name, value in headers)


def lengths(values: pa.Array) -> pa.Array:
    """Return the bytes of each value; null has none."""
    return pc.fill_null(pc.binary_length(values).cast(pa.int64()), 0)
