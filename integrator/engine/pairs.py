"""Rows in pairs, each with the one before it, and values that stand for none."""

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
def fill_pairs(grid: Grid, after: Ints, values: Slices, fill: tuple[bool, bool]) -> None:
    """Give images of an update the values that only the other one has. after: the rows of after images of pairs.

    fill: whether after images take values, and whether before images do.
    """
    base, slots, rows, part = grid
    start, end, escaped = values.start, values.end, values.escaped
    fill_after, fill_before = fill
    for row in after:
        own = part[row]
        for slot in range(slots[own], slots[own + 1]):
            new = base[slot] + row - rows[own]
            old = new - 1
            if fill_after and end[new] == 0:
                start[new], end[new], escaped[new] = start[old], end[old], escaped[old]
            elif fill_before and end[old] == 0:
                start[old], end[old], escaped[old] = start[new], end[new], escaped[new]


@compiled
def changed_keys(text: Octets, grid: Grid, after: Ints, values: Slices, is_key: Mask, found: Mask) -> None:
    """Write down of which updates a key column is written differently than before: its value may be the same.

    Of tables without a key all columns are compared.
    """
    base, slots, rows, part = grid
    start, end = values.start, values.end
    for place in range(len(after)):
        row = after[place]
        own = part[row]
        keyless = not is_key[slots[own] : slots[own + 1]].any()
        changed = False
        for slot in range(slots[own], slots[own + 1]):
            if not (keyless or is_key[slot]):
                continue
            new = base[slot] + row - rows[own]
            old = new - 1
            if end[new] and end[old] and _differ(text, start[new], end[new], start[old], end[old]):
                changed = True
        found[place] = changed


@compiled
def key_values(grid: Grid, after: Ints, end: Places, is_key: Mask, found: Ints) -> int:
    """Write down the key values of updates that both images have, if there is room; return how many there are.

    found: of each the place of its update in `after`, its slot, and its place among the values; that of the before
    image is before it. Of tables without a key all columns are compared.
    """
    base, slots, rows, part = grid
    count = 0
    for place in range(len(after)):
        row = after[place]
        own = part[row]
        keyless = not is_key[slots[own] : slots[own + 1]].any()
        for slot in range(slots[own], slots[own + 1]):
            new = base[slot] + row - rows[own]
            if (keyless or is_key[slot]) and end[new] and end[new - 1]:
                if found.shape[1]:
                    found[0, count], found[1, count], found[2, count] = place, slot, new
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


class Placeholders(NamedTuple):
    """Placeholders, as JSON, one after another. bounds: where each begins, and the end."""

    text: Octets
    bounds: Places

    @classmethod
    def of(cls, written: Sequence[bytes]) -> Placeholders:
        """Return placeholders, given as JSON without white space."""
        text = np.frombuffer(b"".join(written), np.uint8)
        return cls(text, np.cumsum([0, *map(len, written)]).astype(np.int32))


@compiled
def is_placeholder(text: Octets, start: int, end: int, known: Octets, bounds: Places) -> bool:
    """Return whether a value is a placeholder."""
    nested = text[start] in (OPEN, LIST)  # which may have white space, as no placeholder here has
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


def clear_placeholders(text: Octets, values: Slices, known: Placeholders) -> None:
    """Take away the values that are a placeholder."""
    size = np.diff(known.bounds)
    sizes = np.zeros(known.bounds[-1] + 1, np.bool_)
    sizes[size] = True
    first_bytes = known.text[known.bounds[:-1]]
    nested = size[(first_bytes == OPEN) | (first_bytes == LIST)]
    _clear_placeholders(text, values, known, (sizes, int(nested.min(initial=len(text)))))


@compiled
def _clear_placeholders(text: Octets, values: Slices, known: Placeholders, given: tuple[Mask, int]) -> None:
    """Take away values. given: whether a placeholder has so many bytes, and the bytes of the least list or object."""
    start, end = values.start, values.end
    known_text, bounds = known
    sizes, least_nested = given
    for place in range(len(end)):
        size = end[place] - start[place]
        may_be = size < len(sizes) and sizes[size]
        if not may_be and size > least_nested:  # white space may be in it
            may_be = text[start[place]] in (OPEN, LIST)
        if may_be and is_placeholder(text, start[place], end[place], known_text, bounds):
            start[place], end[place] = 0, 0


@compiled
def clear_beside_keys(
    text: Octets,
    grid: Grid,
    before: Ints,
    values: Slices,
    keys: tuple[Mask, bool],
    empty: Placeholders,
) -> None:
    """Take away what is beside the key in before images of which all that is null, or a placeholder of `empty`.

    before: the rows of before images. keys: which slots are in the key, and whether all beside it is taken away. Tables
    without a key are passed over.
    """
    is_key, always = keys
    base, slots, rows, part = grid
    start, end = values.start, values.end
    known_text, bounds = empty
    for row in before:
        own = part[row]
        alone = bool(is_key[slots[own] : slots[own + 1]].any())
        if not alone:
            continue
        for slot in range(slots[own], slots[own + 1]):
            place = base[slot] + row - rows[own]
            if alone and not always and not is_key[slot]:
                alone = is_null(text, start[place], end[place]) or is_placeholder(
                    text, start[place], end[place], known_text, bounds
                )
        for slot in range(slots[own], slots[own + 1]):
            if alone and not is_key[slot]:
                place = base[slot] + row - rows[own]
                start[place], end[place] = 0, 0


def are_placeholders(text: Octets, values: Slices, known: Placeholders) -> Mask:
    """Return which values are a placeholder."""
    found = np.empty(len(values.end), np.bool_)
    _are_placeholders(text, values, known, found)
    return found


@compiled
def _are_placeholders(text: Octets, values: Slices, known: Placeholders, found: Mask) -> None:
    start, end = values.start, values.end
    known_text, bounds = known
    for place in range(len(end)):
        found[place] = is_placeholder(text, start[place], end[place], known_text, bounds)
