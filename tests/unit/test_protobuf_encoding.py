"""Protobuf records, written by Google's runtime and Confluent's serializer, are lines of JSON with the same values."""

import base64
import json
import random

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor as F
from hypothesis import given
from hypothesis import strategies as st

from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings import protobuf
from integrator.decode.encodings.program import SchemaRefused
from tests.parts import protoc
from tests.parts.encoded import damaged, frame, number, read, single

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

IMPORTS = """import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto"; import "google/type/date.proto"; import "google/type/timeofday.proto";
import "confluent/meta.proto"; import "confluent/type/decimal.proto";"""
EMPTY = b"\0"
"""The path of the first message."""


def proto(body, syntax="proto3"):
    return f'syntax = "{syntax}"; package p; {IMPORTS} message M {{ {body} }}'


def schema(text, *references):
    return WrittenSchema("PROTOBUF", text, tuple(references))


def payloads(text, bodies):
    return read({7: schema(text)}, [frame(7, EMPTY + body) for body in bodies])[0]


DECIMAL = '[(confluent.field_meta) = {params: [{key: "scale", value: "2"}, {value: "9", key: "precision"}]}]'
VALUES = {
    "int32": ("int32 f = 1;", "f: -2147483648", -2147483648),
    "int32 absent": ("int32 f = 1;", "", 0),
    "int32 optional, absent": ("optional int32 f = 1;", "", None),
    "int32 optional, default": ("optional int32 f = 1;", "f: 0", 0),
    "sint32": ("sint32 f = 1;", "f: -2147483648", -2147483648),
    "uint32": ("uint32 f = 1;", "f: 4294967295", 4294967295),
    "fixed32": ("fixed32 f = 1;", "f: 4294967295", 4294967295),
    "sfixed32": ("sfixed32 f = 1;", "f: -1", -1),
    "int64": ("int64 f = 1;", "f: -9223372036854775808", -(2**63)),
    "sint64": ("sint64 f = 1;", "f: -9223372036854775808", -(2**63)),
    "uint64": ("uint64 f = 1;", "f: 18446744073709551615", 2**64 - 1),
    "fixed64": ("fixed64 f = 1;", "f: 10000000000000000000", 10**19),
    "sfixed64": ("sfixed64 f = 1;", "f: -9223372036854775808", -(2**63)),
    "bool": ("bool f = 1;", "f: true", True),
    "double": ("double f = 1;", "f: -0.1", -0.1),
    "double, no number": ("double f = 1;", "f: nan", "NaN"),
    "float": ("float f = 1;", "f: 0.1", 0.1),
    "float, no number": ("float f = 1;", "f: -inf", "-Infinity"),
    "string": ("string f = 1;", r'f: "Z\303\274rich\n\"\\"', 'Zürich\n"\\'),
    "bytes": ("bytes f = 1;", r'f: "\000\377"', "AP8="),
    "a high number": ("string f = 536870911;", 'f: "x"', "x"),
    "enum": ("enum E { A = 0; B = -7; } E f = 1;", "f: B", "B"),
    "enum absent": ("enum E { A = 0; B = 1; } E f = 1;", "", "A"),
    "enum, unknown number": ("enum E { A = 0; } E f = 1;", "f: 5", "5"),
    "enum, alias": ("enum E { option allow_alias = true; A = 0; B = 1; C = 1; } E f = 1;", "f: C", "B"),
    "message": ("message N { int32 a = 1; } N f = 1;", "f {}", {"a": 0}),
    "message absent": ("message N { int32 a = 1; } N f = 1;", "", None),
    "message without fields": ("message N {} N f = 1;", "f {}", {}),
    "list": ("repeated sint32 f = 1;", "f: [1, -1]", [1, -1]),
    "list absent": ("repeated sint32 f = 1;", "", []),
    "list not in one piece": ("repeated fixed32 f = 1 [packed = false];", "f: [1, 2]", [1, 2]),
    "list of texts": ("repeated string f = 1;", 'f: ["", "a"]', ["", "a"]),
    "list of messages": ("message N { int32 a = 1; } repeated N f = 1;", "f {} f { a: 1 }", [{"a": 0}, {"a": 1}]),
    "list of enums": ("enum E { A = 0; B = 1; } repeated E f = 1;", "f: [B, A]", ["B", "A"]),
    "map": ("map<string, int32> f = 1;", 'f { key: "a" value: 1 }', {"a": 1}),
    "map absent": ("map<string, int32> f = 1;", "", {}),
    "map of messages": ("message N { int32 a = 1; } map<string, N> f = 1;", 'f { key: "a" }', {"a": {"a": 0}}),
    "map by numbers": ("map<int32, string> f = 1;", "f { key: -1 }", [[-1, ""]]),
    "map by numbers, absent": ("map<int32, string> f = 1;", "", []),
    "oneof": ("oneof o { string f = 1; int32 g = 2; }", "f: ''", ""),
    "another member of a oneof": ("oneof o { string f = 1; int32 g = 2; }", "g: 2", None),
    "wrapper": ("google.protobuf.Int64Value f = 1;", "f { value: 5 }", 5),
    "wrapper of a default": ("google.protobuf.StringValue f = 1;", "f {}", ""),
    "wrapper absent": ("google.protobuf.Int64Value f = 1;", "", None),
    "timestamp": ("google.protobuf.Timestamp f = 1;", "f { seconds: -1 nanos: 5 }", -999_999_995),
    "first timestamp": ("google.protobuf.Timestamp f = 1;", "f { seconds: -9223372037 nanos: 145224192 }", -(2**63)),
    "last timestamp": ("google.protobuf.Timestamp f = 1;", "f { seconds: 9223372036 nanos: 854775807 }", 2**63 - 1),
    "timestamp before": (
        "google.protobuf.Timestamp f = 1;",
        "f { seconds: -9223372037 nanos: 145224191 }",
        "!here is no timestamp of the years 1677 to 2262",
    ),
    "timestamp after": (
        "google.protobuf.Timestamp f = 1;",
        "f { seconds: 9223372036 nanos: 854775808 }",
        "!here is no timestamp of the years 1677 to 2262",
    ),
    "date": ("google.type.Date f = 1;", "f { year: 2024 month: 2 day: 29 }", 19782),
    "no date": (
        "google.type.Date f = 1;",
        "f { year: 2023 month: 2 day: 29 }",
        "!here is no date of the years 1 to 9999",
    ),
    "time": ("google.type.TimeOfDay f = 1;", "f { hours: 23 minutes: 59 seconds: 59 nanos: 1 }", 86_399_000_000_001),
    "no time": ("google.type.TimeOfDay f = 1;", "f { hours: 24 }", "!here is no time of day"),
    "decimal": (f"confluent.type.Decimal f = 1 {DECIMAL};", r'f { value: "\001\002" scale: 2 }', "AQI="),
    "decimal of another scale": (
        f"confluent.type.Decimal f = 1 {DECIMAL};",
        r'f { value: "\001\002" scale: 3 }',
        "!the decimal has another scale than its schema declares",
    ),
    "decimal with its own scale": (
        "confluent.type.Decimal f = 1;",
        r'f { value: "\001\002" scale: -3 }',
        {"scale": -3, "value": "AQI="},
    ),
    "in itself": ("M m = 2; int32 f = 1;", "m { m { f: 1 } } f: 3", 3),
    "any JSON": ("google.protobuf.Value f = 1;", "f { number_value: 1.5 }", {"number_value": 1.5}),
}


