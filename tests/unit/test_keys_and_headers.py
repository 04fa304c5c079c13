"""Message keys, headers and tombstones: what the channel says, and the messages that come of it."""

import io
import json

import fastavro
import pytest
import xxhash

from integrator import plan
from integrator.contracts.message_format import SchemaId
from integrator.errors import ConfigurationError, DataError
from tests.parts import pure
from tests.parts.channels import TIMEKEY

DDL = "create table t(id int, part varchar(5), v text, at timestamp(3), primary key(id, part));"
SINGLE = "create table t(id int primary key, part varchar(5), v text, at timestamp(3));"
REGISTRY = ', Kafka_Schema_Registry: "http://localhost:1"'
NO_TRUNCATE = "  - {action: Capture, NoTruncate: true}\n"
HASH = xxhash.xxh64_hexdigest(b"i1:7")


def sent(directory, actions, *records, kafka="", ids=False, ddl=DDL):
    """(key, value, headers) of each message."""
    import dataclasses

    recipe = pure.recipe(directory, ddl, actions, kafka=kafka)
    if ids:
        tables = (dataclasses.replace(recipe.tables[0], value_id=SchemaId(1), key_id=SchemaId(2)),)
        recipe = dataclasses.replace(recipe, tables=tables)
    fragments, _ = pure.fragments(recipe, pure.hvr(directory, *records))
    found = []
    for messages in pure.bundled(recipe, fragments.combine_chunks()):
        headers = messages.headers.to_lists() if messages.headers else [()] * len(messages.values)
        found += zip(messages.keys.to_pylist(), messages.values.to_pylist(), headers, strict=True)
    return found


ROW = {"id": 7, "part": "a", "v": 'say "hi"', "at": "2026-11-20T12:34:56.789"}

KEYS = [
    ("", "", f'{{"schema":{{"type":"string","optional":false}},"payload":"{HASH}"}}'),
    ("MessageKey: '{id}-{part}'", "", "7-a"),
    (
        "MessageKey: '{v}', MessageKeySerializer: CONNECT",
        "",
        r'{"schema":{"type":"string","optional":false},"payload":"say \"hi\""}',
    ),
    ("MessageKey: '{{hvr_key_names |}}'", "", "7|a"),
    ("MessageKey: '{hvr_tbl_name}'", "", "t"),
    ("MessageKey: '{hvr_key_hash}', MessageKeySerializer: STRING", "", HASH),
    ("MessageKey: '{at}'", "", "20261120123456"),
    ("MessageKey: '{at %Y}'", "", "2026"),
    ("MessageKeySerializer: JSON_ROW", "", '{"id":7,"part":"a"}'),
    ("MessageKeySerializer: CONNECT_PAYLOAD", "", '{"id":7,"part":"a"}'),
    (
        "MessageKeySerializer: CONNECT_SCHEMA",
        "",
        '{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},'
        '{"type":"string","optional":false,"field":"part"}],"optional":false,"name":"t_key"},'
        '"payload":{"id":7,"part":"a"}}',
    ),
    ("MessageKeySerializer: NONE", "", None),
    ("", REGISTRY, b"\x00\x00\x00\x00\x02\x20" + HASH.encode()),
    ("MessageKeySerializer: STRING", REGISTRY, HASH),
    ("MessageKeySerializer: KAFKA_JSON", REGISTRY, b'\x00\x00\x00\x00\x02"' + HASH.encode() + b'"'),
    ("MessageKey: '{v}', MessageKeySerializer: KAFKA_JSON", REGISTRY, b'\x00\x00\x00\x00\x02"say \\"hi\\""'),
    ("MessageKeySerializer: KAFKA_JSON_SCHEMA", REGISTRY, b'\x00\x00\x00\x00\x02{"id":7,"part":"a"}'),
    ("MessageKeySerializer: KAFKA_AVRO_SCHEMA", REGISTRY, b"\x00\x00\x00\x00\x02\x0e\x02a"),
    ("MessageKeySerializer: KAFKA_PROTOBUF_SCHEMA", REGISTRY, b"\x00\x00\x00\x00\x02\x00\x08\x07\x12\x01a"),
]


