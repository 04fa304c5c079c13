"""Small values of a column as bytes: one row of a matrix each, of which the first `length` bytes count.

Adjacent small columns are laid side by side and flattened once; long ones (text, bytes) are joined by Arrow. This is
what makes a binary format columnar: no value is touched alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.rows import pack_rows, place_texts

_MOST_BYTES = (1 << 31) - 1


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
        return join_parts([self])


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


def join_parts(parts: Sequence[Part]) -> pa.BinaryArray:
    """Return each row's parts as one run of bytes."""
    size = len(parts[0])
    if all(isinstance(part, FixedWidthBytes) and part.length is None for part in parts):
        data = np.concatenate([part.data for part in parts], axis=1) if len(parts) > 1 else parts[0].data
        offsets = np.arange(size + 1, dtype=np.int32) * data.shape[1]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
        return pa.Array.from_buffers(pa.binary(), size, buffers)
    if len(parts) == 1 and not isinstance(parts[0], FixedWidthBytes):
        return parts[0]
    lengths = [part.lengths if isinstance(part, FixedWidthBytes) else np.diff(_offsets(part)) for part in parts]
    bounds = np.zeros(size + 1, np.int64)
    np.cumsum(sum(lengths), out=bounds[1:])
    if bounds[-1] > _MOST_BYTES:
        raise pa.ArrowInvalid("more bytes than an array holds")
    result, start = np.empty(bounds[-1], np.uint8), bounds[:-1].copy()
    for part, length in zip(parts, lengths, strict=True):
        if isinstance(part, FixedWidthBytes):
            pack_rows(np.ascontiguousarray(part.data), length, start, result)
        else:
            place_texts(_data(part), _offsets(part), start, result)
    return pa.Array.from_buffers(pa.binary(), size, [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(result)])


def _offsets(values: pa.Array) -> Places:
    return np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, 4 * values.offset)


def _data(values: pa.Array) -> Octets:
    data = values.buffers()[2]
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
