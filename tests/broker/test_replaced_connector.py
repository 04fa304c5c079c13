"""A Debezium connector with Avro is stopped, imported and replaced: its registry, its readers and its keys continue."""

import contextlib
import json

import pytest
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator import plan, registration
from tests.parts import connect, imports, kafka_io, postgres
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

TYPES = {
    # what a NOT NULL column has in the first row, and in the changed one: as SQL, as JSON of Debezium's
    "flag boolean": ("true", "false", False),
    "small smallint": ("1", "-2", -2),
    "big bigint": ("1", "9007199254740993", 9007199254740993),
    "price numeric(12,2)": ("1.50", "2.25", "AOE="),
    "ratio double precision": ("0.5", "0.25", 0.25),
    "note text": ("'first'", "'second'", "second"),
    "raw bytea": ("'\\x00ff'", "'\\x01'", "AQ=="),
    "code uuid": ("'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'", "00000000-0000-0000-0000-000000000002"),
    "doc jsonb": ("'{}'", "'[1]'", "[1]"),
    "day date": ("'2026-01-01'", "'2026-01-02'", 20455),
    "tm time(3)": ("'01:02:03'", "'01:02:04'", 3724000),
    "at timestamp(6)": ("'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000002'", 1767225600000002),
    "zoned timestamptz": ("'2026-01-01 00:00:00+00'", "'2026-01-02 00:00:00+00'", "2026-01-02T00:00:00.000000Z"),
    "tags text[]": ("'{a}'", "'{b,c}'", ["b", "c"]),
}  # fmt: skip
NAMES = [column.partition(" ")[0] for column in TYPES]


def ddl(schema):
    required = ", ".join(f"{column} not null" for column in TYPES)
    optional = ", ".join(f"maybe_{column}" for column in TYPES)
    return (
        f"create schema {schema};\n"
        f"create table {schema}.orders(id bigint primary key, {required}, {optional});\n"
        f"create table {schema}.lines(order_id bigint, line varchar(10), qty integer not null default 1, "
        "primary key(order_id, line));\n"
    )


def insert(schema, k):
    values = ", ".join(first for first, _, _ in TYPES.values())
    return f"insert into {schema}.orders(id, {', '.join(NAMES)}) values({k}, {values});\n"


@contextlib.contextmanager
def worker_of(broker, directory, name):
    class_path = connect.libraries()
    if class_path is None:
        pytest.skip("Kafka Connect and Debezium need mvn and Java")
    (directory / name).mkdir()  # whose name its topics have
    with connect.Worker(class_path, directory / name, broker.servers) as worker:
        yield worker


def changes(schema):
    """An update and a delete, an insert, and an update of the other table."""
    last = ", ".join(second for _, second, _ in TYPES.values())
    pairs = ", ".join(f"{name} = {second}" for name, (_, second, _) in zip(NAMES, TYPES.values(), strict=True))
    return (
        f"update {schema}.orders set {pairs} where id = 1; delete from {schema}.orders where id = 2; "
        f"insert into {schema}.orders(id, {', '.join(NAMES)}) values (6, {last}); "
        f"update {schema}.lines set qty = 7 where order_id = 2;"
    )


def of_table(schema, table, k, op, before, after):
    """An event of the connector's, as JSON without its schema."""
    source = {
        "version": "3.4.0.Final", "connector": "postgresql", "name": schema, "ts_ms": 1795288000665, "snapshot": "false", "db": "postgres",
        "sequence": f'["{10**9 + k}","{10**9 + k + 1}"]', "schema": schema, "table": table, "txId": 10**6 + k, "lsn": 10**9 + k + 1, "xmin": None,
    }  # fmt: skip
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1795288001222, "transaction": None}


def read(server, message, reader=None):
    """A key and a value, by Confluent's deserializer; of values by the schema of a reader."""
    key = AvroDeserializer(server.client)(message.key, SerializationContext(message.topic, MessageField.KEY))
    value = AvroDeserializer(server.client, reader)
    return key, message.value and value(message.value, SerializationContext(message.topic, MessageField.VALUE))


@pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason="PostgreSQL")
@pytest.mark.parametrize("captures", [False, True], ids=["files", "capture"])
def test_readers_keys_and_registry_continue(
    captures, real_broker, registry_server, integrate_once, command, tmp_path, name, monkeypatch
):
    client = registry_server.client
    topics = [f"{name}.{name}.orders", f"{name}.{name}.lines"]
    real_broker.create(topics, 3)
    lines = tmp_path / "sink.txt"
    with postgres.cluster() as server, worker_of(real_broker, tmp_path, name) as worker:
        server.psql(
            ddl(name)
            + "".join(insert(name, k) for k in range(1, 6))
            + f"insert into {name}.lines values(1, 'a', 2), (2, 'b', 3);"
        )
        config = connect.postgres_connector(server, name, f"{name}\\..*") | connect.converters(
            "Avro", registry_server.url
        )
        worker.put("source", config)
        worker.put("sink", connect.file_sink(lines, f"{name}\\.{name}\\..*", "Avro", registry_server.url))
        until(lambda: lines.exists() and len(lines.read_text().splitlines()) == 7, worker.log)
        (tmp_path / "offsets.json").write_text(json.dumps(worker.halt("source")))
        theirs = {(m.topic, m.key): m.partition for m in kafka_io.read_all(real_broker.servers, topics)}
        before = {subject: client.get_latest_version(subject) for subject in client.get_subjects() if name in subject}
        assert len(before) == 4
        for subject in before:
            client.set_compatibility(subject, "BACKWARD")

        monkeypatch.setenv("DATABASE_PASSWORD", "any, for it is not asked for")
        channel = imported(config, ddl(name), real_broker, registry_server, tmp_path, captures=captures)
        said = command("check", "--channel", str(channel), "--connect")
        assert said.code == 0, said.err
        for topic in topics:
            assert f"{topic}-key: there" in said.out
        changed = dict(zip(NAMES, (json_ for _, _, json_ in TYPES.values()), strict=True))
        empty = {f"maybe_{column}": None for column in NAMES}
        old_row = {"id": 2, **dict.fromkeys(NAMES), **empty}
        events = [
            of_table(name, "orders", 1, "u", None, {"id": 1, **changed, **empty}),
            of_table(name, "orders", 2, "d", old_row, None),
            of_table(name, "orders", 3, "c", None, {"id": 6, **changed, **empty}),
            of_table(name, "lines", 4, "u", None, {"order_id": 2, "line": "b", "qty": 7}),
        ]
        (tmp_path / "changes" / "1.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
        server.psql(changes(name))
        integrate_once(channel)

        # the registry: keys have the schemas that they had; values have versions that are compatible
        for subject, version in before.items():
            latest = client.get_latest_version(subject)
            if subject.endswith("-key"):
                assert latest.schema_id == version.schema_id
            assert client.get_versions(subject) in ([1], [1, 2])
        # keys are the same bytes, in the same partitions
        messages = kafka_io.read_all(real_broker.servers, topics)
        ours = [m for m in messages if not is_theirs(m, before)]
        moved = {(m.topic, m.key): m.partition for m in ours}
        assert {one: theirs[one] for one in moved if one in theirs} == {
            one: at for one, at in moved.items() if one in theirs
        }
        assert len(moved.keys() & theirs.keys()) == 3
        # a reader with the schema of before
        found = []
        for message in ours:
            reader = before[f"{message.topic}-value"].schema.schema_str
            key, value = read(registry_server, message, reader)
            found.append((key, value and value["op"]))
            if value and value["after"] and "note" in value["after"]:
                assert value["after"]["note"] == "second"
                assert str(value["after"]["price"]) == "2.25"
            if value and value["op"] == "d":
                assert (value["before"]["note"], value["before"]["big"], value["before"]["maybe_note"]) == ("", 0, None)
        assert sorted(found, key=str) == sorted(
            [
                ({"id": 1}, "u"),
                ({"id": 2}, "d"),
                ({"id": 2}, None),
                ({"id": 6}, "c"),
                ({"order_id": 2, "line": "b"}, "u"),
            ],
            key=str,
        )
        # the sink continues, without a change
        until(lambda: len(lines.read_text().splitlines()) >= 11, worker.log)
        worker.wait("sink")
        rows = lines.read_text().splitlines()[7:]
        assert sorted(row.partition("id=")[2].partition(",")[0] for row in rows) == ["1", "2", "2", "6"]


def is_theirs(message, before):
    """Whether the connector wrote a message: its source has the connector's fields."""
    if message.value is None:
        return False
    return int.from_bytes(message.value[1:5], "big") == before[f"{message.topic}-value"].schema_id


def imported(config, tables, broker, registry, directory, *, captures):
    """The channel that is imported of a connector's configuration: over the files in `changes`, or where it stopped."""
    more = ["--brokers", broker.servers, *(["--offsets", str(directory / "offsets.json")] if captures else [])]
    text, code = imports.of_debezium(directory, config | {"name": "c"}, tables, *more, captures=captures)
    assert code == 0, text
    (directory / "changes").mkdir()
    channel = directory / "channel.yaml"
    channel.write_text(f"state: {directory}/state\n" + text.replace("path: changes", f"path: {directory}/changes"))
    assert registry.url in channel.read_text()
    return channel


KEYS = [
    # the key's schema that the registry has, as a connector may have registered it; what check says of it
    ('{"type":"record","name":"Key","namespace":"x.t","fields":[{"name":"id","type":{"type":"int","connect.default":0},"default":0}],"connect.name":"x.t.Key"}', "there"),
    ('{"type":"record","name":"Key","namespace":"x.t","fields":[{"name":"id","type":"long"}]}',
     "a new version, compatible; its number is in each key, so keys that were written with the version before continue in other partitions"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), KEYS, ids=["same bytes", "others"])
def test_keys_have_the_schema_that_is_registered_if_their_bytes_are_the_same(
    text, said, registry_server, tmp_path, name
):
    first = registry_server.client.register_schema(f"{name}.t-key", Schema(text, "AVRO"))
    (tmp_path / "t.sql").write_text("create table t(id int primary key, v text);")
    path = tmp_path / "channel.yaml"
    path.write_text(
        f"""
channel: keys
locations:
  src: {{class: files, path: {tmp_path}/in, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}",
    Kafka_Schema_Registry: "{registry_server.url}"}}
tables: [{tmp_path}/t.sql]
actions:
  - {{action: Integrate, MessageKeySerializer: KAFKA_AVRO_SCHEMA}}
"""
    )
    made = plan.build(str(path), "UTC")
    assert f"{name}.t-key: {said}" in registration.check(made)
    [table] = registration.resolve(made).recipe.tables
    assert (table.key_id.id == first) is (said == "there")
