"""Bytes of a text looked at eight at a time, as one word (Warren, Hacker's Delight, 6-1); words are little-endian.

A search in a word marks bytes by their highest bit. The lowest mark is right; those above it may be of other bytes.
"""

from __future__ import annotations

import numpy as np

from integrator.arrow.compiled import compiled

WORD = 8
"""Bytes of a word."""
_ONES = np.uint64(0x0101010101010101)
TOPS = _ONES << np.uint64(7)
"""The highest bit of each byte."""


def in_each(byte: int) -> np.uint64:
    """Return a word with this byte in each place."""
    return _ONES * np.uint64(byte)


@compiled
def equal(word: np.uint64, searched: np.uint64) -> np.uint64:
    """Return marks of the bytes that are equal; 0 for none. searched: `in_each` of a byte."""
    other = word ^ searched
    return (other - _ONES) & ~other & TOPS


@compiled
def less(word: np.uint64, bound: np.uint64) -> np.uint64:
    """Return marks of the bytes below a bound of at most 128; 0 for none. bound: `in_each` of it."""
    return (word - bound) & ~word & TOPS


@compiled
def before(marks: np.uint64) -> int:
    """Return how many bytes are before the lowest mark; there is one."""
    below = (marks & (~marks + np.uint64(1))) - np.uint64(1)
    return int(((below & _ONES) * _ONES) >> np.uint64(56)) - 1
