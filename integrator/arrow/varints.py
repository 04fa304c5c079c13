"""Small values of a column as bytes: one row of a matrix each, of which the first `length` bytes count.

Adjacent small columns are laid side by side and flattened once; long ones (text, bytes) are joined by Arrow. This is
what makes a binary format columnar: no value is touched alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.engine.arrays import Ints, Mask, Octets, Words


@dataclass(frozen=True)
class FixedWidthBytes:
    """Bytes of each row: `data` is rows by width, `length` how many of a row's bytes count; None for all."""

    data: Octets
    length: Ints | None = None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def lengths(self) -> Ints:
        """The length of each row."""
        return np.full(len(self.data), self.data.shape[1]) if self.length is None else self.length

    def where(self, there: Mask, otherwise: bytes = b"") -> FixedWidthBytes:
        """Return rows with the bytes of `otherwise`, where `there` is False, in the place of their own."""
        data = self.data
        if otherwise:
            data = data.copy() if data.shape[1] >= len(otherwise) else np.pad(data, ((0, 0), (0, len(otherwise))))
            data[~there, : len(otherwise)] = np.frombuffer(otherwise, np.uint8)
        return FixedWidthBytes(data, np.where(there, self.lengths, len(otherwise)))

    def after(self, lead: bytes) -> FixedWidthBytes:
        """Return each row with `lead` before it."""
        if not lead:
            return self
        data = np.empty((len(self.data), len(lead) + self.data.shape[1]), np.uint8)
        data[:, : len(lead)] = np.frombuffer(lead, np.uint8)
        data[:, len(lead) :] = self.data
        return FixedWidthBytes(data, None if self.length is None else self.length + len(lead))

    def after_each(self, leads: Octets) -> FixedWidthBytes:
        """Return each row with its own of the bytes `leads` before it."""
        return FixedWidthBytes(np.column_stack([leads, self.data]), None if self.length is None else self.length + 1)

    def flat(self) -> pa.BinaryArray:
        """Return the rows as a binary array."""
        if self.length is None:
            offsets = np.arange(len(self.data) + 1, dtype=np.int32) * self.data.shape[1]
            data = np.ascontiguousarray(self.data)
        else:
            offsets = np.concatenate([[0], np.cumsum(self.length)]).astype(np.int32)
            data = self.data[np.arange(self.data.shape[1]) < self.length[:, None]]
        return pa.Array.from_buffers(pa.binary(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


Part: TypeAlias = FixedWidthBytes | pa.Array
"""A piece of each row: small, or a binary array without nulls."""


def constant(data: bytes, rows: int) -> FixedWidthBytes:
    """Return the same bytes for each of `rows`."""
    return FixedWidthBytes(np.broadcast_to(np.frombuffer(data, np.uint8), (rows, len(data))))


def varint(values: Words) -> FixedWidthBytes:
    """Return integers as varints: seven bits a byte, the lowest first, the high bit set on all but the last."""
    most = int(values.max()) if len(values) else 0
    width = max(1, -(-most.bit_length() // 7))
    data = np.empty((len(values), width), np.uint8)
    length = np.ones(len(values), np.int64)
    rest = values
    for place in range(width - 1):
        further = rest >> np.uint64(7)
        more = further > 0
        data[:, place] = rest.astype(np.uint8) & 0x7F | (more.astype(np.uint8) << 7)
        length += more
        rest = further
    data[:, width - 1] = rest.astype(np.uint8)
    return FixedWidthBytes(data, length if width > 1 else None)


def zigzag(values: Ints) -> Words:
    """Return signed integers so that small ones of either sign are small: 0 -1 1 -2 become 0 1 2 3."""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def _kept(part: FixedWidthBytes) -> Mask:
    if part.length is None:
        return np.ones(part.data.shape, bool)
    return np.asarray(np.arange(part.data.shape[1]) < part.length[:, None], np.bool_)


def together(parts: Sequence[Part]) -> pa.BinaryArray:
    """Return each row's parts as one run of bytes."""
    joined: list[Any] = []
    run: list[FixedWidthBytes] = []
    for part in [*parts, None]:
        if isinstance(part, FixedWidthBytes):
            run.append(part)
            continue
        if run:
            joined.append(_run(run))
            run = []
        if part is not None:
            joined.append(part)
    if len(joined) == 1:
        return joined[0]
    return pc.binary_join_element_wise(*joined, b"")


def _run(parts: list[FixedWidthBytes]) -> pa.BinaryArray:
    """Flatten adjacent small columns at once: a row's bytes are those of its parts that count."""
    if len(parts) == 1:
        return parts[0].flat()
    data = np.concatenate([part.data for part in parts], axis=1)
    if all(part.length is None for part in parts):
        return FixedWidthBytes(data).flat()
    length = sum(part.lengths for part in parts)
    keep = np.concatenate([_kept(part) for part in parts], axis=1)
    offsets = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[keep])]
    return pa.Array.from_buffers(pa.binary(), len(data), buffers)
