"""Avro records, written by fastavro, Apache's runtime and Confluent's serializer, are lines of JSON of the same values."""

import base64
import io
import json
import random

import avro.io
import avro.schema
import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings import avro as encoding
from integrator.decode.encodings.program import SchemaRefused
from tests.parts.encoded import damaged, frame, number, read, single

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]


def schema(parsed, *references):
    return WrittenSchema("AVRO", json.dumps(parsed), tuple((name, json.dumps(one)) for name, one in references))


def record(*fields, name="a.R"):
    return {"type": "record", "name": name, "fields": [{"name": one, "type": kind} for one, kind in fields]}


def payloads(parsed, bodies):
    return read({1: schema(parsed)}, [frame(1, body) for body in bodies])[0]


def written(parsed, row):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(parsed), row)
    return out.getvalue()


NESTED = record(("x", "int"), name="a.In")
VALUES = {
    "null": ("null", None, None),
    "boolean": ("boolean", True, True),
    "least int": ("int", -(2**31), -(2**31)),
    "greatest int": ("int", 2**31 - 1, 2**31 - 1),
    "least long": ("long", -(2**63), -(2**63)),
    "greatest long": ("long", 2**63 - 1, 2**63 - 1),
    "longs of every length": (
        {"type": "array", "items": "long"},
        [sign * 10**digits for digits in range(19) for sign in (1, -1)],
        [sign * 10**digits for digits in range(19) for sign in (1, -1)],
    ),
    "float": ("float", 0.1, 0.1),
    "double": ("double", -1e-300, -1e-300),
    "no number": ("double", float("nan"), "NaN"),
    "infinite": ("float", float("-inf"), "-Infinity"),
    "bytes": ("bytes", b"\0\xff", "AP8="),
    "string": ("string", 'Zürich\n"\\\x01\x7f', 'Zürich\n"\\\x01\x7f'),
    "fixed": ({"type": "fixed", "name": "F", "size": 3}, b"\1\2\3", "AQID"),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
    "array": ({"type": "array", "items": "int"}, [1, -1], [1, -1]),
    "empty array": ({"type": "array", "items": "int"}, [], []),
    "array of nulls": ({"type": "array", "items": "null"}, [None, None], [None, None]),
    "map": ({"type": "map", "values": "int"}, {'a"': 1, "b": 2}, {'a"': 1, "b": 2}),
    "empty map": ({"type": "map", "values": "int"}, {}, {}),
    "record": (NESTED, {"x": 5}, {"x": 5}),
    "record without fields": (record(name="a.In"), {}, {}),
    "nullable, null": (["null", "int"], None, None),
    "nullable": (["int", "null"], 3, 3),
    "union of types": (["null", "string", "int", NESTED], 7, {"string": None, "int": 7, "In": None}),
    "union of types, null": (["null", "string", "int"], None, None),
    "union of one": (["int"], 7, {"int": 7}),
    "in itself": (["null", "R"], {"f": {"f": None}}, {"f": {"f": None}}),
    "a name in another namespace": (record(("y", ["null", "a.R"]), name="b.In"), {"y": None}, {"y": None}),
}


@pytest.mark.parametrize(("kind", "value", "expected"), VALUES.values(), ids=VALUES)
def test_values_are_as_the_converter_writes_them(kind, value, expected):
    parsed = record(("f", kind))
    assert payloads(parsed, [written(parsed, {"f": value})]) == [{"f": expected}]