@pytest.mark.parametrize(("body", "row", "expected"), VALUES.values(), ids=VALUES)
def test_values_are_as_the_converter_writes_them(body, row, expected):
    message = text_format.Parse(row, protoc.message_class(proto(body), "p.M")())
    (found,) = payloads(proto(body), [message.SerializeToString()])
    if isinstance(expected, str) and expected.startswith("!"):
        assert found.endswith(expected[1:])
    elif isinstance(expected, dict) and isinstance(found["f"], dict):
        assert {**found["f"], **expected} == found["f"]
    else:
        assert found["f"] == expected


WIRE = "int32 a = 1; repeated int32 l = 2; string s = 3; N n = 4; message N { int32 x = 1; repeated int32 l = 2; N n = 3; }"
BYTES = {
    "in another order": ("1a0161 0805", {"a": 5, "s": "a"}),
    "the last one is it": ("0805 0806", {"a": 6}),
    "a list in one piece and not": ("1001 12020203 1004", {"l": [1, 2, 3, 4]}),
    "a list between others": ("1001 0807 1002", {"l": [1, 2], "a": 7}),
    "a message in pieces": ("22020801 0809 22021005", {"a": 9, "n": {"x": 1, "l": [5], "n": None}}),
    "a field that is not known": ("a80605 b00600 b90600000000 00000000 ca060161 0801", {"a": 1}),
    "int32 in ten bytes": ("08ffffffffffffffffff01", {"a": -1}),
    "bits above 32 are cut off": ("0881808080 10", {"a": 1}),
    "a varint of over 64 bits": ("08ffffffffffffffffff02", "!byte 17: here is a number of over 64 bits"),
    "another wire type": ("0d00000000", "!byte 7: the field has another wire type than its schema declares"),
    "a text as a number": ("1805", "!byte 7: the field has another wire type than its schema declares"),
    "a group": ("5b5c", "!byte 8: here is a group, which is not read"),
    "no wire type": ("0f", "!byte 8: the field has another wire type than its schema declares"),
    "no field": ("0001", "!byte 7: a field's number is from 1 to 536870911"),
    "cut off": ("08", "!byte 8: it ends before its schema does"),
    "a length past the end": ("1a05", "!byte 8: it ends before its schema does"),
    "a list that is cut off": ("120180", "!byte 10: it ends before its schema does"),
    "a list in two pieces of a message": (
        "22021001 22021002",
        "!byte 13: a list or a message is divided among pieces of the message it is in, which is not read",
    ),
}


