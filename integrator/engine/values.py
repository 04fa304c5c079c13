"""Values in the text of JSON lines: where they are, and their characters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.compiled import compiled
from integrator.engine.grammar import BACKSLASH, HEX, LIST, OPEN, QUOTE
from integrator.engine.index import Nodes
from integrator.engine.words import WORD, hash_of, is_same, is_same_by_words

_N, _U, _L = b"nul"
_SPACE, _LOWER_U = b" u"
_PLAIN = np.zeros(256, np.uint8)
_PLAIN[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
"""What a backslash and this byte are (RFC 8259, section 7)."""


class Slices(NamedTuple):
    """Where values are; nowhere (0, 0) where there is none. escaped: whether a backslash is in a text."""

    start: Places
    end: Places
    escaped: Mask

    @classmethod
    def of_size(cls, size: int) -> Slices:
        """Return slices of which none is anywhere yet."""
        return cls(np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.bool_))

    @classmethod
    def of_nodes(cls, nodes: Nodes, at: Places) -> Slices:
        """Return where the values of nodes are; -1 is no node."""
        found = cls.of_size(len(at))
        _slices(nodes, at, found)
        return found

    def part(self, start: int, stop: int) -> Slices:
        """Return the slices from `start` to before `stop`."""
        return Slices(self.start[start:stop], self.end[start:stop], self.escaped[start:stop])

    def take(self, at: Ints) -> Slices:
        """Return the slices at some places."""
        return Slices(self.start[at], self.end[at], self.escaped[at])

    def first_bytes(self, text: Octets) -> Octets:
        """Return the first byte of each value: a quote for a text; of no value any byte."""
        return text[self.start]

    def are_texts(self, text: Octets) -> Mask:
        """Return which values are texts."""
        return np.asarray((self.first_bytes(text) == QUOTE) & (self.end > 0), np.bool_)

    def nulls(self, text: Octets) -> Mask:
        """Return where there is no value, or null."""
        found = np.empty(len(self.start), np.bool_)
        _nulls(text, self.start, self.end, found)
        return found


@compiled
def is_null(text: Octets, start: int, end: int) -> bool:
    """Return whether there is no value, or null."""
    if end == 0:
        return True
    letters = end - start == 4 and text[start] == _N and text[start + 1] == _U
    return letters and text[start + 2] == _L and text[start + 3] == _L


@compiled
def _slices(nodes: Nodes, at: Places, found: Slices) -> None:
    starts, ends, with_backslash = nodes.start, nodes.end, nodes.escaped
    start, end, escaped = found.start, found.end, found.escaped
    for place in range(len(at)):
        node = at[place]
        if node >= 0:
            start[place], end[place], escaped[place] = starts[node], ends[node], with_backslash[node]


@compiled
def _nulls(text: Octets, start: Places, end: Places, found: Mask) -> None:
    for place in range(len(start)):
        found[place] = is_null(text, start[place], end[place])


@compiled
def first_odd(text: Octets, start: Places, end: Places, are_lists: bool, are_bytes: bool) -> int:
    """Return the first value that is an object, a list where no lists are, or no text where bytes are; -1 for none."""
    for place in range(len(start)):
        byte = text[start[place]]
        odd = byte == OPEN or (byte == LIST and not are_lists)
        if are_bytes:
            odd = byte != QUOTE and not is_null(text, start[place], end[place])
        if odd and end[place]:
            return place
    return -1


@compiled
def code_values(
    text: Octets, text_words: Words, start: Places, end: Places, codes: Places, firsts: Places, slots: Places
) -> int:
    """Give each value a code, the same to the same text; return how many there are. firsts: a place of each."""
    most = len(slots) - 1
    count, before = 0, -1
    for place in range(len(start)):
        if is_null(text, start[place], end[place]):
            codes[place] = -1
            continue
        size = end[place] - start[place]
        if (
            before >= 0
            and size == end[before] - start[before]
            and _same(text, text_words, start[place], start[before], size)
        ):
            codes[place] = codes[before]  # most often as the one before
            continue
        before = place
        slot = np.int64(hash_of(text_words, start[place], end[place]) >> np.uint64(33)) & most
        while True:
            code = slots[slot]
            if code < 0:
                slots[slot], firsts[count], codes[place] = count, place, count
                count += 1
                break
            other = firsts[code]
            if size == end[other] - start[other] and _same(text, text_words, start[place], start[other], size):
                codes[place] = code
                break
            slot = (slot + 1) & most
    return count


@compiled
def _same(text: Octets, text_words: Words, one: int, other: int, size: int) -> bool:
    if size < WORD:
        return is_same(text, one, other, size)
    return is_same_by_words(text_words, one, other, size)


@compiled
def copy_values(
    text: Octets,
    text_words: Words,
    at: Slices,
    data: Octets,
    data_words: Words,
    offsets: Places,
    valid: Mask,
    quoted: bool,
) -> None:
    """Write values one after another, by words: what is after the end of one is written over by the next.

    The last words of the text may be after its end: their bytes are then shifted to the place that is read.
    """
    starts, ends, with_backslash = at.start, at.end, at.escaped
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
