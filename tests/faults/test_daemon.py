"""The daemon as a process: its end, its double, its crash, and a broker that goes away under it."""

import json
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pytest

from integrator.run.spark import session
from tests.conftest import DATA
from tests.faults import kill_minus_nine
from tests.parts import brokers, channels, kafka_io, states
from tests.parts.daemon import Daemon
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def own_kraft(converter_class_path):
    """A broker of a test's own, which it may kill and start again."""
    with tempfile.TemporaryDirectory() as home, brokers.KraftBroker(converter_class_path, Path(home)) as kraft:
        yield kraft


def started(kraft, directory, name, restart):
    """A daemon over the shop, with so much patience, whose broker is gone before its changes come; and the broker."""
    own = brokers.Broker(kraft.servers, "this test's", real=True)
    own.create(channels.shop_topics(name))
    channel = channels.shop(directory, own.servers, name)
    text = channel.read_text().replace("channel: shop", f"channel: shop\nrestart: {{{restart}}}")
    channel.write_text(text.replace('Value: "20"', 'Value: "3"'))
    daemon = Daemon(channel)
    daemon.wait_for("integrating")
    kraft.stop()
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", directory / "in" / "a.jsonl")
    return daemon, own, channel


HADOOP = "spark.hadoop.fs.defaultFS=hdfs://127.0.0.1:1"
"""What a cluster of Hadoop has, where no path of ours may lead: nobody listens there."""


@pytest.mark.parametrize("submit", [False, True], ids=["python run.py", "spark-submit run.py beside Hadoop"])
def test_sigterm_ends_it_at_the_end_of_a_cycle_with_exit_code_0(submit, broker, tmp_path, name, integrate_once):
    broker.create(channels.shop_topics(name))
    channel = channels.shop(tmp_path, broker.servers, name)
    states.unfinished(tmp_path / "state" / "shop" / "checkpoint" / "offsets")  # as if a start had been killed before
    daemon = Daemon(channel, submit=submit, spark=[HADOOP])
    daemon.wait_for("integrating")
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in" / "a.tmp")
    (tmp_path / "in" / "a.tmp").rename(tmp_path / "in" / "a.jsonl")
    time.sleep(1.0)  # in the middle of the first cycle, or before it
    assert daemon.listens_on() <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert daemon.terminate() == 0, daemon.lines[-20:]
    ours = [path for path in (tmp_path / "state").rglob("*") if path.is_file() and "checkpoint" not in path.parts]
    assert [path for path in ours if path.stat().st_mode & 0o077] == []  # rows are in them
    synced = len(list((tmp_path / "state" / "shop" / "synced").glob("*.json")))
    commits = tmp_path / "state" / "shop" / "checkpoint" / "commits"
    assert synced == len([path for path in commits.glob("*") if path.name.isdigit()])
    assert len(kafka_io.read_all(broker.servers, channels.shop_topics(name))) == 2102 * synced
    integrate_once(channel)
    assert len(kafka_io.read_all(broker.servers, channels.shop_topics(name))) == 2102


def test_a_jvm_that_is_killed_is_said_in_one_line_and_the_next_start_continues(broker, tmp_path, name, integrate_once):
    broker.create(channels.shop_topics(name))
    channel = channels.shop(tmp_path, broker.servers, name)
    daemon = Daemon(channel)
    daemon.wait_for("integrating")
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in" / "a.jsonl")
    daemon.kill_jvm()
    assert daemon.wait() == 5
    [failed] = daemon.events("failed")
    assert failed["error"].startswith("Spark's JVM has ended")
    assert not [line for line in daemon.lines if "Traceback" in line]
    integrate_once(channel)
    assert len(kafka_io.read_all(broker.servers, channels.shop_topics(name))) >= 2102


def test_new_files_are_picked_up_and_a_second_daemon_and_killed_workers_do_no_harm(broker, tmp_path, name):
    """Spark's Python processes are killed as a system without memory does: the same process sends what is left."""
    broker.create(channels.shop_topics(name))
    channel = channels.shop(tmp_path, broker.servers, name)
    channel.write_text(channel.read_text().replace("channel: shop", "channel: shop\nrestart: {first_seconds: 0.2}"))
    daemon = Daemon(channel)
    daemon.wait_for("integrating")
    channels.cut(DATA / "changes.wal2json-v2.jsonl", tmp_path / "cut", 3)
    for number, path in enumerate(sorted((tmp_path / "cut").glob("*")), 1):
        if number == 3:
            time.sleep(1.0)  # the cycle before is committed: none is sent again
            assert daemon.kill_workers()
        path.rename(tmp_path / "in" / path.name)
        daemon.wait_for("cycle synced", number)
    assert "a process that Spark needs was lost" in daemon.events("failed, starts again")[0]["error"]
    double = Daemon(channel)
    assert double.wait() == 5
    assert "channel shop is being integrated already, by process" in "\n".join(double.lines)
    assert daemon.running
    assert daemon.terminate() == 0
    [*_, last] = daemon.events("cycle synced")
    assert {"rows", "messages", "bytes", "rows_per_second", "latency_seconds", "operations"} <= set(last)
    assert len(kafka_io.read_all(broker.servers, channels.shop_topics(name))) == 2102