LONE = [
    # the type of the key's one column, its value                  Avro, JSON Schema, Connect JSON's schema, JSON
    ("int", 7, b"\x0e", "int", '{"type":"int32","optional":false}', "7"),
    ("bigint", -1, b"\x01", "long", '{"type":"int64","optional":false}', "-1"),
    ("smallint", 7, b"\x0e", {"type": "int", "connect.type": "int16"}, '{"type":"int16","optional":false}', "7"),
    ("boolean", True, b"\x01", "boolean", '{"type":"boolean","optional":false}', "true"),
    ("varchar(9)", 'a"é', b'\x08a"\xc3\xa9', "string", '{"type":"string","optional":false}', '"a\\"é"'),
]


@pytest.mark.parametrize(("datatype", "value", "avro", "schema", "connect", "text"), LONE)
def test_the_one_key_column_alone_is_written_in_its_own_type(datatype, value, avro, schema, connect, text, tmp_path):
    from integrator.encode import messages

    def made(serializer):
        actions = f"  - {{action: Integrate, MessageKeySerializer: {serializer}, OnDeleteSendTombstone: true}}"
        registry = REGISTRY if serializer.startswith("KAFKA") else ""
        [(key, _, _)] = sent(tmp_path, actions, {"k": value, "v": None}, kafka=registry, ids=True, ddl=ddl)
        return key

    ddl = f"create table t(k {datatype} not null primary key, v text);"
    assert made("KAFKA_AVRO_SCHEMA_COLUMN") == b"\x00\x00\x00\x00\x02" + avro
    assert made("KAFKA_JSON_SCHEMA_COLUMN") == b"\x00\x00\x00\x00\x02" + text.encode()
    assert made("CONNECT_SCHEMA_COLUMN") == f'{{"schema":{connect},"payload":{text}}}'.encode()
    assert made("CONNECT_PAYLOAD_COLUMN") == text.encode()
    said = "  - {action: Integrate, MessageKeySerializer: KAFKA_AVRO_SCHEMA_COLUMN}"
    [_, key] = messages.registered_schemas(pure.recipe(tmp_path, ddl, said, kafka=REGISTRY))
    assert json.loads(key.text) == schema
    parsed = fastavro.parse_schema(json.loads(key.text))
    assert fastavro.schemaless_reader(io.BytesIO(avro), parsed, None) == value


def test_a_key_of_two_columns_is_no_value_alone(tmp_path):
    with pytest.raises(ConfigurationError, match="the key is id, part: use KAFKA_AVRO_SCHEMA"):
        pure.recipe(
            tmp_path, DDL, "  - {action: Integrate, MessageKeySerializer: KAFKA_AVRO_SCHEMA_COLUMN}", kafka=REGISTRY
        )


@pytest.mark.parametrize(("parameters", "kafka", "key"), KEYS)
def test_keys(parameters, kafka, key, tmp_path):
    actions = f"  - {{action: Integrate, {parameters}}}" if parameters else ""
    [(made, _, _)] = sent(tmp_path, actions, ROW, kafka=kafka, ids=True)
    assert made == (key.encode() if isinstance(key, str) else key)


def test_a_key_column_that_is_missing_is_no_0_in_a_key(tmp_path):
    said = "  - {action: Integrate, MessageKey: '{{hvr_key_names -}}'}"
    with pytest.raises(
        DataError, match=r"a.jsonl:1: table t, MessageKey: id, which \{\{hvr_key_names\}\} has, is missing"
    ):
        sent(tmp_path, said, {"part": "a", "v": "x"})


