"""`init --from-topic`: it finds what topics hold, writes a channel that runs, and says of the others why not."""

import json
import re

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.broker.test_topic_schemas import Connector, row
from tests.parts import kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

PLAIN = {"id": 1, "note": "x"}
WITH_SCHEMA = {
    "schema": {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "int32", "optional": False},
            {"field": "note", "type": "string", "optional": True},
        ],
    },
    "payload": PLAIN,
}
EVENT = {
    "op": "c",
    "before": None,
    "after": PLAIN,
    "source": {"connector": "postgresql", "schema": "public", "table": "t", "lsn": 1},
}


@pytest.fixture
def topics(real_broker, name):
    """Sends records to topics that begin with the test's name."""

    def send(**records):
        producer = Producer({"bootstrap.servers": real_broker.servers})
        real_broker.create([f"{name}.{topic}" for topic in records], 1)
        for topic, values in records.items():
            for value in values:
                text = value if isinstance(value, bytes | None) else json.dumps(value).encode()
                producer.produce(f"{name}.{topic}", text, key=b'{"id":1}')
        assert producer.flush(30) == 0

    return send


@pytest.fixture
def init(command, real_broker, name, tmp_path):
    def run(*words, pattern=None, channel="made.yaml"):
        file = tmp_path / channel
        wanted = pattern or f"^{re.escape(name)}\\..*"
        given = ("--channel", file, "--from-topic", wanted, "--brokers", real_broker.servers, *words)
        return command("init", *given), file

    return run


def test_events_in_avro(init, real_broker, registry_server, integrate_once, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    connector = Connector(real_broker, registry_server, name)
    connector.create("orders")
    connector.send("orders", "c", None, row(1))
    connector.send("orders", "d", row(1), None)
    done, file = init("--registry", registry_server.url)
    assert done.code == 0, done.out + done.err
    assert (
        f"topic {name}.public.orders: 2 partitions, Avro (registry), keys Avro (registry), dialect debezium" in done.out
    )
    assert "table orders: 3 columns, key id" in done.out
    assert "tables:" not in file.read_text()
    integrate_once(file)
    sent = [json.loads(one.value)["payload"] for one in kafka_io.read_all(real_broker.servers, ["made.orders"])]
    assert [(one["id"], one["op_val"]) for one in sent][-2:] == [(1, 1), (1, 0)]


def test_rows_with_json_schema(init, real_broker, registry_server, integrate_once, name):
    topic = f"{name}.notes"
    real_broker.create([topic], 1)
    schema = {
        "title": "Notes", "type": "object",
        "properties": {
            "id": {"type": "integer", "connect.type": "int32", "connect.index": 0},
            "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
        },
    }  # fmt: skip
    context = SerializationContext(topic, MessageField.VALUE)
    value = JSONSerializer(json.dumps(schema), registry_server.client)(PLAIN, context)
    producer = Producer({"bootstrap.servers": real_broker.servers})
    producer.produce(topic, value)
    assert producer.flush(30) == 0
    done, file = init("--registry", registry_server.url, channel="schema.yaml")
    assert done.code == 0, done.out + done.err
    assert f"topic {topic}: 1 partition, JSON Schema (registry), keys none, dialect rows" in done.out
    integrate_once(file)
    [sent] = kafka_io.read_all(real_broker.servers, ["schema.notes"])
    assert json.loads(sent.value)["payload"].items() >= PLAIN.items()


def test_what_cannot_be_read_is_named_with_what_to_do(init, topics, integrate_once, name, registry_server):
    topics(good=[WITH_SCHEMA], plain=[PLAIN], text=[b"hello"], empty=[], erased=[None], framed=[b"\0\0\x0f\x42\x3f\0"])
    done, file = init()
    assert done.code == 0, done.out + done.err
    assert f"topic {name}.good: 1 partition, JSON with schemas, keys JSON without schemas, dialect rows" in done.out
    assert "table good: 2 columns, no key" in done.out
    for topic, text in {
        "plain": "JSON without schemas, dialect rows: its records have no schema: give the definitions",
        "text": "its records are no JSON objects, and begin with no schema's id",
        "empty": "no record with a value is there",
        "erased": "no record with a value is there",
        "framed": "its records begin with the id 999999 of a schema, and no registry is given: add --registry URL",
    }.items():
        assert f"    {name}.{topic}: {text}" in done.out
    assert f"topics: [{name}.good]" in file.read_text()
    integrate_once(file)
    lost, _ = init("--registry", registry_server.url, pattern=f"{name}.framed", channel="lost.yaml")
    assert lost.code == 2
    assert "no topic at" in lost.err
    assert f"{name}.framed: the registry has no schema 999999" in lost.err


def test_definitions_serve_where_there_are_no_schemas(init, topics, integrate_once, name, tmp_path, real_broker):
    topics(t=[EVENT])
    done, _ = init(channel="bare.yaml")
    assert done.code == 2
    assert f"{name}.t: JSON without schemas, dialect debezium: its records have no schema" in done.err
    (tmp_path / "t.sql").write_text("create table t(id int primary key, note text);")
    done, file = init("--tables", tmp_path / "t.sql", "--template", "first")
    assert done.code == 0, done.out + done.err
    integrate_once(file)
    sent = [json.loads(one.value)["payload"] for one in kafka_io.read_all(real_broker.servers, ["made.t"])]
    assert [one for one in sent if one["note"] == "x"]


def test_what_is_sent_is_not_read_again(init, topics, name):
    topics(good=[WITH_SCHEMA])
    done, file = init(channel=f"{name}.yaml")
    assert done.code == 0, done.out + done.err
    assert f'Kafka_Default_Topic: "{name}-out.{{hvr_tbl_name}}"' in file.read_text()
    done, _ = init(pattern=f"^.*{name}.*", channel=f"{name}.yml")
    assert done.code == 2
    assert "also matches the topics that would be sent to" in done.err


def test_passwords_are_in_no_channel(init, topics, tmp_path, name):
    topics(good=[WITH_SCHEMA])
    (tmp_path / "client.properties").write_text(
        "schema.registry.url=http://127.0.0.1:1\nbasic.auth.user.info=me:pl4nted\nclient.id=x\n"
    )
    done, file = init("--command-config", tmp_path / "client.properties")
    assert "pl4nted" not in done.out + done.err + (file.read_text() if file.exists() else "")


@pytest.fixture
def kept(command, real_broker, tmp_path, monkeypatch):
    """Import a connector that stays; return the channel."""

    def run(**properties):
        config = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "producer.override.bootstrap.servers": real_broker.servers,
            **{key.replace("_", "."): value for key, value in properties.items()},
        }
        (tmp_path / "connector.json").write_text(json.dumps({"config": config}))
        file = tmp_path / "kept.yaml"
        done = command("import", "debezium", tmp_path / "connector.json", "--keep-connector", "--channel", file)
        assert done.code == 0, done.out + done.err
        monkeypatch.chdir(tmp_path)
        return file

    return run


