"""Columns that come while the channel runs, on a real broker and registry: unknown_columns: add."""

import json

import pytest

from integrator.schema import Column, Integer, String
from tests.parts import decode, kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]

COLUMNS = [
    Column("id", Integer(32), nullable=False),
    Column("v", String(), nullable=True),
    Column("n", Integer(64), nullable=True),
    Column("w", String(), nullable=True),
]


def put(directory, number, *rows):
    lines = [{"hvr_op": 1, "hvr_tx_seq": f"{number:X}", **row} for row in rows]
    temporary = directory / "in" / f"{number}.tmp"
    temporary.write_text("".join(json.dumps(line) + "\n" for line in lines))
    temporary.rename(temporary.with_suffix(".jsonl"))


def channel(directory, broker, topic, kafka):
    (directory / "in").mkdir()
    (directory / "t.sql").write_text("create table t(id int primary key, v text);")
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: wide
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/in, dialect: hvr, poll_seconds: 0.1, unknown_columns: add}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{topic}"{kafka}}}
tables: [{directory}/t.sql]
actions:
  - {{action: Integrate, CycleByteLimit: 0}}
"""
    )
    return path


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
def test_a_column_that_comes_is_a_new_version_of_the_schema(
    kind, broker, registry_server, integrate_once, tmp_path, name
):
    broker.create([name])
    kafka = f', Kafka_Schema_Registry: "{registry_server.url}", Kafka_Schema_Registry_Format: {kind}'
    path = channel(tmp_path, broker, name, kafka)
    files = [
        [{"id": 1, "v": "a"}],
        [{"id": 2, "v": "b"}, {"id": 3, "v": "c", "n": 5, "w": "x"}, {"id": 4, "v": "d", "n": None, "w": "y"}],
        [{"id": 5, "v": "e", "n": 6, "w": "z"}, {"id": 6, "v": "f", "n": 7, "w": None}],
    ]
    for number, rows in enumerate(files, 1):
        put(tmp_path, number, *rows)
        integrate_once(path)
    assert registry_server.client.get_versions(f"{name}-value") == [1, 2]
    decoder = decode.confluent(kind, registry_server.client, name)
    values = [message.value for message in kafka_io.read_all(broker.servers, [name])]
    first, second = sorted({value[:5] for value in values})  # the numbers of their schemas
    read = [decoder(value, COLUMNS if value[:5] == second else COLUMNS[:2]) for value in values]
    assert sorted(read, key=lambda row: row["id"]) == [
        {"id": 1, "v": "a"},
        {"id": 2, "v": "b", "n": None, "w": None},
        {"id": 3, "v": "c", "n": 5, "w": "x"},
        {"id": 4, "v": "d", "n": None, "w": "y"},
        {"id": 5, "v": "e", "n": 6, "w": "z"},
        {"id": 6, "v": "f", "n": 7, "w": None},
    ]
    assert [value[:5] for value in values].count(first) == 1
