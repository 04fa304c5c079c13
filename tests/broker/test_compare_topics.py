"""Topics compared with topics, by the command, on a real broker: Debezium's events with rows of another program."""

import json

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from integrator.compare import at_topic, pairs
from integrator.compare.at_topic import Topics
from integrator.compare.pairs import TopicPair
from tests.parts.in_process import command

pytestmark = [pytest.mark.broker]

CHANNEL = """
channel: {name}
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/changes, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{name}"}}
tables: [t.sql]
"""


def wrapped(payload):
    return json.dumps({"schema": {"type": "struct"}, "payload": payload}).encode()


def test_debeziums_topic_is_compared_with_ours_by_key_and_value(broker, tmp_path, name, capfd):
    (tmp_path / "t.sql").write_text("create table t (id int primary key)")
    path = tmp_path / "channel.yaml"
    path.write_text(CHANNEL.format(name=name, directory=tmp_path, servers=broker.servers))
    old, new = f"{name}.old", f"{name}.new"
    broker.create([old, new], partitions=2)
    producer = Producer({"bootstrap.servers": broker.servers, "enable.idempotence": True})  # which keeps the order

    def event(op, before, after):
        row = after or before
        producer.produce(
            old, key=wrapped({"id": row["id"]}), value=wrapped({"op": op, "before": before, "after": after})
        )

    def row(number, v, **more):
        producer.produce(
            new, key=json.dumps({"id": number}), value=json.dumps({"id": number, "v": v, "seq": "1", **more})
        )

    for number in range(1, 51):
        event("r", None, {"id": number, "v": f"v{number}"})
        row(number, f"v{number}")
    event("u", None, {"id": 1, "v": "new"})
    row(1, "new")
    event("d", {"id": 2, "v": "v2"}, None)
    producer.produce(old, key=wrapped({"id": 2}), value=None)
    row(2, "v2", __deleted="true")
    producer.produce(new, key=json.dumps({"id": 3}), value=None)
    event("d", {"id": 3, "v": "v3"}, None)
    assert producer.flush(30) == 0

    def compared(code):
        capfd.readouterr()
        words = ["--channel", path, "--json", "--from-topics", old, "--to-topics", new]
        assert command("compare", *words) == code
        [found] = json.loads(capfd.readouterr().out)["tables"]
        return found

    found = compared(0)
    assert (found["equal"], found["left_out"], found["why"]) == (48, ["seq"], "")
    for number in range(51, 1300):  # of columns that come late, both have `w`
        event("r", None, {"id": number, "v": "v", **({"w": 1} if number > 1200 else {})})
        row(number, "v", **({"w": 1 if number < 1299 else True} if number > 1200 else {}))
    assert producer.flush(30) == 0
    found = compared(4)
    assert (found["equal"], found["different"], found["left_out"]) == (1296, 1, ["seq"]), found
    assert found["differences"][0]["columns"] == {"w": [1, True]}
    row(1299, "v", w=1)
    row(10, "other")
    row(9900, "extra")
    producer.produce(new, key=json.dumps({"id": 20}), value=None)
    assert producer.flush(30) == 0
    found = compared(4)
    assert (found["equal"], found["different"], found["extra"], found["missing"]) == (1295, 1, 1, 1), found
    named = {one["kind"]: (one["key"], one["columns"]) for one in found["differences"]}
    assert named["different"] == ({"id": 10}, {"v": ["v10", "other"]})
    assert named["extra"][0] == {"id": 9900}
    assert named["missing"][0] == {"id": 20}