LIST = {"type": "array", "items": "int"}
BYTES = {
    "items in blocks": (LIST, "02 02 04 0406 00", [1, 2, 3]),
    "blocks with their sizes": (LIST, "01 02 02 03 04 0406 00", [1, 2, 3]),
    "long varints": ("int", "8280808000", 1),
    "a branch in two bytes": (["null", "int"], "8200 08", 4),
    "cut off": ("long", "80", "!byte 7: it ends before its schema does"),
    "nothing": ("long", "", "!byte 6: it ends before its schema does"),
    "more than it says": ("int", "0202", "!byte 7: it continues after its schema ends"),
    "over 64 bits": ("long", "ffffffffffffffffff02", "!byte 15: here is a number of over 64 bits"),
    "an int of 33 bits": ("int", "8080808010", "!byte 6: here is an int of over 32 bits"),
    "no boolean": ("boolean", "02", "!byte 6: a boolean is 0 or 1"),
    "no branch": (["null", "int"], "04", "!byte 6: the union has no such branch"),
    "no branch of many": (["null", "int", "string"], "06", "!byte 6: the union has no such branch"),
    "a negative branch": (["null", "int"], "01", "!byte 6: the union has no such branch"),
    "no symbol": (
        {"type": "enum", "name": "E", "symbols": ["A"]},
        "02",
        "!byte 6: the enum has no such symbol",
    ),
    "a negative length": ("string", "01", "!byte 7: here is a negative length"),
    "a length past the end": ("string", "0461", "!byte 7: it ends before its schema does"),
    "a key past the end": ({"type": "map", "values": "int"}, "020861", "!byte 7: it ends before its schema does"),
    "a block of another size": (
        LIST,
        "01 04 02 02 0400",
        "!byte 9: a block of items has another size than it declares",
    ),
    "more items than bytes": (LIST, "8080808010 02", "!byte 11: it ends before its schema does"),
    "items without bytes": (
        {"type": "array", "items": "null"},
        "8080808010",
        "!byte 11: here are too many items without bytes",
    ),
}


@pytest.mark.parametrize(("kind", "data", "expected"), BYTES.values(), ids=BYTES)
def test_bytes_of_any_writer(kind, data, expected):
    (found,) = payloads(record(("f", kind)), [bytes.fromhex(data)])
    assert found == (expected if isinstance(expected, str) else {"f": expected})


def test_records_are_nested_64_times_at_most():
    parsed = record(("f", ["null", "R"]))
    found = payloads(parsed, [b"\2" * 63 + b"\0", b"\2" * 65 + b"\0"])
    assert json.dumps(found[0]).count("{") == 64
    assert found[1].endswith("its values are nested more than 64 times")


SCHEMAS = {
    "int": ("int", {"type": "int32", "optional": False}),
    "long": ("long", {"type": "int64", "optional": False}),
    "float": ("float", {"type": "float", "optional": False}),
    "nullable": (["null", "double"], {"type": "double", "optional": True}),
    "small": ({"type": "int", "connect.type": "int16"}, {"type": "int16", "optional": False}),
    "of Debezium": (
        ["null", {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}],
        {"type": "int64", "optional": True, "version": 1, "name": "io.debezium.time.MicroTimestamp"},
    ),
    "with parameters": (
        {"type": "string", "connect.name": "io.debezium.data.Enum", "connect.parameters": {"allowed": "a,b"}},
        {"type": "string", "optional": False, "name": "io.debezium.data.Enum", "parameters": {"allowed": "a,b"}},
    ),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        {
            "type": "bytes",
            "optional": False,
            "name": "org.apache.kafka.connect.data.Decimal",
            "version": 1,
            "parameters": {"scale": "2", "connect.decimal.precision": "9"},
        },
    ),
    "date": (
        {"type": "int", "logicalType": "date"},
        {"type": "int32", "optional": False, "name": "org.apache.kafka.connect.data.Date", "version": 1},
    ),
    "instant": (
        {"type": "long", "logicalType": "timestamp-micros"},
        {
            "type": "int64",
            "optional": False,
            "name": "io.debezium.time.MicroTimestamp",
            "version": 1,
            "zoned": True,
        },
    ),
    "local": (
        {"type": "long", "logicalType": "local-timestamp-millis"},
        {"type": "int64", "optional": False, "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
    ),
    "a logical type of another type": (
        {"type": "string", "logicalType": "date"},
        {"type": "string", "optional": False},
    ),
    "enum": (
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        {
            "type": "string",
            "optional": False,
            "name": "io.debezium.data.Enum",
            "version": 1,
            "parameters": {"allowed": "A,B"},
        },
    ),
    "map": (
        {"type": "map", "values": ["null", "bytes"]},
        {
            "type": "map",
            "keys": {"type": "string", "optional": False},
            "values": {"type": "bytes", "optional": True},
            "optional": False,
        },
    ),
    "union": (
        ["int", "string", "null"],
        {
            "type": "struct",
            "fields": [
                {"type": "int32", "optional": True, "field": "int"},
                {"type": "string", "optional": True, "field": "string"},
            ],
            "optional": True,
            "name": "io.confluent.connect.avro.Union",
        },
    ),
}


