"""Envelopes and BeforeUpdateColumns: one message an update, as the peers and HVR write it."""

import json
import uuid
from decimal import Decimal

import pytest

from integrator.contracts.fragments import PresentFields
from integrator.decode.contract import Reading
from integrator.encode import messages
from integrator.errors import ConfigurationError, DataError
from integrator.run.state.directory import State
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table shop.t(id int primary key, v text, n decimal(6,2), at timestamptz(3));"
AT = "2026-11-20T12:34:56.789Z"
MILLIS = 1795178096789
DELETED = "2026-11-20T12:34:56.789000Z"


def sent(directory, fmt, *records, ddl=DDL, more="", kafka=""):
    """(key, value) of each message, JSON parsed, and what was not sent."""
    recipe = pure.recipe(directory, ddl, f"  - {{action: FileFormat, {fmt}}}\n{more}", kafka=kafka)
    stamped = [{"hvr_cap_tstamp": AT, **record} for record in records]
    fragments, notes = pure.fragments(recipe, pure.hvr(directory, *stamped))
    sent = pure.unpacked(pure.bundled(recipe, fragments.combine_chunks()))
    read = [(m.key, None if m.value is None else json.loads(m.value, parse_float=Decimal)) for m in sent]
    return read, notes[0].not_sent


ONE = {"id": 1, "v": "a", "n": "1.50", "at": AT}
TWO = {**ONE, "v": "b"}
MOVED = {**TWO, "id": 9}
LIFE = [
    {"hvr_op": 1, **ONE},
    {"hvr_op": 4, **ONE},
    {"hvr_op": 2, **TWO},
    {"hvr_op": 3, **TWO},
    {"hvr_op": 2, **MOVED},
    {"hvr_op": 0, **MOVED},
    {"hvr_op": 5},
]


def test_debezium(tmp_path):
    messages, not_sent = sent(tmp_path, "Envelope: DEBEZIUM, Json: true, JsonMode: PAYLOAD", *LIFE)
    image = {"id": 1, "v": "a", "n": "AJY=", "at": AT}
    second, moved = {**image, "v": "b"}, {**image, "v": "b", "id": 9}
    shown = [
        (json.loads(key)["id"] if key else None, value and (value["op"], value["before"], value["after"]))
        for key, value in messages
    ]
    assert shown == [
        (1, ("c", None, image)),
        (1, ("u", image, second)),
        (1, ("d", second, None)),
        (1, None),
        (9, ("c", None, moved)),
        (9, ("d", moved, None)),
        (9, None),
        (None, ("t", None, None)),
    ]
    first = messages[0][1]
    assert list(first) == ["before", "after", "source", "transaction", "op", "ts_ms", "ts_us", "ts_ns"]
    assert (first["ts_ms"], first["ts_us"], first["ts_ns"]) == (MILLIS, MILLIS * 1000, MILLIS * 1_000_000)
    source = first["source"]
    assert (source["connector"], source["name"], source["db"]) == ("hvr", "pure", "src")
    assert (source["schema"], source["table"], source["snapshot"], source["ts_ms"]) == ("shop", "t", "false", MILLIS)
    assert not not_sent


@pytest.mark.parametrize(
    ("mode", "key"), [("SCHEMA_PAYLOAD", ["schema", "payload"]), ("PAYLOAD", ["id"]), ("ROW_FRAGMENTS", ["id"])]
)
def test_keys_of_debezium_have_a_schema_where_values_have_one(mode, key, tmp_path):
    [(found, _)], _ = sent(tmp_path, f"Envelope: DEBEZIUM, Json: true, JsonMode: {mode}", LIFE[0])
    assert list(json.loads(found)) == key


