"""Images as lists of names and values, the shape of wal2json."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, mask
from integrator.dialects import records
from integrator.dialects.records import Cells
from integrator.schema import Column, Table

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Images:
    """One image a record: names and values of record i stand at offsets[i] to offsets[i+1]; `has` says there is one."""

    offsets: Ints
    names: pa.Array
    values: pa.Array
    has: Mask

    @staticmethod
    def of(offsets: pa.Array, names: pa.Array, values: pa.Array, like: pa.Array) -> Images:
        """Make images of a list array's flattened parts; a record has one where `like` is not null."""
        bounds = offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        has = mask(pc.is_valid(like))
        return Images(bounds - bounds[0], names, values, has)


@dataclass(frozen=True)
class NamedValues:
    """The new and the old image of each record."""

    new: Images
    old: Images

    def cells(self, _table: Table, record: Ints, is_old: Mask) -> dict[str, Cells]:
        """Return what images have, by column."""
        values = pa.concat_arrays([self.new.values, self.old.values])
        cells = {}
        for name, place in self._places(record, is_old, len(self.new.values)).items():
            gone = place < 0
            cells[name] = Cells(values.take(pa.array(place, mask=gone)), ~gone)
        return cells

    def typed(self, column: Column, values: pa.Array, _record: Ints) -> pa.Array:
        """Return text in the column's type."""
        return records.typed(column, values)

    def _places(self, record: Ints, is_old: Mask, shift: int) -> dict[str, Ints]:
        """Return for each column name the place of each row's value among all values, -1 where there is none."""
        places: dict[str, Ints] = {}
        for images, rows, base in (
            (self.new, np.flatnonzero(~is_old), 0),
            (self.old, np.flatnonzero(is_old), shift),
        ):
            if not len(images.names):
                continue
            first, last = images.offsets[record[rows]], images.offsets[record[rows] + 1]
            length = last - first
            row = np.repeat(rows, length)
            within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
            entry = np.repeat(first, length) + within
            names = images.names.take(pa.array(entry)).dictionary_encode()
            codes = names.indices.to_numpy(zero_copy_only=False)
            for code, name in enumerate(names.dictionary.to_pylist()):
                chosen = codes == code
                place = places.setdefault(name, np.full(len(record), -1, np.int64))
                place[row[chosen]] = entry[chosen] + base
        return places
