"""run.py replay: dead letters are exported, mended, and sent through their channel, each once, beside its progress."""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from integrator.sources.kafka.listing import TOPICS_S
from tests.broker.test_actions import channel
from tests.parts import kafka_io, replays
from tests.parts.daemon import Daemon

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def record(k, **members):
    row = {"hvr_op": 1, "hvr_tx_seq": f"{k + 1:X}", "k": k, "name": "", "region": "", "n": 0}
    return json.dumps({**row, **members}).encode()


FILES = {
    "0.jsonl": [record(0), record(1, n="x"), record(2), b"{", record(4), b"[]"],
    "1.jsonl": [record(10), record(11, name=5), record(12, hvr_op=2)],
}


@pytest.fixture(params=["at_least_once", "exactly_once"])
def made(broker, tmp_path, name, request):
    return made_for(broker, tmp_path, name, request.param)


def made_for(broker, tmp_path, name, delivery):
    broker.create([name], 2)
    path = channel(tmp_path, broker, name)
    path.write_text(f"{path.read_text()}delivery: {delivery}\n")
    replays.tolerant(path, f"{name}.dead")
    for file, lines in FILES.items():
        (tmp_path / "in" / file).write_bytes(b"".join(line + b"\n" for line in lines))
    return path


@pytest.fixture
def replay(command, spark):
    def run(path, *words):
        done = command("replay", "--channel", path, *words, spark=spark)
        return done.code, done.out, done.err

    return run


def rows(broker, topic):
    return [
        (row["k"], row["n"]) for row in (json.loads(one.value) for one in kafka_io.read_all(broker.servers, [topic]))
    ]


def mend(path, records):
    """Give the letters of an exported file other records, by the file's name and the line where they stood."""
    lines = path.read_bytes().split(b"\n")
    for at in range(0, len(lines) - 1, 2):
        about = json.loads(lines[at].removeprefix(b"# "))
        lines[at + 1] = records.get((Path(about["file"]).name, about["line"]), lines[at + 1])
    path.write_bytes(b"\n".join(lines))


def test_mended_letters_arrive_once_and_broken_ones_are_letters_again(
    made, broker, tmp_path, name, integrate_once, replay
):
    integrate_once(made)
    before = rows(broker, name)
    assert sorted(before) == [(k, 0) for k in (0, 2, 4, 10, 12)]
    marks = sorted((tmp_path / "state" / "pure" / "synced").iterdir())

    letters = tmp_path / "letters.txt"
    code, out, err = replay(made, "--export", letters)
    assert (code, "4 dead letters" in out) == (0, True), err
    assert replay(made, "--export", letters)[0] == 5  # what was mended is not overwritten
    mend(letters, {("0.jsonl", 2): record(1, n=7), ("0.jsonl", 4): record(3, n=8), ("0.jsonl", 6): b""})

    code, out, err = replay(made, "--file", letters, "--dry-run")
    assert code == 0, err
    assert "4 dead letters, of which 3 would be sent again: 2 rows; 1 line would be rejected again" in out
    assert f"topic {name}: 0 of 2 keys with messages since" in out
    assert sorted(rows(broker, name)) == sorted(before)

    code, out, err = replay(made, "--file", letters)
    assert code == 3, err
    assert "3 sent again, 0 before, 1 without a record" in out
    assert f"{tmp_path}/in/1.jsonl:2: VALUE_CONVERTER" in out
    assert "Changes of the same keys that came after a letter were sent before it" in out
    assert "1 line is rejected again" in err
    assert sorted(rows(broker, name)) == sorted([*before, (1, 7), (3, 8)])
    assert sorted((tmp_path / "state" / "pure" / "synced").iterdir()) == marks

    code, out, err = replay(made, "--file", letters)
    assert code == 0, err
    assert "0 sent again, 3 before" in out
    assert len(rows(broker, name)) == len(before) + 2

    again = tmp_path / "again.txt"
    (tmp_path / "in" / "2.jsonl").write_bytes(record(5, hvr_tx_seq="20") + b"\n")
    integrate_once(made)
    before.append((5, 0))
    assert replay(made, "--export", again)[0] == 0
    assert again.read_bytes().split(b"\n")[1::2] == [b"[]", record(11, name=5)]
    mend(again, {("0.jsonl", 6): record(5), ("000000000002.jsonl", 1): record(11, name="5")})
    code, out, err = replay(made, "--file", again, "--dry-run")
    assert f"topic {name}: 1 of 2 keys with messages since" in out, err
    code, _, err = replay(made, "--file", again)
    assert code == 0, err
    expected = sorted([*before, (1, 7), (3, 8), (5, 0), (11, 0)])
    assert sorted(rows(broker, name)) == expected
    integrate_once(made)
    assert sorted(rows(broker, name)) == expected


