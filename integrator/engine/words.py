"""Bytes of a text inspected eight at a time, as one word (Warren, Hacker's Delight, 6-1); words are little-endian.

A search in a word marks bytes by their highest bit. The lowest mark is right; those above it may be of other bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Octets, Places, Words
from integrator.engine.compiled import compiled, wrapping

WORD = 8
"""Bytes of a word."""
_ONES = np.uint64(0x0101010101010101)
TOPS = _ONES << np.uint64(7)
"""The highest bit of each byte."""
_FEW_NAMES = 64
"""Names of an object that are compared in pairs; more of them are looked up."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: spreads the bits of names (Knuth, The Art of Computer Programming, 6.4)."""


def in_each(byte: int) -> np.uint64:
    """Return a word with this byte in each place."""
    return _ONES * np.uint64(byte)


@wrapping
def equal(word: np.uint64, searched: np.uint64) -> np.uint64:
    """Return marks of the bytes that are equal; 0 for none. searched: `in_each` of a byte."""
    other = word ^ searched
    return (other - _ONES) & ~other & TOPS


@wrapping
def less(word: np.uint64, bound: np.uint64) -> np.uint64:
    """Return marks of the bytes below a bound of at most 128; 0 for none. bound: `in_each` of it."""
    return (word - bound) & ~word & TOPS


@wrapping
def lowest_mark(marks: np.uint64) -> int:
    """Return how many bytes are before the lowest mark; there is one."""
    below = (marks & (~marks + np.uint64(1))) - np.uint64(1)
    return int(((below & _ONES) * _ONES) >> np.uint64(56)) - 1


class Names(NamedTuple):
    """The names of the objects that are open, one after another: hashes, and where each begins and ends.

    slots: room to look up the names of an object; twice as many as names, and a power of two.
    """

    hash: Words
    start: Places
    end: Places
    slots: Places

    @classmethod
    def of_size(cls, size: int) -> Names:
        """Return room for so many names."""
        start, end, slots = (np.empty(many, np.int32) for many in (size, size, 2 << size.bit_length()))
        return cls(np.empty(size, np.uint64), start, end, slots)


@wrapping
def hash_of(text: Words, at: int, end: int) -> np.uint64:
    """Return a hash of the bytes from `at` to before `end`."""
    last = len(text) - 1
    result = np.uint64(end - at)
    while at < end:
        place = min(at, last)
        word = text[place] >> np.uint64(8 * (at - place))
        if end - at < WORD:
            word <<= np.uint64(8 * (WORD - end + at))
        result = (result ^ word) * _MULTIPLIER
        result ^= result >> np.uint64(32)
        at += WORD
    return result


@compiled
def is_same(text: Octets, one: int, other: int, size: int) -> bool:
    """Return whether a text has the same bytes at two places."""
    for place in range(size):  # noqa: SIM110 - compiled
        if text[one + place] != text[other + place]:
            return False
    return True


@compiled
def is_same_by_words(text: Words, one: int, other: int, size: int) -> bool:
    """Return as `is_same`, for many bytes: of the last word the bytes before are compared twice."""
    if size < WORD:
        return False
    for place in range(0, size - WORD, WORD):
        if text[one + place] != text[other + place]:
            return False
    return bool(text[one + size - WORD] == text[other + size - WORD])


@compiled
def begins_with(text: Words, at: int, known: Words, begin: int, size: int) -> bool:
    """Return whether so many bytes from a place of a text on are those from a place of another one, which continues."""
    last = len(text) - 1
    for part in range(0, size, WORD):
        place = min(at + part, last)
        different = (text[place] >> np.uint64(8 * (at + part - place))) ^ known[begin + part]
        if size - part < WORD:
            different <<= np.uint64(8 * (WORD - size + part))
        if different:
            return False
    return True


@compiled
def has_equal(text: Octets, names: Names, first: int, last: int) -> bool:
    """Return whether two of the names from `first` to before `last` are the same."""
    hashes, starts, ends, slots = names.hash, names.start, names.end, names.slots
    if last - first <= _FEW_NAMES:
        for one in range(first + 1, last):
            for other in range(first, one):
                size = ends[one] - starts[one]
                if hashes[one] == hashes[other] and size == ends[other] - starts[other]:
                    found = is_same(text, starts[one], starts[other], size)
                    if found:
                        return True
        return False
    size = 2
    while size < 2 * (last - first):
        size *= 2
    slots[:size] = -1
    for one in range(first, last):
        slot = np.int64(hashes[one] & np.uint64(size - 1))
        while slots[slot] >= 0:
            other = slots[slot]
            length = ends[one] - starts[one]
            same = hashes[one] == hashes[other] and length == ends[other] - starts[other]
            if same and is_same(text, starts[one], starts[other], length):
                return True
            slot = (slot + 1) & (size - 1)
        slots[slot] = one
    return False
