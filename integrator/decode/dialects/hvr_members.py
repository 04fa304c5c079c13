"""Records of tables, of a block's lines: cut into values in one pass over all, whatever the tables.

A parser for each table costs as much as some hundred records (I6). Here the lines are cut into values together; values
of a type, of whatever table, are then made in one call. What is not as expected is left to a parser of its table, which
tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import Mask
from integrator.arrow.spans import Spans, Whole
from integrator.decode.dialects.hvr_records import META, Places, Records
from integrator.decode.dialects.hvr_slots import Layout, Slots
from integrator.decode.json.lines import Lines
from integrator.decode.json.scan import NOT_SO, Objects, Values, scan
from integrator.decode.json.values import values_of
from integrator.decode.text.refused import ValueRefused
from integrator.errors import DataError
from integrator.schema import Table

Part = tuple[Table, Places]


def alike(lines: Lines, parts: Sequence[Part], slots: Slots) -> list[Records]:
    """Return the records of one table, or of tables with the same columns; none where one is not as expected."""
    at = np.concatenate([places for _, places in parts])
    found = _Found.of(lines, [(parts[0][0], at)], slots)
    if found is None or found.others:
        return []
    shares = tuple((table.name, len(places)) for table, places in parts) if len(parts) > 1 else ()
    return [found.one(0, lines, shares)]


def each(lines: Lines, parts: Sequence[Part], slots: Slots) -> list[Records]:
    """Return the records of the tables whose records are as expected; of none, where a value is not."""
    if len({table.name for table, _ in parts}) < len(parts):  # one table by two names
        return []
    while parts:
        found = _Found.of(lines, parts, slots)
        if found is None:
            return []
        if not found.others:
            return found.all(lines)
        parts = [part for place, part in enumerate(parts) if place not in found.others]
    return []


@dataclass(frozen=True)
class _Found:
    """Values of tables' records. values: by kind. others: the places of tables whose records are not as expected."""

    parts: Sequence[Part]
    slots: Slots
    layout: Layout
    at: Values
    values: Sequence[pa.Array]
    count: Places
    others: frozenset[int] = frozenset()

    @staticmethod
    def of(lines: Lines, parts: Sequence[Part], slots: Slots) -> _Found | None:
        """Find the values of records, of some tables' each its own; None where one is not of its type."""
        tables, sizes = [table.name for table, _ in parts], [len(places) for _, places in parts]
        layout = slots.layout(tables, sizes)
        kinds = np.array([slots.place[table] for table in tables])
        kind, row = np.full(len(lines), NOT_SO, np.int32), np.zeros(len(lines), np.int32)
        every = np.concatenate([places for _, places in parts])
        kind[every] = np.repeat(kinds, sizes)
        row[every] = np.arange(len(every)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at, count = scan(lines.text, Objects(lines.offsets, kind, row), slots.names, layout.room)
        others = {place for place, table in enumerate(tables) if table in slots.left}
        others |= set(np.flatnonzero(count[kinds] == NOT_SO).tolist())
        if others:
            return _Found(parts, slots, layout, at, (), count[kinds], frozenset(others))
        spans = [slice(*layout.bounds[place : place + 2].tolist()) for place in range(len(slots.kinds))]
        try:
            values = [
                values_of(lines.text, Values(at.start[span], at.end[span], at.escaped[span]), *kind)
                for kind, span in zip(slots.kinds, spans, strict=True)
            ]
        except (DataError, ValueRefused, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowCapacityError):
            return None
        return _Found(parts, slots, layout, at, values, count[kinds])

    def all(self, lines: Lines) -> list[Records]:
        """Return the records: those of tables with all their columns together, others table by table."""
        sizes = [len(places) for _, places in self.parts]
        full = self.count == [size * len(table.columns) for (table, _), size in zip(self.parts, sizes, strict=True)]
        result = self._full(lines, full) if full.any() else []
        return result + [self.one(place, lines) for place in np.flatnonzero(~full).tolist()]

    def one(self, place: int, lines: Lines, shares: tuple[tuple[str, int], ...] = ()) -> Records:
        """Return the records of a table, or as if of one."""
        table, at = self.parts[place]
        columns, missing = {}, {}
        for name, slot in self.slots.by_name[table.name].items():
            columns[name] = self._values(slot, len(at))
            base = int(self.layout.room.base[slot])
            gone = self.at.end[base : base + len(at)] == 0
            if gone.any():
                missing[name] = gone
        first = int(self.slots.names.first[self.slots.place[table.name]])
        meta = {name: self._values(slot, len(at)) for slot, name in enumerate(META, first)}
        return Records(table.name, columns, missing, meta, lines.numbers[at], at, shares=shares)

    def _full(self, lines: Lines, full: Mask) -> list[Records]:
        """Return the records of tables that have all their columns."""
        parts = [part for part, is_full in zip(self.parts, full.tolist(), strict=True) if is_full]
        sizes = [len(places) for _, places in self.parts]
        first = int(self.slots.names.first[self.slots.place[self.parts[0][0].name]])
        meta = {name: self._values(slot, sum(sizes)) for slot, name in enumerate(META, first)}
        if len(parts) < len(full):
            own = pa.array(np.repeat(full, sizes))
            meta = {name: column.filter(own) for name, column in meta.items()}
        whole = Whole(self.values, self.slots.kind_of, self.layout.room.base - self.layout.bounds[self.slots.kind_of])
        columns = [Spans(whole, self.slots.by_name[table.name], len(places)) for table, places in parts]
        at = np.concatenate([places for _, places in parts])
        shares = tuple((table.name, len(places)) for table, places in parts)
        return [Records(shares[0][0], {}, {}, meta, lines.numbers[at], at, shares=shares, own=tuple(columns))]

    def _values(self, slot: int, size: int) -> pa.Array:
        """Return the values of a slot, of an hvr_ name also those of the tables behind."""
        kind = int(self.slots.kind_of[slot])
        return self.values[kind].slice(int(self.layout.room.base[slot] - self.layout.bounds[kind]), size)
