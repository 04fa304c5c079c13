"""Connect JSON: golden texts, Kafka's own JsonConverter as the reader, and random rows against Python's json."""

import base64
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator import schema
from integrator.arrow.base64 import base64 as to_base64
from integrator.contracts.message_format import Options
from integrator.formats.connect_json import SCHEMA_PAYLOAD, frame, schema_text
from integrator.formats.records import UnsupportedValue
from integrator.schema import Column
from tests.cases import CASES, array
from tests.parts import kafka_io

NAMES = [case[0] for case in CASES]


def encode(kind, values, decimals="BASE64", times="ADAPTIVE"):
    options = Options(decimals=decimals, times=times)
    return SCHEMA_PAYLOAD.encoder([Column("c", kind)], options)({"c": values}, {}).to_pylist()


def around(name, columns):
    """What stands before and after a payload."""
    said = frame(name, columns, Options(), None)
    return said.opening.decode(), said.closing.decode()


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_golden_payloads(case):
    _, kind, values, texts, _ = case
    if texts is not None:
        assert encode(kind, array(kind, values)) == [f'{{"c":{text}}}' for text in texts]


def test_golden_schema_and_message():
    columns = [Column("id", schema.Integer(32), nullable=False), Column("amt", schema.Decimal(10, 2))]
    head, tail = around("orders", columns)
    payload = SCHEMA_PAYLOAD.encoder(columns, Options())(
        {"id": pa.array([7], pa.int32()), "amt": pa.array([Decimal("12.34")], pa.decimal128(10, 2))}, {}
    )
    assert head + payload[0].as_py() + tail == (
        '{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},{"type":"bytes","optional":true,'
        '"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2","connect.decimal.precision":'
        '"10"},"field":"amt"}],"optional":false,"name":"orders"},"payload":{"id":7,"amt":"BNI="}}'
    )


def test_kafkas_json_converter_reads_every_case(converter_class_path):
    messages, expected = [], []
    for name, kind, values, _, (connect, logical, texts) in CASES:
        head, tail = around(name, [Column("c", kind)])
        messages += [(head + payload + tail).encode() for payload in encode(kind, array(kind, values))]
        expected += [[connect, logical, text] for text in texts]
    seen = kafka_io.converter_reads(converter_class_path, messages)
    assert [row["c"] for row in seen] == expected


def test_numeric_decimals_are_exact_numbers():
    values = pa.array([Decimal("12.30"), Decimal("0.0000000001"), None], pa.decimal128(30, 10))
    assert encode(schema.Decimal(30, 10), values, "NUMERIC") == [
        '{"c":12.3000000000}',
        '{"c":0.0000000001}',
        '{"c":null}',
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_json_number_is_refused(value):
    with pytest.raises(UnsupportedValue, match="is no JSON number; send the column as text"):
        encode(schema.Float(64), pa.array([1.0, value]))


def test_what_an_item_cannot_be_is_told_of_its_row():
    values = pa.array([[1.0, 2.0, 3.0], [], [4.0, float("nan")]])
    with pytest.raises(UnsupportedValue) as raised:
        encode(schema.Array(schema.Float(64)), values)
    assert raised.value.index == 2


def test_connects_milliseconds_refuse_finer_times():
    kind = schema.Timestamp("us")
    assert encode(kind, array(kind, [1_000, -2_000, None]), times="CONNECT") == ['{"c":1}', '{"c":-2}', '{"c":null}']
    with pytest.raises(UnsupportedValue, match="finer than Connect's millisecond") as raised:
        encode(kind, array(kind, [1_000, 1_001]), times="CONNECT")
    assert raised.value.index == 1
    assert '"name":"org.apache.kafka.connect.data.Timestamp"' in schema_text(
        "t", [Column("c", kind)], Options(times="CONNECT")
    )


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_text_reads_back(values):
    rows = encode(schema.String(), pa.array(values, pa.string()))
    assert [json.loads(row)["c"] for row in rows] == values


@given(st.lists(st.none() | st.binary(max_size=40), min_size=1), st.integers(0, 3))
def test_any_bytes_are_base64(values, start):
    column = pa.array(values, pa.binary()).slice(start)
    assert to_base64(column).to_pylist() == [v if v is None else base64.b64encode(v).decode() for v in values[start:]]


@given(st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1), min_size=1))
def test_any_decimal_reads_back(values):
    column = pa.array([v if v is None else Decimal(f"{v}e-3") for v in values], pa.decimal128(38, 3))
    for row, value in zip(encode(schema.Decimal(38, 3), column), values, strict=True):
        text = json.loads(row)["c"]
        if value is None:
            assert text is None
        else:
            unscaled = base64.b64decode(text)
            assert int.from_bytes(unscaled, "big", signed=True) == value
            assert len(unscaled) == (value + (value < 0)).bit_length() // 8 + 1  # java's BigInteger.toByteArray
