"""Literals of lists in braces, of one dimension: {one,"two",NULL}."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.engine.compiled import compiled

_OPEN, _CLOSE, _COMMA, _QUOTE, _BACKSLASH = b'{},"\\'
_SPACES = np.zeros(256, np.bool_)
_SPACES[list(b" \t\n\v\f\r")] = True
"""White space, which may be around an item without quotes: that of ASCII, and no other."""
_NULL = np.frombuffer(b"null", np.uint8)
_CASE = 0x20
"""The bit by which small letters of ASCII differ from capitals."""
READ, NO_LITERAL, NO_QUOTE, NESTED, NO_ITEM, BARE_SIGN, NO_COMMA = range(7)
"""Whether a literal is one, or why it is none."""


@compiled
def read_lists(
    octets: Octets, offsets: Ints, valid: Mask, bounds: Places, data: Octets, ends: Places, null: Mask
) -> tuple[int, int]:
    """Write the items of literals, and after how many each literal ends; return the first wrong one, and how it is."""
    count = 0
    for row in range(len(valid)):
        at, last = offsets[row], offsets[row + 1] - 1
        if valid[row]:
            if last <= at or octets[at] != _OPEN or octets[last] != _CLOSE:
                return row, NO_LITERAL
            at = _after_spaces(octets, at + 1, last)
            while at < last:
                at, wrong = _item(octets, at, last, data, ends, count)
                if wrong > READ:
                    return row, wrong
                null[count] = wrong < READ
                count += 1
                if at < last:
                    if octets[at] != _COMMA:
                        return row, NO_COMMA
                    at = _after_spaces(octets, at + 1, last)
                    if at == last:
                        return row, NO_ITEM
        bounds[row + 1] = count
    return len(valid), READ


@compiled
def _after_spaces(octets: Octets, at: int, last: int) -> int:
    while at < last and _SPACES[octets[at]]:
        at += 1
    return at


@compiled
def _item(octets: Octets, at: int, last: int, data: Octets, ends: Places, count: int) -> tuple[int, int]:
    """Write the item that begins here; return the place after it, and how it is wrong; -1 where it is null."""
    to = ends[count]
    if octets[at] == _QUOTE:
        at += 1
        while at < last and octets[at] != _QUOTE:
            at += octets[at] == _BACKSLASH
            if at < last:
                data[to] = octets[at]
                to += 1
            at += 1
        if at >= last:
            return at, NO_QUOTE
        ends[count + 1] = to
        return _after_spaces(octets, at + 1, last), READ
    begin = at
    while at < last and octets[at] != _COMMA:
        byte = octets[at]
        if byte in (_QUOTE, _OPEN, _CLOSE, _BACKSLASH):
            return at, NESTED if byte == _OPEN and at == begin else BARE_SIGN
        at += 1
    end = at
    while end > begin and _SPACES[octets[end - 1]]:
        end -= 1
    if end == begin:
        return at, NO_ITEM
    is_null = end - begin == len(_NULL)
    for place in range(begin, end):
        if is_null and octets[place] | _CASE != _NULL[place - begin]:
            is_null = False
        data[to] = octets[place]
        to += 1
    if is_null:
        to = ends[count]
    ends[count + 1] = to
    return at, -1 if is_null else READ