def test_debezium_with_its_schema_is_connect_json(tmp_path):
    [(key, value)], _ = sent(tmp_path, "Envelope: DEBEZIUM", LIFE[0])
    assert list(value) == ["schema", "payload"]
    assert (value["schema"]["name"], value["schema"]["version"]) == ("pure.shop.t.Envelope", 2)
    before, after = value["schema"]["fields"][:2]
    assert (before["name"], before["optional"], before["field"]) == ("pure.shop.t.Value", True, "before")
    assert (after["name"], after["optional"], after["field"]) == ("pure.shop.t.Value", True, "after")
    assert {field["field"]: field.get("name") for field in before["fields"]} == {
        "id": None,
        "v": None,
        "n": "org.apache.kafka.connect.data.Decimal",
        "at": "io.debezium.time.ZonedTimestamp",
    }
    assert json.loads(key)["payload"] == {"id": 1}


@pytest.mark.parametrize("fmt", ["SCHEMA_PAYLOAD", "REGISTRY_JSON", "REGISTRY_AVRO", "REGISTRY_PROTOBUF"])
def test_columns_that_are_not_null_are_so_in_both_images(fmt, tmp_path):
    kind = fmt.removeprefix("REGISTRY_")
    kafka = "" if kind == fmt else f", Kafka_Schema_Registry: 'http://x', Kafka_Schema_Registry_Format: {kind}"
    ddl = "create table t(id int primary key, v text not null, n int)"
    recipe = pure.recipe(tmp_path, ddl, "  - {action: FileFormat, Envelope: DEBEZIUM}", kafka=kafka)
    images = messages.columns(recipe.tables[0], recipe, PresentFields())[:2]
    assert [[column.name for column in image.type.fields if not column.nullable] for image in images] == [
        ["id", "v"]
    ] * 2


ZEROS = {
    "boolean": False, "smallint": 0, "bigint": 0, "decimal(6,2)": "AA==", "real": 0.0, "varchar(9)": "", "bytea": "",
    "uuid": "", "date": 0, "time(3)": 0, "timestamp(6)": 0, "timestamptz": "1970-01-01T00:00:00.000000Z", "text[]": [],
}  # fmt: skip


@pytest.mark.parametrize("alone", [False, True])
def test_debezium_has_zeros_for_what_is_not_there_and_may_not_be_null(alone, tmp_path):
    """Deletes that have the key alone, as Debezium's connector for PostgreSQL sends them: see its recorded events."""
    columns = ", ".join(f"c{at} {kind} not null" for at, kind in enumerate(ZEROS))
    ddl = f"create table shop.t(id int primary key, {columns}, n int);"
    # a table alone, or with others: what computes an image is another
    more = "  - {action: ColumnProperties, Name: n, IntegrateExpression: '{hvr_missing}', Datatype: text}\n" * alone
    fmt = "Envelope: DEBEZIUM, Json: true, JsonMode: PAYLOAD"
    messages, _ = sent(tmp_path, fmt, {"hvr_op": 0, "id": 1}, ddl=ddl, more=more)
    before = messages[0][1]["before"]
    assert [before[f"c{at}"] for at in range(len(ZEROS))] == list(ZEROS.values())
    assert before["n"] is None or alone
    assert messages[0][1]["after"] is None


DEFAULTS = {
    # the column; its default in Connect JSON; in Avro, and its type there
    "c boolean default true": (True, True, {"type": "boolean", "connect.default": True}),
    "c int default (-7)": (-7, -7, {"type": "int", "connect.default": -7}),
    "c smallint default '5'::smallint": (5, 5, {"type": "int", "connect.default": 5, "connect.type": "int16"}),
    "c decimal(6,2) default 2.50": ("APo=", "\x00\xfa", {"type": "bytes", "scale": 2, "precision": 6, "connect.version": 1, "connect.parameters": {"scale": "2", "connect.decimal.precision": "6"}, "connect.default": "\x00\xfa", "connect.name": "org.apache.kafka.connect.data.Decimal", "logicalType": "decimal"}),
    "c real default 0.5": (0.5, 0.5, {"type": "float", "connect.default": 0.5}),
    "c text default 'it''s'::text": ("it's", "it's", {"type": "string", "connect.default": "it's"}),
    "c date default '2026-01-02'::date": (20455, 20455, {"type": "int", "connect.version": 1, "connect.default": 20455, "connect.name": "io.debezium.time.Date"}),
    "c timestamp(3) default '1970-01-01 00:00:01'": (1000, 1000, {"type": "long", "connect.version": 1, "connect.default": 1000, "connect.name": "io.debezium.time.Timestamp"}),
    # what the database computes is not known
    "c int default nextval('x')": (None, None, "int"),
    "c timestamp default now()": (None, None, {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}),
}  # fmt: skip


