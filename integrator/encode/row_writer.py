"""Rows of tables whose programs share a recipe, written in one call for each type, and put together in one more (I6).

What the recipe computes of the rows is given; columns that are only written are taken from where they lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.arrow.column_slices import Columns
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.fragments import PresentFields
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.segment import Segment
from integrator.encode.column_writer import Writer
from integrator.encode.row_members import BesideByNumber, Members, WrittenColumns, members_of, pattern_of
from integrator.encode.row_program import ROW, RowProgram, before_images
from integrator.engine import rows as engine
from integrator.engine.arrays import Ints, Mask
from integrator.formats.records import Arrays, Beside, InvalidValue, Missing, UnsupportedValue, at_column, write_records
from integrator.transform.columns import NULL_REFUSED

_Column = tuple[int, str]
"""A column that is only written: the segment, and its name there."""


@dataclass(frozen=True)
class RowWriter:
    """Writes change rows of segments, each with its program; all programs have one shared recipe."""

    rows: ChangeBatch
    programs: Sequence[RowProgram]

    def shared(self) -> ChangeBatch:
        """Return the rows with the columns of the shared recipe."""
        columns = {ROW: pa.array(np.arange(len(self.rows)))}
        sources = [tuple(source for _, source in program.given) for program in self.programs]
        given = Columns.of(self._columns, sources)
        names = [name for name, _ in self.programs[0].given]
        for place, name in enumerate(names):
            columns[name] = given.take(np.arange(place, len(given), len(names))).joined()
        segment = Segment(self.rows.tables, self.rows.sizes, columns)
        return replace(self.rows, segments=(segment,), before_images=self.rows.is_before_image)

    def shapes(self, values: Arrays) -> pa.Array:
        """Return the shape of each row of the shared recipe, as text."""
        form, others = self._forms
        texts = [shape.to_text() if self.programs[segment].missing == "shape" else "" for segment, shape in others]
        return pa.array([*[""] * len(self.programs), *texts]).take(pa.array(form[np.asarray(values[ROW])]))

    def encode(self, values: Arrays, _missing: Missing) -> pa.Array:
        """Return the encoded rows of the shared recipe, as `Encoder` does. Raises UnsupportedValue."""
        kept, written = np.asarray(values[ROW]), WrittenColumns()
        members = members_of(tuple(self.programs))
        start = np.empty(len(members.computed), np.int64)
        start[~members.computed], beside = self._written_columns(written, members, kept)
        fields = [self._written_field(written, name, writer, values) for name, writer in members.fields]
        start[members.computed] = np.array([begin for begin, _ in fields], np.int64)[members.field]
        form, others = self._forms
        pattern = pattern_of(tuple(self.programs), tuple(others), beside, tuple(each for _, each in fields))
        bounds = np.cumsum([0, *[len(program.members) for program in self.programs]])
        own = [np.delete(np.arange(*bounds[segment : segment + 2]), shape.absent) for segment, shape in others]
        at = np.concatenate([np.arange(bounds[-1]), *own])
        segment = np.repeat(np.arange(len(self.programs)), np.diff(np.searchsorted(kept, self.rows.bounds)))
        rows = engine.Rows(form[kept], kept - self.rows.bounds[segment], np.arange(len(kept)))
        return write_records(written.arrays, pattern, engine.Columns(start[at], members.computed[at]), rows)

    @cached_property
    def _columns(self) -> Sequence[tuple[Mapping[str, pa.Array], int]]:
        """The columns of each segment, and how many rows it has."""
        sizes = np.diff(self.rows.bounds).tolist()
        return [(segment.columns, size) for segment, size in zip(self.rows.segments, sizes, strict=True)]

    @cached_property
    def _missing(self) -> Sequence[tuple[int, Mapping[str, Mask]]]:
        """The segments in which values are missing, each with those by column; a truncate has none that are."""
        real, found = ~self._truncates, []
        for place, segment in enumerate(self.rows.segments):
            if segment.missing:
                of_rows = real[slice(*self.rows.bounds[place : place + 2])]
                found.append((place, {name: gone & of_rows for name, gone in segment.missing.items()}))
        return found

    @cached_property
    def _truncates(self) -> Mask:
        return mask(pc.equal(self.rows.op, TRUNCATE))

    @cached_property
    def _forms(self) -> tuple[Ints, Sequence[tuple[int, PresentFields]]]:
        """The form of each row, and the forms of rows that are not whole: of which segment, and which shape.

        A whole row's form is its segment; the others are numbered after the segments.
        """
        form = np.repeat(np.arange(len(self.programs)), np.diff(self.rows.bounds))
        absent = np.zeros(len(form), np.int64)  # of each row, a bit for each member that is missing
        places: dict[int, list[int]] = {}
        for segment, missing in self._missing:
            program, of_rows = self.programs[segment], absent[slice(*self.rows.bounds[segment : segment + 2])]
            if program.missing in ("omit", "shape"):
                places[segment] = [at for at, member in enumerate(program.members) if member.source in missing]
                for bit, place in enumerate(places[segment]):
                    of_rows |= missing[program.members[place].source].astype(np.int64) << bit
        absent[self._truncates] = -1
        rows = np.flatnonzero(absent)
        rows = rows[np.lexsort((absent[rows], form[rows]))]
        is_first = np.append(True, (np.diff(form[rows]) != 0) | (np.diff(absent[rows]) != 0))[: len(rows)]
        others = []
        for segment, bits in zip(form[rows[is_first]].tolist(), absent[rows[is_first]].tolist(), strict=True):
            gone = () if bits < 0 else tuple(place for bit, place in enumerate(places[segment]) if bits >> bit & 1)
            others.append((segment, PresentFields(gone, truncate=bits < 0)))
        form[rows] = len(self.programs) - 1 + np.cumsum(is_first)
        return form, others

    def _written_field(self, written: WrittenColumns, name: str, writer: Writer, values: Arrays) -> tuple[int, Beside]:
        try:
            return written.add(writer, values[name])
        except (InvalidValue, UnsupportedValue) as error:
            raise at_column(name, error) from None

    def _written_columns(self, written: WrittenColumns, members: Members, kept: Ints) -> tuple[Ints, BesideByNumber]:
        """Write the columns that are only written.

        Returns of each where it begins, and what stands beside values by the number of their writer. Raises
        UnsupportedValue, with the place among the rows that are `kept`.
        """
        columns = Columns.of(self._columns, [program.sources for program in self.programs])
        of_column = [(segment, source) for segment, program in enumerate(self.programs) for source in program.sources]
        self._check_required(columns, of_column, members.required, kept)
        order = columns.order(members.writer)
        starts, beside = np.empty(len(columns), np.int64), []
        ends = np.flatnonzero(np.diff(members.writer[order])) + 1
        for at in np.split(order, ends) if len(order) else ():
            same, number = columns.take(at), int(members.writer[at[0]])
            of_same = [of_column[place] for place in at.tolist()]
            start, each = self._add(written, members.by_number[number], same, of_same, kept)
            beside.append((number, each))
            starts[at] = start + np.cumsum(same.size) - same.size
        return starts, tuple(beside)

    def _add(
        self, written: WrittenColumns, writer: Writer, same: Columns, of_same: Sequence[_Column], kept: Ints
    ) -> tuple[int, Beside]:
        """Write columns in one call; a value that cannot be written is an error only if its row is kept."""
        values = self._with_placeholders(same.joined(), of_same)
        if self._truncates.any():
            values = pc.if_else(pa.array(self._of_columns(self._truncates, of_same)), None, values)
        try:
            return written.add(writer, values)
        except (InvalidValue, UnsupportedValue):
            sent = np.zeros(len(self.rows), bool)
            sent[kept] = True
        try:
            return written.add(writer, pc.if_else(pa.array(self._of_columns(sent, of_same)), values, None))
        except (InvalidValue, UnsupportedValue) as error:
            place = int(np.searchsorted(np.cumsum(same.size), error.index, side="right"))
            segment, source = of_same[place]
            row = self.rows.bounds[segment] + error.index - int(same.size[:place].sum())
            error.index = int(np.searchsorted(kept, row))
            raise at_column(self._name(segment, source), error) from None

    def _of_columns(self, rows: Mask, of_same: Sequence[_Column]) -> Mask:
        """Return what is true of rows, for the values of columns one after another."""
        bounds = self.rows.bounds
        return np.concatenate([rows[bounds[segment] : bounds[segment + 1]] for segment, _ in of_same])

    def _name(self, segment: int, source: str) -> str:
        """Return what a column is called in messages."""
        return next(member.name for member in self.programs[segment].members if member.source == source)

    def _check_required(self, columns: Columns, of_column: Sequence[_Column], required: Mask, kept: Ints) -> None:
        """Raise UnsupportedValue for null in a row that is kept, where it may not be and is not missing."""
        missing, bounds = dict(self._missing), self.rows.bounds
        for place in np.flatnonzero(columns.with_nulls() & required).tolist():
            segment, source = of_column[place]
            begin, end = bounds[segment : segment + 2]
            null = mask(pc.is_null(columns.take(np.array([place])).joined())) & ~self._truncates[begin:end]
            null &= ~missing.get(segment, {}).get(source, np.False_)
            null &= np.isin(np.arange(begin, end), kept)
            at = first(null)
            if at is not None:
                row = int(np.searchsorted(kept, int(begin) + at))
                raise UnsupportedValue(self._name(segment, source), row, NULL_REFUSED)

    def _with_placeholders(self, values: pa.Array, of_values: Sequence[_Column]) -> pa.Array:
        """Return values, of one type, with what the envelope has for those that are missing."""
        missing = dict(self._missing)
        gone = [missing.get(segment, {}).get(source) for segment, source in of_values]
        lacking = [place for place, of_column in zip(of_values, gone, strict=True) if of_column is not None]
        stands = [self.programs[segment].placeholders.get(source) for segment, source in lacking]
        absent = [self.programs[segment].absent.get(source) for segment, source in lacking]
        stands, absent = ([one for one in found if one is not None] for found in (stands, absent))
        if not stands and not absent:
            return values
        sizes = [len(self.rows.segments[segment]) for segment, _ in of_values]
        masks = [np.zeros(size, bool) if one is None else one for one, size in zip(gone, sizes, strict=True)]
        before, missed = self._of_columns(before_images(self.rows), of_values), np.concatenate(masks)
        for found, which in ((stands, missed & ~before), (absent, missed & before)):
            values = pc.if_else(pa.array(which), found[0], values) if found else values
        return values
