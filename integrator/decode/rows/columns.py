"""Images as rows of a table that Arrow has read, from CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask, reason
from integrator.contracts.segment import Segment
from integrator.decode.column_names import in_other_case, meant
from integrator.decode.contract import Reading
from integrator.decode.rows.coding import Convert
from integrator.decode.rows.runs import DecodedColumns, Fill, Rows
from integrator.decode.text.refused import ValueRefused
from integrator.decode.text.values import from_column
from integrator.decode.unknown_columns import Others
from integrator.engine.arrays import Ints, Mask
from integrator.errors import MASKED, DataError, Fault, Place, PublicDataError, shortened
from integrator.schema import Table, arrow_type, describe


@dataclass(frozen=True)
class RowValues:
    """Record i has the row new[i] of `rows` as its after image, and the row old[i] as its before image.

    apart: columns of `rows` that are none of the table. convert: from text to a type. missing: by column, rows that
    have no value in it.
    """

    joint: ClassVar[bool] = False
    rows: pa.Table
    new: Ints
    old: Ints
    apart: frozenset[str] = field(default_factory=frozenset)
    convert: Convert = lambda kind, values: from_column(values, kind)
    missing: Mapping[str, Mask] = field(default_factory=dict)

    def variants(self) -> None:
        """Return None: all values are read in one way."""

    def columns(self, rows: Rows, reading: Reading, fill: Fill) -> DecodedColumns:
        """Return the columns of rows. Raises DataError, ColumnsFound."""
        others = Others(rows.file, reading.unknown_columns)
        places = np.where(rows.is_before, self.old[rows.record], self.new[rows.record])
        bounds, segments = rows.bounds.tolist(), list[Segment]()
        changed = np.zeros(len(rows.after), np.bool_)
        for shares, start, stop in zip(rows.parts, bounds[:-1], bounds[1:], strict=True):
            table, at = shares[0].table, pa.array(places[start:stop])
            self._add_unknown(others, table, at, rows.line[rows.record[start:stop]])
            taken = {name: self.rows[own].take(at).combine_chunks() for name, own in self._names(table).items()}
            if not taken and fill.needs_values:
                raise PublicDataError(Fault(rows.where(start), f"table {table.name}: the file has none of its columns"))
            columns, missing = self._typed(table, taken, rows, start, places[start:stop])
            segments.append(rows.segment(len(segments), columns, missing))
            own = (rows.after >= start) & (rows.after < stop)
            changed[own] = _changed(table, taken, rows.after[own] - start)
        return DecodedColumns(segments, changed, others.counts())

    def _names(self, table: Table) -> dict[str, str]:
        """Return which column of the file each of the table's is; an exact name goes before one in other case."""
        named = [(meant(table, name), name) for name in self.rows.column_names if name not in self.apart]
        exact_last = sorted(named, key=lambda one: one[0] is not None and one[0].name == one[1])
        return {column.name: name for column, name in exact_last if column is not None}

    def _add_unknown(self, others: Others, table: Table, at: pa.Array, line: Ints) -> None:
        names = self._names(table)
        known = set(names.values())
        for name in self.rows.column_names:
            if name not in self.apart and name not in known:
                values = self.rows[name].take(at).combine_chunks()
                if values.null_count < len(values):
                    first = mask(pc.is_valid(values))
                    for column in in_other_case(table, name):
                        others.take_for(table, name, column, line if column not in names else line[:0])
                    others.add(table, name, line[first], values.filter(pa.array(first)), infers=None)

    def _typed(
        self, table: Table, taken: Mapping[str, pa.Array], rows: Rows, start: int, at: Ints
    ) -> tuple[dict[str, pa.Array], dict[str, Mask]]:
        """Return the columns of a part's rows in the table's types, and which values are missing. Raises DataError."""
        columns, missing = {}, {}
        for column in table.columns:
            if column.name not in taken:
                columns[column.name] = pa.nulls(len(at), arrow_type(column.type))
                missing[column.name] = np.ones(len(at), bool)
                continue
            values = taken[column.name]
            try:
                is_text = pa.types.is_string(values.type)
                made = self.convert(column.type, values) if is_text else from_column(values, column.type)
            except ValueRefused as error:
                text = MASKED if column.masked else str(error)
                why = f"table {table.name}, column {column.name}: {text}; mend the record or the table definition"
                raise DataError(Fault(rows.where(start + error.index), why)) from None
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                known = reason(error) or f"its values are of Arrow's type {values.type}, and no {describe(column.type)}"
                text = MASKED if column.masked else shortened(known)
                raise DataError(Fault(Place(rows.file), f"table {table.name}, column {column.name}: {text}")) from None
            columns[column.name] = made
            if column.name in self.missing:
                missing[column.name] = self.missing[column.name][at]
        return columns, {name: gone for name, gone in missing.items() if gone.any()}


def _changed(table: Table, taken: Mapping[str, pa.Array], after: Ints) -> Mask:
    """Return of which updates, given by their after rows, a key column has another value than before."""
    changed = np.zeros(len(after), bool)
    for name in table.key or tuple(column.name for column in table.columns) if len(after) else ():
        if name in taken:
            new, old = taken[name].take(pa.array(after)), taken[name].take(pa.array(after - 1))
            changed |= mask(pc.not_equal(new, old)) | (mask(pc.is_null(new)) != mask(pc.is_null(old)))
    return changed