@pytest.mark.parametrize("column", DEFAULTS)
def test_debezium_has_the_defaults_of_columns_that_are_not_null(column, tmp_path):
    """As AvroData and JsonConverter write them; and in before images that have no value."""
    in_json, in_avro, kind = DEFAULTS[column]
    ddl = f"create table shop.t(id int primary key, {column} not null, n int default 3);"
    messages_, _ = sent(tmp_path, "Envelope: DEBEZIUM", {"hvr_op": 0, "id": 1}, ddl=ddl)
    value = messages_[0][1]
    [found] = [one for one in value["schema"]["fields"][0]["fields"] if one["field"] == "c"]
    assert found.get("default") == in_json
    assert value["payload"]["before"] == {"id": 1, "c": 0 if in_json is None else in_json, "n": None}
    recipe = pure.recipe(
        tmp_path, ddl, "  - {action: FileFormat, Envelope: DEBEZIUM}", kafka=", Kafka_Schema_Registry: 'http://x'"
    )
    image = json.loads(messages.value_schema(recipe.tables[0], recipe))["fields"][0]["type"][1]
    assert image["fields"][1] == {"name": "c", "type": kind} | ({} if in_avro is None else {"default": in_avro})


def test_rows_have_no_defaults_of_the_database(tmp_path):
    ddl = "create table t(id int primary key, c int not null default 7);"
    recipe = pure.recipe(tmp_path, ddl, "  - {action: FileFormat, Json: true}")
    assert "default" not in messages.value_schema(recipe.tables[0], recipe)


def test_debezium_has_nothing_for_a_struct_that_is_not_there(tmp_path):
    ddl = "create table shop.t(id int primary key, s struct<a int> not null);"
    with pytest.raises(DataError, match="column s: the record has no value, and DEBEZIUM has placeholders for text, "):
        sent(tmp_path, "Envelope: DEBEZIUM", {"hvr_op": 0, "id": 1}, ddl=ddl)


def test_debezium_has_a_placeholder_for_values_that_the_source_left_out(tmp_path):
    left_out = {"hvr_op": 2, "id": 1, "n": "1.50", "at": AT}
    [(_, value)], _ = sent(tmp_path, "Envelope: DEBEZIUM, Json: true, JsonMode: PAYLOAD", left_out)
    assert (value["before"], value["after"]["v"]) == (None, "__debezium_unavailable_value")
    deleted = {"hvr_op": 0, "id": 1}
    [(_, value), _], _ = sent(tmp_path, "Envelope: DEBEZIUM, Json: true, JsonMode: PAYLOAD", deleted)
    assert value["before"] == {"id": 1, "v": None, "n": None, "at": None}
    with pytest.raises(DataError, match="column n: the record has no value, and DEBEZIUM has placeholders for text, "):
        sent(tmp_path, "Envelope: DEBEZIUM", {"hvr_op": 2, "id": 1, "v": "x", "at": AT})


def test_debezium_has_a_placeholder_for_lists_too(tmp_path):
    ddl = "create table shop.t(id int primary key, words text[], numbers int[], one smallint[]);"
    fmt, updates = "Envelope: DEBEZIUM, Json: true, JsonMode: PAYLOAD", [{"one": [1]}, {"words": ["a"], "one": None}]
    messages, _ = sent(tmp_path, fmt, *({"hvr_op": 2, "id": 1, **values} for values in updates), ddl=ddl)
    unavailable = list(b"__debezium_unavailable_value")
    assert [value["after"] for _, value in messages] == [
        {"id": 1, "words": ["__debezium_unavailable_value"], "numbers": unavailable, "one": [1]},
        {"id": 1, "words": ["a"], "numbers": unavailable, "one": None},
    ]


