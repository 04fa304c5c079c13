"""Varints, as Avro and Protocol Buffers write whole numbers: seven bits a byte, the least significant first."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Octets
from integrator.engine.compiled import inlined
from integrator.engine.programs import CUT, LONG_VARINT


@inlined
def varint(text: Octets, at: int, end: int) -> tuple[int, int]:
    """Return the 64 bits of a number, and the place after it; or a place, and the negative of a fault."""
    if at < end and text[at] < 128:
        return int(text[at]), at + 1  # most are so short
    result, shift = np.int64(0), 0
    while True:
        if at >= end:
            return at, -CUT
        byte = np.int64(text[at])
        at += 1
        if shift == 63 and byte > 1:
            return at - 1, -LONG_VARINT
        result |= (byte & 127) << shift
        if byte < 128:
            return int(result), at
        shift += 7


@inlined
def zigzag(bits: int) -> int:
    """Return the signed number of bits the lowest of which is the sign."""
    return ((bits >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(bits & 1)


@inlined
def signed_varint(text: Octets, at: int, end: int) -> tuple[int, int]:
    """Return a number whose lowest bit is the sign, and the place after it; or a place, and the negative of a fault."""
    bits, after = varint(text, at, end)
    return (zigzag(bits) if after >= 0 else bits), after
