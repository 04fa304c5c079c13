"""BSON: what PyMongo's bson reads of every case; rows as HVR's TABLE_OBJECT_BSON has them, alone and bundled."""

import gzip
import json
from decimal import Decimal

import bson
import numpy as np
import pyarrow as pa
import pytest
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128, create_decimal128_context

from integrator import schema
from integrator.contracts.message_format import Options
from integrator.formats import bson as ours
from integrator.formats import plain_json
from integrator.formats.contract import refusals
from integrator.schema import Column
from tests.cases import CASES, array
from tests.parts import pure

pytestmark = pytest.mark.fast

OPTIONS = Options(decimals="NUMERIC", json_mode="TABLE_OBJECT_BSON")
READ = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)
KINDS = [case[:3] for case in CASES if not refusals(ours.FORMAT, [Column("c", case[1])], OPTIONS)]


def documents(columns, values, missing=None):
    rows = ours.FORMAT.encoder(columns, OPTIONS)(values, missing or {}).to_pylist()
    return [bson.decode(row, READ) for row in rows]


def wanted(kind, value):
    """A value as PyMongo gives it: numbers by their types, datetimes in milliseconds, all else as plain JSON has it."""
    match kind:
        case _ if value is None:
            return None
        case schema.Decimal():
            return Decimal128(create_decimal128_context().create_decimal(value))
        case schema.Timestamp("ms"):
            return DatetimeMS(array(kind, [value]).cast(pa.int64())[0].as_py())
        case schema.Date():
            return DatetimeMS(array(kind, [value]).cast(pa.int32())[0].as_py() * 86_400_000)
        case schema.Array(item):
            return [wanted(item, one) for one in value]
        case schema.Struct(fields):
            return {field.name: wanted(field.type, value[field.name]) for field in fields}
        case schema.Boolean() | schema.Integer() | schema.Float() | schema.Bytes():
            return value
        case _:
            text = plain_json.FORMAT.encoder([Column("c", kind)], OPTIONS)({"c": array(kind, [value])}, {})[0].as_py()
            return json.loads(text)["c"]


@pytest.mark.parametrize(("name", "kind", "values"), KINDS, ids=[case[0] for case in KINDS])
def test_pymongo_reads_every_case(name, kind, values):
    given = array(kind, values)
    read = [document["c"] for document in documents([Column("c", kind)], {"c": given})]
    for got, value in zip(read, values, strict=True):
        expected = wanted(kind, value)
        is_decimal = isinstance(got, Decimal128)
        assert str(got.to_decimal() if is_decimal else repr(got)) == (
            str(expected.to_decimal()) if is_decimal else repr(expected)
        )


TYPES = [
    # a type, a value, and the element type of BSON that it has
    (schema.Boolean(), True, 0x08),
    (schema.Integer(8), 1, 0x10),
    (schema.Integer(16), 1, 0x10),
    (schema.Integer(32), 1, 0x10),
    (schema.Integer(64), 1, 0x12),
    (schema.Float(32), 1.5, 0x01),
    (schema.Decimal(10, 2), Decimal("1.50"), 0x13),
    (schema.String(), "x", 0x02),
    (schema.Bytes(), b"x", 0x05),
    (schema.Date(), 20777, 0x09),
    (schema.Timestamp("ms"), 1795178096789, 0x09),
    (schema.Timestamp("us"), 1795178096789012, 0x02),
    (schema.Time("ms"), 45296789, 0x02),
    (schema.Array(schema.Integer(32)), [1], 0x04),
    (schema.Struct((Column("a", schema.Integer(32)),)), {"a": 1}, 0x03),
    (schema.String(), None, 0x0A),
]


@pytest.mark.parametrize(("kind", "value", "element"), TYPES)
def test_the_type_of_an_element(kind, value, element):
    [row] = ours.FORMAT.encoder([Column("c", kind)], OPTIONS)({"c": array(kind, [value])}, {}).to_pylist()
    assert row[4] == element


