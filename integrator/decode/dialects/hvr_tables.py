"""CSV (with a header) and Parquet of the hvr dialect: tables already, cast column by column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded
from integrator.decode.dialects import hvr_records
from integrator.decode.dialects.hvr_records import META, POSITION
from integrator.decode.fields import Where
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.order.positions import Positions
from integrator.decode.rows.columns import RowValues
from integrator.decode.rows.runs import DecodedColumns, Fill, Rows
from integrator.decode.table_files import batches, control, numbered
from integrator.engine.arrays import Mask
from integrator.errors import DataError, Fault, PublicDataError, shown
from integrator.schema import arrow_type


def decoded(file: str, container: str, reading: Reading) -> Iterator[Decoded]:
    """Yield the change rows of a file, batch by batch. Raises DataError."""
    line = 2 if container == "csv" else 1
    found = batches(file, container, "hvr_op")
    for batch in [pa.Table.from_batches(list(found))] if reading.whole_files else map(_table, found):
        numbers, line = numbered(batch, line, container)
        where = Where(file, numbers)
        meta = {name: _meta(where, batch, name) for name in META}
        every = np.arange(batch.num_rows)
        missing = _named_missing(meta["hvr_missing"])
        values = HvrRows(batch, every, every, frozenset(META), missing=missing)
        yield hvr_records.decoded(where, meta, _tables(where, meta["hvr_tbl_name"], reading), values)


class HvrRows(RowValues):
    """Rows whose hvr_missing names columns that they have no value in."""

    def columns(self, rows: Rows, reading: Reading, fill: Fill) -> DecodedColumns:
        """Return the columns of rows. Raises DataError, ColumnsFound."""
        for name, gone in self.missing.items():
            for shares, start, stop in zip(rows.parts, rows.bounds[:-1], rows.bounds[1:], strict=True):
                wrong = first(gone[rows.record[start:stop]]) if shares[0].table.column(name) is None else None
                if wrong is not None:
                    text = f"hvr_missing names {shown(name)}, which is no column of it"
                    raise DataError(Fault(rows.where(int(start) + wrong), f"table {shares[0].table.name}: {text}"))
        return super().columns(rows, reading, fill)


def positions(file: str, container: str) -> Iterator[Positions]:
    """Yield where the records of a file stand, batch by batch: only the columns that say it are read."""
    line = 2 if container == "csv" else 1
    for batch in map(_table, batches(file, container, "hvr_op", list(POSITION))):
        numbers, line = numbered(batch, line, container)
        where = Where(file, numbers)
        yield hvr_records.positions_of(where, {name: _meta(where, batch, name) for name in POSITION})


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _meta(where: Where, batch: pa.Table, name: str) -> pa.Array:
    """Return an hvr_ column in its type; all null where the file does not have it. Raises DataError with the line."""
    if name not in batch.column_names:
        return pa.nulls(batch.num_rows, arrow_type(META[name]))
    return control(where, name, batch[name].combine_chunks(), META[name])


def _tables(where: Where, names: pa.Array, reading: Reading) -> DictionaryTexts:
    nameless = np.flatnonzero(mask(pc.is_null(names)))
    if len(nameless) and reading.default_table is None:
        raise PublicDataError(
            Fault(
                where.place(int(nameless[0])),
                "the record has no hvr_tbl_name, and the channel has several tables; add "
                "it, or name the table at the source location",
            )
        )
    return DictionaryTexts.of(pc.fill_null(names, reading.default_table or ""))


def _named_missing(names: pa.Array) -> dict[str, Mask]:
    if names.null_count == len(names):
        return {}
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(pc.fill_null(names, "")), r"\s*,\s*", ",")
    padded = pc.binary_join_element_wise(",", trimmed, ",", "")
    every = {name for entry in pc.unique(trimmed).to_pylist() if entry for name in entry.split(",")}
    named = {name: mask(pc.match_substring(padded, f",{name},")) for name in every if name}
    return named | ({"": mask(pc.match_substring_regex(trimmed, "^,|,,|,$"))} if "" in every else {})