def test_opencdc(tmp_path):
    messages, not_sent = sent(tmp_path, "Envelope: OPENCDC", *LIFE)
    image = {"id": 1, "v": "a", "n": Decimal("1.50"), "at": AT}
    second, moved = {**image, "v": "b"}, {**image, "v": "b", "id": 9}
    shown = [(json.loads(key), v["operation"], v["key"], v["payload"]) for key, v in messages]
    assert shown == [
        ({"id": 1}, "create", {"id": 1}, {"before": None, "after": image}),
        ({"id": 1}, "update", {"id": 1}, {"before": image, "after": second}),
        ({"id": 9}, "update", {"id": 9}, {"before": second, "after": moved}),
        ({"id": 9}, "delete", {"id": 9}, {"before": moved, "after": None}),
    ]
    assert messages[0][1]["metadata"] == {
        "opencdc.collection": "t",
        "opencdc.createdAt": str(MILLIS * 1_000_000),
        "opencdc.version": "v1",
    }
    assert not_sent == {"op 5 in envelope OPENCDC": 1}


@pytest.mark.parametrize("fmt", ["", ", Json: true, JsonMode: SCHEMA_PAYLOAD", ", Json: true, JsonMode: TABLE_ARRAY"])
def test_metadata_of_opencdc_are_texts_and_never_null(fmt, tmp_path):
    known, unknown = ({"hvr_op": 1, **ONE, "hvr_cap_tstamp": when} for when in (AT, None))
    messages, _ = sent(tmp_path, f"Envelope: OPENCDC{fmt}", known, unknown)
    values = [value["payload"] if "SCHEMA" in fmt else value[0]["t"][0] if fmt else value for _, value in messages]
    names = [{"opencdc.collection", "opencdc.createdAt", "opencdc.version"}, {"opencdc.collection", "opencdc.version"}]
    assert [set(value["metadata"]) for value in values] == names


def test_opencdc_leaves_out_what_the_source_left_out(tmp_path):
    [(_, value)], _ = sent(tmp_path, "Envelope: OPENCDC", {"hvr_op": 0, "id": 1, "v": None})
    assert value["payload"] == {"before": {"id": 1, "v": None}, "after": None}


def test_airbyte(tmp_path):
    messages, not_sent = sent(tmp_path, "Envelope: AIRBYTE", *LIFE)
    shown = [(value["_airbyte_data"]["id"], value["_airbyte_data"]["_ab_cdc_deleted_at"]) for _, value in messages]
    assert shown == [(1, None), (1, None), (1, DELETED), (9, None), (9, DELETED)]
    key, first = messages[0]
    assert list(first) == ["_airbyte_ab_id", "_airbyte_stream", "_airbyte_emitted_at", "_airbyte_data"]
    assert (first["_airbyte_stream"], first["_airbyte_emitted_at"]) == ("t", MILLIS)
    assert {key for key, _ in messages} == {value["_airbyte_ab_id"].encode() for _, value in messages}
    assert uuid.UUID(key.decode()).version == 8
    assert uuid.UUID(key.decode()).variant == uuid.RFC_4122
    assert len({key for key, _ in messages}) == len(messages)
    assert sent(tmp_path, "Envelope: AIRBYTE", *LIFE)[0] == messages  # I2: the uuid is made of the position
    assert not_sent == {"op 5 in envelope AIRBYTE": 1}


def test_uuids_of_rows_are_those_of_the_channels_state(tmp_path):
    """Two connections have the same channel, files and lines; a state that is restored continues with its own uuids."""
    made = pure.recipe(tmp_path, DDL, "  - {action: FileFormat, Envelope: AIRBYTE}\n")
    file = pure.hvr(tmp_path, *LIFE[:1])
    one, other = (State(str(tmp_path / name)) for name in ("one", "other"))
    for state in (one, other):
        state.make()
    keys = [
        pure.messages(made.of_state(identity), file)[0].key
        for identity in (one.identity(), one.identity(), other.identity())
    ]
    assert keys[0] == keys[1] != keys[2]


