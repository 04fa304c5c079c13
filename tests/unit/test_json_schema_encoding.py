"""JSON of a registry's JSON Schema is a line as it is, and its schema is that of Kafka Connect."""

import json
import random
from decimal import Decimal

import numpy as np
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator import schema as types
from integrator.contracts.recipe import DebeziumModes
from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.dialects.debezium_coding import DebeziumCoding
from integrator.decode.dialects.debezium_fields import Field
from integrator.decode.encodings import json_schema
from integrator.decode.encodings.program import SchemaRefused
from integrator.engine.values import Slices
from tests.parts.encoded import frame, read

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

DECIMAL = "org.apache.kafka.connect.data.Decimal"
JSON = {"type": "string", "name": "io.debezium.data.Json", "version": 1}


def schema(parsed, *references):
    return WrittenSchema("JSON", json.dumps(parsed), tuple((name, json.dumps(one)) for name, one in references))


def connect(parsed, *references):
    return json_schema.compiled(schema(parsed, *references), b"", b"").schema


def field(parsed, **more):
    """What Connect's schema has of a property that Connect wrote."""
    index = {"connect.index": 0} if isinstance(parsed, dict) else {}
    (found,) = connect({"type": "object", "properties": {"f": {**parsed, **index} if index else parsed}, **more})[
        "fields"
    ]
    assert found.pop("field") == "f"
    return found


SCHEMAS = {
    "integer": ({"type": "integer"}, {"type": "int64", "optional": False}),
    "int16": ({"type": "integer", "connect.type": "int16"}, {"type": "int16", "optional": False}),
    "number": ({"type": "number"}, {"type": "double", "optional": False}),
    "float": ({"type": "number", "connect.type": "float32"}, {"type": "float", "optional": False}),
    "boolean": ({"type": "boolean"}, {"type": "boolean", "optional": False}),
    "string": ({"type": "string", "format": "date-time"}, {"type": "string", "optional": False}),
    "bytes": ({"type": "string", "connect.type": "bytes"}, {"type": "bytes", "optional": False}),
    "null": ({"type": "null"}, {"type": "string", "optional": True}),
    "nullable": ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, {"type": "int64", "optional": True}),
    "nullable, by any of": ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "optional": True}),
    "nullable, by types": ({"type": ["null", "string"]}, {"type": "string", "optional": True}),
    "one of one": ({"oneOf": [{"type": "integer"}]}, {"type": "int64", "optional": False}),
    "one of several": ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, {**JSON, "optional": False}),
    "null or one of several": ({"type": ["integer", "string", "null"]}, {**JSON, "optional": True}),
    "anything": ({"description": "?"}, {**JSON, "optional": False, "doc": "?"}),
    "enum": (
        {"type": "string", "enum": ["a", "b"]},
        {
            "type": "string",
            "optional": False,
            "name": "io.debezium.data.Enum",
            "version": 1,
            "parameters": {"allowed": "a,b"},
        },
    ),
    "enum of numbers": ({"type": "integer", "enum": [1, 2]}, {"type": "int64", "optional": False}),
    "enum of any": ({"enum": [1, "a"]}, {**JSON, "optional": False}),
    "of Debezium": (
        {
            "oneOf": [
                {"type": "null"},
                {
                    "type": "integer",
                    "title": "io.debezium.time.MicroTimestamp",
                    "connect.version": 1,
                    "connect.type": "int64",
                },
            ],
        },
        {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1},
    ),
    "decimal as a number": (
        {
            "type": "number",
            "title": DECIMAL,
            "connect.version": 1,
            "connect.type": "bytes",
            "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
        },
        {
            "type": "bytes",
            "optional": False,
            "name": DECIMAL,
            "version": 1,
            "parameters": {"scale": "2", "connect.decimal.precision": "9"},
        },
    ),
    "default": ({"type": "integer", "default": 5}, {"type": "int64", "optional": False, "default": 5}),
    "array": (
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"type": "string", "optional": False}, "optional": False},
    ),
    "map": (
        {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
        {
            "type": "map",
            "keys": {"type": "string", "optional": False},
            "values": {"type": "int64", "optional": False},
            "optional": False,
        },
    ),
    "map by numbers": (
        {
            "type": "array",
            "connect.type": "map",
            "items": {
                "type": "object",
                "properties": {
                    "key": {"type": "integer", "connect.index": 0},
                    "value": {"type": "string", "connect.index": 1},
                },
            },
        },
        {
            "type": "map",
            "keys": {"type": "int64", "optional": False},
            "values": {"type": "string", "optional": False},
            "optional": False,
        },
    ),
    "object": (
        {"type": "object", "title": "N", "properties": {"a": {"type": "integer", "connect.index": 0}}},
        {
            "type": "struct",
            "fields": [{"type": "int64", "optional": False, "field": "a"}],
            "optional": False,
            "name": "N",
        },
    ),
    "all of": (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "string"}}},
            ],
        },
        {
            "type": "struct",
            "fields": [
                {"type": "int64", "optional": False, "field": "a"},
                {"type": "string", "optional": True, "field": "b"},
            ],
            "optional": False,
        },
    ),
}


