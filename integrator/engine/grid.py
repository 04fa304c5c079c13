"""Values of the columns of many rows, found by the names of members in one pass, however many names there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Places, Words
from integrator.engine.compiled import compiled
from integrator.engine.index import Nodes
from integrator.engine.values import Slices
from integrator.engine.words import begins_with


class Spans(NamedTuple):
    """The members of rows, group after group. begin, stop: their nodes. group: of each row."""

    begin: Places
    stop: Places
    group: Places


class Grid(NamedTuple):
    """Where the value of a column and a row is: the rows of a group have the same columns.

    base: the place of each column's first value. columns, rows: the first ones of each group, and the number of all.
    group: of each row.
    """

    base: Ints
    columns: Ints
    rows: Ints
    group: Places


class ColumnNames(NamedTuple):
    """The names of the columns of all groups.

    hash: of each. text: their JSON, as words, see `words`. bounds: where each begins there, and the end. column: of
    each name, -1 for one that is passed over. first: the first name of each group, and the number of all.
    """

    hash: Words
    text: Words
    bounds: Places
    column: Places
    first: Ints


_FEW_UNKNOWN = 4096
"""Members that are no columns: with more of them, values are searched for twice."""


class Found(NamedTuple):
    """What was found in rows. values: by their places in the grid.

    unknown_row, unknown_node: of members that are no columns. twice: the first row that has a column twice, or -1.
    """

    values: Slices
    unknown_row: Ints
    unknown_node: Places
    twice: int


def find_values(
    text: Words, nodes: Nodes, spans: Spans, names: ColumnNames, base: Ints, rows: Ints, size: int
) -> Found:
    """Return the values of rows. base, rows: as in `Grid`. size: the number of all values."""
    next_name = np.arange(1, len(names.hash) + 1)
    room, count = 0, _FEW_UNKNOWN
    while count > room:
        room = count
        values, row, node = Slices.of_size(size), np.empty(room, np.int64), np.empty(room, np.int32)
        count, twice = _collect(text, nodes, spans, names, base, rows, next_name, values, row, node)
    return Found(values, row[:count], node[:count], twice)


@compiled
def _collect(
    text: Words,
    nodes: Nodes,
    spans: Spans,
    names: ColumnNames,
    base: Ints,
    rows: Ints,
    next_name: Ints,
    values: Slices,
    unknown_row: Ints,
    unknown_node: Places,
) -> tuple[int, int]:
    """Write down where values are; return how many members are no columns, and the first row with a column twice.

    next_name: of each name which one likely comes after it, learned on the way.
    """
    hashes, labels, afters = nodes.hash, nodes.label, nodes.after
    node_start, node_end, node_escaped = nodes.start, nodes.end, nodes.escaped
    begin, stop, group_of = spans.begin, spans.stop, spans.group
    name_hash, name_text, bounds = names.hash, names.text, names.bounds
    column_of, first_of = names.column, names.first
    start, end, escaped = values.start, values.end, values.escaped
    count, twice = 0, -1
    for row in range(len(begin)):
        group = group_of[row]
        first, last = first_of[group], first_of[group + 1]
        own_row = row - rows[group]
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
                column = column_of[name]
                if column >= 0:
                    place = base[column] + own_row
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
    base, columns, rows, group = grid
    for row in range(len(group)):
        own = group[row]
        has = False
        for column in range(columns[own], columns[own + 1]):
            has |= end[base[column] + row - rows[own]] > 0
        found[row] = has


@compiled
def count_present(base: Ints, size: Ints, end: Places, present: Ints) -> None:
    """Write down of each column, which has so many values, how many of them are there."""
    for column in range(len(base)):
        count = 0
        for place in range(base[column], base[column] + size[column]):
            count += end[place] > 0
        present[column] = count