TIMEKEY = """
  - {action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: sq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{hvr_integ_seq}"}
  - {action: ColumnProperties, Name: sq, BaseName: seq}
"""
SMALL = "create table t(c1 int primary key, c2 int, c3 int);"
OLD, NEW = {"c1": 1, "c2": 1, "c3": None}, {"c1": 1, "c2": 2, "c3": None}
UPDATE = [{"hvr_op": 4, **OLD}, {"hvr_op": 2, **NEW}]
MERGED = [
    ("", {"old&c1": 1, "old&c2": 1, "old&c3": None}),
    (", BeforeUpdateColumnsWhenChanged: true", {"old&c2": 1}),
]


@pytest.mark.parametrize(("more", "old"), MERGED)
def test_before_update_columns(more, old, tmp_path):
    """HVR's own example: https://fivetran.com/docs/hvr6/action-reference/fileformat#beforeupdatecolumns."""
    fmt = f"Json: true, JsonMode: ROW_FRAGMENTS, BeforeUpdateColumns: 'old&'{more}"
    [(_, value)], _ = sent(tmp_path, fmt, *UPDATE, ddl=SMALL)
    assert value == {**NEW, **old}


def test_before_update_columns_of_other_operations_are_not_there(tmp_path):
    fmt = "Json: true, JsonMode: ROW_FRAGMENTS, BeforeUpdateColumns: 'old_'"
    actions = '  - {action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, TimeKey: true, IntegrateExpression: "{hvr_op}"}'
    records = [
        {"hvr_op": 1, **OLD},
        *UPDATE,
        {"hvr_op": 3, **NEW},
        {"hvr_op": 2, **NEW, "c1": 5},
        {"hvr_op": 0, **NEW, "c1": 5},
    ]
    messages, _ = sent(tmp_path, fmt, *records, ddl=SMALL, more=actions)
    assert [value["op_val"] for _, value in messages] == [1, 2, 2, 0]
    assert [value.get("old_c1") for _, value in messages] == [None, 1, 1, None]
    assert [name for name in messages[0][1] if name.startswith("old_")] == []


def test_before_update_columns_are_null_in_a_schema(tmp_path):
    messages, _ = sent(tmp_path, "BeforeUpdateColumns: old_", {"hvr_op": 1, **OLD}, *UPDATE, ddl=SMALL)
    assert [value["payload"] for _, value in messages] == [
        {**OLD, "old_c1": None, "old_c2": None, "old_c3": None},
        {**NEW, "old_c1": 1, "old_c2": 1, "old_c3": None},
    ]


PROBLEMS = [
    ("Json: true, Csv: true", "", "a location has one format"),
    ("Csv: true, JsonMode: PAYLOAD", "", "JsonMode belongs to Json, and the format is Csv"),
    ("HeaderLine: true", "", "HeaderLine belongs to Csv"),
    ("Xml: true, BlockCompress: NONE", "", "BlockCompress belongs to Avro and Parquet"),
    ("Avro: true, BlockCompress: GZIP", "", "Avro has DEFLATE, NONE"),
    ("Avro: true, Compress: GZIP", "", "Compress belongs to Json and Csv and Xml"),
    ("Encoding: ISO-8859-1", "", "Connect's converters read UTF-8"),
    ("Csv: true, FieldSeparator: '\"'", "", "the field separator cannot be the quote"),
    ("BeforeUpdateColumnsWhenChanged: true", "", "needs BeforeUpdateColumns beside it"),
    ("BeforeUpdateColumns: o_, BeforeUpdateColumnsWhenChanged: true", "", "has one schema for all rows"),
    ("Envelope: DEBEZIUM, BeforeUpdateColumns: o_", "", "has both images of an update"),
    ("Json: true", ', Kafka_Schema_Registry: "http://x"', "the format is Kafka_Schema_Registry_Format"),
    (
        "Envelope: OPENCDC",
        ', Kafka_Schema_Registry: "http://x"',
        "column metadata.opencdc.collection, REGISTRY_AVRO: a name",
    ),
]


