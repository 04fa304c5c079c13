"""Use_Latest_Version: which schemas of others read our messages, and which would read something else out of them."""

import json

import pytest

from integrator.formats import proto_text, protobuf
from integrator.registration.compatible import incompatibility, rescaled


def avro(*fields):
    return json.dumps({"type": "record", "name": "t", "fields": [{"name": n, "type": t} for n, t in fields]})


def micros(unit="micros"):
    return {"type": "long", "logicalType": f"timestamp-{unit}"}


def dec(precision=6, scale=2):
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def prop(**properties):
    return json.dumps({"type": "object", "properties": properties})


def proto(body, name="t"):
    return f'syntax = "proto3";\nmessage {name} {{\n{body}\n}}\n'


LIST = "message l_list { repeated int32 items = 1; }\noptional l_list l = 1;\nint32 b = 2;"
INT, STRING = {"type": "integer"}, {"type": "string"}
NULLABLE = {"oneOf": [{"type": "null"}, STRING]}

READS = [
    ("AVRO", avro(("a", "int")), avro(("a", "int")).replace('"name": "t"', '"name": "t", "doc": "x"')),
    ("AVRO", avro(("a", ["null", dec()])), avro(("a", ["null", {**dec(), "connect.name": "x"}]))),
    ("JSON", prop(a=INT), prop(a={**INT, "description": "x"}, b=STRING)),
    ("JSON", json.dumps(STRING), json.dumps(STRING)),
    ("JSON", prop(a=STRING), prop(a=NULLABLE)),
    ("PROTOBUF", proto("int32 a = 1;"), proto("int32 a = 1;\n// more\noptional string b = 9;")),
    ("PROTOBUF", proto(LIST), proto(LIST)),
]
DOES_NOT = [
    ("AVRO", avro(("a", micros())), avro(("a", micros("millis")))),
    ("AVRO", avro(("a", {"type": "int", "logicalType": "date"})), avro(("a", "int"))),
    ("AVRO", avro(("a", dec(6, 2))), avro(("a", dec(6, 3)))),
    ("AVRO", avro(("a", ["null", "int"])), avro(("a", "int"))),
    ("AVRO", avro(("a", ["null", "int"])), avro(("a", ["int", "null"]))),
    ("AVRO", avro(("a", "int"), ("b", "int")), avro(("b", "int"), ("a", "int"))),
    ("AVRO", avro(("a", "int")), '"string"'),
    ("JSON", json.dumps(STRING), json.dumps(INT)),
    ("JSON", prop(a=INT), json.dumps(STRING)),
    ("JSON", prop(a={"type": "array", "items": STRING}), prop(a={"type": "array", "items": INT})),
    (
        "JSON",
        prop(a={"type": "object", "properties": {"x": STRING}}),
        prop(a={"type": "object", "properties": {"x": INT}}),
    ),
    ("JSON", prop(a={**INT, "title": "io.debezium.time.MicroTimestamp"}), prop(a={**INT, "title": "x.Timestamp"})),
    ("JSON", prop(a=STRING), prop(a={**STRING, "enum": ["x"]})),
    ("JSON", prop(a=NULLABLE), prop(a=STRING)),
    ("JSON", prop(a=INT, b=INT), json.dumps({**json.loads(prop(a=INT)), "additionalProperties": False})),
    ("JSON", prop(a=INT), json.dumps({**json.loads(prop(a=INT)), "required": ["z"]})),
    ("PROTOBUF", proto("repeated int32 a = 1;"), proto("int32 a = 1;")),
    ("PROTOBUF", proto("string a = 1; string b = 2;"), proto("string b = 1; string a = 2;")),
    ("PROTOBUF", proto("int32 a = 1;"), proto("string a = 1;") + "message other { int32 a = 1; }"),
    ("PROTOBUF", proto("int32 a = 1;"), proto("int64 a = 1;")),
    ("PROTOBUF", proto("int32 a = 1; int32 b = 2;"), proto("int32 a = 1;")),
    ("AVRO", avro(("a", "int")), "not json"),
]


@pytest.mark.parametrize(("kind", "ours", "theirs"), READS)
def test_reads(kind, ours, theirs):
    assert incompatibility(kind, ours, theirs) is None


@pytest.mark.parametrize(("kind", "ours", "theirs"), DOES_NOT)
def test_does_not_read(kind, ours, theirs):
    assert incompatibility(kind, ours, theirs)


FORMATTED = """
syntax = "proto3";
import "confluent/meta.proto";

message t {
  reserved 4 to 6, 9; // gone
  reserved "old";
  int64 id = 1;
  optional int32 sm = 2 [(confluent.field_meta) = {
    params: [
      {
        key: "connect.type",
        value: "int16"
      }
    ]
  }];
  optional x_list_message x_list = 3;
  message x_list_message {
    int32 a = 1;
    int32 b = 2;
  }
}
"""


def test_numbers_in_a_text_that_a_registry_formatted():
    assert dict(protobuf.numbers_of(FORMATTED)) == {
        "id": 1,
        "sm": 2,
        "x_list": 3,
        "x_list\0a": 1,
        "x_list\0b": 2,
        "?4": 4,
        "?5": 5,
        "?6": 6,
        "?9": 9,
    }
    one_line = proto_text.parse("syntax='proto3'; message t { int32 a = 1; oneof o { string b = 2; } }")
    assert [(field.name, field.number) for field in one_line.fields] == [("a", 1), ("b", 2)]


def test_decimals_of_another_scale_are_named():
    def of(scale, name="price"):
        decimal = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": scale}
        inner = {
            "type": "record",
            "name": "r",
            "fields": [{"name": name, "type": ["null", {"type": "array", "items": decimal}]}],
        }
        return json.dumps({"type": "record", "name": "t", "fields": [{"name": "row", "type": inner}]})

    assert rescaled(of(4), of(2)) == ["row.price"]
    assert rescaled(of(4), of(4)) == rescaled(of(4), of(2, "other")) == []
