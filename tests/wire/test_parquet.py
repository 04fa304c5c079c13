"""Parquet: what pyarrow and fastparquet-like readers find in each message's file, in HVR's three versions."""

import io
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integrator import schema
from integrator.contracts.message_format import Options
from integrator.formats import parquet_file
from integrator.schema import Column
from tests.cases import CASES, array
from tests.wire import neutral

SAYABLE = [case for case in CASES if parquet_file.refusal(case[1], Options(parquet_version="v3")) is None]


def read(kind, value):
    if isinstance(kind, schema.Interval) and value is not None:
        return neutral.from_iso(value)
    return neutral.read(kind, value)


def rows_of(kind, values, options):
    encoded = parquet_file.FORMAT.encoder([Column("c", kind)], options)({"c": array(kind, values)}, {})
    return [pq.read_table(io.BytesIO(row)) for row in encoded.to_pylist()]


@pytest.mark.parametrize("case", SAYABLE, ids=[case[0] for case in SAYABLE])
def test_pyarrow_reads_every_case(case):
    _, kind, values, _, _ = case
    for table, value in zip(rows_of(kind, values, Options(parquet_version="v3")), values, strict=True):
        column = table["c"]
        if pa.types.is_temporal(column.type):
            stored = column.cast(schema.arrow_type(kind))
            column = stored.cast(pa.int32() if stored.type.bit_width == 32 else pa.int64())
        [got] = column.to_pylist()
        assert neutral.same(neutral.given(kind, value), read(kind, got))


def test_the_three_versions():
    kind = schema.Decimal(10, 2)
    types = {}
    for version in ("v1", "v2", "v3"):
        [table] = rows_of(kind, [Decimal("1.50")], Options(parquet_version=version))
        types[version] = str(table.schema.field("c").type)
    assert types == {"v1": "double", "v2": "decimal128(10, 2)", "v3": "decimal128(10, 2)"}
    encode = parquet_file.FORMAT.encoder([Column("c", schema.Timestamp("us"))], Options(parquet_version="v2"))
    [row] = encode({"c": array(schema.Timestamp("us"), [1])}, {}).to_pylist()
    assert pq.ParquetFile(io.BytesIO(row)).schema.column(0).physical_type == "INT96"


@pytest.mark.parametrize("codec", ["NONE", "GZIP", "LZ4"])
def test_compression_and_the_same_bytes_each_time(codec):
    options = Options(block_compress=codec, parquet_version="v3")
    encode = parquet_file.FORMAT.encoder([Column("c", schema.String())], options)
    first, second = (encode({"c": pa.array(["x" * 100])}, {}).to_pylist() for _ in range(2))
    assert first == second
    said = pq.ParquetFile(io.BytesIO(first[0])).metadata.row_group(0).column(0).compression
    assert said == {"NONE": "UNCOMPRESSED", "GZIP": "GZIP", "LZ4": "LZ4"}[codec]
