"""Images as lists of names and values, the shape of wal2json."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, first, mask, places_of_each
from integrator.decode import records
from integrator.decode.records import Cells, Images, Unknown
from integrator.errors import DataError, shown
from integrator.schema import Column, Table

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Named:
    """One image a record: names and values of record i stand at offsets[i] to offsets[i+1]; `has` says there is one."""

    offsets: Ints
    names: pa.Array
    values: pa.Array
    has: Mask

    @staticmethod
    def of(offsets: pa.Array, names: pa.Array, values: pa.Array, like: pa.Array) -> Named:
        """Make images of a list array's flattened parts; a record has one where `like` is not null."""
        bounds = offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        has = mask(pc.is_valid(like))
        return Named(bounds - bounds[0], names, values, has)


@dataclass(frozen=True)
class NamedValues:
    """The after and the before image of each record; `line` is the line of each record in the file."""

    new: Named
    old: Named
    file: str
    line: Ints

    def cells(self, table: Table, record: Ints, is_old: Mask) -> Images:
        """Return what images have, by column. Raises DataError for a name that is absent, or that is there twice."""
        values = pa.concat_arrays([self.new.values, self.old.values])
        found: dict[str, Cells] = {}
        unknown: dict[str, Unknown] = {}
        for name, (rows, entries) in self._entries(record, is_old, len(self.new.values)).items():
            if table.column(name) is None:
                kind = None if values.take(pa.array(entries)).null_count == len(entries) else values.type
                unknown[name] = Unknown(len(rows), int(rows.min()), kind)
                continue
            place = np.full(len(record), -1, np.int64)
            place[rows] = entries
            gone = place < 0
            found[name] = Cells(values.take(pa.array(place, mask=gone)), ~gone)
        return found, unknown

    def typed(self, column: Column, cells: Cells, _record: Ints) -> pa.Array:
        """Return text in the column's type."""
        return records.typed(column, cells.values)

    def _entries(self, record: Ints, is_old: Mask, shift: int) -> dict[str, tuple[Ints, Ints]]:
        """Return for each name the rows that have it, and the places of its values among all values."""
        parts: dict[str, list[tuple[Ints, Ints]]] = {}
        for images, rows, base in (
            (self.new, np.flatnonzero(~is_old), 0),
            (self.old, np.flatnonzero(is_old), shift),
        ):
            if not len(images.names):
                continue
            begin, end = images.offsets[record[rows]], images.offsets[record[rows] + 1]
            length = end - begin
            row = np.repeat(rows, length)
            within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
            entry = np.repeat(begin, length) + within
            names = images.names.take(pa.array(entry))
            self._check_nameless(names, record[row])
            encoded = names.dictionary_encode()
            for name, chosen in zip(encoded.dictionary.to_pylist(), places_of_each(encoded), strict=True):
                self._check_twice(name, row[chosen], record)
                parts.setdefault(name, []).append((row[chosen], entry[chosen] + base))
        return {
            name: (np.concatenate([rows for rows, _ in found]), np.concatenate([entries for _, entries in found]))
            for name, found in parts.items()
        }

    def _check_nameless(self, names: pa.Array, record: Ints) -> None:
        at = first(pc.is_null(names))
        if at is not None:
            raise DataError(f"{self.file}:{self.line[record[at]]}: a value stands in a list of columns without a name")

    def _check_twice(self, name: str, rows: Ints, record: Ints) -> None:
        at = first(np.diff(rows, prepend=-1) == 0)
        if at is not None:
            line = self.line[record[rows[at]]]
            raise DataError(f"{self.file}:{line}: column {shown(name)} stands twice in one list of columns")
