"""Topics whose records have schemas in a registry: no definitions of tables are needed."""

import contextlib
import dataclasses
import decimal
import json
import threading

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator import plan
from integrator.channel.model import Restart
from integrator.errors import ConfigurationError, DataError, SourceAway
from integrator.run.job import Job
from tests.parts import kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

PRICE = ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}]
AT = ["null", {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "connect.version": 1}]
SOURCE = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.postgresql",
    "fields": [
        *({"name": name, "type": "string"} for name in ("connector", "db", "schema", "table", "sequence")),
        *({"name": name, "type": "long"} for name in ("ts_ms", "txId", "lsn")),
    ],
}


def value_of(server, table, *more):
    fields = [{"name": "id", "type": "long"}, {"name": "price", "type": PRICE}, {"name": "at", "type": AT}, *more]
    return {"type": "record", "name": "Value", "namespace": f"{server}.public.{table}", "fields": fields}


def envelope(server, table, *more):
    own = f"{server}.public.{table}"
    fields = [
        {"name": "before", "type": ["null", value_of(server, table, *more)]},
        {"name": "after", "type": ["null", f"{own}.Value"]},
        {"name": "source", "type": SOURCE},
        {"name": "op", "type": "string"},
    ]
    return {"type": "record", "name": "Envelope", "namespace": own, "fields": fields}


def key_of(server, table):
    return {
        "type": "record",
        "name": "Key",
        "namespace": f"{server}.public.{table}",
        "fields": [{"name": "id", "type": "long"}],
    }


class Connector:
    """What Debezium writes of a database, in Avro; table by table a topic."""

    def __init__(self, broker, registry, server):
        self.broker, self.client, self.server, self.lsn = broker, registry.client, server, 100
        self.producer = Producer({"bootstrap.servers": broker.servers})

    def topic(self, table):
        return f"{self.server}.public.{table}"

    def create(self, table):
        self.broker.create([self.topic(table)], 2)

    def encoded(self, topic, schema, row, field):
        return AvroSerializer(self.client, json.dumps(schema))(row, SerializationContext(topic, field))

    def send(self, table, op, before, after, *more):
        self.lsn += 10
        source = {
            "connector": "postgresql", "db": "shop", "schema": "public", "table": table, "ts_ms": 1_700_000_000_000,
            "sequence": json.dumps([str(self.lsn), str(self.lsn + 5)], separators=(",", ":")), "txId": self.lsn, "lsn": self.lsn + 5,
        }  # fmt: skip
        topic, row = self.topic(table), after or before
        event = {"before": before, "after": after, "source": source, "op": op}
        key = self.encoded(topic, key_of(self.server, table), {"id": row["id"]}, MessageField.KEY)
        value = self.encoded(topic, envelope(self.server, table, *more), event, MessageField.VALUE)
        self.producer.produce(topic, value, key=key, partition=row["id"] % 2)
        if op == "d":
            self.producer.produce(topic, None, key=key, partition=row["id"] % 2)
        assert self.producer.flush(30) == 0


def row(k, price="1.50", **more):
    return {"id": k, "price": decimal.Decimal(price), "at": 1_700_000_000_000_001, **more}


@pytest.fixture
def connector(real_broker, registry_server, name):
    return Connector(real_broker, registry_server, name)


def channel(directory, connector, registry, more="", tables=""):
    path = directory / "channel.yaml"
    servers = connector.broker.servers
    path.write_text(
        f"""
channel: avro
state: {directory}/state
locations:
  src: {{class: kafka, Kafka_Brokers: ['{servers}'], topics: '^{connector.server}\\.public\\..*',
    Kafka_Schema_Registry: '{registry.url}', unknown_columns: add{more}}}
  kaf: {{class: kafka, Kafka_Brokers: ['{servers}'], Kafka_Default_Topic: '{connector.server}-{{hvr_tbl_name}}',
    Create_Topics: {{}}}}
{tables}actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
monitor: {{enabled: false}}
"""
    )
    return path


def sent(connector, table):
    found = kafka_io.read_all(connector.broker.servers, [f"{connector.server}-{table}"])
    return [json.loads(one.value) for one in found if one.value is not None]