@pytest.mark.parametrize(("kind", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_schemas_are_those_of_connect(kind, expected):
    found = encoding.compiled(schema(record(("f", kind))), b"", b"").schema
    assert found == {"type": "struct", "fields": [{**expected, "field": "f"}], "optional": False, "name": "a.R"}


def test_types_of_other_schemas_are_referred_to_by_name():
    other = record(("x", "int"), name="o.Other")
    parsed = record(("f", ["null", "o.Other"]))
    found, _ = read({3: schema(parsed, ("other", other))}, [frame(3, b"\2\4")])
    assert found == [{"f": {"x": 2}}]


REFUSED = {
    "no JSON": ("{", "it is no schema of Avro"),
    "no type": ('{"fields": []}', "it is no schema of Avro"),
    "an unknown type": ('"o.Other"', "'o.Other' is no type of Avro, and no schema that it refers to has it"),
    "an array of nothing": ('{"type": "array"}', "it is no schema of Avro"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_schema_that_cannot_be_read_is_refused(text, reason):
    with pytest.raises(SchemaRefused) as caught:
        encoding.compiled(WrittenSchema("AVRO", text), b"", b"")
    assert str(caught.value).startswith(reason)


PRIMITIVE = ["boolean", "int", "long", "float", "double", "bytes", "string"]
APART = ["boolean", "bytes", "string"]
"""Of which Apache's writer finds the branch of a value."""


def random_kind(rng, names, depth, *, apart):
    """A type. names: how many have a name."""
    choice = rng.randrange(12) if depth < 4 else 0
    if choice < 4:
        return rng.choice(PRIMITIVE)
    if choice == 4:
        return {"type": "array", "items": random_kind(rng, names, depth + 1, apart=apart)}
    if choice == 5:
        return {"type": "map", "values": random_kind(rng, names, depth + 1, apart=apart)}
    if choice < 8:
        return [*rng.sample(["null", rng.choice(PRIMITIVE)], 2)]
    if choice == 8:
        branches = rng.sample(["null", *(APART if apart else PRIMITIVE)], rng.randrange(2, 4))
        return branches if apart else [*branches, named(rng, names, depth, apart=apart)]
    if choice == 9:
        return ["null", "R"]
    return named(rng, names, depth, apart=apart)


def named(rng, names, depth, *, apart):
    names.append(f"N{len(names)}")
    own = names[-1]
    match rng.randrange(4):
        case 0:
            return {"type": "enum", "name": own, "symbols": ["A", "B", "C"]}
        case 1:
            return {"type": "fixed", "name": own, "size": rng.randrange(1, 9)}
    kinds = [random_kind(rng, names, depth + 1, apart=apart) for _ in range(rng.randrange(1, 4))]
    return record(*((f"f{at}", kind) for at, kind in enumerate(kinds)), name=own)


def random_schema(rng, *, apart=False):
    names = []
    return record(*((f"f{at}", random_kind(rng, names, 0, apart=apart)) for at in range(rng.randrange(1, 9))), name="R")


NUMBERS = [0, -1, 63, 64, -64, -65, 8191, 8192]


def random_value(rng, kind, root, depth=0):
    """A value, and what it is in JSON."""
    if isinstance(kind, list):
        return union_value(rng, kind, root, depth)
    of = kind["type"] if isinstance(kind, dict) else kind
    match of:
        case "null":
            return None, None
        case "boolean":
            value = rng.random() < 0.5
        case "int" | "long":
            bits = 31 if of == "int" else 63
            value = rng.choice([*NUMBERS, -(2**bits), 2**bits - 1, rng.randint(-(2**bits), 2**bits - 1)])
        case "float" | "double":
            value = rng.choice([0.0, 0.1, -1.5e-30, float("nan"), float("inf"), rng.uniform(-9, 9)])
            return value, number(single(value) if of == "float" else value, single=of == "float")
        case "bytes" | "fixed":
            value = rng.randbytes(kind["size"] if of == "fixed" else rng.randrange(9))
            return value, base64.b64encode(value).decode()
        case "string":
            value = rng.choice(["", "a", 'Zü"\\\n\x01', "x" * rng.randrange(300)])
        case "enum":
            value = rng.choice(kind["symbols"])
        case "array":
            both = [random_value(rng, kind["items"], root, depth + 1) for _ in range(rng.randrange(4))]
            return [one for one, _ in both], [other for _, other in both]
        case "map":
            both = {f"k{at}": random_value(rng, kind["values"], root, depth + 1) for at in range(rng.randrange(3))}
            return {key: one for key, (one, _) in both.items()}, {key: other for key, (_, other) in both.items()}
        case _:
            fields = (root if of == "R" else kind)["fields"]
            both = {field["name"]: random_value(rng, field["type"], root, depth + 1) for field in fields}
            return {key: one for key, (one, _) in both.items()}, {key: other for key, (_, other) in both.items()}
    return value, value


def union_value(rng, branches, root, depth):
    branch = "null" if depth > 5 and "null" in branches else rng.choice(branches)
    value, found = random_value(rng, branch, root, depth + 1)
    if branch == "null":
        return None, None
    names = [one["name"] if isinstance(one, dict) else one for one in branches]
    own = branch["name"] if isinstance(branch, dict) else branch
    if len(branches) == 2 and "null" in branches:
        return (own, value), found
    return (own, value), {one: found if one == own else None for one in names if one != "null"}


def plain(value):
    """A value as Apache's writer has it: which branch of a union it is of is not said."""
    match value:
        case tuple():
            return plain(value[1])
        case dict():
            return {key: plain(one) for key, one in value.items()}
        case list():
            return [plain(one) for one in value]
    return value


@given(st.integers(0, 2**32))
def test_rows_of_any_schema_are_those_that_were_written(seed):
    rng = random.Random(seed)
    parsed = random_schema(rng)
    rows = [random_value(rng, parsed, parsed) for _ in range(70)]
    assert payloads(parsed, [written(parsed, one) for one, _ in rows]) == [expected for _, expected in rows]


@given(st.integers(0, 2**32))
def test_rows_that_apaches_runtime_wrote_are_read(seed):
    rng = random.Random(seed)
    parsed = random_schema(rng, apart=True)
    writer = avro.io.DatumWriter(avro.schema.parse(json.dumps(parsed)))
    rows, bodies = [random_value(rng, parsed, parsed) for _ in range(20)], []
    for one, _ in rows:
        out = io.BytesIO()
        writer.write(plain(one), avro.io.BinaryEncoder(out))
        bodies.append(out.getvalue())
    assert payloads(parsed, bodies) == [expected for _, expected in rows]


@given(st.integers(0, 2**32))
def test_damaged_records_have_a_fault_or_a_line_of_json(seed):
    rng = random.Random(seed)
    parsed = random_schema(rng)
    body = written(parsed, random_value(rng, parsed, parsed)[0])[:300]
    found = payloads(parsed, damage := damaged(rng, body))
    again = payloads(parsed, damage[::-1])[::-1]
    assert json.dumps(found) == json.dumps(again)  # what stands beside a record does not matter


OLD = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}, {"name": "gone", "type": "string"}]}
NEW = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "more", "type": "int", "default": 5},
        {"name": "u", "type": ["null", "string", "double"], "default": None},
    ],
}


