"""I11: each record of a topic is read by its own schema, also where a column is of another type than before."""

import json

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.parts import kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]
INT, TEXT = {"type": "int32"}, {"type": "string"}
LONG, DATE = {"type": "int64"}, {"type": "int32", "name": "io.debezium.time.Date"}
LIST, LONGS, BYTES = {"type": "array", "items": INT}, {"type": "array", "items": LONG}, {"type": "bytes"}
TYPES = {
    # what the first cycles have, each a list of types and values; what the topic has then
    "text after an integer": ([[(INT, 5)], [(TEXT, "now text"), (TEXT, "12")]], [5, "now text", "12"]),
    "an integer after text": ([[(TEXT, "010")], [(INT, 10)]], ["010", 10]),
    "a larger integer": ([[(INT, 5)], [(LONG, 1 << 40), (INT, 6)]], [5, 1 << 40, 6]),
    "text and an integer in one cycle": ([[(INT, 5)], [(TEXT, "a"), (INT, 7)], [(INT, 8)]], [5, "a", "7", "8"]),
    "a date, and text in one cycle": ([[(DATE, 19_000)], [(TEXT, "a"), (DATE, 19_001)]], ["2022-01-08", "a", "2022-01-09"]),
    "a list after a list": ([[(LIST, [1])], [(LONGS, [1 << 40])]], [[1], [1 << 40]]),
    "lists of two types in one cycle": ([[(LIST, [1]), (LONGS, [1 << 40]), (LIST, [2])]], ["[1]", "[1099511627776]", "[2]"]),
    "a list and an integer in one cycle": ([[(INT, 5), (LIST, [1])], [(INT, 6)]], ["5", "[1]", "6"]),
    "bytes and text in one cycle": ([[(TEXT, "a"), (BYTES, "/w==")]], ["a", "/w=="]),
    "null where none was": (
        [[({**INT, "optional": False}, 5)], [(INT, None), (INT, 6)]], [5, None, 6],
    ),
}  # fmt: skip


class Debezium:
    """Writes Debezium's events, in JSON with schemas."""

    def __init__(self, servers, topic):
        self._producer, self._topic, self._id = Producer({"bootstrap.servers": servers}), topic, 0

    def send(self, kind, value):
        self._id += 1
        fields = [{"type": "int32", "optional": False, "field": "id"}, {"optional": True, **kind, "field": "v"}]
        image = {"type": "struct", "fields": fields, "optional": True, "name": "x.Value"}
        source = {"type": "struct", "fields": [], "optional": False, "name": "s", "field": "source"}
        schema = {
            "type": "struct", "optional": False, "name": "x.Envelope",
            "fields": [{**image, "field": "before"}, {**image, "field": "after"}, source, {"type": "string", "field": "op"}],
        }  # fmt: skip
        place = {"connector": "postgresql", "db": "x", "schema": "public", "table": "t", "ts_ms": 1, "txId": self._id}
        place |= {"sequence": f'["{10 * self._id - 5}","{10 * self._id}"]', "lsn": 10 * self._id}
        event = {"before": None, "after": {"id": self._id, "v": value}, "source": place, "op": "c"}
        self._producer.produce(
            self._topic, json.dumps({"schema": schema, "payload": event}), key=json.dumps({"id": self._id})
        )
        assert self._producer.flush(30) == 0


def channel(
    directory,
    servers,
    topics,
    sent,
    *,
    dialect="debezium",
    more="",
    format_="actions:\n  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}\n",
):
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: types
state: {directory}/state
locations:
  src: {{class: kafka, Kafka_Brokers: ['{servers}'], topics: [{topics}], dialect: {dialect}{more}}}
  kaf: {{class: kafka, Kafka_Brokers: ['{servers}'], Kafka_Default_Topic: '{sent}'{more}}}
{format_}"""
    )
    return path


@pytest.mark.parametrize("case", TYPES)
def test_i11_a_record_is_read_by_its_own_schema(case, broker, integrate_once, tmp_path, name):
    cycles, expected = TYPES[case]
    topic, sent = f"{name}.public.t", f"{name}.out"
    broker.create([topic, sent], 1)
    path, debezium = channel(tmp_path, broker.servers, topic, sent), Debezium(broker.servers, topic)
    for records in cycles:
        for kind, value in records:
            debezium.send(kind, value)
        integrate_once(path)
    rows = [json.loads(one.value) for one in kafka_io.read_all(broker.servers, [sent])]
    assert [row["v"] for row in rows] == expected


def test_i11_plain_rows_in_avro_become_other_versions_in_a_registry(
    broker, registry_server, integrate_once, tmp_path, name
):
    topic, sent = f"{name}.public.t", f"{name}.out"
    broker.create([topic, sent], 1)
    producer = Producer({"bootstrap.servers": broker.servers})

    def send(kind, k, value):
        schema = {
            "type": "record",
            "name": "t",
            "fields": [{"name": "id", "type": "int"}, {"name": "v", "type": ["null", kind]}],
        }
        settings = {"auto.register.schemas": True}
        made = AvroSerializer(registry_server.client, json.dumps(schema), conf=settings)
        producer.produce(
            topic, made({"id": k, "v": value}, SerializationContext(topic, MessageField.VALUE)), key=str(k)
        )
        assert producer.flush(30) == 0

    more = f", Kafka_Schema_Registry: '{registry_server.url}'"
    path = channel(tmp_path, broker.servers, topic, sent, dialect="rows", more=more, format_="")
    send("int", 1, 5)
    integrate_once(path)
    send("long", 2, 1 << 40)
    send("int", 3, 6)
    integrate_once(path)
    subject = f"{sent}-value"
    assert registry_server.client.get_versions(subject) == [1, 2]
    types = [
        json.loads(registry_server.client.get_version(subject, one).schema.schema_str)["fields"][1]["type"][1]
        for one in (1, 2)
    ]
    assert types == ["int", "long"]


def test_a_key_of_another_type_says_nothing_of_the_row(broker, integrate_once, tmp_path, name):
    topic, sent = f"{name}.public.t", f"{name}.out"
    broker.create([topic, sent], 1)
    producer = Producer({"bootstrap.servers": broker.servers})

    def wrapped(kind, value):
        fields = [{"type": kind, "optional": False, "field": "id"}]
        return json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": {"id": value}})

    for k, value in ((1, wrapped("int32", 1)), (1, None), (2, wrapped("int32", 2))):
        producer.produce(topic, value, key=wrapped("string", str(k)))
    assert producer.flush(30) == 0
    integrate_once(channel(tmp_path, broker.servers, topic, sent, dialect="rows"))
    assert [json.loads(one.value)["id"] for one in kafka_io.read_all(broker.servers, [sent])] == [1, 2]