def test_decimals_keep_their_digits_and_their_sign():
    numbers = [Decimal("0.00"), Decimal("-0.01"), Decimal("9" * 32 + ".99"), Decimal("-" + "9" * 32 + ".99"), None]
    kind = schema.Decimal(34, 2)
    read = [one["c"] for one in documents([Column("c", kind)], {"c": array(kind, numbers)})]
    assert [one and str(one.to_decimal()) for one in read] == [None if one is None else str(one) for one in numbers]
    [(_, why)] = refusals(ours.FORMAT, [Column("c", schema.Decimal(35, 2))], OPTIONS)
    assert why == "BSON's decimals have up to 34 digits; send the column as text (Datatype: varchar)"


def test_a_missing_value_is_left_out_and_a_null_is_not():
    columns = [Column("a", schema.Integer(32)), Column("b", schema.String()), Column("c", schema.Boolean())]
    values = {"a": pa.array([1, None, 3], pa.int32()), "b": pa.array(["x", "y", None]), "c": pa.array([True] * 3)}
    gone = {"b": np.array([False, True, False]), "c": np.array([True, False, True])}
    assert documents(columns, values, gone) == [{"a": 1, "b": "x"}, {"a": None, "c": True}, {"a": 3, "b": None}]


DDL = "create table tab(k bigint primary key, v text, d numeric(9,2));"
CHANGES = [{"k": k, "v": "x" * k, "d": "1.50"} for k in range(12)]


def recipe(directory, kafka="", more=""):
    fmt = f"  - {{action: FileFormat, Json: true, JsonMode: TABLE_OBJECT_BSON{more}}}\n"
    return pure.recipe(directory, DDL, fmt, kafka=kafka)


def test_a_message_is_the_table_with_its_row(tmp_path):
    sent = pure.messages(recipe(tmp_path), pure.hvr(tmp_path, *CHANGES[:2]))
    assert [bson.decode(message.value) for message in sent] == [
        {"tab": [{"k": k, "v": "x" * k, "d": Decimal128("1.50")}]} for k in range(2)
    ]


@pytest.mark.parametrize(("bundling", "rows"), [("TRANSACTION", [12]), ("THRESHOLD", [12])])
def test_a_bundle_is_the_table_with_its_rows(bundling, rows, tmp_path):
    sent = pure.messages(recipe(tmp_path, f", Kafka_Message_Bundling: {bundling}"), pure.hvr(tmp_path, *CHANGES))
    read = [bson.decode(message.value) for message in sent]
    assert [row for one in read for row in one["tab"]] == [
        {"k": one["k"], "v": one["v"], "d": Decimal128("1.50")} for one in CHANGES
    ]
    if bundling == "THRESHOLD":
        assert [len(one["tab"]) for one in read] == rows


def test_bundles_fit_the_maximum_size(tmp_path):
    limit = "  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '4096'}\n"
    rows = [{"k": k, "v": "x" * 20, "d": "1.50"} for k in range(300)]
    fmt = "  - {action: FileFormat, Json: true, JsonMode: TABLE_OBJECT_BSON}\n"
    made = pure.recipe(tmp_path, DDL, fmt + limit, kafka=", Kafka_Message_Bundling: THRESHOLD")
    sent = pure.messages(made, pure.hvr(tmp_path, *rows))
    assert all(len(message.value) + 100 <= 4096 for message in sent)
    assert [row["k"] for message in sent for row in bson.decode(message.value)["tab"]] == list(range(300))
    assert len(sent) <= 9


def test_both_images_of_an_update_and_compression(tmp_path):
    made = recipe(tmp_path, more=', BeforeUpdateColumns: "old&", Compress: GZIP')
    changes = [{"hvr_op": 4, "k": 1, "v": "a", "d": "1"}, {"hvr_op": 2, "k": 1, "v": "b", "d": "1"}]
    [message] = pure.messages(made, pure.hvr(tmp_path, *changes))
    [row] = bson.decode(gzip.decompress(message.value))["tab"]
    assert (row["v"], row["old&v"]) == ("b", "a")


PROBLEMS = [
    (", Encoding: UTF-16LE", "Encoding is for text, and BSON is binary; leave it out"),
    (", ConvertNewlinesTo: DOS", "ConvertNewlinesTo is for text, and BSON is binary; leave it out"),
]


@pytest.mark.parametrize(("more", "why"), PROBLEMS)
def test_what_bson_cannot_have(more, why, tmp_path):
    with pytest.raises(pure.IntegratorError) as raised:
        recipe(tmp_path, more=more)
    assert why in str(raised.value)
