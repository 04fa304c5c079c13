"""Rows of tables that are akin, where a batch has few of each: what does not depend on their columns is done once.

They go through the encoder of their stand-in as one; the columns of all of them are written in one call for each type,
and are woven into rows in one call more (I6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from integrator.akin import ROW, Kin, Writer
from integrator.changes import AnyChanges, Changes, Joint, behind_each_other
from integrator.formats.contract import Arrays, Missing, RefusedValue, Unsayable
from integrator.recipe import TRUNCATE
from integrator.spans import Columns, Numbers
from integrator.weave import Share, pattern_of, woven


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
        starts, quotes = self._written_columns(written)
        fields: dict[tuple[str, int], tuple[int, str | bytes]] = {}
        kept = np.asarray(values[ROW])
        bounds = np.cumsum([0, *(size for _, size in self._segments)]).tolist()
        ends = np.searchsorted(kept, bounds).tolist()
        places = np.arange(len(kept))
        shares = []
        for segment, kin in enumerate(self.kin):
            start = np.empty(len(kin.members), np.int64)
            start[kin.columns] = starts[segment]
            around = [quotes[number] if number in kin.by_number else "" for number in kin.writers.tolist()]
            for place in kin.computed:
                name, writer = kin.members[place].name, kin.members[place].writer
                if (name, writer.number) not in fields:
                    fields[name, writer.number] = written.add(writer, values[name])
                start[place], around[place] = fields[name, writer.number]
            rows = slice(*ends[segment : segment + 2])
            pattern = pattern_of(kin.between, tuple(around))
            shares.append(Share(pattern, start, kept[rows] - bounds[segment], places[rows], kin.computed))
        return woven(written.arrays, shares)

    def _written_columns(self, written: _Written) -> tuple[Sequence[Numbers], dict[int, str | bytes]]:
        """Write the columns that are only written.

        Returns of each segment where they begin, and what stands around values by the number of their writer. Raises
        RefusedValue for null where it may not be.
        """
        columns = Columns.of(self._segments, [kin.sources for kin in self.kin])
        for place in np.flatnonzero(columns.with_nulls() & np.concatenate([kin.required for kin in self.kin])).tolist():
            if columns.take(np.array([place])).joined().null_count:
                raise RefusedValue(0, "null")
        numbers = np.concatenate([kin.writers[kin.columns] for kin in self.kin])
        order = columns.order(numbers)
        writers = {number: writer for kin in self.kin for number, writer in kin.by_number.items()}
        starts, quotes = np.empty(len(columns), np.int64), {}
        for at in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else ():
            alike, number = columns.take(at), int(numbers[at[0]])
            start, quotes[number] = written.add(writers[number], alike.joined())
            starts[at] = start + np.cumsum(alike.size) - alike.size
        return np.split(starts, np.cumsum([len(kin.columns) for kin in self.kin])[:-1]), quotes


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
