"""Rows written one after another: of pieces, and as hashes.

The hash is XXH64, in one pass over all values: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md. The
library xxhash takes one value a call, which holds Python's lock for each row; it is what the tests compare with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.compiled import compiled, wrapping
from integrator.engine.words import WORD


class Rows(NamedTuple):
    """Rows of several forms.

    form: of each. at: its place in columns of its form. own: its place in those of all rows.
    """

    form: Ints
    at: Ints
    own: Ints


class Columns(NamedTuple):
    """The values of rows, form after form.

    start: the piece with which each column begins. for_all_lines: whether a column is one of all rows.
    """

    start: Ints
    for_all_lines: Mask


class Pieces(NamedTuple):
    """All pieces of rows.

    offsets: of each. frame: the first one of those around values. framed: whether any of these has text. bounds: where
    those of each form begin after it, of which a form has one more than values.
    """

    offsets: Places
    frame: int
    framed: bool
    bounds: Ints


@compiled
def measure_rows(rows: Rows, columns: Columns, pieces: Pieces, ends: Ints) -> None:
    """Write down where each row begins and ends."""
    offsets, bounds, start, for_all_lines = pieces.offsets, pieces.bounds, columns.start, columns.for_all_lines
    total = 0
    ends[0] = 0
    for row in range(len(rows.form)):
        form, at, own = rows.form[row], rows.at[row], rows.own[row]
        first, last = bounds[form], bounds[form + 1] - 1
        total += offsets[pieces.frame + last + 1] - offsets[pieces.frame + first]
        for value in range(first - form, last - form):
            piece = start[value] + (own if for_all_lines[value] else at)
            total += offsets[piece + 1] - offsets[piece]
        ends[row + 1] = total


@compiled
def copy_rows(rows: Rows, columns: Columns, pieces: Pieces, data: Words, result: Words) -> None:
    """Write the rows one after another, by words: what is after the end of a piece is written over by the next."""
    offsets, bounds, start, for_all_lines = pieces.offsets, pieces.bounds, columns.start, columns.for_all_lines
    to = 0
    for row in range(len(rows.form)):
        form, at, own = rows.form[row], rows.at[row], rows.own[row]
        first, last = bounds[form], bounds[form + 1] - 1
        for place in range(first, last):
            if pieces.framed:
                to = _copy(offsets, pieces.frame + place, data, to, result)
            value = place - form
            to = _copy(offsets, start[value] + (own if for_all_lines[value] else at), data, to, result)
        if pieces.framed:
            to = _copy(offsets, pieces.frame + last, data, to, result)


@compiled
def _copy(offsets: Places, piece: int, data: Words, to: int, result: Words) -> int:
    """Write a piece; return where it ends. Most are of one word, which is written whatever their length."""
    begin, end = offsets[piece], offsets[piece + 1]
    result[to] = data[begin]
    for byte in range(begin + WORD, end, WORD):
        result[to + byte - begin] = data[byte]
    return int(to + end - begin)


@compiled
def pack_rows(data: Octets, length: Ints, start: Ints, result: Octets) -> None:
    """Write the first bytes of each row of `data`, `length` of them, from its `start` on, which moves after them."""
    for row in range(len(data)):
        to = start[row]
        for byte in range(length[row]):
            result[to + byte] = data[row, byte]
        start[row] = to + length[row]


@compiled
def place_texts(data: Octets, offsets: Places, start: Ints, result: Octets) -> None:
    """Write a text into each row, from its `start` on, which moves after it."""
    for row in range(len(start)):
        begin, end, to = offsets[row], offsets[row + 1], start[row]
        for byte in range(begin, end):
            result[to + byte - begin] = data[byte]
        start[row] = to + end - begin


DIGITS = 16
"""Of a hash."""
_PRIMES = np.array(
    [0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5], np.uint64
)


@wrapping
def write_digests(data: Octets, offsets: Ints, digits: Octets) -> None:
    """Write the hash of each value as DIGITS hexadecimal digits, the highest first."""
    for row in range(offsets.size - 1):
        value = _hash(data, offsets[row], offsets[row + 1])
        for place in range(DIGITS):
            digit = np.uint8(value >> np.uint64(60 - 4 * place)) & 15
            digits[row, place] = digit + (48 if digit < 10 else 87)  # 0 to 9, a to f


@wrapping
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


@wrapping
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
