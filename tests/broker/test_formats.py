"""The recorded changes of a real PostgreSQL through every format, back to the rows that PostgreSQL ended with."""

import shutil

import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator import plan
from integrator.contracts.fragments import PresentFields
from integrator.encode import messages
from tests.conftest import DATA
from tests.parts import channels, decode, kafka_io, rebuild

pytestmark = [pytest.mark.broker, pytest.mark.spark]

GONE = '  - {action: ColumnProperties, Name: gone, Datatype: text, Extra: true, IntegrateExpression: "{hvr_missing}"}\n'
BASE64 = "  - {action: TableProperties, MapBinary: BASE64}\n"
NULLS = ", Missing_Values: 'NULL'"
"""Formats with a value for each column of each row send missing ones as null, and name them in a column of their own."""

FORMATS = {
    "PAYLOAD": ("Json: true, JsonMode: PAYLOAD", ""),
    "ROW_FRAGMENTS": ("Json: true, JsonMode: ROW_FRAGMENTS", ""),
    "ROW_ARRAY": ("Json: true, JsonMode: ROW_ARRAY", ""),
    "TABLE_OBJECT": ("Json: true, JsonMode: TABLE_OBJECT", ""),
    "TABLE_ARRAY": ("Json: true, JsonMode: TABLE_ARRAY", ""),
    "TABLE_OBJECT_BSON": ("Json: true, JsonMode: TABLE_OBJECT_BSON", ""),
    "CSV": (r'Csv: true, HeaderLine: true, NullRepresentation: "\\N"', NULLS),
    "XML": ("Xml: true", ""),
    "AVRO_FILE": ("Avro: true", NULLS),
    "PARQUET": ("Parquet: true, ParquetVersion: v3", NULLS),
}


def rebuilt(broker, channel, prefix, decoder):
    """The tables that a consumer makes of all messages."""
    recipe = plan.build(str(channel), "UTC").recipe
    columns = {table.topic: messages.columns(table, recipe, PresentFields()) for table in recipe.tables}
    rows = {table: [] for table in channels.SHOP_TABLES}
    for message in kafka_io.read_all(broker.servers, channels.shop_topics(prefix)):
        row = decoder(message)(message.value, columns[message.topic])
        gone = row.pop("gone", None)
        for name in (gone or "").split(",") if gone else ():
            assert row.pop(name) is None
        rows[message.topic.removeprefix(prefix + ".")].append(row)
    return rebuild.comparable(rebuild.rebuild(rows))


@pytest.mark.parametrize("name_of", FORMATS)
def test_the_rebuilt_tables_equal_the_final_ones(name_of, broker, integrate_once, tmp_path, name):
    said, kafka = FORMATS[name_of]
    broker.create(channels.shop_topics(name))
    more = f"  - {{action: FileFormat, {said}}}\n" + (GONE if kafka else "") + (BASE64 if name_of == "CSV" else "")
    channel = channels.shop(tmp_path, broker.servers, name, more=more, kafka=kafka)
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in")
    integrate_once(channel)
    read = rebuilt(broker, channel, name, lambda _: decode.DECODERS[name_of])
    assert read == rebuild.comparable(rebuild.oracle(DATA / "final"))


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
def test_the_same_through_a_real_registry_and_confluents_deserializers(
    kind, broker, registry_server, integrate_once, tmp_path, name
):
    broker.create(channels.shop_topics(name))
    nulls = "" if kind == "JSON" else NULLS
    kafka = f', Kafka_Schema_Registry: "{registry_server.url}", Kafka_Schema_Registry_Format: {kind}{nulls}'
    channel = channels.shop(tmp_path, broker.servers, name, more=GONE if nulls else "", kafka=kafka)
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in")
    integrate_once(channel)
    decoders = {topic: decode.confluent(kind, registry_server.client, topic) for topic in channels.shop_topics(name)}
    read = rebuilt(broker, channel, name, lambda message: decoders[message.topic])
    assert read == rebuild.comparable(rebuild.oracle(DATA / "final"))
    subjects = {subject for subject in registry_server.client.get_subjects() if subject.startswith(name)}
    assert subjects == {f"{topic}-{part}" for topic in channels.shop_topics(name) for part in ("key", "value")}


def test_keys_of_one_columns_value_read_back_through_confluents_deserializer(
    broker, registry_server, integrate_once, tmp_path, name
):
    topic = f"{name}.customers"
    broker.create(channels.shop_topics(name))
    kafka = f', Kafka_Schema_Registry: "{registry_server.url}", Kafka_Schema_Registry_Format: AVRO{NULLS}'
    alone = "  - {action: Integrate, table: customers, MessageKeySerializer: KAFKA_AVRO_SCHEMA_COLUMN}\n"
    channel = channels.shop(tmp_path, broker.servers, name, more=alone, kafka=kafka)
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in")
    integrate_once(channel)
    read, of_key = AvroDeserializer(registry_server.client), SerializationContext(topic, MessageField.KEY)
    keys = {read(message.key, of_key) for message in kafka_io.read_all(broker.servers, [topic])}
    assert keys
    assert all(isinstance(key, int) for key in keys)
    assert registry_server.client.get_latest_version(f"{topic}-key").schema.schema_str.strip() == '"int"'
