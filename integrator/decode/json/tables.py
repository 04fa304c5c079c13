"""Images of rows of many tables: the values of their columns, found in one pass, whatever the tables (I6).

Values of a kind are side by side, column after column, so that those of all tables are converted in one call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.arrow.compiled import compiled
from integrator.decode.json.characters import is_null
from integrator.decode.json.index import Nodes
from integrator.decode.json.names import begins_with
from integrator.decode.json.shapes import Layout, _Names
from integrator.decode.json.slices import Slices
from integrator.engine.arrays import Ints, Mask, Octets, Places, Words


class Images(NamedTuple):
    """The images of rows, part after part. begin, stop: the nodes of their members. part: of each row."""

    begin: Places
    stop: Places
    part: Places


class Grid(NamedTuple):
    """Where the value of a slot and a row is: base, slots and rows as in `Layout`, and the part of each row."""

    base: Ints
    slots: Ints
    rows: Ints
    part: Places


_FEW_UNKNOWN = 4096
"""Members that are no columns: with more of them, values are looked for twice."""


class Found(NamedTuple):
    """What was found in images. values: by their places in the layout.

    unknown: the rows and the nodes of members that are no columns. twice: the first row that has a column twice, or -1.
    """

    values: Slices
    unknown: tuple[Ints, Places]
    twice: int


def find_values(document: tuple[Words, Nodes], images: Images, layout: Layout) -> Found:
    """Return the values of images."""
    values = Slices.of_size(int(layout.bounds[-1]))
    unknown = np.empty(_FEW_UNKNOWN, np.int64), np.empty(_FEW_UNKNOWN, np.int32)
    names, place = layout.names, (layout.base, layout.rows)
    next_name = np.arange(1, len(names.hash) + 1)
    count, twice = _collect(document, images, names, (*place, next_name), values, unknown)
    if count > _FEW_UNKNOWN:
        unknown = np.empty(count, np.int64), np.empty(count, np.int32)
        _collect(document, images, names, (*place, next_name), Slices.of_size(int(layout.bounds[-1])), unknown)
    return Found(values, (unknown[0][:count], unknown[1][:count]), twice)


@compiled
def _collect(
    document: tuple[Words, Nodes],
    images: Images,
    names: _Names,
    layout: tuple[Ints, Ints, Ints],
    values: Slices,
    unknown: tuple[Ints, Places],
) -> tuple[int, int]:
    """Write down where values are; return how many members are no columns, and the first row with a column twice.

    layout: `base` and `rows` of a Layout, and of each name which one likely comes after it.
    """
    text, nodes = document
    hashes, labels, afters = nodes.hash, nodes.label, nodes.after
    node_start, node_end, node_escaped = nodes.start, nodes.end, nodes.escaped
    begin, stop, part_of = images.begin, images.stop, images.part
    name_hash, name_text, bounds = names.hash, names.text, names.bounds
    slot_of, first_of = names.slot, names.first
    base, rows, next_name = layout
    start, end, escaped = values.start, values.end, values.escaped
    unknown_row, unknown_node = unknown
    count, twice = 0, -1
    for row in range(len(begin)):
        part = part_of[row]
        first, last = first_of[part], first_of[part + 1]
        own_row = row - rows[part]
        node, likely = begin[row], first
        before = np.int64(-1)
        while node < stop[row]:
            own = hashes[node]
            name = likely if likely < last else first
            steps = last - first
            while steps > 0 and name_hash[name] != own:
                name = name + 1 if name + 1 < last else first
                steps -= 1
            if steps > 0 and begins_with(text, labels[node], name_text, bounds[name], bounds[name + 1] - bounds[name]):
                if before >= 0:
                    next_name[before] = name
                before = name
                likely = next_name[name]
                slot = slot_of[name]
                if slot >= 0:
                    place = base[slot] + own_row
                    if end[place] and twice < 0:
                        twice = row
                    start[place], end[place], escaped[place] = node_start[node], node_end[node], node_escaped[node]
            else:
                if count < len(unknown_row):
                    unknown_row[count], unknown_node[count] = row, node
                count += 1
            node = afters[node]
    return count, twice


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
def rows_with_values(grid: Grid, end: Places, found: Mask) -> None:
    """Write down which rows have a value, or null, in any column."""
    base, slots, rows, part = grid
    for row in range(len(part)):
        own = part[row]
        has = False
        for slot in range(slots[own], slots[own + 1]):
            has |= end[base[slot] + row - rows[own]] > 0
        found[row] = has


@compiled
def count_present(base: Ints, size: Ints, end: Places, present: Ints) -> None:
    """Write down of each slot, which has so many rows, how many of them have it."""
    for slot in range(len(base)):
        count = 0
        for place in range(base[slot], base[slot] + size[slot]):
            count += end[place] > 0
        present[slot] = count


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
