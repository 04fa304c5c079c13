"""Records of many tables, of which a block has few each: their members are found in the text of all of them at once.

A parser for each table costs as much as some hundred records (I6). Here the text is only cut into members; values of a
type, of whatever table, are then made in one call, those other than plain text and integers by Arrow's parser. What is
not as expected is left to a parser of its table, which tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, Octets, Raw, flat
from integrator.dialects import json_flat
from integrator.dialects.hvr_records import Places, Records
from integrator.dialects.hvr_slots import NOTHING, Slots
from integrator.dialects.json_columns import exact, typed
from integrator.dialects.json_objects import Objects, pieces
from integrator.dialects.json_text import BACKSLASH, QUOTE, SPACE
from integrator.dialects.lines import Lines, arrow_json
from integrator.dialects.values import ValueRefused
from integrator.errors import DataError
from integrator.schema import Table, Type

Part = tuple[Table, Places]
_MOST_NAMES = 1 << 24
"""Of which it is written down, for each table, what they are in it."""
_NULL = np.frombuffer(b"null", np.uint8)
_IN_INTEGER = np.zeros(256, bool)
_IN_INTEGER[list(b"-0123456789")] = True
_MINUS, _ZERO = b"-0"


def records(lines: Lines, parts: Sequence[Part], slots: Slots) -> list[Records]:
    """Return the records of the tables whose records are as expected; of none, where a value is not."""
    if len({table.name for table, _ in parts}) < len(parts):  # one table by two names
        return []
    half = len(parts) // 2
    if half and len(parts) * sum(len(table.columns) for table, _ in parts) > _MOST_NAMES:
        return records(lines, parts[:half], slots) + records(lines, parts[half:], slots)
    at = np.concatenate([places for _, places in parts])
    try:
        if len(at) < len(lines):
            found = _found(lines.take(at), np.arange(len(at)), parts, slots)
        else:
            found = _found(lines, at, parts, slots)
        if isinstance(found, _Found):
            return found.records(lines)
    except (DataError, ValueRefused, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return []
    others = [part for place, part in enumerate(parts) if place not in found]
    return records(lines, others, slots) if others else []


def _found(lines: Lines, at: Places, parts: Sequence[Part], slots: Slots) -> _Found | set[int]:
    """Find the values of lines, of which those `at` these places are the rows of the parts, one behind the other.

    Returns the parts in which a name is not known, or is twice, where there are any.
    """
    members = json_flat.members(lines)
    if members is None:
        objects = Objects(lines, "")
        lines, members = objects.lines, objects.members
    names = pieces(lines.data, members.name, members.name_end).dictionary_encode()
    if len(parts) * len(names.dictionary) > _MOST_NAMES:
        return set(range(len(parts)))
    of_names = slots.of_names([table.name for table, _ in parts], names.dictionary.to_pylist())
    table_of, row_of = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
    table_of[at] = np.repeat(np.arange(len(parts)), [len(places) for _, places in parts])
    row_of[at] = np.arange(len(at))
    slot = of_names[table_of[members.line], np.asarray(names.indices)]
    unknown = slot == NOTHING
    if unknown.any():
        return set(table_of[members.line[unknown]].tolist())
    slot = slot.astype(np.uint16) if len(slots.kind_of) < 1 << 16 else slot  # numpy sorts these by radix
    order = np.argsort(slot, kind="stable")
    line, slot = members.line[order], slot[order]
    twice = (line[1:] == line[:-1]) & (slot[1:] == slot[:-1])
    if twice.any():
        return set(table_of[line[1:][twice]].tolist())
    ends = np.cumsum(np.bincount(slot, minlength=len(slots.kind_of)))
    start, end = members.start[order], members.end[order]
    return _Found(lines.data, parts, slots, row_of[line], start, end, [0, *ends.tolist()])


@dataclass(frozen=True)
class _Found:
    """The values of records, slot by slot: the row of each, and where it begins and ends; bounds: of each slot.

    In the slot of a table's column they are in the order of rows.
    """

    data: Raw
    parts: Sequence[Part]
    slots: Slots
    row: Places
    start: Places
    end: Places
    bounds: list[int]

    def records(self, lines: Lines) -> list[Records]:
        """Return the records of each table. Raises ValueRefused and pa.ArrowInvalid for values of another type."""
        values = [
            _values(self.data, self.start[begin:end], self.end[begin:end], *kind)
            for kind, begin, end in (
                (kind, self.bounds[first], self.bounds[last]) for kind, first, last in self.slots.kinds
            )
        ]
        size = sum(len(places) for _, places in self.parts)
        meta = {name: self._spread(values, slot, 0, size, whole=False)[0] for name, slot in self.slots.of_meta.items()}
        result, before = [], 0
        for table, places in self.parts:
            columns, missing = {}, {}
            for name, slot in self.slots.of_table[table.name].items():
                whole = self.bounds[slot + 1] - self.bounds[slot] == len(places)
                columns[name], gone = self._spread(values, slot, before, len(places), whole=whole)
                if gone is not None:
                    missing[name] = gone
            own = {name: values.slice(before, len(places)) for name, values in meta.items()}
            result.append(Records(table.name, columns, missing, own, lines.numbers[places], places))
            before += len(places)
        return result

    def _spread(
        self, values: Sequence[pa.Array], slot: int, before: int, size: int, *, whole: bool
    ) -> tuple[pa.Array, Mask | None]:
        """Return the values of a slot for `size` rows behind `before`, and which of these have none.

        whole: each has one, and they are in order.
        """
        kind = self.slots.kind_of[slot]
        begin, end = self.bounds[slot], self.bounds[slot + 1]
        own = values[kind].slice(begin - self.bounds[self.slots.kinds[kind][1]], end - begin)
        if whole:
            return own, None
        at = np.full(size, -1)
        at[self.row[begin:end] - before] = np.arange(end - begin)
        return own.take(pa.array(at, mask=at < 0)), at < 0


def _values(data: Raw, start: Places, end: Places, parsed: pa.DataType, wanted: Type | None) -> pa.Array:
    """Return JSON values in their type. Raises ValueRefused, and pa.ArrowInvalid, for what is not of it."""
    if pa.types.is_string(parsed):
        values = _strings(data, start, end)
    elif pa.types.is_integer(parsed):
        values = _integers(data, start, end, parsed)
    else:
        values = _parsed(pieces(data, start, end), parsed)
    return values if wanted is None else typed(values, wanted)


def _strings(data: Raw, start: Places, end: Places) -> pa.Array:
    text = np.frombuffer(data, np.uint8)
    null = _nulls(text, start, end)
    if not ((text[start] == QUOTE) & (text[end - 1] == QUOTE) & (end - start >= 2) | null).all():
        raise pa.ArrowInvalid("no string")
    plain = pieces(data, start + ~null, np.where(null, start, end - 1))
    octets, offsets = flat(plain)
    special = np.flatnonzero((octets < SPACE) | (octets == QUOTE) | (octets == BACKSLASH))
    if len(special):
        rows = np.unique(np.searchsorted(offsets, special, side="right") - 1)
        there = np.zeros(len(plain), bool)
        there[rows] = True
        plain = pc.replace_with_mask(plain, there, _parsed(pieces(data, start[rows], end[rows]), pa.string()))
    return pc.if_else(null, None, plain) if null.any() else plain


def _integers(data: Raw, start: Places, end: Places, parsed: pa.DataType) -> pa.Array:
    text = np.frombuffer(data, np.uint8)
    null = _nulls(text, start, end)
    digits = pieces(data, start, np.where(null, start, end))
    first = start + (text[start] == _MINUS)
    if not _IN_INTEGER[flat(digits)[0]].all() or ((text[first] == _ZERO) & (end - first > 1)).any():
        return _parsed(pieces(data, start, end), parsed)
    return (pc.if_else(null, None, digits) if null.any() else digits).cast(parsed)


def _nulls(text: Octets, start: Places, end: Places) -> Mask:
    """Say which values are null."""
    null = text[start] == _NULL[0]
    at = np.flatnonzero(null)
    if len(at):
        null[at[(end[at] - start[at] != len(_NULL))]] = False
        at = np.flatnonzero(null)
        null[at] = (text[start[at][:, None] + np.arange(len(_NULL))] == _NULL).all(axis=1)
    return np.asarray(null, np.bool_)


def _parsed(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return JSON values as Arrow's parser reads them."""
    if not len(values):
        return pa.nulls(0, wanted)
    objects = pc.binary_join_element_wise('{"":', values, "}\n", "")
    octets, _ = flat(objects)
    found = arrow_json(pa.schema([("", wanted)]), "error")(octets.tobytes())[""].combine_chunks()
    if len(found) != len(values):
        raise pa.ArrowInvalid("not one value each")
    return exact(found)
