"""PostgreSQL's array literals (https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO), of one dimension."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import flat, mask
from integrator.arrow.compiled import compiled
from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.schema import Type

_LETTERS, _BOOLEANS = pa.array(["t", "f"]), pa.array(["true", "false"])
_OPEN, _CLOSE, _COMMA, _QUOTE, _BACKSLASH = b'{},"\\'
_SPACES = np.zeros(256, np.bool_)
_SPACES[list(b" \t\n\v\f\r")] = True
"""White space, which PostgreSQL passes over around an item without quotes: that of ASCII, and no other."""
_NULL = np.frombuffer(b"NULL", np.uint8)
_CASE = 0x20
"""By which letters of ASCII in capitals differ from small ones."""
_WRONG = (
    "",
    "expected an array literal {…} of one dimension",
    "expected a quote at the end of an item",
    "an array of several dimensions; declare the column as text",
    'expected an item between commas; an empty text is written as ""',
    "expected quotes around an item with a quote, a brace or a backslash",
    "expected a comma between items",
)
_READ, _NO_LITERAL, _NO_QUOTE, _DIMENSIONS, _NO_ITEM, _SIGN, _NO_COMMA = range(7)


def in_words(items: pa.Array, item: Type) -> pa.Array:
    """Return the items of array literals with booleans in words, which PostgreSQL writes as t and f there."""
    if not isinstance(item, schema.Boolean):
        return items
    return pc.coalesce(_BOOLEANS.take(pc.index_in(items, _LETTERS)), items)


def read_arrays(values: pa.Array) -> pa.ListArray:
    """Return array literals as lists of texts; null stays null. Raises ValueError for text that is none."""
    octets, offsets = flat(values)
    valid = mask(pc.is_valid(values))
    most = len(values) + int((octets == _COMMA).sum())
    bounds, ends, null = np.zeros(len(values) + 1, np.int32), np.zeros(most + 1, np.int32), np.zeros(most, np.bool_)
    data = np.empty(len(octets), np.uint8)
    row, wrong = _read((octets, offsets, valid), bounds, (data, ends), null)
    if row < len(values):
        raise ValueError(_WRONG[wrong])
    count = int(bounds[-1])
    gone = pa.py_buffer(np.packbits(~null[:count], bitorder="little")) if null.any() else None
    buffers = [gone, pa.py_buffer(ends[: count + 1]), pa.py_buffer(data)]
    items = pa.Array.from_buffers(pa.string(), count, buffers)
    return pa.ListArray.from_arrays(pa.array(bounds), items, mask=pc.is_null(values))


@compiled
def _read(
    texts: tuple[Octets, Ints, Mask],
    bounds: Places,
    items: tuple[Octets, Places],
    null: Mask,
) -> tuple[int, int]:
    """Write the items of literals, and after how many each literal ends; return the first wrong one, and how it is."""
    octets, offsets, valid = texts
    ends = items[1]
    count = 0
    for row in range(len(valid)):
        at, last = offsets[row], offsets[row + 1] - 1
        if valid[row]:
            if last <= at or octets[at] != _OPEN or octets[last] != _CLOSE:
                return row, _NO_LITERAL
            at = _after_spaces(octets, at + 1, last)
            while at < last:
                at, wrong = _item(octets, at, last, items[0], (ends, count))
                if wrong > _READ:
                    return row, wrong
                null[count] = wrong < _READ
                count += 1
                if at < last:
                    if octets[at] != _COMMA:
                        return row, _NO_COMMA
                    at = _after_spaces(octets, at + 1, last)
                    if at == last:
                        return row, _NO_ITEM
        bounds[row + 1] = count
    return len(valid), _READ


@compiled
def _after_spaces(octets: Octets, at: int, last: int) -> int:
    while at < last and _SPACES[octets[at]]:
        at += 1
    return at


@compiled
def _item(octets: Octets, at: int, last: int, data: Octets, written: tuple[Places, int]) -> tuple[int, int]:
    """Write the item that begins here; return the place after it, and how it is wrong; -1 where it is null."""
    ends, count = written
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
            return at, _NO_QUOTE
        ends[count + 1] = to
        return _after_spaces(octets, at + 1, last), _READ
    begin = at
    while at < last and octets[at] != _COMMA:
        byte = octets[at]
        if byte in (_QUOTE, _OPEN, _CLOSE, _BACKSLASH):
            return at, _DIMENSIONS if byte == _OPEN and at == begin else _SIGN
        at += 1
    end = at
    while end > begin and _SPACES[octets[end - 1]]:
        end -= 1
    if end == begin:
        return at, _NO_ITEM
    is_null = end - begin == len(_NULL)
    for place in range(begin, end):
        if is_null and octets[place] & ~_CASE != _NULL[place - begin]:
            is_null = False
        data[to] = octets[place]
        to += 1
    if is_null:
        to = ends[count]
    ends[count + 1] = to
    return at, -1 if is_null else _READ