def test_a_worker_is_kept_while_nothing_comes(broker, tmp_path, name):
    """Spark ends workers that do nothing for a minute: a new one makes the next cycle ten times as long."""
    broker.create(channels.shop_topics(name))
    channels.cut(DATA / "changes.wal2json-v2.jsonl", tmp_path / "cut", 2)
    daemon = Daemon(channels.shop(tmp_path, broker.servers, name))
    daemon.wait_for("integrating")
    for number, path in enumerate(sorted((tmp_path / "cut").glob("*")), 1):
        path.rename(tmp_path / "in" / path.name)
        daemon.wait_for("cycle synced", number)
        before = daemon.workers()
        time.sleep(75 if number == 1 else 0)
        assert before
        assert before <= daemon.workers()
    assert daemon.terminate() == 0


def test_no_worker_is_kept_while_cycles_follow_each_other(spark, monkeypatch):
    """The job that keeps one would use it: a cycle that begins meanwhile would wait for a new one."""
    monkeypatch.setattr(session, "_WORKERS_KEPT_S", 0.3)
    tracker, quiet = spark.sparkContext.statusTracker(), threading.Event()

    def newest():
        return max(tracker.getJobIdsForGroup(), default=-1)

    before = newest()
    with session.workers_kept(spark, lambda: float("-inf") if quiet.is_set() else time.monotonic()):
        time.sleep(1.5)  # five times as long
        assert newest() == before
        quiet.set()
        until(lambda: newest() > before, lambda: "no job keeps a worker")


def test_a_daemon_with_start_times_integrates_at_them_and_ends_on_sigterm(broker, tmp_path, name):
    """A cron expression with six fields has seconds before the minutes: here each second from 0 to 59, by fives."""
    broker.create(channels.shop_topics(name))
    times = '  - {action: Scheduling, IntegrateStartTimes: "*/5 * * * * *", IntegrateOnceOnStart: true}\n'
    channel = channels.shop(tmp_path, broker.servers, name, more=times)
    cut = tmp_path / "cut"
    channels.cut(DATA / "changes.wal2json-v2.jsonl", cut, 2)
    (cut / "changes-0000.jsonl").rename(tmp_path / "in" / "a.jsonl")
    daemon = Daemon(channel)
    daemon.wait_for("cycle synced")  # on start
    [waiting, *_] = daemon.wait_for("waiting")
    assert int(waiting["until"][17:19]) % 5 == 0
    (cut / "changes-0001.jsonl").rename(tmp_path / "in" / "b.jsonl")
    daemon.wait_for("cycle synced", 2)  # at the next time
    assert daemon.terminate() == 0
    assert len(kafka_io.read_all(broker.servers, channels.shop_topics(name))) == 2102


def test_the_daemon_outlives_a_broker_that_is_away_for_a_while(real_broker, own_kraft, tmp_path, name):
    """The broker is killed, changes come, and it is back a while later: all is sent, by the same process."""
    daemon, own, _ = started(own_kraft, tmp_path, name, "first_seconds: 0.5")

    def beat():
        return json.loads((tmp_path / "state" / "shop" / "heartbeat.json").read_text())

    [first, *_] = daemon.wait_for("failed, starts again", 2)
    assert "0 of 2,102 messages acknowledged" in first["error"]
    assert beat()["doing"] in ("resting", "integrating")
    assert beat()["last_synced_cycle"] is None
    own_kraft.start()
    daemon.wait_for("cycle synced")
    assert daemon.terminate() == 0
    assert (beat()["doing"], beat()["last_synced_cycle"]) == ("ended", 0)
    received = kafka_io.read_all(own.servers, channels.shop_topics(name))
    assert len({(message.topic, message.value) for message in received}) == 2102


def test_kill_minus_nine(real_broker, tmp_path):
    """A few kills here; `make faults` does 20."""
    counted = kill_minus_nine.run(real_broker.servers, tmp_path, 2, 7, real_broker.create)
    assert counted["messages"] == counted["rows"] + counted["repeats"]


def test_i1_a_broker_that_dies_in_the_middle_fails_the_cycle_and_the_next_run_continues(
    real_broker, own_kraft, tmp_path, name, integrate_once
):
    """A broker of this test's own is killed while messages are on their way; exit code 4, nothing synced."""
    daemon, own, channel = started(own_kraft, tmp_path, name, "tries: 0")
    assert daemon.wait() == 4
    told = "\n".join(daemon.lines)
    assert "0 of 2,102 messages acknowledged" in told
    assert "the cycle is not synced, and will be sent again" in told
    assert not list((tmp_path / "state" / "shop" / "synced").glob("*.json"))
    own_kraft.start()
    integrate_once(channel)
    assert len(kafka_io.read_all(own.servers, channels.shop_topics(name))) == 2102
