"""From topic to topic, through a real Apache Kafka: each record once and in order, whatever happens to topics between."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from structlog.testing import capture_logs

from integrator import plan
from integrator.errors import ConfigurationError, DataError, EnvironmentFault, SourceAway
from integrator.librdkafka import cluster
from integrator.monitor.monitor import Monitor
from integrator.monitor.page import page
from integrator.run.job import Job
from integrator.run.state.directory import State
from integrator.sources.journal.journal import Journal
from integrator.sources.kafka import listing, source
from tests.parts import brokers, kafka_io
from tests.parts.pages import ROOT

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]


@pytest.fixture(autouse=True)
def looked_for_at_once(monkeypatch):
    monkeypatch.setattr(listing, "TOPICS_S", 0.0)


class Ends:
    """A topic that is read, one that is sent to, and the channel between them."""

    def __init__(self, servers, name, directory):
        self.servers, self.name, self.directory = servers, name, directory
        self.out = f"{name}-out"
        self.admin = AdminClient({"bootstrap.servers": servers})
        (directory / "t.sql").write_text("create table t(k int primary key, v text);")
        self.channel = directory / "channel.yaml"

    def write(self, topics=None, dialect="hvr", more="", actions="", kafka=""):
        self.channel.write_text(
            f"channel: topics\nstate: {self.directory}/state\nlocations:\n"
            f"  src: {{class: kafka, Kafka_Brokers: ['{self.servers}'], topics: {json.dumps(topics or self.name)}, "
            f"dialect: {dialect}{more}}}\n"
            f"  kaf: {{class: kafka, Kafka_Brokers: ['{self.servers}'], Kafka_Default_Topic: {self.out}{kafka}}}\n"
            f"tables: [t.sql]\nactions: [{actions}]\nmonitor: {{enabled: false}}\n"
        )
        return self.channel

    def send(self, numbers, topic=None, partition=None):
        """Send a row for each number, to partition `number % 3` where none is given."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        for k in numbers:
            row = json.dumps({"hvr_op": 1, "hvr_tx_seq": f"{k:X}", "k": k, "v": f"row {k}"})
            producer.produce(topic or self.name, row, partition=k % 3 if partition is None else partition)
            producer.poll(0)
        assert producer.flush(30) == 0

    def sent(self):
        """The keys that were sent on, in order."""
        return [json.loads(one.value)["payload"]["k"] for one in kafka_io.read_all(self.servers, [self.out])]

    def delete(self, topic):
        self.admin.delete_topics([topic])[topic].result()
        until(lambda: topic not in self.admin.list_topics(timeout=5).topics)

    def journal(self):
        return Journal(self.state().journal)

    def state(self):
        return State(plan.build(str(self.channel), "UTC").state)

    def run(self, *words, **environment):
        return subprocess.run(
            [sys.executable, "-m", "tests.parts.list_source", *words, "--channel", str(self.channel)],
            cwd=ROOT,
            env=os.environ | environment,
            text=True,
            capture_output=True,
            check=False,
        )


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def ends(real_broker, name, tmp_path):
    made = Ends(real_broker.servers, name, tmp_path)
    real_broker.create([name], 3)
    real_broker.create([made.out], 1)
    return made


def test_records_continue_once_and_partitions_and_topics_come_in(ends, integrate_once, real_broker):
    channel = ends.write([f"^{ends.name}(-more)?"])
    ends.send(range(1, 300))
    integrate_once(channel)
    assert sorted(ends.sent()) == [*range(1, 300)]
    for partition in range(3):
        of_one = [k for k in ends.sent() if k % 3 == partition]
        assert of_one == sorted(of_one)
    integrate_once(channel)
    assert len(ends.sent()) == 299
    ends.admin.create_partitions([NewPartitions(ends.name, 4)])[ends.name].result()
    real_broker.create([f"{ends.name}-more"], 1)
    ends.send(range(300, 310), partition=3)
    ends.send(range(310, 320), topic=f"{ends.name}-more", partition=0)
    integrate_once(channel)
    assert sorted(ends.sent()) == [*range(1, 320)]


