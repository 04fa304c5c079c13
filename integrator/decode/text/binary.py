"""Bytes as hex digits, and bits as zeros and ones."""

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


def bits(values: pa.Array, length: int | None, *, varying: bool = False) -> pa.Array:
    """Return bits that are written as zeros and ones: `length` of them, or at most so many where that is `varying`.

    Raises ValueError.
    """
    size = pc.binary_length(values)
    wrong = mask(pc.invert(pc.match_substring_regex(values, "^[01]*$")))
    if length is not None:
        wrong |= mask(pc.greater(size, length) if varying else pc.not_equal(size, length))
    if wrong.any():
        number = "" if length is None else f"at most {length} " if varying else f"{length} "
        raise ValueError(f"expected {number}zeros and ones")
    return values
