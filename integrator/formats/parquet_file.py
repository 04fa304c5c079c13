"""Parquet, a file for each message: for those who store messages as files. Slow by nature, for each row is a file.

HVR's versions (https://fivetran.com/docs/hvr6/action-reference/fileformat#parquet): v1 has decimals as doubles and
timestamps as int96; v2 has decimals; v3 has timestamps in microseconds.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from integrator import schema
from integrator.arrow.durations import iso_text
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats.contract import Format, Frame
from integrator.formats.records import Arrays, Columns, Encoder, Missing
from integrator.schema import Type, arrow_type

_VERSIONS = {"v1": "1.0", "v2": "2.4", "v3": "2.6"}
_CODECS = {"NONE": "none", "GZIP": "gzip", "LZ4": "lz4", "DEFLATE": "gzip"}


def encoder(columns: Columns, options: Options) -> Encoder:
    """Return a function from the columns' arrays to the Parquet file of each row."""
    fields = pa.schema([pa.field(c.name, _stored(c.type, options), c.nullable) for c in columns])

    def encode_rows(arrays: Arrays, _missing: Missing) -> pa.Array:
        stored = [_as_stored(arrays[c.name], field.type) for c, field in zip(columns, fields, strict=True)]
        rows = pa.Table.from_arrays(stored, schema=fields)
        return pa.array([_file(rows.slice(at, 1), options) for at in range(len(rows))], pa.binary())

    return encode_rows


def _stored(kind: Type, options: Options) -> pa.DataType:
    if isinstance(kind, schema.Decimal) and options.parquet_version == "v1":
        return pa.float64()
    if isinstance(kind, schema.Interval):
        return pa.string()
    return arrow_type(kind)


def _as_stored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_interval(values.type):
        return iso_text(values)
    return values if values.type == kind else values.cast(kind)


def _file(row: pa.Table, options: Options) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        row,
        sink,
        version=_VERSIONS[options.parquet_version],
        compression=_CODECS[options.block_compress],
        use_deprecated_int96_timestamps=options.parquet_version != "v3",
        data_page_size=options.page_size,
        store_schema=False,
    )
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def refusal(kind: Type, options: Options) -> str | None:
    """Return why Parquet cannot express a type, or None."""
    inside: tuple[Type, ...] = (kind.item,) if isinstance(kind, schema.Array) else ()
    if isinstance(kind, schema.Struct):
        inside = tuple(field.type for field in kind.fields)
        if not inside:
            return "a struct needs fields"
    if any(isinstance(part, schema.Interval) for part in inside):
        return "an interval in a list or struct is not possible; send the column as text (Datatype: text)"
    if options.parquet_version == "v1" and any(isinstance(part, schema.Decimal) for part in inside):
        return "a decimal in a list or struct is not possible in v1; use ParquetVersion v2"
    if isinstance(kind, schema.Decimal) and kind.scale > kind.precision:
        return "a decimal has no more digits after the point than in all; send the column as text (Datatype: text)"
    if isinstance(kind, schema.Decimal) and kind.precision > 38 and options.parquet_version == "v1":
        return "a decimal of more than 38 digits is no double; use ParquetVersion v2"
    return None


def frame(_name: str, _columns: Columns, _options: Options, _id: SchemaId | None) -> Frame:
    """Return nothing: each row is a whole file."""
    return Frame()


FORMAT = Format(encoder, frame, missing="refuse", refusal=refusal, text=False)
