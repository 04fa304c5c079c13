"""Compaction takes the event of a delete, and leaves its tombstone: the delete is sent all the same."""

import json
import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.parts import kafka_io
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark]

COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
CHANNEL = """\
channel: c
state: {directory}/state
locations:
  src: {{class: kafka, Kafka_Brokers: ["{servers}"], topics: ["^{name}.public..*"], dialect: debezium}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: {name}-out}}
tables: [t.sql]
monitor: {{enabled: false}}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Datatype: integer, Extra: true, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
"""


def event(op, key, lsn):
    image = {"id": key, "v": f"v{lsn}"}
    position = {"txId": lsn, "lsn": lsn, "sequence": json.dumps([str(lsn - 1), str(lsn)], separators=(",", ":"))}
    source = {"connector": "postgresql", "db": "shop", "schema": "public", "table": "t", "ts_ms": 1, **position}
    images = {"before": image if op == "d" else None, "after": None if op == "d" else image}
    return json.dumps({**images, "op": op, "ts_ms": 1, "source": source})


def test_a_delete_whose_event_is_compacted_is_sent_once(real_broker, integrate_once, tmp_path, name):
    topic = f"{name}.public.t"
    made = [
        NewTopic(topic, 1, 1, config=COMPACTED),
        NewTopic(f"{name}.public.other", 1, 1),
        NewTopic(f"{name}-out", 1, 1),
    ]
    admin = AdminClient({"bootstrap.servers": real_broker.servers})
    for one in admin.create_topics(made).values():
        one.result()
    (tmp_path / "t.sql").write_text(
        "create table t(id int primary key, v text); create table other(id int primary key);"
    )
    path = tmp_path / "channel.yaml"
    path.write_text(CHANNEL.format(directory=tmp_path, servers=real_broker.servers, name=name))
    producer, lsn = Producer({"bootstrap.servers": real_broker.servers}), 100

    def send(key, value):
        producer.produce(topic, value, json.dumps({"id": key}))
        assert producer.flush(30) == 0

    def rows():
        return [json.loads(one.value) for one in kafka_io.read_all(real_broker.servers, [f"{name}-out"])]

    send(1, event("c", 1, lsn))
    integrate_once(path)
    send(1, event("d", 1, lsn + 1))
    send(1, None)

    def compacted():
        nonlocal lsn
        lsn += 2
        send(2, event("u", 2, lsn))  # a segment is compacted when there is another one after it
        time.sleep(0.2)
        left = [one.offset for one in kafka_io.read_all(real_broker.servers, [topic])]
        return 1 not in left and 2 in left

    until(compacted, 120)
    integrate_once(path)
    found = rows()
    assert [row["op"] for row in found if row["id"] == 1] == [1, 0]
    assert [row["seq"] for row in found] == sorted(row["seq"] for row in found)
    integrate_once(path)
    assert rows() == found, "a tombstone deletes once"
