"""Images as rows of a table that Arrow has read: CSV, Parquet, and JSON whose rows are whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, first
from integrator.decode.images import check_nested
from integrator.decode.records import Cells, Images, Ints, Unknown, typed
from integrator.decode.text.values import from_column
from integrator.schema import Column, Table


@dataclass(frozen=True)
class RowValues:
    """Record i has the row new[i] of `rows` as its new image, and the row old[i] as its old one.

    apart: columns of `rows` that are none of the table. convert: text -> the column's type. members: of rows that were
    JSON objects, which have a member of a column's name, and which of these are strings.
    """

    rows: pa.Table
    new: Ints
    old: Ints
    apart: frozenset[str] = field(default_factory=frozenset)
    convert: Callable[[Column, pa.Array], pa.Array] = typed
    members: Mapping[str, tuple[Mask, Mask]] = field(default_factory=dict)

    def cells(self, table: Table, record: Ints, is_old: Mask) -> Images:
        """Return what images have, by column."""
        places = np.where(is_old, self.old[record], self.new[record])
        at, every = pa.array(places), np.ones(len(record), bool)
        found: dict[str, Cells] = {}
        unknown: dict[str, Unknown] = {}
        for name in self.rows.column_names:
            if name in self.apart and not table.column(name):
                continue
            values = self.rows[name].take(at).combine_chunks()
            has, quoted = self.members.get(name, (None, None))
            if table.column(name):
                found[name] = Cells(values, every, None if quoted is None else quoted[places])
                continue
            kind = None if values.null_count == len(values) else values.type
            row = first(pc.is_valid(values)) if has is None else first(has[places])
            if row is not None or has is None:
                unknown[name] = Unknown(len(values) - values.null_count, row or 0, kind)
        return found, unknown

    def typed(self, column: Column, cells: Cells, _record: Ints) -> pa.Array:
        """Return the values of a column in its type."""
        check_nested(column, cells)
        if pa.types.is_string(cells.values.type):
            return self.convert(column, cells.values)
        return from_column(cells.values, column.type)