def test_a_cycle_that_is_sent_again_has_the_same_records(ends):
    ends.write()
    ends.send(range(1, 100))
    killed = ends.run("--once", DIE_IN_CYCLE="0")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    first = sorted(ends.sent())
    assert first == [*range(1, 100)]
    ends.send(range(100, 120))
    done = ends.run("--once")
    assert done.returncode == 0, done.stderr
    again = ends.sent()[99:]
    assert sorted(again[:99]) == first  # the cycle that was not marked comes again, as it was (I2)
    assert sorted(again[99:]) == [*range(100, 120)]
    state = ends.run("state")
    assert state.returncode == 0, state.stderr
    planned, checked = ends.run("plan"), ends.run("check", "--connect")
    assert f"source    {ends.name} at {ends.servers} (hvr)" in planned.stdout
    assert checked.returncode == 0, checked.stderr


def test_exactly_once_over_a_kill(ends):
    ends.write()
    ends.channel.write_text("delivery: exactly_once\n" + ends.channel.read_text())
    ends.send(range(1, 100))
    killed = ends.run("--once", DIE_IN_CYCLE="0")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ends.send(range(100, 120))
    done = ends.run("--once")
    assert done.returncode == 0, done.stderr
    committed = kafka_io.read_all(ends.servers, [ends.out])
    assert sorted(json.loads(one.value)["payload"]["k"] for one in committed) == [*range(1, 120)]


def test_slices_do_not_depend_on_cores_or_cycles(ends, integrate_once, monkeypatch):
    monkeypatch.setattr(source, "SLICE_BYTES", 10_000)  # ten offsets, of the bytes that are assumed
    ends.send(range(1, 100))
    integrate_once(ends.write(actions="{action: Integrate, CycleByteLimit: 30000}"))
    assert sorted(ends.sent()) == [*range(1, 100)]
    entries = ends.journal().uncompacted
    assert {entry.length for entry in entries if entry.length} == {3, 10}
    assert len(entries) == 3 + 12
    assert ends.state().last_mark().cycle >= 3


def test_positions_of_records_without_one_are_unique_and_ascend_by_partition(ends, integrate_once):
    producer = Producer({"bootstrap.servers": ends.servers})
    for k in range(30):
        record = {
            "operation": "create",
            "metadata": {},
            "key": {"k": k},
            "payload": {"before": None, "after": {"k": k, "v": "x"}},
        }
        producer.produce(ends.name, json.dumps(record), partition=k % 3)
    assert producer.flush(30) == 0
    seq = "{action: ColumnProperties, Name: seq, Datatype: varchar, Length: 45, Extra: true, IntegrateExpression: '{hvr_integ_seq}'}"
    integrate_once(ends.write(dialect="opencdc", more=", table: t", actions=seq))
    rows = [json.loads(one.value)["payload"] for one in kafka_io.read_all(ends.servers, [ends.out])]
    assert len({row["seq"] for row in rows}) == 30
    for partition in range(3):
        of_one = [row["seq"] for row in sorted(rows, key=lambda row: row["k"]) if row["k"] % 3 == partition]
        assert of_one == sorted(of_one)
        assert [int(seq[:20], 16) for seq in of_one] == [*range(10)]


@pytest.mark.parametrize("start", ["latest", "group", "timestamp"])
def test_reading_starts_where_it_is_said_once(ends, integrate_once, start):
    ends.send(range(1, 31))
    time.sleep(0.1)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    group = f"g-{uuid.uuid4().hex}"
    client = Consumer({"bootstrap.servers": ends.servers, "group.id": group})
    client.commit(offsets=[TopicPartition(ends.name, one, 10) for one in range(3)], asynchronous=False)
    client.close()
    more = {"latest": "latest", "group": f"group, consumer_group: {group}", "timestamp": now}[start]
    channel = ends.write(more=f", start: {more}")
    integrate_once(channel)
    assert ends.sent() == []
    time.sleep(1.5 if start == "timestamp" else 0)
    ends.send(range(31, 41))
    integrate_once(channel)
    assert sorted(ends.sent()) == [*range(31, 41)]


