"""Avro: what fastavro and Apache Avro for Java read of every case, plain and in container files; golden bytes; refusals."""

import io
import json
from decimal import Decimal

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator import schema
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import avro, avro_file
from integrator.formats.records import UnsupportedValue
from integrator.schema import Column
from tests.cases import CASES, array
from tests.parts import java
from tests.wire import neutral

IDS = [case[0] for case in CASES]
OPTIONS = Options(decimals="NUMERIC")


def columns(kind, nullable=True):
    return [Column("c", kind, nullable)]


def encode(kind, values, nullable=True, options=OPTIONS):
    return avro.FORMAT.encoder(columns(kind, nullable), options)({"c": values}, {}).to_pylist()


def as_fastavro(kind, value):
    if isinstance(kind, schema.Interval) and value is not None:
        months, days, millis = (int.from_bytes(value[at : at + 4], "little") for at in (0, 4, 8))
        return months, days, millis * 1_000_000
    return neutral.read(kind, value)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_fastavro_reads_every_case(case):
    _, kind, values, _, _ = case
    parsed = fastavro.parse_schema(json.loads(avro.schema_text("t", columns(kind), OPTIONS)))
    for row, value in zip(encode(kind, array(kind, values)), values, strict=True):
        stream = io.BytesIO(row)
        read = fastavro.schemaless_reader(stream, parsed, None)["c"]
        assert neutral.same(neutral.given(kind, value), as_fastavro(kind, read))
        assert not stream.read()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_not_null_columns_have_no_union(case):
    _, kind, values, _, _ = case
    some = [value for value in values if value is not None]
    parsed = fastavro.parse_schema(json.loads(avro.schema_text("t", columns(kind, False), OPTIONS)))
    for row, value in zip(encode(kind, array(kind, some), nullable=False), some, strict=True):
        read = fastavro.schemaless_reader(io.BytesIO(row), parsed, None)["c"]
        assert neutral.same(neutral.given(kind, value), as_fastavro(kind, read))