def test_events_in_avro_need_no_definitions(connector, registry_server, integrate_once, tmp_path):
    connector.create("orders")
    connector.send("orders", "c", None, row(1))
    connector.send("orders", "u", row(1), row(1, "2.25"))
    made = channel(tmp_path, connector, registry_server)
    integrate_once(made)
    assert sent(connector, "orders") == [
        {"id": 1, "price": 1.5, "at": "2023-11-14T22:13:20.000001"},
        {"id": 1, "price": 2.25, "at": "2023-11-14T22:13:20.000001"},
    ]
    # a table that comes later, and a column that does
    connector.create("items")
    connector.send("items", "c", None, row(7))
    weight = {
        "name": "weight",
        "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}],
        "default": None,
    }
    connector.send("orders", "c", None, row(2, weight=decimal.Decimal("0.125")), weight)
    connector.send("orders", "c", None, row(3))
    integrate_once(made)
    assert [one["id"] for one in sent(connector, "items")] == [7]
    later = sorted(sent(connector, "orders")[2:], key=lambda one: one["id"])
    assert [(one["id"], one.get("weight")) for one in later] == [(2, 0.125), (3, None)]


def test_a_schema_that_the_registry_has_lost(connector, registry_server, integrate_once, tmp_path):
    connector.create("orders")
    connector.send("orders", "c", None, row(1))
    made = channel(tmp_path, connector, registry_server)
    integrate_once(made)
    subject = f"{connector.topic('orders')}-value"
    connector.client.delete_subject(subject)
    connector.client.delete_subject(subject, permanent=True)
    connector.send("orders", "c", None, row(2))  # its serializer has the id
    integrate_once(made)  # known is known
    assert [one["id"] for one in sent(connector, "orders")] == [1, 2]


def test_plain_rows_and_keys(connector, registry_server, integrate_once, tmp_path):
    connector.create("stock")
    topic = connector.topic("stock")
    plain = value_of(connector.server, "stock")
    for k in (1, 2):
        value = connector.encoded(topic, plain, row(k), MessageField.VALUE)
        key = connector.encoded(topic, key_of(connector.server, "stock"), {"id": k}, MessageField.KEY)
        connector.producer.produce(topic, value, key=key, partition=0)
    connector.producer.produce(topic, None, key=key, partition=0)
    assert connector.producer.flush(30) == 0
    made = channel(tmp_path, connector, registry_server, ", dialect: rows")
    made.write_text(
        made.read_text().replace(
            "FRAGMENTS}", "FRAGMENTS}\n  - {action: ColumnProperties, Name: gone, Extra: true, SoftDelete: true}"
        )
    )
    integrate_once(made)
    assert [(one["id"], one.get("price"), one["gone"]) for one in sent(connector, "stock")] == [
        (1, 1.5, 0), (2, 1.5, 0), (2, None, 1),
    ]  # fmt: skip


def test_check_and_plan_show_the_tables_of_topics(connector, registry_server, command, tmp_path):
    connector.create("orders")
    made = channel(tmp_path, connector, registry_server)
    said = command("check", "--channel", str(made))
    assert said.code == 2
    assert "$.tables: is needed: files with table definitions" in said.err  # no record yet, and no subject
    connector.send("orders", "c", None, row(1))
    said = command("plan", "--channel", str(made))
    assert said.code == 0, said.err
    assert "orders" in said.out
    said = command("check", "--connect", "--channel", str(made))
    assert said.code == 0, said.err


def test_without_a_registry_the_schemas_that_are_known_suffice(connector, registry_server, integrate_once, tmp_path):
    connector.create("orders")
    connector.send("orders", "c", None, row(1))
    made = channel(tmp_path, connector, registry_server)
    integrate_once(made)
    made.write_text(made.read_text().replace(registry_server.url, "http://127.0.0.1:1"))
    connector.send("orders", "c", None, row(2))
    integrate_once(made)
    assert [one["id"] for one in sent(connector, "orders")] == [1, 2]
    weight = {"name": "weight", "type": ["null", "int"], "default": None}
    connector.send("orders", "c", None, row(3, weight=1), weight)
    with pytest.raises(SourceAway, match=r"no schema registry answers at http://127\.0\.0\.1:1"):
        integrate_once(made)
    made.write_text(made.read_text().replace("http://127.0.0.1:1", registry_server.url))
    integrate_once(made)
    assert [one["id"] for one in sent(connector, "orders")] == [1, 2, 3]


