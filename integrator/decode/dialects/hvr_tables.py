"""CSV (with a header) and Parquet of the hvr dialect: tables already, cast column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask, places_of_each
from integrator.decode.contract import ALLOW, Finds, Reading, columns_found, unknown_column
from integrator.decode.dialects.hvr_records import META, UNKNOWN, Records
from integrator.decode.source_tables import SourceTables
from integrator.decode.table_files import batches, control, numbered
from integrator.decode.text.refused import ValueRefused
from integrator.decode.text.values import from_column
from integrator.errors import DataError, shown
from integrator.schema import Table, arrow_type


def records(
    file: str, container: str, reading: Reading, tables: SourceTables
) -> Iterator[tuple[list[Records], dict[str, int]]]:
    """Yield the records of a file, batch by batch, and how many were passed over, by reason."""
    line = 2 if container == "csv" else 1
    found = batches(file, container, "hvr_op")
    for batch in [pa.Table.from_batches(list(found))] if reading.whole_files else map(_table, found):
        numbers, line = numbered(batch, line, container)
        result, finds = [], Finds()
        passed: Counter[str] = Counter()
        for name, at in _by_table(file, batch, numbers, reading):
            table = tables.find(None, name, f"{file}:{numbers[at[0]]}")
            if isinstance(table, str):
                passed[table] += len(at)
                part = batch.take(pa.array(at))
                meta = {meta_name: _meta(file, part, meta_name, numbers[at]) for meta_name in META}
                result.append(Records(UNKNOWN, {}, {}, meta, numbers[at], at))
            else:
                with finds.noted():
                    result.append(_records(file, batch.take(pa.array(at)), table, numbers[at], at, reading))
        finds.tell()
        yield result, passed


def transactions(file: str, container: str) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the hvr_tx_seq and the hvr_tx_countdown of each record."""
    line = 2 if container == "csv" else 1
    for batch in map(_table, batches(file, container, "hvr_op", ["hvr_integ_seq", "hvr_tx_seq", "hvr_tx_countdown"])):
        numbers, line = numbered(batch, line, container)
        given, own, left = (
            _meta(file, batch, name, numbers) for name in ("hvr_integ_seq", "hvr_tx_seq", "hvr_tx_countdown")
        )
        yield pc.coalesce(pc.utf8_slice_codeunits(given, 0, 20), own), left


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _meta(file: str, batch: pa.Table, name: str, numbers: npt.NDArray[np.int64]) -> pa.Array:
    """Return an hvr_ column in its type; all null where the file does not have it. Raises DataError with the line."""
    if name not in batch.column_names:
        return pa.nulls(batch.num_rows, META[name])
    return control(file, numbers, name, batch[name].combine_chunks(), META[name])


def _by_table(
    file: str, batch: pa.Table, numbers: npt.NDArray[np.int64], reading: Reading
) -> list[tuple[str, npt.NDArray[np.int64]]]:
    names = _meta(file, batch, "hvr_tbl_name", numbers)
    nameless = np.flatnonzero(mask(pc.is_null(names)))
    if len(nameless) and reading.default_table is None:
        raise DataError(
            f"{file}:{numbers[nameless[0]]}: the record has no hvr_tbl_name, and the channel has several tables; add "
            "it, or name the table at the source location"
        )
    encoded = pc.fill_null(names, reading.default_table or "").dictionary_encode()
    return list(zip(encoded.dictionary.to_pylist(), places_of_each(encoded), strict=True))


def _records(
    file: str,
    batch: pa.Table,
    table: Table,
    numbers: npt.NDArray[np.int64],
    at: npt.NDArray[np.int64],
    reading: Reading,
) -> Records:
    meta = {name: _meta(file, batch, name, numbers) for name in META}
    columns: dict[str, pa.Array] = {}
    missing: dict[str, npt.NDArray[np.bool_]] = {}
    named = _named_missing(meta["hvr_missing"])
    for name in named:
        if table.column(name) is None:
            line = numbers[int(np.flatnonzero(named[name])[0])]
            text = f"hvr_missing names {shown(name)}, which is no column of it"
            raise DataError(f"{file}:{line}: table {table.name}: {text}")
    for column in table.columns:
        if column.name not in batch.column_names:
            columns[column.name] = pa.nulls(len(at), arrow_type(column.type))
            missing[column.name] = np.ones(len(at), bool)
            continue
        values = batch[column.name].combine_chunks()
        try:
            columns[column.name] = from_column(values, column.type)
        except ValueRefused as error:
            where = f"{file}:{numbers[error.index]}: table {table.name}, column {column.name}"
            raise DataError(f"{where}: {error}; mend the record or the table definition") from None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise DataError(f"{file}: table {table.name}, column {column.name}: {error}") from None
        if column.name in named:
            missing[column.name] = named[column.name]
    return Records(table.name, columns, missing, meta, numbers, at, _unknown(file, batch, table, numbers, reading))


def _unknown(
    file: str, batch: pa.Table, table: Table, numbers: npt.NDArray[np.int64], reading: Reading
) -> dict[str, int]:
    """Return how many values are of columns that the table has not. Raises DataError or ColumnsFound for them."""
    found = {
        name: (int(numbers[first(mask(pc.is_valid(batch[name]))) or 0]), batch[name].type)
        for name in batch.column_names
        if name not in META and table.column(name) is None and batch[name].null_count < batch.num_rows
    }
    if found and reading.unknown_columns == "add":
        raise columns_found(file, table.name, found)
    if reading.unknown_columns == "error":
        for name, (line, _) in found.items():
            known = ", ".join(column.name for column in table.columns)
            raise DataError(f"{file}:{line}: table {table.name} has no column {name!r}; it has {known}; {ALLOW}")
    return {unknown_column(table.name, name): batch.num_rows - batch[name].null_count for name in found}


def _named_missing(names: pa.Array) -> dict[str, npt.NDArray[np.bool_]]:
    if names.null_count == len(names):
        return {}
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(pc.fill_null(names, "")), r"\s*,\s*", ",")
    padded = pc.binary_join_element_wise(",", trimmed, ",", "")
    every = {name for entry in pc.unique(trimmed).to_pylist() if entry for name in entry.split(",")}
    named = {name: mask(pc.match_substring(padded, f",{name},")) for name in every if name}
    return named | ({"": mask(pc.match_substring_regex(trimmed, "^,|,,|,$"))} if "" in every else {})
