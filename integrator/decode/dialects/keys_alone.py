"""Old images that have nothing but the key, though the other columns stand in them: null, or empty."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, first, mask
from integrator.decode.records import Cells, Images, Ints, Values
from integrator.errors import DataError
from integrator.schema import Column, Table

_EMPTY = pa.array(["", "0", "0.0", "false", "AA==", "{}", "[]", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"])
"""What Debezium writes in columns that cannot be null: the empty value of each type."""


@dataclass(frozen=True)
class KeysAlone:
    """Values whose old images are of the key alone: all (`told` is KEY), none (FULL), or those that look so (AUTO).

    file and line say where each record stands.
    """

    values: Values
    told: str
    file: str
    line: Ints

    def cells(self, table: Table, record: Ints, is_old: Mask) -> Images:
        """Return what images have; what stands beside the key in old images of the key alone is missing.

        Raises DataError where the key is not known, and an image may be of one alone.
        """
        cells, unknown = self.values.cells(table, record, is_old)
        if self.told == "FULL" or not is_old.any():
            return cells, unknown
        if not table.key:
            self._check_whole(table, cells, record, is_old)
            return cells, unknown
        others = [column.name for column in table.columns if column.name not in table.key and column.name in cells]
        alone = is_old & bool(others)
        for name in others if self.told == "AUTO" else ():
            values = cells[name].values
            alone &= mask(pc.or_(pc.is_null(values), pc.is_in(values, _EMPTY)))
        if alone.any():
            cells |= {name: replace(cells[name], has=cells[name].has & ~alone) for name in others}
        return cells, unknown

    def _check_whole(self, table: Table, cells: dict[str, Cells], record: Ints, is_old: Mask) -> None:
        """Raise DataError for an old image that may be of the columns of an index alone, which have no null.

        With REPLICA IDENTITY USING INDEX, PostgreSQL logs these alone; Debezium writes null, or an empty value, for the
        others. One column with null allowed that has a value shows that the image is whole.
        """
        alone = is_old & any(not column.nullable for column in table.columns)
        empty = np.zeros(len(record), bool)
        for column in table.columns if self.told == "AUTO" and alone.any() else ():
            if column.name in cells:
                null = mask(pc.is_null(cells[column.name].values))
                empty |= null | mask(pc.is_in(cells[column.name].values, _EMPTY))
                alone &= null | (not column.nullable)
        wrong = first(alone & (empty | (self.told == "KEY")))
        if wrong is not None:
            raise DataError(
                f"{self.file}:{self.line[record[wrong]]}: table {table.name}: the old image may be of the columns of "
                "an index alone (REPLICA IDENTITY USING INDEX), and the definition has no key; define it (a primary "
                "key, or a unique index), or set old_images: FULL at the source location if old images are whole"
            )

    def typed(self, column: Column, cells: Cells, record: Ints) -> pa.Array:
        """Return the values of a column in its type."""
        return self.values.typed(column, cells, record)