@pytest.mark.parametrize(("parsed", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_schemas_are_those_of_connect(parsed, expected):
    assert field(parsed) == expected


def test_properties_are_in_the_order_that_connect_gave_them():
    properties = {name: {"type": "integer", "connect.index": index} for name, index in (("b", 2), ("c", 0), ("a", 1))}
    assert [one["field"] for one in connect({"type": "object", "properties": properties})["fields"]] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("parsed", "more", "optional"),
    [
        ({"type": "integer"}, {"required": ["f"]}, False),
        ({"type": "integer"}, {"required": []}, True),
        ({"type": "integer"}, {}, False),  # Connect does not name the required ones
        ({"type": ["integer", "null"]}, {"required": ["f"]}, True),
        (True, {}, True),
    ],
)
def test_what_may_be_absent_may_be_null(parsed, more, optional):
    assert field(parsed, **more)["optional"] is optional


def test_what_another_writer_does_not_require_may_be_absent():
    (found,) = connect({"type": "object", "properties": {"f": {"type": "integer"}}})["fields"]
    assert found["optional"] is True


REFERENCES = {
    "definitions": ({"$ref": "#/definitions/N"}, {"definitions": {"N": {"type": "integer"}}}),
    "$defs": ({"$ref": "#/$defs/a~1b%20c"}, {"$defs": {"a/b c": {"type": "integer"}}}),
    "a name": ({"$ref": "#id1"}, {"$defs": {"N": {"$id": "#id1", "type": "integer"}}}),
    "an anchor": ({"$ref": "#n"}, {"$defs": {"N": {"$anchor": "n", "type": "integer"}}}),
    "another schema": ({"$ref": "n.json"}, {}),
    "in another schema": ({"$ref": "m.json#/definitions/N"}, {}),
    "its own address": (
        {"$ref": "http://o/r.json#/definitions/N"},
        {"$id": "http://o/r.json", "definitions": {"N": {"type": "integer"}}},
    ),
}


@pytest.mark.parametrize(("parsed", "more"), REFERENCES.values(), ids=REFERENCES)
def test_references_are_followed(parsed, more):
    others = (
        ("n.json", {"type": "integer"}),
        ("m.json", {"definitions": {"N": {"$ref": "#/definitions/O"}, "O": {"type": "integer"}}}),
    )
    (found,) = connect({"type": "object", "properties": {"f": parsed}, "required": ["f"], **more}, *others)["fields"]
    assert found == {"type": "int64", "optional": False, "field": "f"}


@pytest.mark.parametrize("inner", [{"$ref": "#"}, {"oneOf": [{"type": "null"}, {"$ref": "#"}]}])
@pytest.mark.parametrize("kind", ["object", ["object", "null"]])
def test_an_object_in_itself_has_no_fields_there(inner, kind):
    (found,) = connect({"type": kind, "title": "N", "properties": {"f": inner}})["fields"]
    assert found == {"type": "struct", "fields": [], "optional": True, "name": "N", "field": "f"}


REFUSED = {
    "no JSON": ("{", "it is no JSON Schema"),
    "no schema": ("5", "it is no JSON Schema"),
    "a type": ('{"type": "int"}', "'int' is no type of JSON Schema"),
    "a type of Connect": ('{"type": "number", "connect.type": "x"}', "connect.type of a number is 'x'"),
    "a reference": ('{"$ref": "o.json"}', "it refers to 'o.json', which its references do not have"),
    "a definition": ('{"$ref": "#/definitions/N"}', "it is no JSON Schema"),
    "a name": ('{"$ref": "#n"}', "it refers to '#n', which is nowhere"),
    "itself": ('{"$ref": "#"}', "its types are nested too deeply"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_schema_that_cannot_be_read_is_refused(text, reason):
    with pytest.raises(SchemaRefused) as caught:
        json_schema.compiled(WrittenSchema("JSON", text), b"", b"")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("12.34", types.Decimal(9, 2), Decimal("12.34")),
        ("-5", types.Decimal(9, 2), Decimal("-5.00")),
        ('"BNI="', types.Decimal(9, 2), Decimal("12.34")),
        ('"BNI="', types.String(role="number"), "12.34"),
        ("12.34", types.String(role="number"), "12.34"),
        ("null", types.Decimal(9, 2), None),
    ],
)
@pytest.mark.parametrize("kind_in_json", ["number", "string"])
def test_decimals_are_read_as_numbers_and_as_base64(value, kind, expected, kind_in_json):
    parsed = {"type": kind_in_json, "title": DECIMAL, "connect.type": "bytes", "connect.parameters": {"scale": "2"}}
    text = np.frombuffer(value.encode() + bytes(8), np.uint8)
    at = Slices(np.zeros(1, np.int32), np.array([len(value)], np.int32), np.zeros(1, np.bool_))
    coding = DebeziumCoding([{"f": Field.of(field(parsed))}], DebeziumModes())
    assert coding.convert(text, at, (kind, Field.of(field(parsed)), "other")).to_pylist() == [expected]


OLD = {"type": "object", "title": "Row", "properties": {"id": {"type": "integer"}, "gone": {"type": "string"}}}
NEW = {
    "type": "object",
    "title": "Row",
    "properties": {"id": {"type": "integer"}, "u": {"type": ["number", "null", "array"]}},
}


def test_versions_of_a_schema_written_by_confluents_serializer_are_read_in_one_block():
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    rng, schemas, records, wanted = random.Random(4), {}, [], []
    writers = [(one, JSONSerializer(json.dumps(one), client)) for one in (OLD, NEW)]
    for row in range(2000):
        parsed, serialize = rng.choice(writers)
        value = {"id": row, "gone": 'Zü"\\\n'} if parsed is OLD else {"id": row, "u": rng.choice([1.5, None, [1, "a"]])}
        records.append(serialize(value, SerializationContext("t", MessageField.VALUE)))
        schemas[int.from_bytes(records[-1][1:5], "big")] = schema(parsed)
        wanted.append(value)
    found, seen = read(schemas, records)
    assert len(schemas) == 2
    assert found == wanted
    assert {tuple(one["field"] for one in own["fields"]) for own in seen} == {("id", "gone"), ("id", "u")}


def test_text_of_several_lines_is_one_line():
    found, _ = read({1: schema(OLD)}, [frame(1, b'{\n "id": 1,\r\n "gone": "a\\n"\n}\n')])
    assert found == [{"id": 1, "gone": "a\n"}]


def test_records_in_several_encodings_are_read_in_one_block():
    schemas = {
        1: schema(OLD),
        2: WrittenSchema("AVRO", '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'),
        3: WrittenSchema("PROTOBUF", "syntax = 'proto3'; message A { int32 a = 1; } message B { string b = 1; }"),
    }
    records = [
        frame(1, b'{"id":1}'),
        frame(2, b"\2"),
        frame(3, b"\0\x08\5"),
        None,
        frame(3, b"\2\2\x0a\1x"),
        frame(3, b"\0"),
    ]
    found, seen = read(schemas, records * 3)
    assert found == [{"id": 1}, {"a": 1}, {"a": 5}, None, {"b": "x"}, {"a": 0}] * 3
    assert [one and one["name"] for one in seen] == ["Row", "R", "A", None, "B", "A"] * 3
