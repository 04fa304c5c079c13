"""Rows of tables that are akin, where a batch has few of each: what does not depend on their columns is done once.

They go through the encoder of their stand-in as one; the columns of all of them are written in one call for each type,
and are woven into rows in one call more (I6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import Mask
from integrator.arrow.spans import Columns, Numbers
from integrator.contracts.changes import AnyChanges, Changes, Joint, behind_each_other
from integrator.contracts.recipe import TRUNCATE
from integrator.encode import weave
from integrator.encode.akin import ROW, Kin, Writer
from integrator.encode.weave import Pattern, Rows, around, woven
from integrator.formats.contract import Arrays, Missing, RefusedValue, Unsayable


@dataclass(frozen=True)
class Family:
    """Change rows of tables that are akin: full parts of one table, of several alike, or of several that are not.

    kin: how each segment is divided; a part of tables that are not alike has one for each of them, others are one.
    """

    parts: Sequence[AnyChanges]
    kin: Sequence[Kin]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the rows are of."""
        return tuple(table for part in self.parts for table in part.tables)

    def apart(self) -> Sequence[AnyChanges]:
        """Return the rows in parts of tables with the same columns."""
        return [one for part in self.parts for one in (part.apart() if part.own else [part])]

    @cached_property
    def _segments(self) -> Sequence[tuple[Mapping[str, pa.Array], int]]:
        """The columns of each segment, and how many rows it has."""
        found: list[tuple[Mapping[str, pa.Array], int]] = []
        for part in self.parts:
            if isinstance(part, Joint) and part.own:
                found += zip(part.own, part.sizes, strict=True)
            else:
                found.append((_rows(part).columns, len(part)))
        return found

    def joint(self) -> Joint:
        """Return the rows with the columns of the stand-in."""
        bare = [replace(_rows(part), columns={}) for part in self.parts]
        sizes = [size for part in self.parts for size in (part.sizes if isinstance(part, Joint) else (len(part),))]
        joint = behind_each_other(bare, self.tables, sizes)
        columns = {ROW: pa.array(np.arange(len(joint)))}
        names = [name for name, _ in self.kin[0].given]  # of all, for they have one stand-in
        given = Columns.of(self._segments, [tuple(source for _, source in kin.given) for kin in self.kin])
        for place, name in enumerate(names):
            columns[name] = given.take(np.arange(place, len(given), len(names))).joined()
        return replace(joint, rows=replace(joint.rows, columns=columns))

    def encode(self, values: Arrays, _missing: Missing) -> pa.Array:
        """Return the encoded rows of the stand-in, as an Encoder; RefusedValue does not say which row it is."""
        try:
            return self._encoded(values)
        except (Unsayable, pa.ArrowInvalid) as error:  # the latter: more text than an array holds
            raise RefusedValue(0, str(error)) from None

    def _encoded(self, values: Arrays) -> pa.Array:
        """Return the rows, each of what is written of its own columns, and of the fields that the stand-in has."""
        written = _Written()
        members = _members(tuple(self.kin))
        start = np.empty(len(members.computed), np.int64)
        start[~members.computed], quotes = self._written_columns(written, members)
        fields = [written.add(writer, values[name]) for name, writer in members.fields]
        start[members.computed] = np.array([begin for begin, _ in fields], np.int64)[members.field]
        pattern = _pattern(tuple(self.kin), quotes, tuple(quote for _, quote in fields))
        kept = np.asarray(values[ROW])
        bounds = np.cumsum([0, *(size for _, size in self._segments)])
        segment = np.repeat(np.arange(len(self.kin)), np.diff(np.searchsorted(kept, bounds)))
        rows = Rows(segment, kept - bounds[segment], np.arange(len(kept)))
        return woven(written.arrays, pattern, weave.Columns(start, members.computed), rows)

    def _written_columns(self, written: _Written, members: _Members) -> tuple[Numbers, Quotes]:
        """Write the columns that are only written.

        Returns of each where it begins, and what stands around values by the number of their writer. Raises
        RefusedValue for null where it may not be.
        """
        columns = Columns.of(self._segments, [kin.sources for kin in self.kin])
        for place in np.flatnonzero(columns.with_nulls() & members.required).tolist():
            if columns.take(np.array([place])).joined().null_count:
                raise RefusedValue(0, "null")
        order = columns.order(members.writer)
        starts, quotes = np.empty(len(columns), np.int64), []
        ends = np.flatnonzero(np.diff(members.writer[order])) + 1
        for at in np.split(order, ends) if len(order) else ():
            alike, number = columns.take(at), int(members.writer[at[0]])
            start, quote = written.add(members.by_number[number], alike.joined())
            quotes.append((number, quote))
            starts[at] = start + np.cumsum(alike.size) - alike.size
        return starts, tuple(quotes)


Quotes: TypeAlias = "tuple[tuple[int, str | bytes], ...]"
"""What stands around values, by the number of their writer."""


@dataclass(frozen=True)
class _Members:
    """The members of tables, one behind another. computed: which are fields of the stand-in, the others are columns.

    writer: the number of what writes each column; by_number: these. required: which columns may not be null. fields: of
    the stand-in, each once; field: which one each computed member is.
    """

    computed: Mask
    writer: Numbers
    by_number: Mapping[int, Writer]
    required: Mask
    fields: Sequence[tuple[str, Writer]]
    field: Numbers


@lru_cache(maxsize=8)
def _members(kin: tuple[Kin, ...]) -> _Members:
    """Return the members of tables that are akin: most often the same tables come together again."""
    every = [member for table in kin for member in table.members]
    computed = np.array([not member.source for member in every], np.bool_)
    fields = [(member.name, member.writer) for member in every if not member.source]
    places = {field: place for place, field in enumerate(dict.fromkeys(fields))}
    columns = [member for member in every if member.source]
    return _Members(
        computed,
        np.array([member.writer.number for member in columns], np.int64),
        {member.writer.number: member.writer for member in columns},
        np.array([member.required for member in columns], np.bool_),
        list(places),
        np.array([places[field] for field in fields], np.int64),
    )


@lru_cache(maxsize=8)
def _pattern(kin: tuple[Kin, ...], quotes: Quotes, of_fields: tuple[str | bytes, ...]) -> Pattern:
    """Return what stands around the values of tables."""
    members, by_number = _members(kin), dict(quotes)
    of_field = iter(members.field.tolist())
    return Pattern.of(
        [
            around(
                table.between,
                tuple(
                    by_number[member.writer.number] if member.source else of_fields[next(of_field)]
                    for member in table.members
                ),
            )
            for table in kin
        ]
    )


class _Written:
    """What was written, one array behind the other."""

    def __init__(self) -> None:
        self.arrays: list[pa.Array] = []
        self._size = 0

    def add(self, writer: Writer, values: pa.Array) -> tuple[int, str | bytes]:
        """Write values; return where they begin, and what stands around each."""
        text, quote = writer.write(values)
        self.arrays.append(text)
        self._size += len(text)
        return self._size - len(text), quote


def is_full(part: AnyChanges) -> bool:
    """Say whether each row has a value, or null, in each column, and so stands for itself, not for a whole table."""
    rows = _rows(part)
    return not (rows.missing or rows.left_out or len(truncates(part)))


def truncates(part: AnyChanges) -> Numbers:
    """Return the places of rows that stand for a whole table."""
    return np.flatnonzero(_rows(part).op.to_numpy() == TRUNCATE)


def _rows(part: AnyChanges) -> Changes:
    return part.rows if isinstance(part, Joint) else part
