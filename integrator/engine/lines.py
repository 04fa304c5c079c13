"""Lines of a text: where they are, which are blank, and their copies without what many of them have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Octets, Places, Words
from integrator.engine.compiled import compiled
from integrator.engine.grammar import BACKSLASH, COLON, NEWLINE, QUOTE, is_word
from integrator.engine.words import TOPS, WORD, equal, in_each, lowest_mark

_NEWLINES = in_each(NEWLINE)
_SPACE, _TAB, _RETURN = b" \t\r"


@compiled
def find_lines(text: Octets, text_words: Words, offsets: Places) -> bool:
    """Write down where each line begins, and the end; return whether all bytes are ASCII. Eight bytes at a time."""
    high = np.uint64(0)
    offsets[0] = 0
    line, at, size = 1, 0, len(text)
    while at < size:
        if at + WORD <= size:
            word = text_words[at]
            high |= word
            if not equal(word, _NEWLINES):
                at += WORD
                continue
        for place in range(at, min(at + WORD, size)):
            high |= np.uint64(text[place])
            if text[place] == NEWLINE:
                offsets[line] = place + 1
                line += 1
        at += WORD
    return not high & TOPS  # a bit that no byte of ASCII has


@compiled
def count_bytes(text: Octets, wanted: int) -> int:
    """Return how often a byte is in a text."""
    count = 0
    for byte in text:
        count += byte == wanted
    return count


@compiled
def find_blank(text: Octets, line: int, state: int, blank: int) -> tuple[int, int, int, int]:
    """Continue over a block; state: 0 at the beginning of a line, 1 in one, 2 in quotes. blank: the first blank line.

    Returns these, and the line of a blank one that others come after, or 0.
    """
    for byte in text:
        if byte == QUOTE:
            if state == 0 and blank:
                return line, state, blank, blank
            state = 1 if state == 2 else 2
        elif byte == NEWLINE:
            if state == 0 and not blank:
                blank = line
            state = 2 if state == 2 else 0
            line += 1
        elif state == 0 and byte != _RETURN:
            if blank:
                return line, state, blank, blank
            state = 1
    return line, state, blank, 0


class Heads(NamedTuple):
    """Beginnings of lines. words: all of them. bounds: of each where it is there, and which came after it last.

    opening: how any line begins that has one. instead: what is written in its place.
    """

    words: Words
    bounds: Ints
    opening: Octets
    instead: Octets


class Copied(NamedTuple):
    """How far lines are copied. at, to: where reading and writing continue. line: the next line.

    last: which beginning the line before has, or -1.
    """

    at: int
    to: int
    line: int
    last: int


@compiled
def leave_out(
    text: Octets,
    text_words: Words,
    heads: Heads,
    data: Octets,
    data_words: Words,
    codes: Places,
    copied: Copied,
    learned: int,
) -> tuple[int, int, int, int]:
    """Copy lines without their beginnings, up to a line whose beginning is to be learned; return a Copied.

    codes: which beginning each line has, or -1. learned: the first line whose beginning may be learned.
    """
    head_words, bounds, opening, instead = heads
    at, to, line, last = copied
    end = len(text) - WORD
    while at < end:
        found = -1
        if is_word(text, at, opening):
            found = _find(text_words, at, head_words, bounds, last)
            if found < 0 and line >= learned:
                break
        codes[line] = found
        if found >= 0:
            at += bounds[found, 1] - bounds[found, 0]
            for place in range(len(instead)):
                data[to + place] = instead[place]
            to += len(instead)
            if last >= 0:
                bounds[last, 2] = found
            last = found
        while True:
            word = text_words[at]
            data_words[to] = word
            ends = equal(word, _NEWLINES)
            if ends:
                size = lowest_mark(ends) + 1
                at, to = at + size, to + size
                break
            at, to = at + WORD, to + WORD
        line += 1
    return at, to, line, last


@compiled
def _find(text_words: Words, at: int, head_words: Words, bounds: Ints, last: int) -> int:
    """Return which beginning a line at a place has; -1 for none. last: that of the line before."""
    likely = bounds[last, 2] if last >= 0 else -1
    for place in range(-2, len(bounds)):
        one = likely if place == -2 else last if place == -1 else place
        if one >= 0 and _is_here(text_words, at, head_words, bounds[one, 0], bounds[one, 1]):
            return one
    return -1


@compiled
def _is_here(text_words: Words, at: int, head_words: Words, start: int, end: int) -> bool:
    """Return whether the bytes from `start` to before `end` are at a place of the text; they are a word or more."""
    tail = end - start - WORD  # compared first, for most others are of another size
    if at + tail >= len(text_words) or text_words[at + tail] != head_words[end - WORD]:
        return False
    for place in range(0, tail, WORD):  # noqa: SIM110 - compiled
        if text_words[at + place] != head_words[start + place]:
            return False
    return True


@compiled
def find_escaped_names(text: Octets, start: Ints, end: Ints) -> None:
    """Record where the names are that have a backslash: strings with a colon after them."""
    found = at = 0
    while found < len(start):
        if text[at] == QUOTE:
            begin, escaped = at, False
            at += 1
            while text[at] != QUOTE:
                if text[at] == BACKSLASH:
                    escaped = True
                    at += 1
                at += 1
            after = at + 1
            while text[after] in (_SPACE, _TAB, _RETURN):
                after += 1
            if escaped and text[after] == COLON:
                start[found], end[found] = begin, at + 1
                found += 1
        at += 1


@compiled
def rewrite(
    text: Octets,
    bounds: Places,
    start: Ints,
    end: Ints,
    code: Ints,
    new: Octets,
    new_bounds: Ints,
    out: Octets,
    offsets: Places,
) -> None:
    """Copy lines without white space outside of texts, and with others instead of some texts.

    start, end: where these are. code: of each, which one of `new` is instead; new_bounds: where each of these begins.
    """
    to = name = 0
    for line in range(len(bounds) - 1):
        at = bounds[line]
        while at < bounds[line + 1]:
            if name < len(start) and at == start[name]:
                for place in range(new_bounds[code[name]], new_bounds[code[name] + 1]):
                    out[to] = new[place]
                    to += 1
                at = end[name]
                name += 1
                continue
            byte = text[at]
            if byte == QUOTE:
                out[to] = byte
                to, at = to + 1, at + 1
                while text[at] != QUOTE:
                    if text[at] == BACKSLASH:
                        out[to] = text[at]
                        to, at = to + 1, at + 1
                    out[to] = text[at]
                    to, at = to + 1, at + 1
            if byte not in (_SPACE, _TAB, _RETURN):
                out[to] = text[at]
                to += 1
            at += 1
        offsets[line + 1] = to