def test_the_topics_of_a_connector_that_stays_are_read(kept, real_broker, registry_server, integrate_once, name):
    connector = Connector(real_broker, registry_server, name)
    connector.create("orders")
    connector.send("orders", "c", None, row(1))
    connector.send("orders", "d", row(1), None)
    avro = "io.confluent.connect.avro.AvroConverter"
    file = kept(
        topic_prefix=name,
        key_converter=avro,
        value_converter=avro,
        value_converter_schema_registry_url=registry_server.url,
    )
    integrate_once(file)
    found = kafka_io.read_all(real_broker.servers, [f"{name}-out.orders"])
    assert [(one["id"], one["op_val"]) for one in (json.loads(one.value)["payload"] for one in found)] == [
        (1, 1),
        (1, 0),
    ]


def test_the_flattened_rows_of_a_connector_that_stays_are_read(kept, real_broker, integrate_once, name):
    producer, topic = Producer({"bootstrap.servers": real_broker.servers}), f"{name}.public.notes"
    real_broker.create([topic], 1)
    fields = [field for field in WITH_SCHEMA["schema"]["fields"] if field["field"] == "id"]
    key = json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": {"id": 1}})
    producer.produce(topic, json.dumps(WITH_SCHEMA), key=key)
    producer.produce(topic, None, key=key)
    assert producer.flush(30) == 0
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    file = kept(
        topic_prefix=name,
        key_converter=json_converter,
        value_converter=json_converter,
        transforms="u",
        transforms_u_type="io.debezium.transforms.ExtractNewRecordState",
    )
    integrate_once(file)
    found = kafka_io.read_all(real_broker.servers, [f"{name}-out.notes"])
    assert [(one["id"], one["op_val"]) for one in (json.loads(one.value)["payload"] for one in found)] == [
        (1, 1),
        (1, 0),
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--brokers", "127.0.0.1:1"), "no broker of 127.0.0.1:1 answers"),
        (("--brokers", "ssl://k:1"), "has a scheme; write k:1"),
        (("--registry", "k:1"), "'k:1' is no URL of a registry; write http://k:1"),
        (("--from-topic", "^(a"), "--from-topic: topics: '^(a' is no regular expression"),
        (("--from-topic", "a*"), "'a*' is no topic"),
        (("--changes", "in"), "--changes and --from-topic are two sources"),
        (("--sql-dialect", "mysql"), "--sql-dialect goes with --tables FILE"),
    ],
)
def test_what_is_wrong_is_named(words, text, init, monkeypatch):
    from integrator.librdkafka import cluster

    monkeypatch.setattr(cluster, "TIMEOUT_S", 1.0)
    done, file = init(*words)
    assert done.code != 0
    assert text in done.err
    assert not file.exists()