def test_a_daemon_continues_beside_a_replay_that_is_killed_and_done_again(broker, tmp_path, name, replay):
    path = made_for(broker, tmp_path, name, "exactly_once")
    daemon = Daemon(path)
    try:
        daemon.wait_for("cycle synced")
        letters = tmp_path / "letters.txt"
        code, _, err = replay(path, "--export", letters)
        assert code == 0, err
        records = {("0.jsonl", 2): record(1), ("0.jsonl", 4): record(3), ("0.jsonl", 6): record(5)}
        mend(letters, {**records, ("1.jsonl", 2): record(11)})
        killed = Daemon(path, "--file", str(letters), command="replay")
        killed.wait_for("integrating")
        killed.kill(everything=True)
        (tmp_path / "in" / "2.jsonl").write_bytes(record(20, hvr_tx_seq="20") + b"\n")
        code, out, err = replay(path, "--file", letters)
        assert code == 0, err
        assert "0 sent again, 4 before" in out
        daemon.wait_for("cycle synced", 2)
        assert daemon.running
    finally:
        assert daemon.terminate() == 0, daemon.lines[-20:]
    assert sorted(rows(broker, name)) == [(k, 0) for k in (0, 1, 2, 3, 4, 5, 10, 11, 12, 20)]


def test_letters_of_topics_are_records_of_their_topics(broker, tmp_path, name, integrate_once, replay):
    """A pattern, several tables, and a topic that comes after a start at the latest record."""
    (tmp_path / "t.sql").write_text(
        "create table a(k int primary key, n int); create table b(k int primary key, n int);"
    )
    path = tmp_path / "channel.yaml"
    path.write_text(
        f"""
channel: letters
state: {tmp_path}/state
locations:
  src: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], topics: ['^{name}[.].*'], dialect: rows, start: latest}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{name}-{{hvr_tbl_name}}", Create_Topics: {{Partitions: 1, Replication_Factor: 1}}}}
tables: [t.sql]
errors: {{tolerance: all, deadletterqueue.topic.name: {name}-dead, deadletterqueue.topic.replication.factor: 1}}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: at, Extra: true, Datatype: varchar, IntegrateExpression: "{{hvr_cap_topic}}:{{hvr_cap_offset}}"}}
monitor: {{enabled: false}}
"""
    )
    integrate_once(path)  # no topic is there
    broker.create([f"{name}.a", f"{name}.b"], 1)
    producer = Producer({"bootstrap.servers": broker.servers})
    for table, record in (
        ("a", b'{"k": 1, "n": 1}'),
        ("a", b'{\n"k": 2, "n": "bad"}'),
        ("b", b'{"k": 2, "n": "x"}'),
        ("b", b"\0"),
    ):
        producer.produce(f"{name}.{table}", record)
        assert producer.flush(30) == 0
    time.sleep(TOPICS_S)
    integrate_once(path)

    def sent(table):
        return [json.loads(one.value) for one in kafka_io.read_all(broker.servers, [f"{name}-{table}"])]

    assert sent("a") == [{"k": 1, "n": 1, "at": f"{name}.a:0"}]
    letters = tmp_path / "letters.txt"
    code, out, err = replay(path, "--export", letters)
    assert (code, "2 dead letters" in out, "not in it: 1 record" in out) == (0, True, True), (out, err)
    letters.write_bytes(letters.read_bytes().replace(b'"bad"', b"7").replace(b'"x"', b"8"))
    assert replay(path, "--file", letters, "--dry-run")[0] == 0
    code, out, err = replay(path, "--file", letters)
    assert code == 0, err
    assert sent("a")[1:] == [{"k": 2, "n": 7, "at": f"{name}.a:1"}]
    assert sent("b") == [{"k": 2, "n": 8, "at": f"{name}.b:0"}]
    code, out, err = replay(path)
    assert (code, "1 sent again, 2 before" in out) == (3, True), (out, err)
    assert f"{name}.b/0:1" in out
