"""Old images that have nothing but the key, though the other columns stand in them: null, or empty."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, mask
from integrator.dialects.records import Cells, Ints, Values
from integrator.schema import Column, Table

_EMPTY = pa.array(["", "0", "0.0", "false", "AA==", "{}", "[]", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"])
"""What Debezium writes in columns that cannot be null: the empty value of each type."""


@dataclass(frozen=True)
class KeysAlone:
    """Values whose old images are of the key alone: all (`told` is KEY), none (FULL), or those that look so (AUTO)."""

    values: Values
    told: str

    def cells(self, table: Table, record: Ints, is_old: Mask) -> dict[str, Cells]:
        """Return what images have; what stands beside the key in old images of the key alone is missing."""
        cells = self.values.cells(table, record, is_old)
        others = [column.name for column in table.columns if column.name not in table.key and column.name in cells]
        if self.told == "FULL" or not table.key or not others or not is_old.any():
            return cells
        alone = is_old.copy()
        for name in others if self.told == "AUTO" else ():
            values = cells[name].values
            alone &= mask(pc.or_(pc.is_null(values), pc.is_in(values, _EMPTY)))
        if alone.any():
            cells |= {name: Cells(cells[name].values, cells[name].has & ~alone) for name in others}
        return cells

    def typed(self, column: Column, values: pa.Array, record: Ints) -> pa.Array:
        """Return the values of a column in its type."""
        return self.values.typed(column, values, record)
