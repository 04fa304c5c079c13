"""AWS DMS: messages for Kafka and Kinesis as JSON lines, and files for S3 as CSV or Parquet, recognized by inspection.

https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kafka.html and CHAP_Target.S3.html. Operations: load and
insert, update, delete; in files I, U and D in the column Op, which files of a full load may lack: then all rows are
inserts. CSV has a header (AddColumnName) or the columns of the table in their order, after Op and, where there is one
more, the timestamp. Control records are counted.

Positions: the order of files and lines; in messages, a transaction is what has one `transaction-id`.

An image of a message lacks what is null or unchanged, if DMS was not set to IncludeNullAndEmpty: that is missing. So
is what a before image does not have, which holds the key, or all but large values (ColumnFilter). In CSV, the word NULL
is null, as is an empty field.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from integrator import schema
from integrator.decode.column_names import is_meant
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded, Parts, mark, of_parts
from integrator.decode.dialects import dms_json
from integrator.decode.fields import Where
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.order.positions import Positions
from integrator.decode.rows.coding import stamps
from integrator.decode.rows.columns import RowValues
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records
from integrator.decode.table_files import Csv, batches, control, first_row, numbered
from integrator.engine.arrays import Ints
from integrator.errors import Fault, Place, PublicDataError
from integrator.names.numbers import counted
from integrator.schema import Table

OP, STAMP = "Op", "dms_timestamp"
OPERATIONS = Operations({"I": "I", "U": "U", "D": "D", "INSERT": "I", "UPDATE": "U", "DELETE": "D"})


def parts(file: File, reading: Reading) -> Parts:
    """Return the parts of a file. Raises DataError."""
    container = file.container
    if container == "json":
        return dms_json.RECORDS.parts(file, reading)
    return Parts(iter(()) if container == "empty" else _of_tables(file, container, reading), lambda decoded: decoded)


def _of_tables(file: File, container: str, reading: Reading) -> Iterator[Decoded]:
    table = reading.only_table
    if table is None:
        raise PublicDataError(
            Fault(
                Place(file.path),
                "files of DMS do not name their table, and the channel has several; name it at the source "
                "location (table: …), and read the directory of each table by a channel of its own",
            )
        )
    written = _written(file, table) if container == "csv" else None
    line = 1 if container == "parquet" or (written and written.names) else 2
    for batch in batches(file.path, container, "", written=written):
        numbers, line = numbered(batch, line, container)
        yield _decoded(pa.Table.from_batches([batch]), numbers, file, table, reading)


def _written(file: File, table: Table) -> Csv:
    """Return how a CSV file is written by its first line."""
    columns = [column.name for column in table.columns]
    row = first_row(file.path)
    if OP in row or all(any(is_meant(column, name) for name in row) for column in table.columns):
        return Csv(nulls=("NULL", ""))
    before = {0: (), 1: (OP,), 2: (OP, STAMP)}.get(len(row) - len(columns))
    if before is None:
        raise PublicDataError(
            Fault(
                Place(file.path, 1),
                f"{counted(len(row), 'field')}, and no header; table {table.name} has "
                f"{counted(len(columns), 'column')}, which "
                "stand alone, after Op, or after Op and a timestamp",
            )
        )
    return Csv((*before, *columns), ("NULL", ""))


def _decoded(rows: pa.Table, line: Ints, file: File, table: Table, reading: Reading) -> Decoded:
    size = len(rows)
    words = rows[OP].combine_chunks() if OP in rows.column_names else pa.repeat("I", size)
    where = Where(file.path, line)
    action, _, ignored = OPERATIONS.classify(DictionaryTexts.of(control(where, OP, words, schema.String())), where, OP)
    name = reading.timestamp_column or STAMP
    stamp = pa.nulls(size, pa.timestamp("us", "UTC"))
    if name in rows.column_names:
        texts = control(where, name, rows[name].combine_chunks(), schema.String())
        stamp = stamps(where, name, texts, "UTC")
    every = np.arange(size)
    found = Records(
        where=where,
        action=action,
        schema=pa.nulls(size, pa.string()),
        table=pa.repeat(table.name, size),
        values=RowValues(rows, every, every, frozenset((OP, name)), dms_json.typed),
        old=np.zeros(size, bool),
        cap_tstamp=stamp,
        ignored=ignored,
    )
    return found, Positions.none(found.row_counts)


_MARKS = (mark(OP, certain=True), mark("metadata", others=("data", "control", "before-image")))
DIALECT = of_parts(parts, _MARKS, check=dms_json.RECORDS.check)
