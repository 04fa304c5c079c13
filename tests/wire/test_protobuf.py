"""Protobuf: messages that Google's own protoc and runtime read, and the bytes that they write for the same values."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator import schema
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import protobuf
from integrator.formats.records import UnsupportedValue
from integrator.schema import Column
from tests.cases import CASES, array
from tests.parts import decode, protoc
from tests.wire import neutral

OPTIONS = Options(decimals="NUMERIC")


def no_null_items(case):
    """A repeated field holds no null: those values are refused, and tested below."""
    name, kind, values, *_ = case
    if isinstance(kind, schema.Array):
        values = [value for value in values if value is None or None not in value]
    return name, kind, values


SAYABLE = [no_null_items(case) for case in CASES]


@pytest.mark.parametrize("case", SAYABLE, ids=[case[0] for case in SAYABLE])
@pytest.mark.parametrize("nullable", [True, False])
def test_googles_runtime_reads_every_case_and_writes_the_same_bytes(case, nullable):
    _, kind, values = case
    values = values if nullable else [value for value in values if value is not None]
    columns = [Column("c", kind, nullable)]
    cls = protoc.message_class(protobuf.schema_text("t", columns, OPTIONS), "t")
    rows = protobuf.FORMAT.encoder(columns, OPTIONS)({"c": array(kind, values)}, {}).to_pylist()
    for row, value in zip(rows, values, strict=True):
        message = cls.FromString(row)
        assert neutral.same(neutral.given(kind, value), decode.protobuf_field(kind, message, "c"))
        assert message.SerializeToString(deterministic=True) == row


def test_golden_text_and_bytes():
    columns = [
        Column("id", schema.Integer(64), nullable=False),
        Column("small", schema.Integer(16)),
        Column("price", schema.Decimal(10, 2), nullable=False),
        Column("tags", schema.Array(schema.String()), nullable=False),
        Column("codes", schema.Array(schema.Integer(32))),
    ]
    assert protobuf.schema_text("orders", columns, OPTIONS) == (
        'syntax = "proto3";\n\nimport "confluent/meta.proto";\nimport "confluent/type/decimal.proto";\n\n'
        "message orders {\n"
        "  int64 id = 1;\n"
        '  optional int32 small = 2 [(confluent.field_meta) = { params: [{ key: "connect.type", value: "int16" }] }];\n'
        "  confluent.type.Decimal price = 3 [(confluent.field_meta) = "
        '{ params: [{ key: "precision", value: "10" }, { key: "scale", value: "2" }] }];\n'
        "  repeated string tags = 4;\n"
        "  message codes_list {\n    repeated int32 items = 1;\n  }\n"
        "  optional codes_list codes = 5;\n"
        "}\n"
    )
    assert protobuf.FORMAT.frame("t", [], OPTIONS, SchemaId(7)).opening == b"\x00\x00\x00\x00\x07\x00"


LISTS = [([["a"], None], False, "is null"), ([["a"], ["b", None]], True, "holds null")]


@pytest.mark.parametrize(("values", "nullable", "why"), LISTS)
def test_lists_that_a_repeated_field_cannot_be_are_refused(values, nullable, why):
    kind = schema.Array(schema.String())
    with pytest.raises(UnsupportedValue, match=why) as raised:
        protobuf.FORMAT.encoder([Column("c", kind, nullable)], OPTIONS)({"c": pa.array(values)}, {})
    assert raised.value.index == 1


@pytest.mark.parametrize("kind", [schema.Date(), schema.Timestamp("us")])
def test_years_that_protobuf_does_not_have_are_refused(kind):
    beyond = 2932897 if isinstance(kind, schema.Date) else 2932897 * 86_400_000_000
    with pytest.raises(UnsupportedValue, match="not in the years 1 to 9999") as raised:
        protobuf.FORMAT.encoder([Column("c", kind)], OPTIONS)({"c": array(kind, [0, None, beyond])}, {})
    assert raised.value.index == 2


def test_a_number_keeps_its_field_and_is_given_to_no_other():
    before = [Column(name, schema.Integer(32)) for name in ("a", "b", "c")]
    text = protobuf.schema_text("t", before, OPTIONS)
    after = [Column(name, schema.Integer(32)) for name in ("a", "new", "c")]
    kept = Options(numbers=protobuf.numbers_of(text))
    second = protobuf.schema_text("t", after, kept)
    assert dict(protobuf.numbers_of(second)) == {"a": 1, "?2": 2, "new": 4, "c": 3}
    rows = protobuf.FORMAT.encoder(after, kept)({name: pa.array([7], pa.int32()) for name in ("a", "new", "c")}, {})
    old = protoc.message_class(text, "t").FromString(rows[0].as_py())
    assert (old.a, old.HasField("b"), old.c) == (7, False, 7)
    third = protobuf.schema_text("t", before, Options(numbers=protobuf.numbers_of(second)))
    assert dict(protobuf.numbers_of(third)) == {"a": 1, "?2": 2, "?4": 4, "b": 5, "c": 3}


def test_numbers_of_structs_are_found_by_their_path():
    inner = schema.Struct((Column("x", schema.Integer(32)), Column("y", schema.String())))
    columns = [Column("a", inner), Column("b", schema.Array(inner), False), Column("c", schema.Array(schema.Date()))]
    text = protobuf.schema_text("t", columns, OPTIONS)
    assert dict(protobuf.numbers_of(text)) == {
        "a\0x": 1,
        "a\0y": 2,
        "a": 1,
        "b\0x": 1,
        "b\0y": 2,
        "b": 2,
        "c\0items": 1,
        "c": 3,
    }


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.none() | st.text(max_size=9),
            st.lists(st.integers(-(2**31), 2**31 - 1)),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_any_rows_are_the_bytes_that_googles_runtime_writes(rows):
    columns = [
        Column("i", schema.Integer(64), nullable=False),
        Column("s", schema.String()),
        Column("a", schema.Array(schema.Integer(32)), nullable=False),
    ]
    cls = protoc.message_class(protobuf.schema_text("t", columns, OPTIONS), "t")
    table = {
        column.name: pa.array(values, schema.arrow_type(column.type))
        for column, values in zip(columns, zip(*rows, strict=True), strict=True)
    }
    encoded = protobuf.FORMAT.encoder(columns, OPTIONS)(table, {}).to_pylist()
    for (i, s, a), row in zip(rows, encoded, strict=True):
        assert cls(i=i, s=s, a=a).SerializeToString(deterministic=True) == row