RETIRED = [
    # what is said beside OnDeleteSendTombstone             a key update of 7 into 8: keys of messages, and of tombstones
    ("", "", ["8"], ["7"]),
    ("", ", Kafka_Message_Bundling: CHANGE", ["8"], ["7"]),
    (TIMEKEY, "", ["7", "8"], ["7"]),
    (TIMEKEY, ", Kafka_Message_Bundling: CHANGE", ["8"], ["7"]),
    ("  - {action: FileFormat, BeforeUpdateColumns: old_}\n", "", ["8"], ["7"]),
    (TIMEKEY + "  - {action: FileFormat, BeforeUpdateColumns: old_}\n", "", ["8"], ["7"]),
    ("  - {action: FileFormat, Envelope: OPENCDC}\n", "", ["8"], ["7"]),
    ("  - {action: FileFormat, Envelope: DEBEZIUM}\n", "", ["7", "8"], ["7"]),
]


@pytest.mark.parametrize(("said", "kafka", "keys", "stones"), RETIRED)
def test_the_old_key_of_a_key_update_has_a_tombstone_in_every_layout(said, kafka, keys, stones, tmp_path):
    actions = "  - {action: Integrate, OnDeleteSendTombstone: true, MessageKey: '{id}'}\n" + said
    old, new = {"hvr_op": 3, **ROW}, {"hvr_op": 2, **ROW, "id": 8}
    made = pure.messages(pure.recipe(tmp_path, SINGLE, actions, kafka=kafka), pure.hvr(tmp_path, old, new))
    assert [m.key.decode() for m in made if m.value is not None] == keys
    assert [m.key.decode() for m in made if m.value is None] == stones


def test_an_avro_key_record_reads_back(tmp_path):
    from integrator.encode import messages

    recipe = pure.recipe(
        tmp_path, DDL, "  - {action: Integrate, MessageKeySerializer: KAFKA_AVRO_SCHEMA}", kafka=REGISTRY
    )
    [_, said] = messages.registered_schemas(recipe)
    assert (said.part, said.type) == ("key", "AVRO")
    parsed = fastavro.parse_schema(json.loads(said.text))
    assert parsed["name"] == "t_key"
    [(key, _, _)] = sent(
        tmp_path, "  - {action: Integrate, MessageKeySerializer: KAFKA_AVRO_SCHEMA}", ROW, kafka=REGISTRY, ids=True
    )
    assert fastavro.schemaless_reader(io.BytesIO(key[5:]), parsed, None) == {"id": 7, "part": "a"}


WIDE = [
    # the table's key, what is said beside OnDeleteSendTombstone, the Kafka location, what the message key lacks, remedy
    ("id, part", "", [], "", "part", ("TableProperties", "DistributionKeyLimit: 0")),
    ("id, part", "", ["{action: TableProperties, DistributionKeyLimit: 1}"], "", "part", None),
    ("id, part", "MessageKeySerializer: STRING", [], "", "part", ("TableProperties", "DistributionKeyLimit: 0")),
    ("id, part", "", [], REGISTRY, "part", ("TableProperties", "DistributionKeyLimit: 0")),
    ("id, part", "", ["{action: ColumnProperties, Name: part, DistributionKey: true}"], "", "id",
     ("ColumnProperties", "Name: id, DistributionKey: true")),
    ("id, part", "MessageKey: '{id}'", [], "", "part", ("Integrate", "MessageKey: '{{hvr_key_names -}}'")),
    ("id, part", "MessageKey: '{part}'", [], "", "id", ("Integrate", "MessageKey: '{{hvr_key_names -}}'")),
    ("id, at", "MessageKey: '{id}-{at %Y}'", [], "", "at", None),
    ("id, at", "MessageKey: '{id}-{at}'", [], "", "at", None),
    ("id, at", "", [], "", "at", ("TableProperties", "DistributionKeyLimit: 0")),
    ("id, part", "MessageKey: '{hvr_tbl_name}'", [], "", "id, part", None),
    ("id, part", "MessageKey: 'sql: {id} % 2'", [], "", "id, part", ("Integrate", "MessageKey: '{{hvr_key_names -}}'")),
    ("id", "MessageKeySerializer: JSON_ROW", ["{action: ColumnProperties, Name: id, IntegrateExpression: '0'}"], "", "id",
     None),
]  # fmt: skip


