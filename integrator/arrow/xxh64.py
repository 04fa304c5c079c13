"""XXH64 of the values of a column, in one compiled pass: the hash as 16 hex digits.

The library xxhash takes one value a call, which holds Python's lock for each row; it is what the tests compare with.
https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import flat, of_width
from integrator.arrow.compiled import compiled
from integrator.engine.arrays import Ints, Octets

_DIGITS = 16
_PRIMES = np.array(
    [0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5], np.uint64
)


def hex_digests(values: pa.Array) -> pa.Array:
    """Return the hash of each value (binary, no nulls; seed 0) as text of 16 hex digits, the highest first."""
    data, offsets = flat(values)
    digits = np.empty((len(values), _DIGITS), np.uint8)
    _digest(data, offsets, digits)
    return of_width(digits)


@compiled
def _digest(data: Octets, offsets: Ints, digits: Octets) -> None:
    for row in range(offsets.size - 1):
        value = _hash(data, offsets[row], offsets[row + 1])
        for place in range(_DIGITS):
            digit = np.uint8(value >> np.uint64(60 - 4 * place)) & 15
            digits[row, place] = digit + (48 if digit < 10 else 87)  # 0 to 9, a to f


@compiled
def _hash(data: Octets, start: int, end: int) -> np.uint64:
    prime1, prime2, prime3, prime4, prime5 = _PRIMES
    at, size = start, np.uint64(end - start)
    if end - start >= 32:
        one, two, three, four = prime1 + prime2, prime2, np.uint64(0), np.uint64(0) - prime1
        while at + 32 <= end:
            one, two = _round(one, _word(data, at, 8)), _round(two, _word(data, at + 8, 8))
            three, four = _round(three, _word(data, at + 16, 8)), _round(four, _word(data, at + 24, 8))
            at += 32
        value = _turned(one, 1) + _turned(two, 7) + _turned(three, 12) + _turned(four, 18)
        for lane in (one, two, three, four):
            value = (value ^ _round(np.uint64(0), lane)) * prime1 + prime4
    else:
        value = prime5
    value += size
    while at + 8 <= end:
        value = _turned(value ^ _round(np.uint64(0), _word(data, at, 8)), 27) * prime1 + prime4
        at += 8
    if at + 4 <= end:
        value = _turned(value ^ (_word(data, at, 4) * prime1), 23) * prime2 + prime3
        at += 4
    while at < end:
        value = _turned(value ^ (np.uint64(data[at]) * prime5), 11) * prime1
        at += 1
    value = (value ^ (value >> np.uint64(33))) * prime2
    value = (value ^ (value >> np.uint64(29))) * prime3
    return np.uint64(value ^ (value >> np.uint64(32)))


@compiled
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    turned = _turned(lane + word * _PRIMES[1], 31)
    return np.uint64(turned * _PRIMES[0])


@compiled
def _turned(value: np.uint64, bits: int) -> np.uint64:
    return np.uint64((value << np.uint64(bits)) | (value >> np.uint64(64 - bits)))


@compiled
def _word(data: Octets, at: int, size: int) -> np.uint64:
    """Return bytes as one number, the lowest first."""
    word = np.uint64(0)
    for place in range(size):
        word |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return word
