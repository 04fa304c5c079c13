"""Files that are tables already, CSV and Parquet, batch by batch."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from integrator.dialects.lines import BLOCK_BYTES, open_file
from integrator.errors import DataError

ROWS = 65_536


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
                yield from opened.iter_batches(ROWS, columns=columns)
        else:
            yield from _csv(file, needed, only, written or Csv())
    except pa.ArrowInvalid as error:
        raise DataError(f"{file}: not {container}, or broken: {error}") from None


def first_row(file: str) -> list[str]:
    """Return the fields of a CSV file's first line."""
    with open_file(file) as stream:
        start = stream.read(BLOCK_BYTES).split(b"\n", 1)[0]
    return next(csv.reader([start.decode("utf-8-sig", "replace").rstrip("\r")]), [])


def _csv(file: str, needed: str, only: list[str] | None, written: Csv) -> Iterator[pa.RecordBatch]:
    header = list(written.names) or first_row(file)
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise DataError(f"{file}:1: the header has {', '.join(sorted(twice))} twice")
    if needed and needed not in header and not written.names:
        raise DataError(
            f"{file}:1: not JSON lines, not Parquet, and no CSV header with {needed}; it begins "
            f"{','.join(header)[:100].encode()!r}"
        )
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
