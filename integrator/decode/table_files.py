"""Files that are tables already, CSV and Parquet, batch by batch."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from integrator.decode.fields import Where
from integrator.decode.lines.files import BLOCK_BYTES, cut_off, open_file
from integrator.decode.text.refused import ValueRefused
from integrator.decode.text.values import from_column
from integrator.engine.arrays import Ints
from integrator.engine.lines import find_blank
from integrator.errors import DataError, Fault, Place, PublicDataError, shown
from integrator.names.numbers import counted
from integrator.schema import Type, arrow_type

ROWS = 65_536
_NAMED = 5  # of the names that a header has twice


@dataclass(frozen=True)
class Csv:
    """How a CSV file is written: the names of its columns, where it has no header; words that stand for null."""

    names: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ("",)


def batches(
    file: str, container: str, needed: str, only: list[str] | None = None, written: Csv | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield a file's rows, text in CSV; of the columns `only`, those that are there.

    Raises DataError for what is no such file, or has no column named as `needed`, if that is not empty.
    """
    try:
        if container == "parquet":
            with open_file(file) as stream:
                opened = pyarrow.parquet.ParquetFile(
                    pa.BufferReader(stream.read_buffer()), coerce_int96_timestamp_unit="us"
                )
                columns = None if only is None else [name for name in only if name in opened.schema_arrow.names]
                yield from map(_plain, opened.iter_batches(ROWS, columns=columns))
        else:
            yield from _csv(file, needed, only, written or Csv())
    except pa.ArrowInvalid:
        if container == "csv":
            _check_rows(file)
        kind = "Parquet" if container == "parquet" else "CSV"
        raise PublicDataError(Fault(Place(file), f"is no {kind} file, or is broken; write it anew")) from None
    except OSError as error:
        raise cut_off(file, error) from error


def _check_rows(file: str) -> None:
    """Raise DataError for the first line that is not UTF-8, or row that has other fields than the first.

    Arrow's reader has found one, and does not say in which line it is.
    """
    with open_file(file) as stream:
        data = stream.read()
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                Fault(
                    Place(file, int(number)),
                    f"not UTF-8: byte {error.start + 1} of the line is "
                    f"{line[error.start : error.start + 1]!r}; write change files in UTF-8",
                )
            ) from None
    limit = csv.field_size_limit(len(data) + 1)
    try:
        rows = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        fields, begin = len(next(rows)), rows.line_num + 1
        for row in rows:
            if row and len(row) != fields:
                raise PublicDataError(
                    Fault(
                        Place(file, int(begin)),
                        f"the row has {counted(len(row), 'field')}; expected {fields}, as in the first row",
                    )
                )
            begin = rows.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows whose text and bytes are Arrow's plain ones: not by dictionary, with long offsets, or views."""
    for place, values in enumerate(batch.columns):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            kind = pa.string()
        elif pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
            kind = pa.binary()
        if kind != values.type:
            batch = batch.set_column(place, batch.schema.field(place).with_type(kind), values.cast(kind))
    return batch


def control(where: Where, name: str, values: pa.Array, kind: Type) -> pa.Array:
    """Return a column by which a file is read, as `kind`. Raises DataError for the first value that cannot be it."""
    try:
        return from_column(values, kind)
    except ValueRefused as error:
        value = shown(values[error.index].as_py())
        raise DataError(
            Fault(
                where.place(error.index),
                f"{name} is {value}, of Arrow's type {values.type}; expected is {arrow_type(kind)}",
            )
        ) from None


def numbered(rows: pa.RecordBatch | pa.Table, first: int, container: str) -> tuple[Ints, int]:
    """Return in which line of a file each row begins, where the first is in this one; and the line after the last.

    Values of CSV may have ends of lines in them.
    """
    sizes = np.ones(rows.num_rows, np.int64)
    for values in rows.columns if container == "csv" else ():
        if pa.types.is_string(values.type):
            ends = pc.fill_null(pc.count_substring(values, "\n"), 0)
            sizes += ends.to_numpy(zero_copy_only=False) if isinstance(ends, pa.Array) else ends.to_numpy()
    after = first + np.cumsum(sizes)
    return after - sizes, int(after[-1]) if len(after) else first


def first_row(file: str) -> list[str]:
    """Return the fields of a CSV file's first row. Raises DataError."""
    with open_file(file) as stream:
        try:
            start = stream.read(BLOCK_BYTES).decode("utf-8-sig", "replace")
        except OSError as error:
            raise cut_off(file, error) from error
    limit = csv.field_size_limit(len(start) + 1)
    try:
        return next(csv.reader(io.StringIO(start, newline="")), [])
    except csv.Error as error:
        raise DataError(Fault(Place(file, 1), f"no CSV: {error}")) from None
    finally:
        csv.field_size_limit(limit)


def _check_blank(file: str) -> None:
    """Raise DataError for a blank line between others: Arrow's reader passes over it, and rows would have other lines.

    Blank lines in quotes are values.
    """
    line, state, blank = 1, 0, 0
    with open_file(file) as stream:
        while block := stream.read(BLOCK_BYTES):
            line, state, blank, wrong = find_blank(np.frombuffer(block, np.uint8), line, state, blank)
            if wrong:
                raise PublicDataError(Fault(Place(file, int(wrong)), "the line is blank; remove it"))


def _csv(file: str, needed: str, only: list[str] | None, written: Csv) -> Iterator[pa.RecordBatch]:
    header = list(written.names) or first_row(file)
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise DataError(Fault(Place(file, 1), f"the header has {', '.join(map(shown, sorted(twice)[:_NAMED]))} twice"))
    if needed and needed not in header and not written.names:
        raise DataError(
            Fault(
                Place(file, 1),
                f"not JSON lines, not Parquet, and no CSV header with {needed}: its first line has "
                f"{counted(len(header), 'field')}, of which none is called so",
            )
        )
    _check_blank(file)
    with open_file(file) as stream:
        yield from pyarrow.csv.open_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(
                block_size=BLOCK_BYTES, use_threads=False, column_names=list(written.names) or None
            ),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()),
                null_values=list(written.nulls),  # an empty field is null, a quoted empty one is empty text
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                include_columns=None if only is None else [name for name in only if name in header],
            ),
        )