@pytest.mark.parametrize(("data", "expected"), BYTES.values(), ids=BYTES)
def test_bytes_of_any_writer(data, expected):
    (found,) = payloads(proto(WIRE), [bytes.fromhex(data)])
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found == {"a": 0, "l": [], "s": "", "n": None} | expected


def test_messages_are_nested_64_times_at_most():
    body = b""
    for _ in range(65):
        body = b"\x1a" + protobuf_length(body) + body
    (found,) = payloads("syntax = 'proto3'; message M { M m = 3; }", [body])
    assert found.endswith("its values are nested more than 64 times")


def protobuf_length(body):
    size = len(body)
    return bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])


def test_proto2_has_values_that_may_be_absent_and_such_that_must_not():
    text = proto(
        "optional int32 a = 1 [default = 5]; required string b = 2; repeated int32 c = 3; extensions 100 to 199;",
        "proto2",
    )
    assert payloads(text, [bytes.fromhex("120161 1801"), b""]) == [
        {"a": None, "b": "a", "c": [1]},
        "!byte 7: a required field is missing",
    ]


SCHEMAS = {
    "int32 f = 1;": {"type": "int32", "optional": False},
    "optional int32 f = 1;": {"type": "int32", "optional": True},
    '/* a */ int32 f = 1 [(confluent.field_meta).params = {key: "connect.type" value: "int16"}, deprecated = true];': {
        "type": "int16",
        "optional": False,
    },
    "uint32 f = 1;": {"type": "int64", "optional": False},
    "uint64 f = 1;": {
        "type": "int64",
        "optional": False,
        "parameters": {"io.confluent.connect.protobuf.Type": "uint64"},
    },
    "repeated string f = 1;": {
        "type": "array",
        "items": {"type": "string", "optional": False},
        "optional": False,
    },
    "map<string, bool> f = 1;": {
        "type": "map",
        "keys": {"type": "string", "optional": False},
        "values": {"type": "boolean", "optional": False},
        "optional": False,
    },
    "oneof o { bytes f = 1; }": {"type": "bytes", "optional": True},
    "google.protobuf.DoubleValue f = 1;": {"type": "double", "optional": True},
    "message N { float a = 1; } N f = 1;": {
        "type": "struct",
        "fields": [{"type": "float", "optional": False, "field": "a"}],
        "optional": True,
        "name": "p.M.N",
    },
    "enum E { A = 0; B = 1; } E f = 1;": {
        "type": "string",
        "optional": False,
        "name": "io.debezium.data.Enum",
        "version": 1,
        "parameters": {"allowed": "A,B"},
    },
    "google.protobuf.Timestamp f = 1;": {
        "type": "int64",
        "optional": True,
        "name": "io.debezium.time.NanoTimestamp",
        "version": 1,
        "zoned": True,
    },
    "google.type.Date f = 1;": {
        "type": "int32",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Date",
        "version": 1,
    },
    "google.type.TimeOfDay f = 1;": {
        "type": "int64",
        "optional": True,
        "name": "io.debezium.time.NanoTime",
        "version": 1,
    },
    f"confluent.type.Decimal f = 1 {DECIMAL};": {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "9"},
    },
    "M f = 1;": {"type": "struct", "fields": [], "optional": True, "name": "p.M"},
}


