"""Rows in pairs, and values that are among known ones.

The second row of a pair is directly after the first one, and of the same group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.engine.compiled import compiled
from integrator.engine.grammar import LIST, OPEN
from integrator.engine.grid import Grid
from integrator.engine.values import Slices, is_null

_SPACE = 0x20


@compiled
def fill_pairs(grid: Grid, second: Ints, values: Slices, fill_second: bool, fill_first: bool) -> None:
    """Give rows the values that only the other one of their pair has. second: the second rows of pairs.

    fill_second, fill_first: which rows take values.
    """
    base, columns, rows, group = grid
    start, end, escaped = values.start, values.end, values.escaped
    for row in second:
        own = group[row]
        for column in range(columns[own], columns[own + 1]):
            new = base[column] + row - rows[own]
            old = new - 1
            if fill_second and end[new] == 0:
                start[new], end[new], escaped[new] = start[old], end[old], escaped[old]
            elif fill_first and end[old] == 0:
                start[old], end[old], escaped[old] = start[new], end[new], escaped[new]


@compiled
def differing_pairs(text: Octets, grid: Grid, second: Ints, values: Slices, chosen: Mask, found: Mask) -> None:
    """Write down in which pairs a chosen column is written in two ways: its value may be the same.

    Of a group without chosen columns all are compared.
    """
    base, columns, rows, group = grid
    start, end = values.start, values.end
    for place in range(len(second)):
        row = second[place]
        own = group[row]
        all_of_group = not chosen[columns[own] : columns[own + 1]].any()
        differs = False
        for column in range(columns[own], columns[own + 1]):
            if not (all_of_group or chosen[column]):
                continue
            new = base[column] + row - rows[own]
            old = new - 1
            if end[new] and end[old] and _differ(text, start[new], end[new], start[old], end[old]):
                differs = True
        found[place] = differs


@compiled
def values_in_both(grid: Grid, second: Ints, end: Places, chosen: Mask, found: Ints) -> int:
    """Write down the values of chosen columns that both rows of a pair have, if there is room; return how many.

    found: of each the place of its pair in `second`, its column, and the place of the second row's value; that of the
    first row is before it. Of a group without chosen columns all are taken.
    """
    base, columns, rows, group = grid
    count = 0
    for place in range(len(second)):
        row = second[place]
        own = group[row]
        all_of_group = not chosen[columns[own] : columns[own + 1]].any()
        for column in range(columns[own], columns[own + 1]):
            new = base[column] + row - rows[own]
            if (all_of_group or chosen[column]) and end[new] and end[new - 1]:
                if found.shape[1]:
                    found[0, count], found[1, count], found[2, count] = place, column, new
                count += 1
    return count


@compiled
def _differ(text: Octets, one: int, one_end: int, other: int, other_end: int) -> bool:
    """Return whether two values differ as text; quotes do not matter."""
    none = is_null(text, one, one_end)
    if none or is_null(text, other, other_end):
        return none != is_null(text, other, other_end)
    if text[one] == 0x22:
        one, one_end = one + 1, one_end - 1
    if text[other] == 0x22:
        other, other_end = other + 1, other_end - 1
    if one_end - one != other_end - other:
        return True
    for place in range(one_end - one):  # noqa: SIM110 - compiled
        if text[one + place] != text[other + place]:
            return True
    return False


class KnownValues(NamedTuple):
    """Values in JSON, one after another. bounds: where each begins, and the end."""

    text: Octets
    bounds: Places

    @classmethod
    def of(cls, written: Sequence[bytes]) -> KnownValues:
        """Return values, given as JSON without white space."""
        text = np.frombuffer(b"".join(written), np.uint8)
        return cls(text, np.cumsum([0, *map(len, written)]).astype(np.int32))


@compiled
def is_known(text: Octets, start: int, end: int, known: Octets, bounds: Places) -> bool:
    """Return whether a value is a known one."""
    nested = text[start] in (OPEN, LIST)  # which may have white space, as no known value has
    for one in range(len(bounds) - 1):
        at, of_known = start, bounds[one]
        while at < end and of_known < bounds[one + 1]:
            if nested and text[at] <= _SPACE:
                at += 1
                continue
            if text[at] != known[of_known]:
                break
            at, of_known = at + 1, of_known + 1
        if at == end and of_known == bounds[one + 1]:
            return True
    return False


def clear_known(text: Octets, values: Slices, known: KnownValues) -> None:
    """Take away the values that are known ones."""
    size = np.diff(known.bounds)
    sizes = np.zeros(known.bounds[-1] + 1, np.bool_)
    sizes[size] = True
    first_bytes = known.text[known.bounds[:-1]]
    nested = size[(first_bytes == OPEN) | (first_bytes == LIST)]
    _clear_known(text, values, known, sizes, int(nested.min(initial=len(text))))


@compiled
def _clear_known(text: Octets, values: Slices, known: KnownValues, sizes: Mask, least_nested: int) -> None:
    """Take away values. sizes: whether a known one has so many bytes.

    least_nested: how many bytes the least list or object among them has.
    """
    start, end = values.start, values.end
    known_text, bounds = known
    for place in range(len(end)):
        size = end[place] - start[place]
        may_be = size < len(sizes) and sizes[size]
        if not may_be and size > least_nested:  # white space may be in it
            may_be = text[start[place]] in (OPEN, LIST)
        if may_be and is_known(text, start[place], end[place], known_text, bounds):
            start[place], end[place] = 0, 0


@compiled
def clear_unchosen(
    text: Octets, grid: Grid, at: Ints, values: Slices, chosen: Mask, always: bool, empty: KnownValues
) -> None:
    """Take away what is not in chosen columns from the rows at some places of which all that is null, or in `empty`.

    always: whatever it is. Rows of a group without chosen columns are passed over.
    """
    base, columns, rows, group = grid
    start, end = values.start, values.end
    known_text, bounds = empty
    for row in at:
        own = group[row]
        alone = bool(chosen[columns[own] : columns[own + 1]].any())
        if not alone:
            continue
        for column in range(columns[own], columns[own + 1]):
            place = base[column] + row - rows[own]
            if alone and not always and not chosen[column]:
                alone = is_null(text, start[place], end[place]) or is_known(
                    text, start[place], end[place], known_text, bounds
                )
        for column in range(columns[own], columns[own + 1]):
            if alone and not chosen[column]:
                place = base[column] + row - rows[own]
                start[place], end[place] = 0, 0


def are_known(text: Octets, values: Slices, known: KnownValues) -> Mask:
    """Return which values are known ones."""
    found = np.empty(len(values.end), np.bool_)
    _are_known(text, values, known, found)
    return found


@compiled
def _are_known(text: Octets, values: Slices, known: KnownValues, found: Mask) -> None:
    start, end = values.start, values.end
    known_text, bounds = known
    for place in range(len(end)):
        found[place] = is_known(text, start[place], end[place], known_text, bounds)
