"""Catalogs of Airbyte as table definitions: their JSON schemas, keys and names."""

import json

import pytest

from integrator import tables
from integrator.schema import describe
from tests.parts import pure

pytestmark = pytest.mark.fast

STRING, MOMENT = {"type": "string"}, {"type": "string", "format": "date-time"}
TYPES = {
    "text": (STRING, "text"),
    "text or null": ({"type": ["null", "string"]}, "text"),
    "boolean": ({"type": "boolean"}, "boolean"),
    "integer": ({"type": "integer"}, "bigint"),
    "number that is an integer": ({"type": "number", "airbyte_type": "integer"}, "bigint"),
    "integer of any size": ({"type": "integer", "airbyte_type": "big_integer"}, "varchar(50)"),
    "number": ({"type": "number"}, "varchar(50)"),
    "date": ({"type": "string", "format": "date"}, "date"),
    "moment": (MOMENT, "timestamptz(6)"),
    "moment with zone": ({**MOMENT, "airbyte_type": "timestamp_with_timezone"}, "timestamptz(6)"),
    "moment without zone": ({**MOMENT, "airbyte_type": "timestamp_without_timezone"}, "timestamp(6)"),
    "time with zone": ({"type": "string", "format": "time", "airbyte_type": "time_with_timezone"}, "text"),
    "time without zone": ({"type": "string", "format": "time", "airbyte_type": "time_without_timezone"}, "time(6)"),
    "bytes": ({"type": "string", "contentEncoding": "base64"}, "blob"),
    "list": ({"type": "array", "items": {"type": "integer"}}, "bigint[]"),
    "list of anything": ({"type": "array"}, "json"),
    "list of numbers": ({"type": "array", "items": {"type": "number"}}, "json"),
    "object": (
        {"type": "object", "properties": {"a": {"type": ["null", "integer"]}, "b": {"type": "array", "items": MOMENT}}},
        "struct(a bigint, b timestamptz(6)[])",
    ),
    "list of objects": (
        {"type": "array", "items": {"type": "object", "properties": {"a": STRING}}}, "struct(a text)[]",
    ),
    "object with further members": (
        {"type": "object", "properties": {"a": STRING}, "additionalProperties": True}, "json",
    ),
    "object without properties": ({"type": "object"}, "json"),
    "one of two": ({"oneOf": [STRING, {"type": "integer"}]}, "json"),
    "one of one and null": ({"oneOf": [{"type": "null"}, MOMENT]}, "timestamptz(6)"),
    "two types": ({"type": ["string", "object"]}, "json"),
    "defined elsewhere": ({"$ref": "#/definitions/day"}, "date"),
    "defined by itself": ({"$ref": "#/definitions/self"}, "json"),
    "anything": ({}, "json"),
    "any": (True, "json"),
    "only null": ({"type": "null"}, "json"),
}  # fmt: skip
DEFINITIONS = {"day": {"type": "string", "format": "date"}, "self": {"$ref": "#/definitions/self"}}


def stream(name, properties=None, namespace=None, **more):
    of_schema = {} if properties is None else {"properties": properties}
    inner = {"name": name, "json_schema": {"type": "object", "definitions": DEFINITIONS, **of_schema}}
    inner |= {"supported_sync_modes": ["full_refresh"]} | ({"namespace": namespace} if namespace else {})
    return {"stream": inner, "sync_mode": "full_refresh", "destination_sync_mode": "append", **more}


def read(directory, *streams):
    (directory / "catalog.json").write_text(json.dumps({"streams": streams}))
    return tables.read(str(directory / "catalog.json"), "postgres")


def test_json_schemas_are_datatypes(tmp_path):
    [table] = read(tmp_path, stream("t", {name: schema for name, (schema, _) in TYPES.items()})).tables
    assert {column.name: describe(column.type) for column in table.columns} == {
        name: datatype for name, (_, datatype) in TYPES.items()
    }


ID = {"id": {"type": "integer"}}
NAMES = {
    "as they are": ([stream("orders", ID, "sales"), stream("My Orders!", ID)], ["orders", "my_orders"]),
    "in two namespaces": ([stream("a", ID, "x"), stream("a", ID, "y-z")], ["x_a", "y_z_a"]),
    "alike": ([stream("a b", ID), stream("a-b", ID), stream("1", ID)], ["a_b", "a_b_2", "t_1"]),
}


@pytest.mark.parametrize("case", NAMES)
def test_each_stream_has_a_name_of_its_own(case, tmp_path):
    streams, names = NAMES[case]
    found = read(tmp_path, *streams)
    assert not found.problems
    assert [table.name for table in found.tables] == names
    assert [table.base_name for table in found.tables] == [one["stream"]["name"] for one in streams]


KEYS = [
    ({"primary_key": [["id"]]}, ("id",)),
    ({"primary_key": [["id"], ["a"]]}, ("id", "a")),
    ({"primary_key": [["o", "id"]]}, ()),
    ({"primary_key": [["gone"]]}, ()),
    ({"primary_key": []}, ()),
    ({}, ()),
]


@pytest.mark.parametrize(("more", "key"), KEYS)
def test_a_primary_key_of_columns_is_the_key(more, key, tmp_path):
    [table] = read(tmp_path, stream("t", {**ID, "a": STRING}, **more)).tables
    assert table.key == key
    assert [column.name for column in table.columns if not column.nullable] == list(key)


def test_what_discover_gives_is_read_too(tmp_path):
    one = stream("t", ID)["stream"] | {"source_defined_primary_key": [["id"]]}
    (tmp_path / "c.json").write_text(json.dumps({"type": "CATALOG", "catalog": {"streams": [one]}}))
    assert [table.key for table in tables.read(str(tmp_path / "c.json"), "postgres").tables] == [("id",)]


WRONG = [
    ("{", "bad JSON"),
    ("[]", "expected is a catalog of Airbyte"),
    ('{"streams": []}', "expected is a catalog of Airbyte"),
    ('{"streams": [{"stream": {}}]}', "streams[0]: {'stream': {}} is no stream"),
    ('{"streams": [{"name": "a"}]}', "streams[0]: stream a: json_schema is None"),
    ('{"streams": [{"name": "a", "json_schema": {}, "namespace": 1}]}', "stream a: namespace is 1"),
    ('{"streams": [{"name": "a", "json_schema": {}}, {"name": "a", "json_schema": {}}]}', "stream a is there 2 times"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_no_catalog(text, said, tmp_path):
    (tmp_path / "c.json").write_text(text)
    found = tables.read(str(tmp_path / "c.json"), "postgres")
    assert not found.tables
    assert said in "\n".join(map(str, found.problems))


def test_nested_values_are_structs_in_connect_json(tmp_path):
    nested = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": STRING}}}
    properties = {**ID, "n": nested, "l": {"type": "array", "items": nested}, "d": {"type": "number"}, "o": {}}
    catalog = {"streams": [stream("t", properties, primary_key=[["id"]])]}
    made = pure.of_tables(tmp_path, json.dumps(catalog), "catalog.json", "airbyte")
    data = '{"id":1,"n":{"a":5,"b":["x",null]},"l":[{"a":null,"b":[]}],"d":1.50,"o":{"z":[1]}}'
    line = f'{{"type":"RECORD","record":{{"stream":"t","data":{data},"emitted_at":1}}}}'
    pure.check_lines(made, tmp_path / "f", [line], [{**json.loads(data), "d": "1.50", "o": '{"z":[1]}'}])