@pytest.mark.parametrize(("before", "many"), [(0, 40), (40, 100), (3000, 4000)])
def test_a_record_may_have_more_numbers_with_a_fraction_than_there_are_records(before, many):
    parsed = record(("f", {"type": "array", "items": "double"}))
    rows = [{"f": []}] * before + [{"f": [at / 8 for at in range(many)]}]
    assert payloads(parsed, [written(parsed, row) for row in rows])[-1] == rows[-1]


def test_versions_of_a_schema_written_by_confluents_serializer_are_read_in_one_block():
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    rng, schemas, records, wanted = random.Random(4), {}, [], []
    writers = [(one, AvroSerializer(client, json.dumps(one))) for one in (OLD, NEW)]
    for row in range(2000):
        parsed, serialize = rng.choice(writers)
        value, expected = random_value(rng, parsed, parsed)
        if row % 7 == 0 and parsed is NEW:
            del value["more"]  # the writer puts the default
            expected["more"] = 5
        records.append(serialize(value, SerializationContext("t", MessageField.VALUE)))
        schemas[int.from_bytes(records[-1][1:5], "big")] = schema(parsed)
        wanted.append(expected)
        if row % 50 == 0:
            records.append(None)
            wanted.append(None)
    found, seen = read(schemas, records)
    assert len(schemas) == 2
    assert found == wanted
    fields = {json.dumps([(one["field"], one.get("default", "none")) for one in own["fields"]]) for own in seen if own}
    assert fields == {
        '[["id", "none"], ["gone", "none"]]',
        '[["id", "none"], ["more", 5], ["u", null]]',
    }


def test_a_schema_file_is_of_records_without_a_frame():
    found, _ = read({}, [b"\2", None], unframed=schema(record(("f", "int"))))
    assert found == [{"f": 1}, None]
