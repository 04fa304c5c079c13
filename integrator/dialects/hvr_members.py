"""Records of many tables, of which a block has few each: their members are found in the text of all of them at once.

A parser for each table costs as much as some hundred records (I6). Here the text is only cut into members; values of a
type, of whatever table, are then made in one call, those other than plain text and integers by Arrow's parser. What is
not as expected is left to a parser of its table, which tells what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrays import Mask
from integrator.dialects import json_flat, json_layout
from integrator.dialects.hvr_records import Places, Records
from integrator.dialects.hvr_slots import NOTHING, Slots, layout_of
from integrator.dialects.json_flat import Members
from integrator.dialects.json_layout import Values
from integrator.dialects.json_objects import Objects, pieces
from integrator.dialects.lines import Lines
from integrator.dialects.member_values import is_plain, values_of
from integrator.dialects.values import ValueRefused
from integrator.errors import DataError
from integrator.schema import Table
from integrator.spans import Spans, Whole

Part = tuple[Table, Places]
Find: TypeAlias = "Callable[[_Rows, Slots], _Found | set[int]]"
_MOST_NAMES = 1 << 24
"""Of which it is written down, for each table, what they are in it."""
_SHORT = 1 << 16


def records(lines: Lines, parts: Sequence[Part], slots: Slots) -> list[Records]:
    """Return the records of the tables whose records are as expected; of none, where a value is not."""
    if len({table.name for table, _ in parts}) < len(parts):  # one table by two names
        return []
    made, others = _records(lines, parts, slots, _by_layout)
    columns = sum(len(table.columns) for table, _ in others)
    for group in np.array_split(np.arange(len(others)), 1 + len(others) * columns // _MOST_NAMES):
        made += _records(lines, [others[place] for place in group], slots, _by_name)[0]
    return made


def _records(lines: Lines, parts: Sequence[Part], slots: Slots, find: Find) -> tuple[list[Records], list[Part]]:
    """Return the records of the tables in which `find` finds all, and the parts in which it does not."""
    others: list[Part] = []
    while parts:
        sizes = [len(places) for _, places in parts]
        at = np.concatenate([places for _, places in parts])
        taken, at = (lines.take(at), np.arange(len(at))) if len(at) < len(lines) else (lines, at)
        rows = _Rows(taken, parts, at, np.empty(len(at), np.int64), np.empty(len(at), np.int64))
        rows.part[at], rows.row[at] = np.repeat(np.arange(len(parts)), sizes), np.arange(len(at))
        try:
            found = find(rows, slots)
            if isinstance(found, _Found):
                return found.records(lines), others
        except (DataError, ValueRefused, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return [], others
        others += [part for place, part in enumerate(parts) if place in found]
        parts = [part for place, part in enumerate(parts) if place not in found]
    return [], others


@dataclass(frozen=True)
class _Rows:
    """Lines that are the rows of parts. at: the lines' places, part behind part. part, row: of each line."""

    lines: Lines
    parts: Sequence[Part]
    at: Places
    part: Places
    row: Places


def _by_layout(rows: _Rows, slots: Slots) -> _Found | set[int]:
    """Find values; or return the parts of which a record has other names than their first one, or unknown ones."""
    sizes = [len(places) for _, places in rows.parts]
    heads = rows.lines.array.take(pa.array(rows.at[np.cumsum([0, *sizes[:-1]])])).to_pylist()
    found = [layout_of(slots, table.name, _names(head)) for (table, _), head in zip(rows.parts, heads, strict=True)]
    layouts = [one for one in found if one is not None]
    if len(layouts) < len(found):
        return {place for place, one in enumerate(found) if one is None}
    values = json_layout.values(rows.lines, [layout for layout, _ in layouts], rows.part)
    if not isinstance(values, Values):
        return set(rows.part[values].tolist())
    slot = np.concatenate([own for _, own in layouts])
    slot = slot.astype(np.uint16) if len(slots.kind_of) < _SHORT else slot
    return _Found.of(rows, slots, slot[values.name], values, is_plain=is_plain(rows.lines))


def _names(record: str) -> tuple[str, ...]:
    """Return the names of an object, of none where it is not one."""
    try:
        pairs = json.loads(record, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name, _ in pairs) if record.startswith("{") else ()


