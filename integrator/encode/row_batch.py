"""Rows of tables with the same shared recipe, where a batch has few of each: what they share is done once.

They go through the encoder of their shared recipe as one; the columns of all of them are written in one call for each
type, and put together to rows in one call more (I6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import Mask
from integrator.arrow.column_slices import Columns, Numbers
from integrator.contracts.changes import AnyChanges, Changes, MultiTableChanges, concat_tables
from integrator.contracts.operations import TRUNCATE
from integrator.encode import row_writer
from integrator.encode.row_layout import ROW, RowLayout, Writer
from integrator.encode.row_writer import Pattern, Rows, around, write_rows
from integrator.formats.contract import Arrays, InvalidValue, Missing, UnsupportedValue


@dataclass(frozen=True)
class RowBatch:
    """Change rows of tables with the same shared recipe: parts of one table, of several with the same columns, or not.

    A segment is the rows of one table, or of several with the same columns. layouts: how each is divided; a part of
    tables of unlike columns has one for each of them, others are one.
    """

    parts: Sequence[AnyChanges]
    layouts: Sequence[RowLayout]

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
            if isinstance(part, MultiTableChanges) and part.own:
                found += zip(part.own, part.sizes, strict=True)
            else:
                found.append((_rows(part).columns, len(part)))
        return found

    def joint(self) -> MultiTableChanges:
        """Return the rows with the columns of the shared recipe."""
        bare = [replace(_rows(part), columns={}) for part in self.parts]
        sizes = [
            size
            for part in self.parts
            for size in (part.sizes if isinstance(part, MultiTableChanges) else (len(part),))
        ]
        joint = concat_tables(bare, self.tables, sizes)
        columns = {ROW: pa.array(np.arange(len(joint)))}
        names = [name for name, _ in self.layouts[0].given]  # of all, for they have one shared recipe
        given = Columns.of(self._segments, [tuple(source for _, source in layouts.given) for layouts in self.layouts])
        for place, name in enumerate(names):
            columns[name] = given.take(np.arange(place, len(given), len(names))).joined()
        return replace(joint, rows=replace(joint.rows, columns=columns))

    def encode(self, values: Arrays, _missing: Missing) -> pa.Array:
        """Return the encoded rows of the shared recipe, as an Encoder; InvalidValue does not say which row it is."""
        try:
            return self._encoded(values)
        except (UnsupportedValue, pa.ArrowInvalid) as error:  # the latter: more text than an array holds
            raise InvalidValue(0, str(error)) from None

    def _encoded(self, values: Arrays) -> pa.Array:
        """Return the rows, each of what is written of its own columns, and of the fields that the shared recipe has."""
        written = _Written()
        members = _members(tuple(self.layouts))
        start = np.empty(len(members.computed), np.int64)
        start[~members.computed], quotes = self._written_columns(written, members)
        fields = [written.add(writer, values[name]) for name, writer in members.fields]
        start[members.computed] = np.array([begin for begin, _ in fields], np.int64)[members.field]
        pattern = _pattern(tuple(self.layouts), quotes, tuple(quote for _, quote in fields))
        kept = np.asarray(values[ROW])
        bounds = np.cumsum([0, *(size for _, size in self._segments)])
        segment = np.repeat(np.arange(len(self.layouts)), np.diff(np.searchsorted(kept, bounds)))
        rows = Rows(segment, kept - bounds[segment], np.arange(len(kept)))
        return write_rows(written.arrays, pattern, row_writer.Columns(start, members.computed), rows)

    def _written_columns(self, written: _Written, members: _Members) -> tuple[Numbers, Quotes]:
        """Write the columns that are only written.

        Returns of each where it begins, and what stands around values by the number of their writer. Raises
        InvalidValue for null where it may not be.
        """
        columns = Columns.of(self._segments, [layouts.sources for layouts in self.layouts])
        for place in np.flatnonzero(columns.with_nulls() & members.required).tolist():
            if columns.take(np.array([place])).joined().null_count:
                raise InvalidValue(0, "null")
        order = columns.order(members.writer)
        starts, quotes = np.empty(len(columns), np.int64), []
        ends = np.flatnonzero(np.diff(members.writer[order])) + 1
        for at in np.split(order, ends) if len(order) else ():
            same, number = columns.take(at), int(members.writer[at[0]])
            start, quote = written.add(members.by_number[number], same.joined())
            quotes.append((number, quote))
            starts[at] = start + np.cumsum(same.size) - same.size
        return starts, tuple(quotes)


Quotes: TypeAlias = "tuple[tuple[int, str | bytes], ...]"
"""What stands around values, by the number of their writer."""


@dataclass(frozen=True)
class _Members:
    """The members of tables, one after another. computed: which are fields of the shared recipe; others are columns.

    writer: the number of what writes each column; by_number: these. required: which columns may not be null. fields: of
    the shared recipe, each once; field: which one each computed member is.
    """

    computed: Mask
    writer: Numbers
    by_number: Mapping[int, Writer]
    required: Mask
    fields: Sequence[tuple[str, Writer]]
    field: Numbers


@lru_cache(maxsize=8)
def _members(layouts: tuple[RowLayout, ...]) -> _Members:
    """Return the members of tables with the same shared recipe: most often the same tables come together again."""
    every = [member for table in layouts for member in table.members]
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
def _pattern(layouts: tuple[RowLayout, ...], quotes: Quotes, of_fields: tuple[str | bytes, ...]) -> Pattern:
    """Return what stands around the values of tables."""
    members, by_number = _members(layouts), dict(quotes)
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
            for table in layouts
        ]
    )


class _Written:
    """What was written, one array after the other."""

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
    """Return whether each row has a value, or null, in each column, and so stands for itself, not for a whole table."""
    rows = _rows(part)
    return not (rows.missing or rows.left_out or len(truncates(part)))


def truncates(part: AnyChanges) -> Numbers:
    """Return the places of rows that stand for a whole table."""
    return np.flatnonzero(_rows(part).op.to_numpy() == TRUNCATE)


def _rows(part: AnyChanges) -> Changes:
    return part.rows if isinstance(part, MultiTableChanges) else part
