"""JSON written into a buffer whose owner has ensured the room: numbers, texts, base64 and literals.

Each function returns the place after what it wrote. Words are written whole, so that up to seven bytes after it are
overwritten, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Words, words
from integrator.engine.compiled import compiled, inlined, wrapping
from integrator.engine.grammar import BACKSLASH, NEWLINE, QUOTE
from integrator.engine.words import WORD, equal, in_each, less, lowest_mark

ROOM_OF_NUMBER = 24
"""Characters of the longest number: -2.2250738585072014E-308."""
_FOUR_DIGITS = np.uint64(10_000)
_DIGITS = np.frombuffer(b"".join(b"%02d" % number for number in range(100)), np.uint8)
_BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_HEX_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_SHORT = np.zeros(32, np.uint8)
_SHORT[[8, 9, 10, 12, 13]] = list(b"btnfr")
_QUOTES, _BACKSLASHES, _BLANK = in_each(QUOTE), in_each(BACKSLASH), in_each(ord(" "))
_U, _ZERO, _MINUS, _EQUALS, _SPACE = b"u0-= "
_NO_BLANK = 0x0B
"""In the place of a line's end in a text of JSON, where none may be: it may be nowhere either."""
_MOST_ESCAPED = 6
"""Characters of an escape: a control character is written as six."""


class Output(NamedTuple):
    """Where JSON is written: bytes, and the same as words."""

    octets: Octets
    words: Words


class Floats(NamedTuple):
    """Numbers with a fraction, which are written later: their bits, where, and whether they have 32 bits."""

    bits: Ints
    place: Ints
    single: Mask


def output_of(octets: Octets) -> Output:
    """Return a buffer to write into; its last WORD bytes are there to be overwritten."""
    return Output(octets, words(octets))


@inlined
def room_of_text(size: int) -> int:
    """Return how many bytes a text of `size` bytes takes at most."""
    return _MOST_ESCAPED * size + 2 + WORD


@inlined
def room_of_base64(size: int) -> int:
    """Return how many bytes the base64 of `size` bytes takes at most."""
    return (size + 2) // 3 * 4 + 2 + WORD


@inlined
def write_literal(literals: Words, at: int, size: int, out: Output, to: int) -> int:
    """Write bytes of a text of literals, which ends with a word more."""
    for part in range(0, size, WORD):
        out.words[to + part] = literals[at + part]
    return to + size


@inlined
def write_word(word: Octets, out: Output, to: int) -> int:
    """Write a few bytes."""
    for byte in word:
        out.octets[to] = byte
        to += 1
    return to


@wrapping
def write_whole(value: int, out: Output, to: int) -> int:
    """Write a whole number of 64 bits."""
    if value < 0:
        out.octets[to] = _MINUS
        return write_unsigned(np.uint64(0) - np.uint64(np.int64(value)), out, to + 1)
    return write_unsigned(np.uint64(value), out, to)


@wrapping
def write_unsigned(rest: np.uint64, out: Output, to: int) -> int:
    """Write a whole number of 64 bits without a sign."""
    octets, hundred = out.octets, np.uint64(100)
    size, high = 1, rest
    while high >= _FOUR_DIGITS:
        high //= _FOUR_DIGITS
        size += 4
    size += int(high >= np.uint64(10)) + int(high >= hundred) + int(high >= np.uint64(1000))
    at = to + size
    while rest >= hundred:
        left = rest // hundred
        pair = np.int64(rest - left * hundred) * 2
        at -= 2
        octets[at], octets[at + 1] = _DIGITS[pair], _DIGITS[pair + 1]
        rest = left
    if rest >= np.uint64(10):
        pair = np.int64(rest) * 2
        octets[at - 2], octets[at - 1] = _DIGITS[pair], _DIGITS[pair + 1]
    else:
        octets[at - 1] = np.uint64(_ZERO) + rest
    return to + size


@inlined
def write_text(text: Octets, text_words: Words, at: int, size: int, out: Output, to: int) -> int:
    """Write bytes of UTF-8 as a text in quotes; whether they are UTF-8 is not inspected."""
    octets, out_words = out.octets, out.words
    octets[to] = QUOTE
    to += 1
    end, last = at + size, len(text_words) - 1
    while at < end:
        if at <= last:
            word = text_words[at]
            odd = equal(word, _QUOTES) | equal(word, _BACKSLASHES) | less(word, _BLANK)
            out_words[to] = word
            many = min(end - at, lowest_mark(odd) if odd else WORD)
            at += many
            to += many
            if at >= end or not odd:
                continue
        byte = text[at]
        at += 1
        if byte in (QUOTE, BACKSLASH):
            octets[to], octets[to + 1] = BACKSLASH, byte
            to += 2
        elif byte >= _SPACE:
            octets[to] = byte
            to += 1
        elif _SHORT[byte]:
            octets[to], octets[to + 1] = BACKSLASH, _SHORT[byte]
            to += 2
        else:
            octets[to], octets[to + 1], octets[to + 2], octets[to + 3] = BACKSLASH, _U, _ZERO, _ZERO
            octets[to + 4], octets[to + 5] = _HEX_DIGITS[byte >> 4], _HEX_DIGITS[byte & 15]
            to += 6
    octets[to] = QUOTE
    return to + 1


@inlined
def write_base64(text: Octets, at: int, size: int, out: Output, to: int) -> int:
    """Write bytes as base64 in quotes (RFC 4648, section 4)."""
    octets = out.octets
    octets[to] = QUOTE
    to += 1
    end = at + size
    while at < end:
        left = end - at
        bits = np.int64(text[at]) << 16
        if left > 1:
            bits |= np.int64(text[at + 1]) << 8
        if left > 2:
            bits |= np.int64(text[at + 2])
        octets[to] = _BASE64[bits >> 18]
        octets[to + 1] = _BASE64[(bits >> 12) & 63]
        octets[to + 2] = _BASE64[(bits >> 6) & 63] if left > 1 else _EQUALS
        octets[to + 3] = _BASE64[bits & 63] if left > 2 else _EQUALS
        at += 3
        to += 4
    octets[to] = QUOTE
    return to + 1


@inlined
def reserve_float(bits: int, single: bool, floats: Floats, count: int, out: Output, to: int) -> int:
    """Write blanks, in which a number is written later; note it as that of `count`."""
    floats.bits[count], floats.place[count], floats.single[count] = bits, to, single
    for part in range(0, ROOM_OF_NUMBER, WORD):
        out.words[to + part] = _BLANK
    return to + ROOM_OF_NUMBER


@compiled
def write_one_line(text: Octets, at: int, end: int, out: Output, to: int) -> int:
    """Write JSON text in one line: ends of lines become blanks.

    In a text they become what is in no JSON; so does a value of blanks, which is none, and no blank line either.
    """
    octets, in_text, escaped, blank, begin = out.octets, False, False, True, to
    while at < end:
        byte = text[at]
        if byte == NEWLINE:
            octets[to] = _NO_BLANK if in_text else _SPACE
        else:
            octets[to] = byte
            blank = blank and byte <= _SPACE
        if in_text and byte == BACKSLASH and not escaped:
            escaped = True
        else:
            if byte == QUOTE and not escaped:
                in_text = not in_text
            escaped = False
        at += 1
        to += 1
    if blank:
        octets[begin] = _NO_BLANK
        return begin + 1
    return to