def raw(kind, value):
    """A value as Avro stores it, in the JSON of ReadAvro.java."""
    if value is None:
        return None
    match kind:
        case schema.Decimal(_, scale):
            unscaled = int(value.scaleb(scale, context=neutral.EXACT))
            return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True).hex()
        case schema.Bytes():
            return value.hex()
        case schema.Interval():
            months, days, nanos = value
            return b"".join(part.to_bytes(4, "little") for part in (months, days, nanos // 1_000_000)).hex()
        case schema.Array(item):
            return [raw(item, part) for part in value]
        case schema.Struct(fields):
            return {field.name: raw(field.type, value[field.name]) for field in fields}
        case schema.Float():
            return neutral.given(kind, value)
        case _:
            return value


def test_avro_for_java_reads_every_case_and_every_container_file():
    records, expected = [], []
    for _, kind, values, _, _ in CASES:
        text = avro.schema_text("t", columns(kind), OPTIONS)
        rows = encode(kind, array(kind, values))
        records += [(text, row) for row in rows]
        for codec in ("NONE", "DEFLATE"):
            frame = avro_file.frame("t", columns(kind), Options(block_compress=codec), None)
            blocks = frame.assemble(pa.array(rows, pa.binary()), np.ones(len(rows), np.int64)).to_pylist()
            records += [("file", frame.start + block + frame.end) for block in blocks]
        expected += [raw(kind, value) for value in values] * 3
    for read, wanted in zip(java.avro_reads(records), expected, strict=True):
        if isinstance(wanted, float):
            assert read["c"] == pytest.approx(wanted, rel=1e-7)  # a float, as Java prints it
        else:
            assert read["c"] == wanted


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_container_files_are_read_by_fastavro_and_are_the_same_each_time(case):
    _, kind, values, _, _ = case
    frame = avro_file.frame("t", columns(kind), Options(block_compress="DEFLATE"), None)
    rows = pa.array(encode(kind, array(kind, values)), pa.binary())
    blocks = frame.assemble(rows, np.ones(len(rows), np.int64)).to_pylist()
    assert blocks == frame.assemble(rows, np.ones(len(rows), np.int64)).to_pylist()
    for block, value in zip(blocks, values, strict=True):
        [read] = fastavro.reader(io.BytesIO(frame.start + block + frame.end))
        assert neutral.same(neutral.given(kind, value), as_fastavro(kind, read["c"]))


def test_golden_schema():
    listed = [
        Column("id", schema.Integer(64), nullable=False),
        Column("small", schema.Integer(16)),
        Column("price", schema.Decimal(10, 2), nullable=False),
        Column("at", schema.Timestamp("us")),
    ]
    decimal = (
        '{"type":"bytes","scale":2,"precision":10,"connect.version":1,"connect.parameters":{"scale":"2",'
        '"connect.decimal.precision":"10"},"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}'
    )
    assert avro.schema_text("orders", listed, OPTIONS) == (
        '{"type":"record","name":"orders","fields":[{"name":"id","type":"long","default":0},'
        '{"name":"small","type":["null",{"type":"int","connect.type":"int16"}],"default":null},'
        f'{{"name":"price","type":{decimal},"default":"\\u0000"}},'
        '{"name":"at","type":["null",{"type":"long","connect.version":1,"connect.name":"io.debezium.time.MicroTimestamp",'
        '"logicalType":"timestamp-micros"}],"default":null}]}'
    )


def test_the_wire_format_is_a_zero_and_the_id():
    frame = avro.FORMAT.frame("t", [], OPTIONS, SchemaId(258))
    assert (frame.opening, frame.closing) == (b"\x00\x00\x00\x01\x02", b"")
    assert avro.FORMAT.frame("t", [], OPTIONS, SchemaId(258, "6f1ed002-ab5e-4e1c-9f3a-0d5d1e2f3a4b")).opening == b""


INTERVALS = [((0, 0, 1), "finer than a millisecond"), ((-1, 0, 0), "negative"), ((0, 0, 2**32 * 10**6), "too long")]


@pytest.mark.parametrize(("value", "why"), INTERVALS)
def test_intervals_that_a_duration_cannot_be_are_refused(value, why):
    with pytest.raises(UnsupportedValue, match=why) as raised:
        encode(schema.Interval(), array(schema.Interval(), [(1, 2, 3_000_000), None, value]))
    assert raised.value.index == 2


def test_what_stands_in_a_struct_is_refused_by_its_row_and_name():
    kind = schema.Struct((Column("i", schema.Interval()),))
    values = pa.array([None, {"i": pa.MonthDayNano([1, 1, 1])}], schema.arrow_type(kind))
    with pytest.raises(UnsupportedValue, match=r"i: .*finer than a millisecond") as raised:
        encode(kind, values)
    assert raised.value.index == 1


@pytest.mark.parametrize("kind", [schema.Timestamp("us"), schema.Timestamp("ns", zoned=True), schema.Time("us")])
def test_connects_milliseconds_are_called_so(kind):
    connect = Options(times="CONNECT")
    text = avro.schema_text("t", columns(kind), connect)
    most = 3_600_000_000 if isinstance(kind, schema.Time) else 3_600_000_000_000
    values = array(kind, [most, None])
    [row, _] = avro.FORMAT.encoder(columns(kind), connect)({"c": values}, {}).to_pylist()
    read = fastavro.schemaless_reader(io.BytesIO(row), fastavro.parse_schema(json.loads(text)), None)["c"]
    unit = schema.Time("ms") if isinstance(kind, schema.Time) else schema.Timestamp("ms")
    assert neutral.read(unit, read) * neutral.UNITS[kind.unit] // 1000 == most
    empty = {"c": values.slice(2)}
    assert avro.FORMAT.encoder(columns(kind), connect)(empty, {}).to_pylist() == []


def test_debeziums_times_are_text_where_debezium_has_text():
    debezium = Options(times="DEBEZIUM")
    listed = [Column("z", schema.Timestamp("us", zoned=True)), Column("i", schema.Interval(), False)]
    fields = json.loads(avro.schema_text("t", listed, debezium))["fields"]
    assert [(field["type"][1] if field["name"] == "z" else field["type"])["type"] for field in fields] == ["string"] * 2
    table = {"z": array(listed[0].type, [1]), "i": array(listed[1].type, [(0, 1, 1)])}
    [row] = avro.FORMAT.encoder(listed, debezium)(table, {}).to_pylist()
    parsed = fastavro.parse_schema(json.loads(avro.schema_text("t", listed, debezium)))
    read = fastavro.schemaless_reader(io.BytesIO(row), parsed, None)
    assert read == {"z": "1970-01-01T00:00:00.000001Z", "i": "P0Y0M1DT0H0M0.000000001S"}


def test_before_1_8_there_are_basic_types_only():
    basic = Options(avro_basic=True, decimals="NUMERIC")
    listed = [
        Column("d", schema.Decimal(10, 2)),
        Column("t", schema.Timestamp("ms"), False),
        Column("day", schema.Date()),
    ]
    fields = json.loads(avro.schema_text("t", listed, basic))["fields"]
    assert [field["type"] for field in fields] == [["null", "string"], "string", ["null", "int"]]
    rows = avro.FORMAT.encoder(listed, basic)(
        {
            "d": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
            "t": pa.array([1500], pa.int64()).cast(pa.timestamp("ms")),
            "day": pa.array([3], pa.int32()).cast(pa.date32()),
        },
        {},
    )
    parsed = fastavro.parse_schema(json.loads(avro.schema_text("t", listed, basic)))
    read = fastavro.schemaless_reader(io.BytesIO(rows[0].as_py()), parsed, None)
    assert read == {"d": "1.50", "t": "1970-01-01 00:00:01.500", "day": 3}


ROW = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(),
    st.none() | st.binary(max_size=30),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
    # fastavro gives -128, -32768 … a byte more than java.math.BigInteger does
    st.none()
    | st.integers(-(10**37), 10**37).filter(lambda value: value not in {-(2 ** (8 * n - 1)) for n in range(1, 17)}),
    st.none() | st.lists(st.none() | st.text(max_size=5), max_size=4),
)
RANDOM = [
    Column("i", schema.Integer(64)),
    Column("s", schema.String()),
    Column("b", schema.Bytes()),
    Column("f", schema.Float(64)),
    Column("o", schema.Boolean()),
    Column("d", schema.Decimal(38, 4)),
    Column("a", schema.Array(schema.String())),
]


@given(st.lists(ROW, min_size=1, max_size=20), st.integers(0, 3))
def test_any_rows_are_the_bytes_that_fastavro_writes(rows, start):
    rows = [(*row[:5], None if row[5] is None else Decimal(f"{row[5]}e-4"), row[6]) for row in rows]
    try:
        names = [column.name for column in RANDOM]
        table = {
            c.name: pa.array([row[at] for row in rows], schema.arrow_type(c.type)).slice(start)
            for at, c in enumerate(RANDOM)
        }
    except UnicodeEncodeError:  # a lone surrogate: no Unicode text, and Arrow has none
        return
    parsed = fastavro.parse_schema(json.loads(avro.schema_text("t", RANDOM, OPTIONS)))
    encoded = avro.FORMAT.encoder(RANDOM, OPTIONS)(table, {}).to_pylist()
    for row, data in zip(rows[start:], encoded, strict=True):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, dict(zip(names, row, strict=True)))
        assert data == stream.getvalue()
