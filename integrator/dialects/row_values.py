"""Images as rows of a table that Arrow has read: CSV, Parquet, and JSON whose rows are whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from integrator.arrays import Mask
from integrator.dialects.records import Cells, Ints, typed
from integrator.dialects.values import from_column
from integrator.schema import Column, Table


@dataclass(frozen=True)
class RowValues:
    """Record i has the row new[i] of `rows` as its new image, and the row old[i] as its old one.

    apart: columns of `rows` that are none of the table. convert: text -> the column's type.
    """

    rows: pa.Table
    new: Ints
    old: Ints
    apart: frozenset[str] = field(default_factory=frozenset)
    convert: Callable[[Column, pa.Array], pa.Array] = typed

    def cells(self, table: Table, record: Ints, is_old: Mask) -> dict[str, Cells]:
        """Return what images have, by column."""
        at = pa.array(np.where(is_old, self.old[record], self.new[record]))
        has = np.ones(len(record), bool)
        return {
            name: Cells(self.rows[name].take(at).combine_chunks(), has)
            for name in self.rows.column_names
            if name not in self.apart or table.column(name)
        }

    def typed(self, column: Column, values: pa.Array, _record: Ints) -> pa.Array:
        """Return the values of a column in its type."""
        if pa.types.is_string(values.type):
            return self.convert(column, values)
        return from_column(values, column.type)