@pytest.mark.parametrize(("body", "expected"), SCHEMAS.items())
def test_schemas_are_those_of_connect(body, expected):
    found = protobuf.compiled(schema(proto(body)), b"", b"").schema
    assert {**found, "fields": []} == {"type": "struct", "fields": [], "optional": False, "name": "p.M"}
    assert found["fields"] == [{**expected, "field": "f"}]


REFUSED = {
    "an import": ('import "x.proto"; message M {}', "it imports 'x.proto', which its references do not have"),
    "a type": (
        "message M { N f = 1; }",
        "'N' is no type of Protobuf, and neither it nor what it imports declares it",
    ),
    "a group": ("message M { repeated group G = 1 { } }", "it cannot be read at 'repeated group G = 1'"),
    "a number": ("message M { int32 f = x; }", "it cannot be read at 'int32 f = x'"),
    "an edition": ('edition = "2023"; message M {}', "it is written in '2023': proto2 and proto3 are read"),
    "no message": ("enum E { A = 0; }", "it has no message 0"),
    "two of a number": ("message M { int32 a = 1; int32 b = 1; }", "two fields of M have one number"),
    "a key of a map": ("message M { map<M, int32> f = 1; }", "'M' is no type of keys of a map"),
    "a scale": (
        'import "confluent/type/decimal.proto"; message M { confluent.type.Decimal f = 1 [(confluent.field_meta) = '
        '{params: {key: "scale" value: "x"}}]; }',
        "the scale 'x' of a decimal is no number",
    ),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_schema_that_cannot_be_read_is_refused(text, reason):
    with pytest.raises(SchemaRefused) as caught:
        protobuf.compiled(schema(text), b"", b"")
    assert str(caught.value) == reason


def test_names_are_those_of_the_innermost_message_and_of_imported_files():
    other = 'syntax = "proto3"; package q.r; message N { int32 of_file = 1; } enum E { Z = 0; }'
    text = """syntax = "proto3"; package q; import public "other.proto";
        message N { int32 of_package = 1; }
        message M { message N { int32 of_message = 1; } N a = 1; .q.N b = 2; r.N c = 3; r.E d = 4; Inner.N e = 5;
            message Inner { message N { int32 of_inner = 1; } N f = 1; } Inner g = 6; }"""
    (found,), _ = read(
        {1: WrittenSchema("PROTOBUF", text, (("other.proto", other),))},
        [frame(1, bytes.fromhex("0202 0a00 1200 1a00 2a00 3202 0a00"))],
    )
    assert found == {
        "a": {"of_message": 0},
        "b": {"of_package": 0},
        "c": {"of_file": 0},
        "d": "Z",
        "e": {"of_inner": 0},
        "g": {"f": {"of_inner": 0}},
    }


def test_each_record_says_which_message_of_the_file_it_is():
    text = "syntax = 'proto3'; message A { int32 a = 1; message I { int32 i = 1; } message J { int32 j = 1; } } message B { int32 b = 1; }"
    bodies = [
        b"\0\x08\x01",
        b"\x02\x00\x08\x02",
        b"\x02\x02\x08\x03",
        b"\x04\x00\x02\x08\x04",
        b"\x02\x04\x08\x05",
        b"\x03",
        b"",
    ]
    found, schemas = read({5: schema(text)}, [frame(5, body) for body in bodies])
    assert found[:4] == [{"a": 1}, {"a": 2}, {"b": 3}, {"j": 4}]
    assert found[4] == "!its schema, 5, cannot be read: it has no message 2"
    assert found[5] == found[6] == "!its schema, 5, cannot be read: the record does not say which of its messages it is"
    assert [one and one["name"] for one in schemas[:5]] == ["A", "A", "B", "A.J", None]


def test_a_schema_file_is_of_records_without_a_frame():
    found, _ = read({}, [b"\x08\x05", None], unframed=schema("message M { optional int32 a = 1; }"))
    assert found == [{"a": 5}, None]


SCALARS = ["int32", "sint32", "uint32", "int64", "sint64", "uint64", "fixed32", "sfixed32", "fixed64", "sfixed64"]
OTHERS = [
    "bool",
    "float",
    "double",
    "string",
    "bytes",
    "E",
    "N",
    "M",
    "google.protobuf.Timestamp",
    "google.protobuf.StringValue",
]
NUMBERS = [*range(1, 20), 2047, 2048, 70_000, 536_870_911]


def random_schema(rng):
    def fields(kinds):
        numbers = rng.sample(NUMBERS, rng.randrange(1, 12))
        for place, own in enumerate(numbers):
            kind = rng.choice(kinds)
            match rng.randrange(6):
                case 0:
                    yield f"optional {kind} f{place} = {own};"
                case 1:
                    yield f"repeated {kind} f{place} = {own};"
                case 2:
                    key = rng.choice([*SCALARS, "string", "string", "bool"])
                    yield f"map<{key}, {kind}> f{place} = {own};"
                case 3:
                    yield f"oneof o{place} {{ {kind} f{place} = {own}; string g{place} = {own + 100_000 if own < 100_000 else 20}; }}"
                case _:
                    yield f"{kind} f{place} = {own};"

    inner = "\n".join(fields(SCALARS + OTHERS[:6]))
    outer = "\n".join(fields(SCALARS + OTHERS))
    return proto(f"enum E {{ A = 0; B = 1; C = -5; D = 90; }} message N {{\n{inner}\n}}\n{outer}\n")


def random_value(rng, field, depth):
    match field.type:
        case F.TYPE_BOOL:
            return rng.random() < 0.5
        case F.TYPE_STRING:
            return rng.choice(["", "a", 'Zü"\\\n\x01', "x" * rng.randrange(300)])
        case F.TYPE_BYTES:
            return rng.randbytes(rng.randrange(9))
        case F.TYPE_FLOAT:
            return single(rng.choice([0.0, 0.1, -1.5e-30, float("inf"), rng.uniform(-9, 9)]))
        case F.TYPE_DOUBLE:
            return rng.choice([0.0, 0.1, 1e300, float("nan"), rng.uniform(-9, 9)])
        case F.TYPE_ENUM:
            return rng.choice([0, 1, -5, 90, 7])
    bits = 32 if "32" in field_type(field) else 64
    signed = not field_type(field).startswith(("uint", "fixed"))
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return rng.choice([0, 1, 127, 128, least, most, rng.randint(least, most)])


TYPES = {getattr(F, name): name.removeprefix("TYPE_").lower() for name in dir(F) if name.startswith("TYPE_")}


def field_type(field):
    return TYPES[field.type]


def fill(rng, message, depth=0):
    if message.DESCRIPTOR.full_name == "google.protobuf.Timestamp":
        message.FromNanoseconds(rng.choice([0, -1, rng.randint(-(2**60), 2**60)]))
        return message
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.35 or (field.message_type and depth > 3):
            continue
        name, is_message = field.name, field.type == F.TYPE_MESSAGE
        if is_message and field.message_type.GetOptions().map_entry:
            key, value = (field.message_type.fields_by_name[one] for one in ("key", "value"))
            for _ in range(rng.randrange(3)):
                own = random_value(rng, key, depth)
                if value.type == F.TYPE_MESSAGE:
                    fill(rng, getattr(message, name)[own], depth + 1)
                else:
                    getattr(message, name)[own] = random_value(rng, value, depth)
        elif field.is_repeated:
            for _ in range(rng.randrange(4)):
                if is_message:
                    fill(rng, getattr(message, name).add(), depth + 1)
                else:
                    getattr(message, name).append(random_value(rng, field, depth))
        else:
            fill_one(rng, message, field, depth)
    return message


def fill_one(rng, message, field, depth):
    if field.type == F.TYPE_MESSAGE:
        getattr(message, field.name).SetInParent()
        fill(rng, getattr(message, field.name), depth + 1)
    else:
        setattr(message, field.name, random_value(rng, field, depth))


def as_json(field, value):
    match field.type:
        case F.TYPE_BYTES:
            return base64.b64encode(value).decode()
        case F.TYPE_FLOAT | F.TYPE_DOUBLE:
            return number(value, single=field.type == F.TYPE_FLOAT)
        case F.TYPE_ENUM:
            known = field.enum_type.values_by_number.get(value)
            return known.name if known else str(value)
        case F.TYPE_MESSAGE:
            return expected(value)
    return value


def expected(message):
    """A message as the converter would have it, by reflection."""
    if message.DESCRIPTOR.full_name == "google.protobuf.Timestamp":
        return message.seconds * 10**9 + message.nanos
    if message.DESCRIPTOR.full_name == "google.protobuf.StringValue":
        return message.value
    made = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.type == F.TYPE_MESSAGE and field.message_type.GetOptions().map_entry:
            key, of = (field.message_type.fields_by_name[one] for one in ("key", "value"))
            pairs = [[as_json(key, one), as_json(of, value[one])] for one in value]
            made[field.name] = dict(pairs) if key.type == F.TYPE_STRING else sorted(pairs, key=lambda pair: pair[0])
        elif field.is_repeated:
            made[field.name] = [as_json(field, one) for one in value]
        elif field.has_presence and not message.HasField(field.name):
            made[field.name] = None
        else:
            made[field.name] = as_json(field, value)
    return made


def in_order(descriptor, found):
    """Maps by numbers in the order of these."""
    if not isinstance(found, dict) or descriptor is None:
        return found
    for field in descriptor.fields:
        if field.message_type is None or found.get(field.name) is None:
            continue
        value = found[field.name]
        if field.message_type.GetOptions().map_entry:
            of = field.message_type.fields_by_name["value"].message_type
            pairs = value.items() if isinstance(value, dict) else value
            pairs = [[key, in_order(of, one)] for key, one in pairs]
            found[field.name] = dict(pairs) if isinstance(value, dict) else sorted(pairs, key=lambda pair: pair[0])
        elif field.is_repeated:
            found[field.name] = [in_order(field.message_type, one) for one in value]
        else:
            found[field.name] = in_order(field.message_type, value)
    return found


def check(text, messages, found):
    for message, one in zip(messages, found, strict=True):
        if isinstance(one, str) and one.endswith("which is not read"):
            continue
        own = in_order(message.DESCRIPTOR, one)
        assert own == expected(message), text


@given(st.integers(0, 2**32))
def test_rows_of_any_schema_are_those_that_were_written(seed):
    rng = random.Random(seed)
    text = random_schema(rng)
    message = protoc.message_class(text, "p.M")
    rows = [fill(rng, message()) for _ in range(70)]
    check(text, rows, payloads(text, [one.SerializeToString() for one in rows]))


@given(st.integers(0, 2**32))
def test_messages_one_after_another_are_one_merged(seed):
    rng = random.Random(seed)
    text = random_schema(rng).replace("map<", "//")
    message = protoc.message_class(text, "p.M")
    bodies = [b"".join(fill(rng, message()).SerializeToString() for _ in range(2)) for _ in range(20)]
    check(text, [message.FromString(body) for body in bodies], payloads(text, bodies))


@pytest.mark.parametrize(("before", "many"), [(0, 40), (40, 100), (3000, 4000)])
def test_a_record_may_have_more_numbers_with_a_fraction_than_there_are_records(before, many):
    text = 'syntax = "proto3"; package p; message M { repeated double f = 1; }'
    message = protoc.message_class(text, "p.M")
    rows = [[]] * before + [[at / 8 for at in range(many)]]
    assert payloads(text, [message(f=row).SerializeToString() for row in rows])[-1] == {"f": rows[-1]}


@given(st.integers(0, 2**32))
def test_damaged_records_have_a_fault_or_a_line_of_json(seed):
    rng = random.Random(seed)
    text = random_schema(rng)
    body = fill(rng, protoc.message_class(text, "p.M")()).SerializeToString()[:300]
    found = payloads(text, damage := damaged(rng, body))
    again = payloads(text, damage[::-1])[::-1]
    assert json.dumps(found) == json.dumps(again)  # what stands beside a record does not matter


OLD = "syntax = 'proto3'; package v; message Row { int64 id = 1; string gone = 2; string name = 3; }"
NEW = "syntax = 'proto3'; package v; message Row { int64 id = 1; string name = 3; optional double more = 4; repeated int32 l = 5; }"


def test_versions_of_a_schema_written_by_confluents_serializer_are_read_in_one_block():
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    rng, schemas, records, wanted = random.Random(4), {}, [], []
    writers = []
    for text in (OLD, NEW):
        message = protoc.message_class(text, "v.Row")
        writers.append((message, ProtobufSerializer(message, client, {"use.deprecated.format": False}), text))
    for row in range(2000):
        message, serialize, text = rng.choice(writers)
        own = fill(rng, message(id=row))
        records.append(serialize(own, SerializationContext("t", MessageField.VALUE)))
        schemas[int.from_bytes(records[-1][1:5], "big")] = schema(text)
        wanted.append(expected(own))
        if row % 50 == 0:
            records.append(None)
            wanted.append(None)
    found, seen = read(schemas, records)
    assert len(schemas) == 2
    assert found == wanted
    assert {tuple(one["field"] for one in schema["fields"]) for schema in seen if schema} == {
        ("id", "gone", "name"),
        ("id", "name", "more", "l"),
    }