def test_offsets_are_committed_after_a_cycle_where_that_is_asked_for(ends, integrate_once):
    group = f"g-{uuid.uuid4().hex}"
    channel = ends.write(more=f", consumer_group: {group}, commit_offsets: true")
    ends.send(range(1, 31))
    integrate_once(channel)
    client = Consumer({"bootstrap.servers": ends.servers, "group.id": group})
    found = client.committed([TopicPartition(ends.name, one) for one in range(3)], timeout=10)
    client.close()
    assert [one.offset for one in found] == [10, 10, 10]


def test_the_lag_of_each_partition_is_shown(ends, integrate_once):
    channel = ends.write()
    ends.send(range(1, 31))
    integrate_once(channel)
    ends.send(range(31, 36), partition=1)
    monitor = Monitor([plan.build(str(channel), "UTC")])
    topic = ends.admin.describe_topics(TopicCollection([ends.name]))[ends.name].result()
    partition = f"{ends.name}#{topic.topic_id}/1"
    assert f'integrator_lag_records{{channel="topics",partition="{partition}"}} 5.0' in monitor.metrics.text().decode()
    assert "3 partitions: 5 records not synced" in page(monitor)


def deleted_before(ends, offset):
    [future] = ends.admin.delete_records([TopicPartition(ends.name, 0, offset)]).values()
    future.result()


def test_records_that_retention_took_are_an_error_with_choices(ends, integrate_once):
    channel = ends.write()
    ends.send(range(3, 33, 3))
    integrate_once(channel)
    ends.send(range(33, 63, 3))
    deleted_before(ends, 15)
    with pytest.raises(EnvironmentFault) as raised:
        integrate_once(channel)
    text = str(raised.value)
    assert f"{ends.name}/0: the records from offset 10 to 14 were deleted before they were read" in text
    assert "lost_records: earliest" in text
    integrate_once(ends.write(more=", lost_records: earliest"))
    assert ends.sent() == [*range(3, 33, 3), *range(48, 63, 3)]


def test_a_topic_that_was_made_anew_is_an_error_with_choices(ends, integrate_once, real_broker):
    channel = ends.write()
    ends.send(range(1, 31))
    integrate_once(channel)
    ends.delete(ends.name)
    with pytest.raises(EnvironmentFault, match=f"{ends.name}: the topic is not there any more"):
        integrate_once(channel)
    real_broker.create([ends.name], 3)
    ends.send(range(101, 161))
    with pytest.raises(EnvironmentFault, match=f"{ends.name}: was deleted and created again"):
        integrate_once(channel)
    integrate_once(ends.write(more=", lost_records: earliest"))
    assert sorted(ends.sent()) == [*range(1, 31), *range(101, 161)]


@pytest.mark.parametrize("what", ["deleted", "made anew"])
def test_ranges_that_were_taken_may_be_lost_too(ends, integrate_once, real_broker, what):
    """A cycle ended at a record that cannot be read, and its ranges are recorded; then its records are gone."""
    channel = ends.write()
    ends.send(range(1, 10), partition=0)
    producer = Producer({"bootstrap.servers": ends.servers})
    producer.produce(ends.name, b'{"hvr_op": 1,', partition=0)
    assert producer.flush(30) == 0
    with pytest.raises(DataError):
        integrate_once(channel)
    if what == "deleted":
        deleted_before(ends, 10)
    else:
        ends.delete(ends.name)
        real_broker.create([ends.name], 3)
    ends.send(range(101, 104), partition=0)
    with pytest.raises(EnvironmentFault, match="lost_records: earliest"):
        integrate_once(channel)
    with capture_logs() as logs:
        integrate_once(ends.write(more=", lost_records: earliest"))
    assert sorted(ends.sent()) == [101, 102, 103]
    warnings = [one["warnings"] for one in logs if one["event"] == "cycle synced" and one.get("warnings")]
    assert warnings == [{"records lost: deleted before they were read": 10}]


def test_topics_that_are_not_there_and_those_that_are_sent_to_are_errors(ends, integrate_once):
    with pytest.raises(EnvironmentFault, match=f"missing at .*: the topics {ends.name}-none; create them"):
        integrate_once(ends.write([f"{ends.name}-none"]))
    with pytest.raises(ConfigurationError, match=f"the topics {ends.out} are read and sent to"):
        integrate_once(ends.write([f"^{ends.name}.*"]))
    with pytest.raises(ConfigurationError, match=f"the topics {ends.out}-later are read and sent to"):
        integrate_once(ends.write([f"^{ends.name}.*-later", ends.name], kafka="-later, Create_Topics: {}"))