def test_deletes_of_the_channel_are_rows_and_a_message_of_another_kind_ends_its_pair_alone(
    broker, tmp_path, name, capfd
):
    (tmp_path / "t.sql").write_text("create table t (id int primary key, v varchar(9))")
    path = tmp_path / "channel.yaml"
    more = 'actions: [{action: ColumnProperties, Name: op, Datatype: integer, Extra: true, IntegrateExpression: "{hvr_op}"}]\n'
    path.write_text(CHANNEL.format(name=name, directory=tmp_path, servers=broker.servers) + more)
    broker.create([name, f"{name}.old", f"{name}.odd"], partitions=1)
    producer = Producer({"bootstrap.servers": broker.servers, "enable.idempotence": True})
    for number, deleted in ((1, False), (2, True)):
        key, row = json.dumps({"id": number}), {"id": number, "v": "a"}
        producer.produce(f"{name}.old", key=key, value=json.dumps({"op": "c", "before": None, "after": row}))
        producer.produce(name, key=key, value=json.dumps({**row, "op": 1}))
        if deleted:
            producer.produce(f"{name}.old", key=key, value=json.dumps({"op": "d", "before": row, "after": None}))
            producer.produce(name, key=key, value=json.dumps({**row, "op": 0}))
    producer.produce(f"{name}.odd", key=json.dumps({"id": 1}), value=b"\x00\xff")
    assert producer.flush(30) == 0
    pairs = ((f"{name}.old", name), (f"{name}.odd", name))
    words = [word for old, new in pairs for word in ("--from-topics", old, "--to-topics", new)]
    capfd.readouterr()
    assert command("compare", "--channel", path, "--json", *words) == 2
    found, odd = json.loads(capfd.readouterr().out)["tables"]
    assert (found["rows"], found["equal"], found["equal_all"], found["why"]) == (1, 1, True, ""), found
    assert f"{name}.odd/0" in odd["why"], odd


def test_a_topic_that_is_not_there_is_said(broker, tmp_path, name, capfd):
    (tmp_path / "t.sql").write_text("create table t (id int primary key)")
    path = tmp_path / "channel.yaml"
    path.write_text(CHANNEL.format(name=name, directory=tmp_path, servers=broker.servers))
    assert command("compare", "--channel", path, "--from-topics", f"{name}.a", "--to-topics", f"{name}.b") == 2
    assert "missing at the brokers: the topics" in capfd.readouterr().err
    assert command("compare", "--channel", path, "--from-topics", f"{name}.a") == 2
    assert command("compare", "--channel", path) == 2
    assert "tables of captured databases are compared" in capfd.readouterr().err


class During:
    """Two topics with a key that differs; `then` happens while they are read on."""

    def __init__(self, broker, name, monkeypatch):
        self.broker, self.names = broker, (f"{name}.old", f"{name}.new")
        broker.create(self.names, partitions=1)
        self._producer = Producer({"bootstrap.servers": broker.servers})
        self._monkeypatch = monkeypatch

    def send(self, side, key, value):
        self._producer.produce(self.names[side], key=key, value=json.dumps(value))
        assert self._producer.flush(30) == 0

    def found(self, then=lambda: None):
        self._monkeypatch.setattr(pairs.time, "sleep", lambda _: then())
        topics = Topics({"bootstrap.servers": self.broker.servers})
        try:
            return TopicPair(topics, self.names, None).run()
        finally:
            topics.close()


@pytest.fixture
def during(broker, name, monkeypatch):
    return During(broker, name, monkeypatch)


def test_keys_may_be_any_json(during):
    keys = ["5", "-1.5", "true", '"a"', "[1, 2]", '{"id": 1}', "plain text"]
    for side in (0, 1):
        for key in keys:
            during.send(side, key, {"v": key})
    during.send(1, "5", {"v": "other"})
    found = during.found()
    assert (found.rows, found.equal, found.different) == (len(keys), len(keys) - 1, 1)
    assert [one.key for one in found.differences] == [{"key": 5}]


def test_of_many_keys_that_differ_few_are_kept_and_all_are_counted(during, monkeypatch):
    monkeypatch.setattr(pairs, "_SETTLED", 4)
    for number in range(30):
        during.send(0, str(number), {"v": 1})
        if number % 3:
            during.send(1, str(number), {"v": number % 3})
        during.send(1, f"{number}00", {"v": 1})
    found = during.found()
    assert (found.equal, found.missing, found.different, found.extra) == (10, 10, 10, 30)
    assert len(found.differences) == 4


@pytest.mark.parametrize("what", ["truncate", "partition"])
def test_what_comes_while_both_are_read_on_is_not_passed_over(during, what):
    during.send(0, "1", {"v": 1})
    during.send(1, "1", {"v": 2})
    grown = []

    def then():
        if what == "truncate":
            during.send(1, None, {"op": "t", "before": None, "after": None})
        elif not grown:
            grown.append(AdminClient({"bootstrap.servers": during.broker.servers}))
            more = grown[0].create_partitions([NewPartitions(during.names[1], 2)])
            more[during.names[1]].result(30)

    found = during.found(then)
    assert found.why == {"truncate": pairs._CLEARED, "partition": at_topic.GREW}[what]
