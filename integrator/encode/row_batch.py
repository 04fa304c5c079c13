"""Rows of tables with the same shared recipe, where a batch has few of each: what they share is done once.

They go through the encoder of their shared recipe as one; the columns of all of them are written in one call for each
type, and put together to rows in one call more (I6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.arrow.column_slices import Columns
from integrator.contracts.fragments import Shape
from integrator.contracts.multi_table_changes import AnyChanges, MultiTableChanges, concat_tables
from integrator.encode.joinable import missing_by_segment, rows_of
from integrator.encode.row_layout import ROW, RowLayout
from integrator.encode.row_members import BesideByNumber, Members, WrittenColumns, members_of, pattern_of
from integrator.engine import rows as writing
from integrator.engine.arrays import Ints, Mask
from integrator.engine.rows import Rows
from integrator.formats.records import Arrays, InvalidValue, Missing, UnsupportedValue, write_records


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

    def split_by_table(self) -> Sequence[AnyChanges]:
        """Return the rows in parts of tables with the same columns."""
        return [one for part in self.parts for one in (part.split_by_table() if part.own else [part])]

    @cached_property
    def _segments(self) -> Sequence[tuple[Mapping[str, pa.Array], int]]:
        """The columns of each segment, and how many rows it has."""
        found: list[tuple[Mapping[str, pa.Array], int]] = []
        for part in self.parts:
            if isinstance(part, MultiTableChanges) and part.own:
                found += zip([own.columns for own in part.own], part.sizes, strict=True)
            else:
                found.append((rows_of(part).columns, len(part)))
        return found

    def joint(self) -> MultiTableChanges:
        """Return the rows with the columns of the shared recipe."""
        bare = [replace(rows_of(part), columns={}) for part in self.parts]
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
        return replace(joint, rows=replace(joint.rows, columns=columns, missing=self._missing_of_given(len(joint))))

    def _missing_of_given(self, size: int) -> dict[str, Mask]:
        """Return which values of the columns of the shared recipe are missing."""
        missing: dict[str, Mask] = {}
        for segment, gone in self._missing:
            begin, end = self._bounds[segment : segment + 2]
            for name, source in self.layouts[segment].given:
                if source in gone:
                    missing.setdefault(name, np.zeros(size, bool))[begin:end] = gone[source]
        return missing

    @cached_property
    def _bounds(self) -> Ints:
        """Where each segment begins, and the end."""
        return np.cumsum([0, *[size for _, size in self._segments]])

    @cached_property
    def _missing(self) -> Sequence[tuple[int, Mapping[str, Mask]]]:
        """The segments in which values are missing, each with those by column: see `Changes`."""
        every = [missing for part in self.parts for missing, _ in missing_by_segment(part)]
        return [(segment, missing) for segment, missing in enumerate(every) if missing]

    @cached_property
    def _kinds(self) -> tuple[Ints, Sequence[tuple[int, Shape]]]:
        """The kind of each row, and the kinds of partial rows: of which segment, and which shape.

        A whole row's kind is its segment; kinds of partial rows are numbered after the segments.
        """
        kind = np.repeat(np.arange(len(self.layouts)), np.diff(self._bounds))
        absent = np.zeros(len(kind), np.int64)  # of each row, a bit for each member that is missing
        places = {}
        for segment, missing in self._missing:
            layout, of_rows = self.layouts[segment], absent[slice(*self._bounds[segment : segment + 2])]
            if layout.missing in ("omit", "shape"):
                places[segment] = [at for at, member in enumerate(layout.members) if member.source in missing]
                for bit, place in enumerate(places[segment]):
                    of_rows |= missing[layout.members[place].source].astype(np.int64) << bit
        rows = np.flatnonzero(absent)
        rows = rows[np.lexsort((absent[rows], kind[rows]))]
        is_first = np.append(True, (np.diff(kind[rows]) != 0) | (np.diff(absent[rows]) != 0))[: len(rows)]
        partial = [
            (segment, Shape(tuple(place for bit, place in enumerate(places[segment]) if bits >> bit & 1)))
            for segment, bits in zip(kind[rows[is_first]].tolist(), absent[rows[is_first]].tolist(), strict=True)
        ]
        kind[rows] = len(self.layouts) - 1 + np.cumsum(is_first)
        return kind, partial

    def shapes(self, values: Arrays) -> pa.Array:
        """Return the shape of each row."""
        kind, partial = self._kinds
        texts = [shape.to_text() if self.layouts[segment].missing == "shape" else "" for segment, shape in partial]
        return pa.array([*[""] * len(self.layouts), *texts]).take(pa.array(kind[np.asarray(values[ROW])]))

    def encode(self, values: Arrays, _missing: Missing) -> pa.Array:
        """Return the encoded rows of the shared recipe, as `Encoder` does; InvalidValue does not name the row."""
        try:
            return self._encoded(values)
        except (UnsupportedValue, pa.ArrowInvalid) as error:  # the latter: more text than an array holds
            raise InvalidValue(0, str(error)) from None

    def _encoded(self, values: Arrays) -> pa.Array:
        """Return the rows, each of what is written of its own columns, and of the fields that the shared recipe has."""
        written = WrittenColumns()
        members = members_of(tuple(self.layouts))
        start = np.empty(len(members.computed), np.int64)
        start[~members.computed], beside = self._written_columns(written, members)
        fields = [written.add(writer, values[name]) for name, writer in members.fields]
        start[members.computed] = np.array([begin for begin, _ in fields], np.int64)[members.field]
        kind, partial = self._kinds
        pattern = pattern_of(tuple(self.layouts), tuple(partial), beside, tuple(each for _, each in fields))
        bounds = np.cumsum([0, *[len(layout.members) for layout in self.layouts]])
        own = [np.delete(np.arange(*bounds[segment : segment + 2]), shape.absent) for segment, shape in partial]
        at = np.concatenate([np.arange(bounds[-1]), *own])
        kept = np.asarray(values[ROW])
        segment = np.repeat(np.arange(len(self.layouts)), np.diff(np.searchsorted(kept, self._bounds)))
        rows = Rows(kind[kept], kept - self._bounds[segment], np.arange(len(kept)))
        return write_records(written.arrays, pattern, writing.Columns(start[at], members.computed[at]), rows)

    def _written_columns(self, written: WrittenColumns, members: Members) -> tuple[Ints, BesideByNumber]:
        """Write the columns that are only written.

        Returns of each where it begins, and what stands around values by the number of their writer. Raises
        InvalidValue for null where it may not be.
        """
        columns = Columns.of(self._segments, [layouts.sources for layouts in self.layouts])
        missing = dict(self._missing)
        of_column = [(segment, source) for segment, layout in enumerate(self.layouts) for source in layout.sources]
        for place in np.flatnonzero(columns.with_nulls() & members.required).tolist():
            segment, source = of_column[place]
            null = mask(pc.is_null(columns.take(np.array([place])).joined()))
            if (null & ~missing.get(segment, {}).get(source, np.False_)).any():
                raise InvalidValue(0, "null")
        order = columns.order(members.writer)
        starts, beside = np.empty(len(columns), np.int64), []
        ends = np.flatnonzero(np.diff(members.writer[order])) + 1
        unavailable = self._unavailable(of_column)
        for at in np.split(order, ends) if len(order) else ():
            same, number = columns.take(at), int(members.writer[at[0]])
            values, places = same.joined(), at.tolist()
            if not unavailable.keys().isdisjoint(places):
                none = [np.zeros(size, bool) for size in same.size.tolist()]
                gone = np.concatenate(
                    [unavailable.get(place, of_column) for place, of_column in zip(places, none, strict=True)]
                )
                values = pc.if_else(pa.array(gone), self.layouts[0].placeholder, values)
            start, each = written.add(members.by_number[number], values)
            beside.append((number, each))
            starts[at] = start + np.cumsum(same.size) - same.size
        return starts, tuple(beside)

    def _unavailable(self, of_column: Sequence[tuple[int, str]]) -> Mapping[int, Mask]:
        """Return which values have a placeholder, for they are missing in after images, by the place of their column.

        of_column: of each column the segment, and its name there.
        """
        if not self.layouts[0].placeholder:  # that of the channel's envelope, and so of all
            return {}
        every = [one for part in self.parts for one in missing_by_segment(part)]
        found = {
            (segment, name): gone & ~is_before
            for segment, (missing, is_before) in enumerate(every)
            for name, gone in missing.items()
            if name in self.layouts[segment].placeholders
        }
        return {place: found[column] for place, column in enumerate(of_column) if column in found}