def test_without_a_registry_in_the_channel_it_is_said_what_is_missing(
    connector, registry_server, integrate_once, tmp_path
):
    connector.create("orders")
    connector.send("orders", "c", None, row(1))
    made = channel(tmp_path, connector, registry_server)
    made.write_text(made.read_text().replace(f"Kafka_Schema_Registry: '{registry_server.url}', ", ""))
    with pytest.raises(ConfigurationError, match="has no registry; add Kafka_Schema_Registry: http://HOST:8081 to it"):
        integrate_once(made)


def test_records_that_only_begin_as_those_of_a_registry_are_rejected_where_that_is_tolerated(
    connector, registry_server, integrate_once, tmp_path
):
    connector.create("orders")
    connector.send("orders", "c", None, row(1))
    (tmp_path / "orders.sql").write_text("create table orders (id int primary key, price decimal(9, 2));")
    made = channel(tmp_path, connector, registry_server, tables=f"tables: ['{tmp_path}/orders.sql']\n")
    text = made.read_text().replace(f"Kafka_Schema_Registry: '{registry_server.url}', ", "")
    letters = f"{connector.server}-dead"
    replicas = "deadletterqueue.topic.replication.factor: 1"
    made.write_text(f"{text}errors: {{tolerance: all, deadletterqueue.topic.name: {letters}, {replicas}}}\n")
    integrate_once(made)
    [letter] = kafka_io.read_all(connector.broker.servers, [letters])
    assert letter.value.startswith(b"\0")


class Rows:
    """Plain rows in JSON with their schemas: no registry."""

    FIELDS = ({"type": "int64", "optional": False, "field": "id"}, {"type": "string", "optional": True, "field": "v"})

    def __init__(self, connector, registry, directory):
        self.connector = connector
        self.channel = channel(directory, connector, registry, ", dialect: rows")
        text = self.channel.read_text().replace(f"Kafka_Schema_Registry: '{registry.url}', ", "")
        self.channel.write_text(text)

    def send(self, table, k, *, valued=True):
        row = {"schema": {"type": "struct", "fields": self.FIELDS}, "payload": {"id": k, "v": "x"}}
        key = {"schema": {"type": "struct", "fields": self.FIELDS[:1]}, "payload": {"id": k}}
        topic, value = self.connector.topic(table), json.dumps(row) if valued else None
        self.connector.producer.produce(topic, value, key=json.dumps(key), partition=0)
        assert self.connector.producer.flush(30) == 0


@contextlib.contextmanager
def planned(path):
    """A job of a channel that has been read: topics may come before it runs."""
    job = Job(dataclasses.replace(plan.build(str(path), "UTC"), restart=Restart(tries=0)), threading.Event())
    try:
        yield job
    finally:
        job.close()


def test_topics_with_schemas_in_their_records_need_no_registry(connector, registry_server, spark, tmp_path):
    rows = Rows(connector, registry_server, tmp_path)
    connector.create("stock")
    rows.send("stock", 1)
    with planned(rows.channel) as job:
        connector.create("shelf")
        rows.send("shelf", 7)
        job.prepare()
        job.run(spark, once=True)
    assert [one["id"] for one in sent(connector, "stock")] == [1]
    assert [one["id"] for one in sent(connector, "shelf")] == [7]


def test_a_topic_that_defines_nothing_is_asked_for_once(connector, registry_server, spark, tmp_path):
    rows = Rows(connector, registry_server, tmp_path)
    connector.create("stock")
    rows.send("stock", 1)
    with planned(rows.channel) as job:
        connector.create("void")
        rows.send("void", 7, valued=False)
        job.prepare()
        with pytest.raises(DataError, match=r"a change of table .*void.*, which the channel does not have"):
            job.run(spark, once=True)
