"""Values of topics that are no objects, records without a value, and keys and text that are none."""

import json

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator.errors import DataError
from tests.parts import kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]
DATE = b'{"schema":{"type":"int32","name":"org.apache.kafka.connect.data.Date"},"payload":%s}'
VALUES = {
    # the column `value`, how the topic is encoded, its records; the values of messages
    "numbers": ("int", "", [b"5", b"6"], [5, 6]),
    "any value of JSON, as text": ("text", "", [b'"x"', b"6", b"true", b"null", b"[1]"], ["x", "6", "true", "[1]"]),
    "a value with a schema": ("date", "", [DATE % b"19000", DATE % b"null"], ["2022-01-08"]),
    "bytes, of which none can be a key": ("bytea", "encoding: bytes, ", [b"\xff\x00", b"abc"], ["/wA=", "YWJj"]),
    "text, and a record without a value": ("text", "encoding: text, ", [b"abc", None, b"def"], ["abc", "def"]),
}
REFUSED = {
    # how the topic is encoded, a key and a value; what is said
    "text that is none": ("encoding: text, ", None, b"\xff", "records that are no text need encoding: bytes"),
    "a value without a column": ("", None, b'{"v": 5}', "column 'v' is not in its definition"),
    "a key that is no text": ("", b"k\xff", b'"x"', "with key_encoding: bytes at the source location all keys are text in base64"),
}  # fmt: skip
KEY = (
    "  - {action: ColumnProperties, Name: k, Extra: true, Datatype: varchar, Length: 45, "
    'IntegrateExpression: "{hvr_cap_record_key}"}'
)


@pytest.fixture
def topic(broker, tmp_path, name):
    """Write records, and return the channel's file and the topic that it sends to."""

    def written(records, column="text", how="", more="", tables=True):
        source, sent = f"{name}.t", f"{name}.out"
        broker.create([source, sent], 1)
        producer = Producer({"bootstrap.servers": broker.servers})
        for key, value in records:
            producer.produce(source, value, key=key)
        assert producer.flush(30) == 0
        (tmp_path / "t.sql").write_text(f"create table t(value {column});")
        path = tmp_path / "channel.yaml"
        given = f"tables: [{{file: {tmp_path}/t.sql, sql_dialect: postgres}}]" if tables else ""
        path.write_text(
            f"""
channel: values
state: {tmp_path}/state
locations:
  src: {{class: kafka, Kafka_Brokers: ['{broker.servers}'], topics: ['{source}'], {how}dialect: rows}}
  kaf: {{class: kafka, Kafka_Brokers: ['{broker.servers}'], Kafka_Default_Topic: '{sent}'}}
{given}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
{more}
"""
        )
        return path, sent

    return written


@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_is_no_object_is_that_of_the_column_value(case, topic, broker, integrate_once):
    column, how, records, expected = VALUES[case]
    path, sent = topic([(b"k", one) for one in records], column, how)
    integrate_once(path)
    assert [json.loads(one.value)["value"] for one in kafka_io.read_all(broker.servers, [sent])] == expected


def test_values_in_avro_that_are_no_records_define_their_table(topic, broker, registry_server, integrate_once, name):
    context = SerializationContext(f"{name}.t", MessageField.VALUE)
    made = AvroSerializer(registry_server.client, json.dumps({"type": "long"}))
    path, sent = topic(
        [(None, made(5, context)), (None, made(1 << 40, context))],
        how=f"Kafka_Schema_Registry: '{registry_server.url}', ",
        tables=False,
    )
    integrate_once(path)
    assert [json.loads(one.value) for one in kafka_io.read_all(broker.servers, [sent])] == [
        {"value": 5},
        {"value": 1 << 40},
    ]


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_value_is_said_with_what_helps(case, topic, integrate_once):
    how, key, value, said = REFUSED[case]
    path, _ = topic([(key, value)], how=how, more=KEY)
    with pytest.raises(DataError, match=said):
        integrate_once(path)


def test_two_keys_have_one_text_never(topic, broker, integrate_once):
    path, sent = topic([(b"k\xff", b'"x"'), (b"a/8=", b'"y"')], how="key_encoding: bytes, ", more=KEY)
    integrate_once(path)
    assert [json.loads(one.value)["k"] for one in kafka_io.read_all(broker.servers, [sent])] == ["a/8=", "YS84PQ=="]


def test_a_record_without_a_value_is_no_tombstone_where_a_key_may_be_declared(topic, integrate_once):
    """The row of a table with other columns could be deleted by its key: that is not passed over."""
    path, _ = topic([(b"7", None)], "text, other int")
    with pytest.raises(DataError, match="has no key columns; have the producer write all key columns"):
        integrate_once(path)
