"""The recorded changes in the peers' envelopes, read as their consumers do, back to the rows that PostgreSQL ended with."""

import json
import shutil
from decimal import Decimal

import pytest

from integrator import plan
from integrator.schema import Column
from tests.conftest import DATA
from tests.parts import channels, decode, kafka_io, rebuild
from tests.wire import neutral

pytestmark = [pytest.mark.broker, pytest.mark.spark]

UNAVAILABLE = "__debezium_unavailable_value"


def sent(broker, integrate_once, directory, name, fmt, kafka=""):
    """The messages of a channel, by table, and the tables' columns."""
    broker.create(channels.shop_topics(name))
    more = f"  - {{action: FileFormat, {fmt}}}\n"
    more += "  - {action: TableProperties, table: orders, DistributionKeyLimit: 0}\n"  # tombstones are for whole keys
    channel = channels.shop(directory, broker.servers, name, more=more, kafka=kafka)
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", directory / "in")
    integrate_once(channel)
    columns = {
        table.table.name: [field.as_column(nullable=True) for field in table.fields if not field.extra]
        for table in plan.build(str(channel), "UTC").recipe.tables
    }
    messages = kafka_io.read_all(broker.servers, channels.shop_topics(name))
    return {
        table: [message for message in messages if message.topic == f"{name}.{table}"] for table in channels.SHOP_TABLES
    }, columns


def final(tables):
    """Rows by table, as the oracle has them."""
    rows = {table: [rows[key] for key in sorted(rows)] for table, rows in tables.items()}
    return rebuild.comparable(rows), rebuild.comparable(rebuild.oracle(DATA / "final"))


def in_order(messages, sequence):
    return sorted(messages, key=sequence)


def debezium_rows(columns: list[Column], events, key_of, value_of):
    rows = {}
    for event in events:
        if event["op"] == "t":
            rows.clear()
            continue
        image = event["after"] if event["after"] is not None else event["before"]
        key = key_of(image)
        if event["op"] == "d":
            rows.pop(key)
            continue
        before = rows.get(key, {})
        rows[key] = {
            column.name: before.get(column.name) if image[column.name] == UNAVAILABLE else value_of(column, image)
            for column in columns
        }
    return rows


def of_debezium_json(column, image):
    """Debezium's JSON: a zoned time is text, the others as Connect has them."""
    value = image[column.name]
    if value is not None and getattr(column.type, "zoned", False):
        return neutral.from_plain_text(column.type, value)
    return decode.connect_value(column.type, value)


def test_a_consumer_of_debezium_rebuilds_the_tables(broker, integrate_once, tmp_path, name):
    fmt = "Envelope: DEBEZIUM, Json: true, JsonMode: PAYLOAD"
    messages, columns = sent(broker, integrate_once, tmp_path, name, fmt)
    rebuilt = {}
    for table, of_table in messages.items():
        events = [json.loads(m.value, parse_float=Decimal) for m in of_table if m.value is not None]
        stones = [m for m in of_table if m.value is None]
        assert len(stones) == sum(event["op"] == "d" for event in events)
        events = in_order(events, lambda event: json.loads(event["source"]["sequence"])[1])
        keys = rebuild.KEYS[table]
        rebuilt[table] = debezium_rows(
            columns[table], events, lambda image, keys=keys: tuple(image[k] for k in keys), of_debezium_json
        )
    got, wanted = final(rebuilt)
    assert got == wanted


def test_debezium_through_a_registry_is_read_by_confluents_deserializer(
    broker, registry_server, integrate_once, tmp_path, name
):
    kafka = f', Kafka_Schema_Registry: "{registry_server.url}"'
    messages, _ = sent(broker, integrate_once, tmp_path, name, "Envelope: DEBEZIUM", kafka)
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    read = AvroDeserializer(registry_server.client)
    operations = set()
    for of_table in messages.values():
        for message in of_table:
            if message.value is not None:
                event = read(message.value, SerializationContext(message.topic, MessageField.VALUE))
                operations.add(event["op"])
                assert (event["before"] is None) == (event["op"] in "ct" or event["before"] is None)
    assert operations == {"c", "u", "d", "t"}


def test_a_consumer_of_opencdc_rebuilds_the_tables(broker, integrate_once, tmp_path, name):
    messages, columns = sent(broker, integrate_once, tmp_path, name, "Envelope: OPENCDC")
    rebuilt, kept = {}, {}
    wanted = rebuild.comparable(rebuild.oracle(DATA / "final"))
    for table, of_table in messages.items():
        rows = {}
        records = [json.loads(m.value, parse_float=Decimal) for m in of_table]
        for record in in_order(records, lambda record: decode.base64.b64decode(record["position"])):
            before, after = record["payload"]["before"], record["payload"]["after"]
            keys = rebuild.KEYS[table]
            old = tuple(before[k] for k in keys) if before and all(k in before for k in keys) else None
            held = rows.pop(old, {}) if old else {}
            if record["operation"] == "delete":
                continue
            key = tuple(after[k] for k in keys)
            held = held or rows.get(key, {})
            plain = {
                c.name: neutral.plain_json(c.type, after[c.name]) if c.name in after else held[c.name]
                for c in columns[table]
            }
            rows[key] = plain
        rebuilt[table] = [rows[key] for key in sorted(rows)]
        kept[table] = wanted[table]
    for table in truncated():  # OpenCDC has no truncate
        rebuilt.pop(table), kept.pop(table)
    comparable = rebuild.comparable({"customers": [], "products": [], **rebuilt})
    assert {table: comparable[table] for table in kept} == kept


def truncated():
    lines = (DATA / "changes.wal2json-v2.jsonl").read_text().splitlines()
    return {json.loads(line)["table"] for line in lines if '"action":"T"' in line}