@pytest.mark.parametrize(("fmt", "kafka", "text"), PROBLEMS)
def test_problems_of_formats(fmt, kafka, text, tmp_path):
    with pytest.raises(ConfigurationError, match=text):
        pure.recipe(tmp_path, DDL, f"  - {{action: FileFormat, {fmt}}}", kafka=kafka)


UNSAYABLE = [
    ('create table "t"("a-b" int primary key)', "AVRO", "column a-b, REGISTRY_AVRO: a name has letters"),
    ('create table "t-u"(a int primary key)', "PROTOBUF", "table t-u, REGISTRY_PROTOBUF: a name|table t-u"),
    ("create table t(a int primary key, b_list int, b int[])", "PROTOBUF", "columns b and b_list clash"),
    ("create table int(a int primary key)", "AVRO", "int is a type of Avro's"),
    ("create table t(a numeric(2,2) primary key, b numeric(2,5))", "AVRO", "no more digits after the point"),
    ("create table t(a int primary key, b int[][])", "PROTOBUF", "column b, REGISTRY_PROTOBUF: a repeated field"),
]


@pytest.mark.parametrize(("ddl", "kind", "text"), UNSAYABLE)
def test_what_a_format_cannot_say_is_a_problem_of_the_channel(ddl, kind, text, tmp_path):
    kafka = f', Kafka_Schema_Registry: "http://x", Kafka_Schema_Registry_Format: {kind}'
    with pytest.raises(ConfigurationError, match=text):
        pure.recipe(tmp_path, ddl, kafka=kafka)


def test_a_missing_value_is_refused_where_the_format_has_no_word_for_it(tmp_path):
    recipe = pure.recipe(tmp_path, SMALL, "  - {action: FileFormat, Csv: true}")
    with pytest.raises(DataError, match=r"a.jsonl:2: table t, column c2: .*Missing_Values: NULL"):
        pure.fragments(recipe, pure.hvr(tmp_path, OLD, {"c1": 2, "c3": 1}))


def test_missing_values_as_null_are_named(tmp_path):
    gone = '  - {action: ColumnProperties, Name: g, Datatype: text, Extra: true, IntegrateExpression: "{hvr_missing}"}'
    records = [OLD, {"c1": 2, "c3": 1}, {"c1": 3}]
    recipe = pure.recipe(
        tmp_path, SMALL, "  - {action: FileFormat, Csv: true}\n" + gone, kafka=", Missing_Values: 'NULL'"
    )
    fragments, _ = pure.fragments(recipe, pure.hvr(tmp_path, *records))
    assert fragments["payload"].to_pylist() == [b"1,1,,\n", b"2,,1,c2\n", b'3,,,"c2,c3"\n']


LEFT_OUT = [
    ("Envelope: OPENCDC, Json: true, JsonMode: SCHEMA_PAYLOAD", "column v"),
    ("Envelope: AIRBYTE, Csv: true", "column v"),
    ("Csv: true, BeforeUpdateColumns: old_", "column old_v"),
]


@pytest.mark.parametrize(("fmt", "column"), LEFT_OUT)
def test_a_missing_value_in_an_image_is_refused_where_the_format_has_no_word_for_it(fmt, column, tmp_path):
    records = [{"hvr_op": 4, "id": 1, "n": "1.00", "at": AT}, {"hvr_op": 2, "id": 1, "n": "1.00", "at": AT}]
    records[1] |= {"v": "new"} if "Before" in fmt else {}
    recipe = pure.recipe(tmp_path, DDL, f"  - {{action: FileFormat, {fmt}}}")
    with pytest.raises(DataError, match=f"{column}: the record has no value"):
        pure.fragments(recipe, pure.hvr(tmp_path, *records))


def test_a_missing_old_value_is_not_in_connect_jsons_schema(tmp_path):
    records = [{"hvr_op": 4, "c1": 1}, {"hvr_op": 2, **NEW}]
    [(_, value)], _ = sent(tmp_path, "BeforeUpdateColumns: old_", *records, ddl=SMALL)
    assert value["payload"] == {**NEW, "old_c1": 1}
    assert "old_c2" not in [field["field"] for field in value["schema"]["fields"]]


