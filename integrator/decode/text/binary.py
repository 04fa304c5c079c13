"""Bytes as hex digits and as base64, and numbers as bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, from_flat, mask

_NIBBLE = np.full(256, 255, np.uint8)
_NIBBLE[list(b"0123456789abcdef")] = np.arange(16)
_NIBBLE[list(b"ABCDEF")] = np.arange(10, 16)


def from_hex(values: pa.Array) -> pa.Array:
    r"""Return bytes written as hex digits, with or without `\x` before them."""
    plain = pc.replace_substring_regex(values, r"^\\x", "")
    data, offsets = flat(plain)
    if (np.diff(offsets) % 2).any():
        raise ValueError("expected pairs of hex digits")
    nibbles = _NIBBLE[data]
    if (nibbles == 255).any():
        raise ValueError("expected hex digits")
    decoded = ((nibbles[0::2] << 4) | nibbles[1::2]).astype(np.uint8)
    return from_flat(decoded, offsets // 2, pa.binary(), plain)


_SIXTY_FOUR = np.full(256, 255, np.uint8)
_SIXTY_FOUR[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")] = np.arange(62)
_SIXTY_FOUR[list(b"+/-_")] = [62, 63, 62, 63]
_PAD = ord("=")


def from_base64(values: pa.Array) -> pa.Array:
    """Return bytes written in base64, of either alphabet, padded (RFC 4648 sections 4 and 5)."""
    data, offsets = flat(values)
    length = np.diff(offsets)
    if (length % 4).any():
        raise ValueError("expected base64, whose length is a multiple of 4")
    ends = offsets[1:][length > 0]
    padding = np.zeros(len(length), np.int64)
    one = data[ends - 1] == _PAD
    two = one & (data[ends - 2] == _PAD)
    padding[length > 0] = one.astype(np.int64) + two
    digits = _SIXTY_FOUR[data]
    tail = np.zeros(len(data), bool)
    tail[ends - 1], tail[ends - 2] = one, two
    if (digits[~tail] == 255).any():
        raise ValueError("expected base64")
    digits[tail] = 0
    fours = digits.reshape(-1, 4).astype(np.uint32)
    bits = (fours[:, 0] << 18) | (fours[:, 1] << 12) | (fours[:, 2] << 6) | fours[:, 3]
    decoded = np.stack([bits >> 16, bits >> 8, bits], axis=1).astype(np.uint8).ravel()
    kept = np.ones(len(decoded), bool)
    after = offsets[1:] // 4 * 3
    kept[after[padding > 0] - 1] = False
    kept[after[padding > 1] - 2] = False
    lengths = length // 4 * 3 - padding
    return from_flat(decoded[kept], np.concatenate([[0], np.cumsum(lengths)]), pa.binary(), values)


def from_unscaled(values: pa.Array, scale: int) -> pa.Array:
    """Return decimals of big-endian two's complement bytes and a scale, as Connect's Decimal has them.

    https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/data/Decimal.html
    """
    data, offsets = flat(values)
    length = np.diff(offsets)
    if (length[mask(pc.is_valid(values))] == 0).any():
        raise ValueError("a number has a byte at least")
    width = 16 if not len(length) or length.max() < 16 else 32  # 38 digits fit 16 bytes; of 16 bytes not all do
    if len(length) and length.max() > width:
        raise ValueError(f"a number of more than {width} bytes")
    little = np.zeros((len(length), width), np.uint8)
    negative = np.zeros(len(length), bool)
    filled = length > 0
    negative[filled] = data[offsets[:-1][filled]] >= 128
    little[negative] = 255
    row = np.repeat(np.arange(len(length)), length)
    place = np.repeat(offsets[1:], length) - 1 - np.arange(len(data))
    little[row, place] = data
    kind = pa.decimal128(38, scale) if width == 16 else pa.decimal256(76, scale)
    validity = pc.is_valid(values).to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(validity, bitorder="little"))
    return pa.Array.from_buffers(kind, len(length), [bits, pa.py_buffer(little)])
