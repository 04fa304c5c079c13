"""The characters of values in the text of JSON lines."""

from __future__ import annotations

import numpy as np

from integrator.arrow.compiled import compiled
from integrator.arrow.eight_bytes import WORD
from integrator.decode.json.grammar import BACKSLASH, HEX, LIST, OPEN, QUOTE
from integrator.engine.arrays import Mask, Octets, Places, Words

_N, _U, _L = b"nul"
_SPACE, _LOWER_U = b" u"
_PLAIN = np.zeros(256, np.uint8)
_PLAIN[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
"""What a backslash and this byte are (RFC 8259, section 7)."""


@compiled
def is_null(text: Octets, start: int, end: int) -> bool:
    """Return whether there is no value, or null."""
    if end == 0:
        return True
    letters = end - start == 4 and text[start] == _N and text[start + 1] == _U
    return letters and text[start + 2] == _L and text[start + 3] == _L


@compiled
def copy_values(
    octets: tuple[Octets, Words],
    at: tuple[Places, Places, Mask],
    out: tuple[Octets, Words],
    offsets: Places,
    valid: Mask,
    quoted: bool,
) -> None:
    """Write values one after another, by words: what is after the end of one is written over by the next.

    The last words of the text may be after its end: their bytes are then shifted to the place that is read.
    """
    text, text_words = octets
    data, data_words = out
    starts, ends, with_backslash = at
    last = len(text_words) - 1
    to = 0
    for place in range(len(starts)):
        offsets[place] = to
        begin, end = starts[place], ends[place]
        valid[place] = not is_null(text, begin, end)
        if not valid[place]:
            continue
        if not quoted and text[begin] == QUOTE:
            begin, end = begin + 1, end - 1
            if with_backslash[place]:
                to = _unescape(text, begin, end, data, to)
                continue
        elif text[begin] in (OPEN, LIST):
            to = _compact(text, begin, end, data, to)
            continue
        for step in range(0, end - begin, WORD):
            source = min(begin + step, last)
            data_words[to + step] = text_words[source] >> np.uint64(8 * (begin + step - source))
        to += end - begin
    offsets[len(starts)] = to


@compiled
def _compact(text: Octets, at: int, end: int, data: Octets, to: int) -> int:
    """Write an object or a list without white space outside of texts; return the place after it."""
    while at < end:
        byte = text[at]
        at += 1
        if byte <= _SPACE:
            continue
        data[to] = byte
        to += 1
        while byte == QUOTE:
            inside = text[at]
            data[to] = inside
            to, at = to + 1, at + 1
            if inside == BACKSLASH:
                data[to] = text[at]
                to, at = to + 1, at + 1
            elif inside == QUOTE:
                break
    return to


@compiled
def _unescape(text: Octets, at: int, end: int, data: Octets, to: int) -> int:
    """Write the characters of a valid text in UTF-8; return the place after them."""
    while at < end:
        byte = text[at]
        at += 1
        if byte == BACKSLASH:
            if text[at] == _LOWER_U:
                point = _unit(text, at + 1)
                at += 5
                if 0xD800 <= point <= 0xDBFF:
                    point = 0x10000 + ((point - 0xD800) << 10) + (_unit(text, at + 2) - 0xDC00)
                    at += 6
                to = _write(point, data, to)
                continue
            byte = _PLAIN[text[at]]
            at += 1
        data[to] = byte
        to += 1
    return to


@compiled
def _unit(text: Octets, at: int) -> int:
    unit = 0
    for place in range(at, at + 4):
        unit = unit * 16 + int(HEX[text[place]])
    return unit


@compiled
def _write(point: int, data: Octets, to: int) -> int:
    """Write a code point in UTF-8 (RFC 3629, section 3); return the place after it."""
    if point < 0x80:
        data[to] = point
        return to + 1
    if point < 0x800:
        data[to] = 0xC0 | (point >> 6)
    else:
        if point < 0x10000:
            data[to] = 0xE0 | (point >> 12)
        else:
            data[to] = 0xF0 | (point >> 18)
            to += 1
            data[to] = 0x80 | ((point >> 12) & 0x3F)
        to += 1
        data[to] = 0x80 | ((point >> 6) & 0x3F)
    data[to + 1] = 0x80 | (point & 0x3F)
    return to + 2