def wide(directory, key, said, actions, kafka):
    ddl = f"create table t(id int, part varchar(5), v text, at timestamp(3), primary key({key}));"
    tombstone = f"{{action: Integrate, OnDeleteSendTombstone: true{', ' if said else ''}{said}}}"
    text = "".join(f"  - {one}\n" for one in (tombstone, *actions))
    return pure.recipe(directory, ddl, text, kafka=kafka)


@pytest.mark.parametrize(("key", "said", "actions", "kafka", "lacks", "remedy"), WIDE)
def test_a_tombstone_that_would_erase_other_rows_is_refused(key, said, actions, kafka, lacks, remedy, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        wide(tmp_path, key, said, actions, kafka)
    assert "OnDeleteSendTombstone: table t: a tombstone would erase rows that were not deleted" in str(raised.value)
    assert f"the message key lacks {lacks}: " in str(raised.value)
    assert remedy is None or remedy[1] in str(raised.value)
    if remedy and remedy[0] == "Integrate":
        assert wide(tmp_path, key, remedy[1], actions, kafka).tables[0].tombstones
    elif remedy:
        assert (
            wide(tmp_path, key, said, [*actions, f"{{action: {remedy[0]}, {remedy[1]}}}"], kafka).tables[0].tombstones
        )


TOLD = [
    ("id", "", ""),
    ("id, part", "MessageKeySerializer: JSON_ROW", ""),
    ("id, part", "MessageKeySerializer: KAFKA_AVRO_SCHEMA", REGISTRY),
    ("id, part", "MessageKey: '{part}|{id}'", ""),
    ("id, part", "MessageKey: '{{hvr_key_names |}}'", ""),
    ("id, part", "MessageKey: '{hvr_key_hash}-{part}'", ""),
]


@pytest.mark.parametrize(("key", "said", "kafka"), TOLD)
def test_tombstones_of_keys_that_tell_all_rows_apart(key, said, kafka, tmp_path):
    assert wide(tmp_path, key, said, [], kafka).tables[0].tombstones


def test_values_that_touch_in_a_key_do_not_tell_rows_apart(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"the message key lacks separators: say MessageKey: '\{\{hvr_key_names -\}\}'"
    ):
        wide(tmp_path, "id, part", "MessageKey: '{id}{part}'", [], "")


LIMITS = [
    ("", ("a",)),
    ("DistributionKeyLimit: 2", ("a", "b")),
    ("DistributionKeyLimit: 0", ("a", "b", "c")),
    ("DistributionKeyAvoidPattern: 'a'", ("b",)),
    ("DistributionKeyLimit: 2, DistributionKeyAvoidPattern: 'a|x*'", ("b", "c")),
    ("DistributionKeyLimit: 2, DistributionKeyAvoidPattern: 'a | b'", ("a", "c")),
]


@pytest.mark.parametrize(("properties", "hashed"), LIMITS)
def test_how_much_of_the_key_is_hashed(properties, hashed, tmp_path):
    actions = f"  - {{action: TableProperties, {properties}}}" if properties else ""
    recipe = pure.recipe(tmp_path, "create table t(a int, b int, c int, primary key(a, b, c));", actions)
    assert recipe.tables[0].distribution_key == hashed


def test_a_table_has_a_topic_of_its_own_where_the_channel_says_so(tmp_path):
    actions = "  - {action: Integrate, table: t, Topic: 'own.{hvr_tbl_name}'}"
    assert pure.recipe(tmp_path, DDL, actions).tables[0].topic == "own.t"
    with pytest.raises(ConfigurationError, match=r"\$.actions\[1\].Topic: table t: .* it would be 'a b'"):
        pure.recipe(tmp_path, DDL, "  - {action: Integrate, Topic: 'a b'}")


def test_no_before_update_sends_no_old_rows_but_those_of_key_updates(tmp_path):
    capture = TIMEKEY + "  - {action: Capture, NoBeforeUpdate: true}"
    operations = [1, 4, 2, 3, 2, 0]
    recipe = pure.recipe(tmp_path, DDL, capture)
    fragments, [note] = pure.fragments(recipe, pure.hvr(tmp_path, *({"hvr_op": op, **ROW} for op in operations)))
    assert fragments["op"].to_pylist() == [1, 2, 3, 2, 0]
    assert note.not_sent == {"op 4 in style TimeKey": 1}


def test_headers_are_templates(tmp_path):
    actions = "  - {action: Integrate, MessageHeaders: 'op={hvr_op};table={hvr_tbl_name}; note={v}'}\n" + TIMEKEY
    records = [ROW, {"hvr_op": 0, **ROW, "v": None}]
    assert [headers for _, _, headers in sent(tmp_path, actions, *records)] == [
        [("op", b"1"), ("table", b"t"), ("note", b'say "hi"')],
        [("op", b"0"), ("table", b"t"), ("note", None)],
    ]


def test_the_schema_guid_goes_into_headers_where_it_is_asked_for(tmp_path):
    import dataclasses

    guid = "6f1ed002-ab5e-4e1c-9f3a-0d5d1e2f3a4b"
    recipe = pure.recipe(tmp_path, DDL, kafka=REGISTRY)
    table = dataclasses.replace(recipe.tables[0], value_id=SchemaId(1, guid), key_id=SchemaId(2, guid))
    recipe = dataclasses.replace(recipe, tables=(table,))
    fragments, _ = pure.fragments(recipe, pure.hvr(tmp_path, ROW))
    [messages] = pure.bundled(recipe, fragments.combine_chunks())
    of_guid = b"\x01" + bytes.fromhex(guid.replace("-", ""))
    assert messages.headers.to_lists() == [[("__key_schema_id", of_guid), ("__value_schema_id", of_guid)]]
    assert messages.keys[0].as_py() == b"\x20" + HASH.encode()
    assert messages.values[0].as_py()[:2] == b"\x0e\x02"


STYLES = [
    ("", [(HASH, None)]),  # Standard: the delete is a tombstone alone
    (TIMEKEY, [(HASH, 0), (HASH, None)]),
    ("  - {action: ColumnProperties, Name: gone, Extra: true, SoftDelete: true}\n", [(HASH, 0), (HASH, None)]),
]


@pytest.mark.parametrize(("style", "expected"), STYLES)
def test_a_delete_is_followed_by_a_tombstone(style, expected, tmp_path):
    actions = "  - {action: Integrate, OnDeleteSendTombstone: true, MessageKeySerializer: STRING}\n" + style
    rows = sent(tmp_path, actions, ROW, {"hvr_op": 0, **ROW}, {**ROW, "id": 8}, ddl=SINGLE)
    deletes = [(key.decode(), value) for key, value, _ in rows if key.decode() == HASH][1:]
    assert [(key, None if value is None else 0) for key, value in deletes] == expected
    assert len(rows) == 2 + len(expected)


def test_a_bare_tombstone_needs_no_more_than_the_key(tmp_path):
    actions = "  - {action: Integrate, OnDeleteSendTombstone: true}"
    record = {"hvr_op": 0, "id": 7, "part": "a"}
    [(_, value, _)] = sent(tmp_path, actions, record, kafka=REGISTRY, ids=True, ddl=SINGLE)
    assert value is None


def test_a_truncate_has_no_key_record(tmp_path):
    actions = "  - {action: Integrate, MessageKeySerializer: JSON_ROW}\n" + TIMEKEY
    assert [key for key, _, _ in sent(tmp_path, actions, {"hvr_op": 5})] == [None]


def test_a_key_that_the_record_does_not_have_is_refused(tmp_path):
    with pytest.raises(DataError, match="no value for part, which the message key is made of"):
        sent(tmp_path, "  - {action: Integrate, MessageKeySerializer: JSON_ROW}", {"id": 7, "v": "x"})


def test_a_key_update_leaves_a_tombstone_for_the_old_key(tmp_path):
    actions = "  - {action: Integrate, OnDeleteSendTombstone: true, MessageKeySerializer: JSON_ROW}"
    rows = sent(tmp_path, actions, ROW, {"hvr_op": 3, **ROW}, {"hvr_op": 2, **ROW, "id": 9})
    assert [(json.loads(key)["id"], value is None) for key, value, _ in rows] == [(7, False), (7, True), (9, False)]


KEYLESS = [
    ("create table t(v text);", "v"),
    ("create table t(v text, d interval, r int4range);", "v"),  # rows may differ in what no key can have
    ("create table t(id int not null, v text); create unique index u on t(v);", "v"),
]


@pytest.mark.parametrize(("ddl", "column"), KEYLESS)
@pytest.mark.parametrize("more", ["", ", MessageKey: '{v}'", ", MessageKeySerializer: JSON_ROW"])
def test_a_table_without_a_key_has_no_tombstones(ddl, column, more, tmp_path):
    actions = f"  - {{action: Integrate, OnDeleteSendTombstone: true{more}}}\n"
    with pytest.raises(ConfigurationError, match="table t has no key, and a tombstone would erase rows that are like"):
        pure.recipe(tmp_path, ddl, actions)
    keyed = f"  - {{action: ColumnProperties, table: t, Name: {column}, Key: true}}\n"
    [table] = pure.recipe(tmp_path, ddl, actions + keyed).tables
    assert table.tombstones
    [table] = pure.recipe(tmp_path, ddl, "  - {action: FileFormat, Json: true, Envelope: DEBEZIUM}\n").tables
    assert not table.tombstones


def test_a_compacted_topic_of_a_table_without_a_key_is_remarked(tmp_path):
    topics = ", Create_Topics: {Topic_Config: {cleanup.policy: 'compact,delete'}}"
    for ddl, remarked in (("create table t(v text);", True), (SINGLE, False)):
        pure.recipe(tmp_path, ddl, kafka=topics)
        notes = plan.build(str(tmp_path / "channel.yaml"), "UTC").notes
        assert any("table t: new topics are compacted" in one for one in notes) is remarked


@pytest.mark.parametrize(("more", "remarked"), [("", True), (TIMEKEY, False), (NO_TRUNCATE, False)])
def test_truncates_that_are_not_sent_beside_tombstones_are_remarked(more, remarked, tmp_path):
    pure.recipe(tmp_path, SINGLE, "  - {action: Integrate, OnDeleteSendTombstone: true}\n" + more)
    notes = plan.build(str(tmp_path / "channel.yaml"), "UTC").notes
    assert any("the rows of a truncated table stay in its topic" in one for one in notes) is remarked


def test_a_tombstone_without_a_key_is_counted_and_not_sent(tmp_path):
    for style in ("", TIMEKEY):
        actions = "  - {action: Integrate, OnDeleteSendTombstone: true, MessageKey: '{v}'}\n" + style
        keyed = "  - {action: ColumnProperties, Name: v, Key: true, Datatype: varchar, Nullable: true}\n"
        recipe = pure.recipe(tmp_path, "create table t(v text);", actions + keyed)
        fragments, [note] = pure.fragments(recipe, pure.hvr(tmp_path, {"hvr_op": 0, "v": None}))
        assert fragments.num_rows == (1 if style else 0)
        assert note.not_sent == {"tombstones without a key": 1}


def test_a_key_column_that_may_be_null_is_so_in_the_keys_record(tmp_path):
    actions = (
        "  - {action: Integrate, MessageKeySerializer: JSON_ROW}\n"
        "  - {action: ColumnProperties, Name: id, Datatype: varchar, Length: 9, Nullable: true}"
    )
    rows = sent(tmp_path, actions, ROW, {**ROW, "id": None})
    assert [json.loads(key)["id"] for key, _, _ in rows] == ["7", None]


def test_an_absent_column_is_not_in_the_key_of_a_table_without_one(tmp_path):
    recipe = pure.recipe(
        tmp_path,
        "create table t(id int, ssn text);",
        "  - {action: ColumnProperties, Name: ssn, Absent: true}\n  - {action: Integrate, MessageKeySerializer: JSON_ROW}",
    )
    fragments, _ = pure.fragments(recipe, pure.hvr(tmp_path, {"id": 1, "ssn": "123"}))
    assert fragments["key"].to_pylist() == [b'{"id":1}']


def test_sizes_are_of_each_message_not_of_the_longest_key_and_value(tmp_path):
    limit = "  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '4096'}\n  - {action: Integrate, MessageKey: '{v}'}"
    recipe = pure.recipe(tmp_path, "create table t(id int primary key, v text, w text);", limit)
    records = [{"id": 1, "v": "k" * 1800, "w": ""}, {"id": 2, "v": "", "w": "x" * 3600}]
    fragments, _ = pure.fragments(recipe, pure.hvr(tmp_path, *records))
    [messages] = pure.bundled(recipe, fragments.combine_chunks())
    assert messages.sizes.max() < 4096


def test_the_end_of_a_transaction_is_looked_for_where_a_key_or_header_counts_down(tmp_path):
    from integrator.decode.contract import reading_of

    for more in ("MessageKey: '{hvr_tx_countdown}'", "MessageHeaders: 'left={hvr_tx_countdown}'"):
        assert reading_of(pure.recipe(tmp_path, DDL, f"  - {{action: Integrate, {more}}}")).whole_files
    assert not reading_of(pure.recipe(tmp_path, DDL)).whole_files


PROBLEMS = [
    ("MessageKeySerializer: KAFKA_AVRO", "", "KAFKA_AVRO needs a schema registry"),
    ("MessageKeySerializer: JSON_ROW, MessageKey: x", "", "leave the expression out"),
    ("MessageKeySerializer: NONE, MessageKey: x", "", "NONE sends no key"),
    ("MessageKeySerializer: NONE, OnDeleteSendTombstone: true", "", "a tombstone is for a key"),
    ("MessageKey: '{nope}'", "", "neither a substitution nor a column"),
    ("MessageHeaders: 'a'", "", "is no header; write name=template"),
    ("MessageHeaders: 'a={nope}'", "", "neither a substitution nor a column"),
    ("ValueSubjectStrategy: RecordNameStrategy", "", "needs a schema registry"),
    ("KeySubjectStrategy: TopicNameStrategy, MessageKeySerializer: STRING", REGISTRY, "keys have no schema"),
]


@pytest.mark.parametrize(("parameters", "kafka", "text"), PROBLEMS)
def test_problems_of_keys(parameters, kafka, text, tmp_path):
    with pytest.raises(ConfigurationError, match=text):
        pure.recipe(tmp_path, DDL, f"  - {{action: Integrate, {parameters}}}", kafka=kafka)


def test_headers_count_towards_the_size(tmp_path):
    actions = "  - {action: Integrate, MessageHeaders: 'h={v}'}\n"
    limit = "  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '4096'}"
    assert sent(tmp_path, limit, {**ROW, "v": "x" * 3000})
    with pytest.raises(DataError, match="HVR_KAFKA_MSG_MAX_BYTES is 4096"):
        sent(tmp_path, actions + limit, {**ROW, "v": "x" * 3000})