def test_brokers_that_are_away_are_an_error_that_is_retried(ends, monkeypatch):
    monkeypatch.setattr(cluster, "TIMEOUT_S", 1.0)
    channel = ends.write()
    channel.write_text(channel.read_text().replace(ends.servers, "127.0.0.1:1", 1))
    topics = plan.build(str(channel), "UTC").changes
    with pytest.raises(SourceAway, match=r"no broker of 127.0.0.1:1 answers .*Connection refused"):
        topics.listing("").slices()
    assert SourceAway.kind.retriable


def test_values_that_are_no_records_are_named_by_their_offsets(ends, integrate_once):
    ends.send(range(1, 10), partition=0)
    producer = Producer({"bootstrap.servers": ends.servers})
    producer.produce(ends.name, b'{"hvr_op": 1,', partition=0)
    assert producer.flush(30) == 0
    with pytest.raises(Exception, match=f"{ends.name}/0:9: "):
        integrate_once(ends.write())


def test_rejected_values_go_to_the_dead_letter_topic_as_they_came(ends, integrate_once, real_broker):
    ends.send(range(1, 10), partition=0)
    producer = Producer({"bootstrap.servers": ends.servers})
    wrong = [b'{"hvr_op": 1,', b"", b'{"hvr_op": 1,\n"k": \xff}']
    for value in wrong:
        producer.produce(ends.name, value, partition=0)
    producer.produce(ends.name, None, key=b"tombstone", partition=0)
    assert producer.flush(30) == 0
    ends.send(range(10, 20), partition=0)
    channel, dead = ends.write(), f"{ends.name}-dead"
    real_broker.create([dead], 1)
    rules = f"errors: {{tolerance: all, deadletterqueue.topic.name: {dead}, deadletterqueue.context.headers.enable: true}}\n"
    channel.write_text(rules + channel.read_text())
    integrate_once(channel)
    assert ends.sent() == [*range(1, 20)]
    letters = kafka_io.read_all(ends.servers, [dead])
    assert [one.value for one in letters] == [*wrong, b'{"schema":null,"deleted key":"tombstone"}']
    places = [
        (dict(one.headers)["__connect.errors.file"], dict(one.headers)["__connect.errors.line"]) for one in letters
    ]
    assert places == [(f"{ends.name}/0".encode(), b"%d" % offset) for offset in (9, 10, 11, 12)]


def test_the_daemon_continues_when_brokers_come_back_and_takes_new_partitions(spark, tmp_path, name):
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("a broker that can be killed needs mvn and Java 17")
    with tempfile.TemporaryDirectory(prefix="kafka-") as home, brokers.KraftBroker(class_path, Path(home)) as kraft:
        taken = brokers.Broker(kraft.servers, "killed", real=True)
        taken.create([name], 3)
        taken.create([f"{name}-out"], 1)
        ends = Ends(kraft.servers, name, tmp_path)
        file = ends.write(more=", poll_seconds: 0.2")
        rules = "restart: {first_seconds: 0.5, most_seconds: 1, timeout_seconds: -1}\n"
        file.write_text(rules + file.read_text())
        ends.send(range(1, 31))
        stopping, failures = threading.Event(), []
        job = Job(plan.build(str(file), "UTC"), stopping)
        job.prepare()

        def run():
            try:
                job.integrate(spark, once=False)
            except Exception as error:  # noqa: BLE001 - shown below
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            until(lambda: failures or len(ends.sent()) == 30, 90)
            kraft.stop()
            time.sleep(3)
            kraft.start()
            ends.admin.create_partitions([NewPartitions(name, 4)])[name].result()
            ends.send(range(31, 41), partition=3)
            until(lambda: failures or set(range(1, 41)) <= set(ends.sent()), 120)
        finally:
            stopping.set()
            thread.join()
            job.close()
        assert not failures
