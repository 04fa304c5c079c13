"""Bytes as text, a whole column at once: base64 (RFC 4648 section 4) and hex; and the bytes of decimals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, from_flat
from integrator.engine.arrays import Ints, Octets

_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_PAIRS = np.column_stack([np.repeat(_ALPHABET, 64), np.tile(_ALPHABET, 64)]).copy().view(np.uint16).ravel()
"""The two characters for each 12 bits."""
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_PAD = ord("=")
_INT64_DIGITS = 18


def base64(values: pa.Array) -> pa.Array:
    """Return binary values as base64 text; null stays null."""
    data, offsets = flat(values)
    return encode(data, offsets, values)


def encode(data: Octets, offsets: Ints, like: pa.Array) -> pa.Array:
    """Return the base64 of each run of `data` between `offsets`; null where `like` is null."""
    length = np.diff(offsets)
    groups = (length + 2) // 3
    ends = np.concatenate([[0], np.cumsum(groups)])
    padded = np.zeros(int(ends[-1]) * 3, np.uint8)
    shift = np.repeat(ends[:-1] * 3 - offsets[:-1], length)
    padded[np.arange(len(data)) + shift] = data
    triples = padded.reshape(-1, 3).astype(np.uint32)
    bits = (triples[:, 0] << 16) | (triples[:, 1] << 8) | triples[:, 2]
    return _text(bits.astype(np.uint32), length, ends, like)


def _text(bits: npt.NDArray[np.uint32], length: Ints, ends: Ints, like: pa.Array) -> pa.Array:
    """Return base64 of groups of 24 bits; `ends` are the groups before each value, and after the last."""
    text = np.empty((len(bits), 2), np.uint16)
    text[:, 0], text[:, 1] = _PAIRS[bits >> 12], _PAIRS[bits & 0xFFF]
    characters = text.view(np.uint8)
    last = ends[1:] - 1
    characters[last[(length % 3 > 0)], 3] = _PAD
    characters[last[(length % 3 == 1)], 2] = _PAD
    return from_flat(characters.ravel(), ends * 4, pa.string(), like)


def decimals(values: pa.Array) -> pa.Array:
    """Return decimals as base64 of their unscaled value, which is Connect's Decimal; null stays null."""
    if values.type.precision > _INT64_DIGITS or values.type.byte_width != 16:
        data, offsets = twos_complement(values)
        return encode(data, offsets, values)
    unscaled, length = small_unscaled(values)
    left = unscaled.view(np.uint64) << (8 * (8 - length)).astype(np.uint64)  # the bytes to write come first
    groups = (length + 2) // 3
    most = int(groups.max()) if len(groups) else 1
    bits = (left >> 40).astype(np.uint32)
    if most > 1:
        each = np.column_stack([bits, (left >> 16) & 0xFFFFFF, (left & 0xFFFF) << 8])[:, :most].astype(np.uint32)
        bits = each[np.arange(most) < groups[:, None]]
    return _text(bits, length, np.concatenate([[0], np.cumsum(groups)]), values)


def small_unscaled(values: pa.Array) -> tuple[Ints, Ints]:
    """Return the unscaled values of decimals of at most 18 digits, and how many bytes each needs; null is 0."""
    low = np.frombuffer(values.buffers()[1], np.int64)[0::2][values.offset : values.offset + len(values)]
    if values.null_count:
        low = np.where(values.is_null().to_numpy(zero_copy_only=False), 0, low)
    magnitude = np.where(low < 0, ~low, low)
    length = np.ones(len(low), np.int64)
    for size in range(1, 8):
        more = magnitude >= 1 << (8 * size - 1)
        if not more.any():
            break
        length += more
    return low, length


def twos_complement(values: pa.Array) -> tuple[Octets, Ints]:
    """Return decimals' unscaled values as minimal big-endian two's complement bytes, and their offsets.

    That is java.math.BigInteger.toByteArray, which Connect's Decimal is defined by. Null gives one zero byte.
    """
    width = values.type.byte_width
    raw = np.frombuffer(values.buffers()[1], np.uint8)[values.offset * width : (values.offset + len(values)) * width]
    big = raw.reshape(-1, width)[:, ::-1]
    if values.null_count:
        big = np.where(values.is_null().to_numpy(zero_copy_only=False)[:, None], np.uint8(0), big)
    sign = np.where(big[:, 0] & 0x80, np.uint8(0xFF), np.uint8(0))
    same = big == sign[:, None]
    leading = np.where(same.all(axis=1), width, np.argmin(same, axis=1))
    first = np.minimum(leading, width - 1)
    # one sign byte more where the first kept byte says the other sign
    head = big[np.arange(len(big)), first]
    first = first - (((head ^ sign) & 0x80) > 0)
    keep = np.arange(width)[None, :] >= first[:, None]
    return big[keep], np.concatenate([[0], np.cumsum(width - first)])


def hexadecimal(values: pa.Array) -> pa.Array:
    """Return binary values as lower-case hex text; null stays null."""
    data, offsets = flat(values)
    digits = np.empty((len(data), 2), np.uint8)
    digits[:, 0], digits[:, 1] = _HEX[data >> 4], _HEX[data & 15]
    return from_flat(digits.ravel(), offsets * 2, pa.string(), values)


def binary_as(values: pa.Array, how: str) -> pa.Array:
    """Return binary values as text: BASE64, HEX, or COPY for bytes that are UTF-8 text already."""
    if how == "COPY":
        return pc.cast(values, pa.string())
    return hexadecimal(values) if how == "HEX" else base64(values)