def test_what_xml_holds_of_a_struct_leaves_out_what_the_source_left_out(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, "  - {action: FileFormat, Envelope: OPENCDC, Xml: true}")
    fragments, _ = pure.fragments(recipe, pure.hvr(tmp_path, {"hvr_op": 0, "id": 1, "v": None}))
    [row] = fragments["payload"].to_pylist()
    assert b'<column name="payload">{"before":{"id":1,"v":null},"after":null}</column>' in row


def test_the_rows_of_an_update_in_different_batches_are_one_event(tmp_path, monkeypatch):
    monkeypatch.setattr(Reading, "block_bytes", 200)
    records = [{"hvr_op": op, **ONE, "id": 7} for _ in range(20) for op in (4, 2)]
    messages, not_sent = sent(tmp_path, "Envelope: OPENCDC", *records)
    assert [value["operation"] for _, value in messages] == ["update"] * 20
    assert all(value["payload"]["before"] for _, value in messages)
    assert not not_sent


def test_an_old_row_without_its_new_one_is_refused_or_counted(tmp_path):
    with pytest.raises(DataError, match=r"a.jsonl:1: table t: the file ends with the before image of an update"):
        sent(tmp_path, "Envelope: OPENCDC", {"hvr_op": 4, **ONE})
    messages, not_sent = sent(tmp_path, "Envelope: OPENCDC", {"hvr_op": 4, **ONE}, {"hvr_op": 1, **ONE})
    assert [value["operation"] for _, value in messages] == ["create"]
    assert not_sent == {"before images of updates without their after images": 1}


def test_a_computed_key_column_is_the_key(tmp_path):
    column = (
        "  - {action: ColumnProperties, Name: id, BaseName: order_id, Datatype: varchar, IntegrateExpression: 'x{id}'}"
    )
    [(key, value)], _ = sent(tmp_path, "Envelope: OPENCDC", {"hvr_op": 1, **ONE}, more=column)
    assert (json.loads(key), value["key"]) == ({"order_id": "x1"}, {"order_id": "x1"})


def test_debezium_names_the_key_as_debezium_does(tmp_path):
    [(key, _)], _ = sent(tmp_path, "Envelope: DEBEZIUM", LIFE[0])
    assert json.loads(key)["schema"]["name"] == "pure.shop.t.Key"


def test_lists_that_did_not_change_have_no_old_value(tmp_path):
    ddl = "create table t(id int primary key, v int[]);"
    fmt = "Json: true, JsonMode: ROW_FRAGMENTS, BeforeUpdateColumns: old_, BeforeUpdateColumnsWhenChanged: true"
    records = [{"hvr_op": 4, "id": 1, "v": [1]}, {"hvr_op": 2, "id": 1, "v": [1]}]
    assert sent(tmp_path, fmt, *records, ddl=ddl)[0][0][1] == {"id": 1, "v": [1]}
    records[1]["v"] = [2]
    assert sent(tmp_path, fmt, *records, ddl=ddl)[0][0][1] == {"id": 1, "v": [2], "old_v": [1]}


IDLE = [
    ("Csv: true", ", Json_Decimals: TEXT", "Json_Decimals: belongs to"),
    ("Csv: true", ", Json_Times: CONNECT", "Json_Times: belongs to"),
    ("Json: true", ", Missing_Values: 'NULL'", "leaves missing values out"),
    ("Csv: true, NullRepresentation: ','", "", "cannot hold a separator"),
    ("Csv: true, Encoding: ISO-8859-1", "", "cannot be recoded"),
    ("BeforeUpdateColumns: o", "", "column ob: another would have the same name"),
]


@pytest.mark.parametrize(("fmt", "kafka", "text"), IDLE)
def test_what_would_do_nothing_or_harm_is_a_problem(fmt, kafka, text, tmp_path):
    ddl = "create table t(id int primary key, b bytea, ob bytea);"
    with pytest.raises(ConfigurationError, match=text):
        pure.recipe(tmp_path, ddl, f"  - {{action: FileFormat, {fmt}}}", kafka=kafka)
