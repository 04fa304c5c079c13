"""Values of the columns of many rows, found by the names of members in one pass, however many names there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Places, Words
from integrator.engine.compiled import compiled
from integrator.engine.index import Nodes
from integrator.engine.values import Slices
from integrator.engine.words import begins_with


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


class ColumnNames(NamedTuple):
    """The names of all parts. text: as words, see `words`. first: of each part the first one. slot: over all parts."""

    hash: Words
    text: Words
    bounds: Places
    slot: Places
    first: Ints


_FEW_UNKNOWN = 4096
"""Members that are no columns: with more of them, values are looked for twice."""


class Found(NamedTuple):
    """What was found in images. values: by their places in the layout.

    unknown: the rows and the nodes of members that are no columns. twice: the first row that has a column twice, or -1.
    """

    values: Slices
    unknown: tuple[Ints, Places]
    twice: int


def find_values(
    document: tuple[Words, Nodes], images: Images, names: ColumnNames, place: tuple[Ints, Ints], size: int
) -> Found:
    """Return the values of images. place: `base` and `rows` of a Grid. size: of all values."""
    values = Slices.of_size(size)
    unknown = np.empty(_FEW_UNKNOWN, np.int64), np.empty(_FEW_UNKNOWN, np.int32)
    next_name = np.arange(1, len(names.hash) + 1)
    count, twice = _collect(document, images, names, (*place, next_name), values, unknown)
    if count > _FEW_UNKNOWN:
        unknown = np.empty(count, np.int64), np.empty(count, np.int32)
        _collect(document, images, names, (*place, next_name), Slices.of_size(size), unknown)
    return Found(values, (unknown[0][:count], unknown[1][:count]), twice)


@compiled
def _collect(
    document: tuple[Words, Nodes],
    images: Images,
    names: ColumnNames,
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