def _by_name(rows: _Rows, slots: Slots) -> _Found | set[int]:
    """Find values; or return the parts in which a name is not known, or is twice."""
    lines = rows.lines
    members = json_flat.members(lines)
    if members is None:
        objects = Objects(lines, "")
        lines, members = objects.lines, objects.members
    names = pieces(lines.data, members.name, members.name_end).dictionary_encode()
    if len(rows.parts) * len(names.dictionary) > _MOST_NAMES:
        return set(range(len(rows.parts)))
    of_names = slots.of_names([table.name for table, _ in rows.parts], names.dictionary.to_pylist())
    slot = of_names[rows.part[members.line], np.asarray(names.indices)]
    unknown = slot == NOTHING
    if unknown.any():
        return set(rows.part[members.line[unknown]].tolist())
    slot = slot.astype(np.uint16) if len(slots.kind_of) < _SHORT else slot
    found = _Found.of(replace(rows, lines=lines), slots, slot, members, is_plain=False)
    line, slot = members.line[found.order], slot[found.order]
    twice = (line[1:] == line[:-1]) & (slot[1:] == slot[:-1])
    return set(rows.part[line[1:][twice]].tolist()) if twice.any() else found


@dataclass(frozen=True)
class _Found:
    """The values of records, slot by slot: their line, and where each begins and ends; bounds: of each slot.

    In the slot of a table's column they are in the order of rows. order: where they stood before. is_plain: what stands
    between quotes is plain text.
    """

    rows: _Rows
    slots: Slots
    line: Places
    order: Places
    start: Places
    end: Places
    bounds: Places
    is_plain: bool

    @staticmethod
    def of(
        rows: _Rows, slots: Slots, slot: npt.NDArray[np.integer], values: Members | Values, *, is_plain: bool
    ) -> _Found:
        """Return values by their slots."""
        order = np.argsort(slot, kind="stable")  # numpy sorts short numbers by radix
        bounds = np.concatenate([[0], np.cumsum(np.bincount(slot, minlength=len(slots.kind_of)))])
        start, end = values.start[order], values.end[order]
        return _Found(rows, slots, values.line, order, start, end, bounds, is_plain)

    def records(self, lines: Lines) -> list[Records]:
        """Return the records: those of tables with all their columns together, others table by table.

        Raises ValueRefused and pa.ArrowInvalid for values of another type.
        """
        values = [
            values_of(self.rows.lines.data, self.start[begin:end], self.end[begin:end], *kind, is_plain=self.is_plain)
            for kind, begin, end in (
                (kind, self.bounds[first], self.bounds[last]) for kind, first, last in self.slots.kinds
            )
        ]
        meta = {name: self._spread(values, slot, 0, len(self.rows.at))[0] for name, slot in self.slots.of_meta.items()}
        sizes = [len(places) for _, places in self.rows.parts]
        before = np.cumsum([0, *sizes[:-1]]).tolist()
        full = self.slots.full([table.name for table, _ in self.rows.parts], np.diff(self.bounds), sizes)
        result = self._full(values, meta, lines, full) if full.any() else []
        for place in np.flatnonzero(~full).tolist():
            table, places = self.rows.parts[place]
            columns, missing = {}, {}
            for name, slot in self.slots.of_table[table.name].items():
                columns[name], gone = self._spread(values, slot, before[place], len(places))
                if gone.any():
                    missing[name] = gone
            own = {name: values.slice(before[place], len(places)) for name, values in meta.items()}
            result.append(Records(table.name, columns, missing, own, lines.numbers[places], places))
        return result

    def _full(self, values: Sequence[pa.Array], meta: dict[str, pa.Array], lines: Lines, full: Mask) -> list[Records]:
        """Return the records of tables that have all their columns."""
        parts = [part for part, is_full in zip(self.rows.parts, full.tolist(), strict=True) if is_full]
        if len(parts) < len(full):
            own = pa.array(np.repeat(full, [len(places) for _, places in self.rows.parts]))
            meta = {name: column.filter(own) for name, column in meta.items()}
        firsts = np.array([first for _, first, _ in self.slots.kinds])
        starts = self.bounds[:-1] - self.bounds[firsts][self.slots.kind_of]
        whole = Whole(values, np.array(self.slots.kind_of), starts)
        columns = [Spans(whole, self.slots.by_name[table.name], len(places)) for table, places in parts]
        at = np.concatenate([places for _, places in parts])
        shares = tuple((table.name, len(places)) for table, places in parts)
        return [Records(shares[0][0], {}, {}, meta, lines.numbers[at], at, shares=shares, own=tuple(columns))]

    def _own(self, values: Sequence[pa.Array], slot: int) -> pa.Array:
        """Return the values of a slot."""
        kind, begin = self.slots.kind_of[slot], self.bounds[slot]
        return values[kind].slice(begin - self.bounds[self.slots.kinds[kind][1]], self.bounds[slot + 1] - begin)

    def _spread(self, values: Sequence[pa.Array], slot: int, before: int, size: int) -> tuple[pa.Array, Mask]:
        """Return the values of a slot for `size` rows behind `before`, and which of these have none."""
        begin, end = self.bounds[slot], self.bounds[slot + 1]
        at = np.full(size, -1)
        at[self.rows.row[self.line[self.order[begin:end]]] - before] = np.arange(end - begin)
        return self._own(values, slot).take(pa.array(at, mask=at < 0)), at < 0
