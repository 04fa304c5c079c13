"""A real Spark standalone cluster: executors in processes of their own, which are killed, paused and come late."""

import json
import signal
import subprocess
import sys
import time
import urllib.request

import psutil
import pytest

from integrator.contracts.recipe import Send
from integrator.deliver.kafka.cycle_records import committed
from integrator.run.state import shards
from tests.conftest import DATA
from tests.faults.cluster_campaign import SETTINGS, Sent
from tests.parts import channels, kafka_io, postgres, rebuild
from tests.parts.brokers import free_port
from tests.parts.daemon import Daemon
from tests.parts.spark_cluster import SparkCluster, family_of, send
from tests.parts.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.broker, pytest.mark.spark]

WORKERS = 2


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    with SparkCluster(tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture
def cluster(processes):
    """The module's cluster with two workers, and without the executors of the test before."""
    while processes.workers() > WORKERS:
        processes.kill_worker()
    while processes.workers() < WORKERS:
        processes.add_worker()
    until(lambda: not processes.executors())
    return processes


def test_the_recorded_changes_go_through_a_cluster(cluster, broker, tmp_path, name):
    broker.create(channels.shop_topics(name))
    channel = channels.shop(tmp_path, broker.servers, name)
    channels.cut(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in", 4)
    daemon = Daemon(channel, "--once", submit=True, master=cluster.master, spark=SETTINGS)
    assert daemon.wait() == 0, daemon.lines[-20:]
    received = kafka_io.read_all(broker.servers, channels.shop_topics(name))
    payloads = {
        table: [rebuild.payload(one.value) for one in received if one.topic == f"{name}.{table}"]
        for table in channels.SHOP_TABLES
    }
    assert rebuild.comparable(rebuild.rebuild(payloads)) == rebuild.comparable(rebuild.oracle(DATA / "final"))


@pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))
def test_a_database_is_captured_where_executors_read_the_spool(cluster, broker, tmp_path, name):
    """Rows that are there, and changes; executors are other processes, which know the spool by its path alone."""
    with postgres.cluster() as server:
        server.psql("create table t(k int primary key, v text)")
        server.psql("insert into t select g, 'row ' || g from generate_series(1, 20000) g")
        channel = tmp_path / "c.yaml"
        topic = f"{{hvr_tbl_name}}{name}"
        channel.write_text(
            f"""
channel: {name}
state: {tmp_path}/state
locations:
  src: {{class: postgres, address: "{server.dsn}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{topic}", Create_Topics: {{Partitions: 1, Replication_Factor: 1}}}}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, Length: 45, TimeKey: true, IntegrateExpression: "{{hvr_integ_seq}}"}}
"""
        )
        daemon = Daemon(channel, submit=True, master=cluster.master, spark=SETTINGS)
        daemon.wait_for_rows(20_000)
        server.psql("update t set v = 'other' where k <= 100; delete from t where k > 19000")
        daemon.wait_for_rows(21_100)
        assert daemon.terminate() == 0, daemon.lines[-20:]
    rows = [json.loads(one.value) for one in kafka_io.read_all(broker.servers, [f"t{name}"])]
    assert [(row["op"], row["k"]) for row in rows[:20_000]] == [(1, key) for key in range(1, 20_001)]
    assert [(row["op"], row["k"]) for row in rows[20_000:]] == [
        *((2, key) for key in range(1, 101)), *((0, key) for key in range(19_001, 20_001))
    ]  # fmt: skip


class Submitted(Daemon):
    """A daemon by spark-submit, whose pages say which executors have tasks."""

    def __init__(self, channel, cluster):
        self._cluster, self._pages = cluster, f"http://127.0.0.1:{(port := free_port())}/api/v1/applications"
        pages = ["spark.ui.enabled=true", f"spark.ui.port={port}"]
        super().__init__(channel, submit=True, master=cluster.master, spark=[*SETTINGS, *pages])

    def _asked(self, path=""):
        with urllib.request.urlopen(self._pages + path, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def sender(self):
        """The process of an executor that has a task; waited for."""
        [application] = self._asked()
        found = []

        def sends():
            known = self._asked(f"/{application['id']}/executors")
            at_work = [one["id"] for one in known if one["activeTasks"] and one["id"] != "driver"]
            words = {one: one.cmdline() for one in self._cluster.executors()}
            found.extend(one for one, said in words.items() if said[said.index("--executor-id") + 1] in at_work)
            return found

        until(sends, "no executor has a task")
        return found[0]


def pause_one_that_sends(daemon, sent):
    """Pause an executor in the middle of a cycle, so that this fails; return its processes, and how many rows there are.

    Its task may be another one, which keeps workers. Then the cycle is synced, and another one is begun.
    """

    def fails():
        return bool(daemon.events("failed, starts again"))

    for rows in (22_000, 42_000, 62_000):
        sent.write(20)
        time.sleep(7)  # in the middle of the cycle, which takes about 20 s
        paused = family_of(daemon.sender().pid)
        send(signal.SIGSTOP, paused)
        until(lambda count=rows: fails() or daemon.rows() >= count, lambda: str(daemon.lines[-20:]))
        if fails():
            return paused, rows
        send(signal.SIGCONT, paused)
        time.sleep(10)  # until it has found out whether it is lost, and another one is in its place
    raise AssertionError(f"no executor that sends was found: {daemon.lines[-20:]}")


def has_ended(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_i3_a_paused_executor_sends_nothing_after_its_successor(delivery, cluster, broker, tmp_path, name):
    sent = Sent(broker, tmp_path, name, delivery)
    daemon = Submitted(sent.channel, cluster)
    daemon.wait_for("integrating")
    sent.write(2)
    daemon.wait_for_rows(2000)
    paused, rows = pause_one_that_sends(daemon, sent)
    daemon.wait_for_rows(rows)
    send(signal.SIGCONT, paused)
    until(lambda: all(map(has_ended, paused)), "it has not found out that it is lost")  # whatever it sent late is there
    assert daemon.terminate() == 0, daemon.lines[-20:]
    counted = sent.check()
    assert delivery == "at_least_once" or not counted["repeats"]


@pytest.mark.parametrize("lost", ["executor", "worker"])
def test_the_loss_of_an_executor_or_worker_is_retried(lost, cluster, broker, tmp_path, name):
    sent = Sent(broker, tmp_path, name, "exactly_once")
    daemon = Submitted(sent.channel, cluster)
    daemon.wait_for("integrating")
    sent.write(2)
    daemon.wait_for_rows(2000)
    sent.write(8)
    time.sleep(3)
    if lost == "worker":
        cluster.kill_worker()
    send(signal.SIGKILL, family_of(daemon.sender().pid))
    cluster.add_worker()
    daemon.wait_for_rows(10_000)
    assert daemon.terminate() == 0, daemon.lines[-20:]
    assert not sent.check()["repeats"]


def begun(broker, state):
    """What the brokers have of the cycle that was begun last."""
    known = shards.read(state)
    return committed(Send(producer={"bootstrap.servers": broker.servers}), known.name, known.topics)


def test_executors_that_come_later_are_used(broker, tmp_path, name):
    (tmp_path / "spark").mkdir()
    with SparkCluster(tmp_path / "spark", workers=1) as running:
        sent = Sent(broker, tmp_path, name, "exactly_once", rate=100_000)
        settings = [*SETTINGS, "spark.cores.max=8"]
        daemon = Daemon(sent.channel, submit=True, master=running.master, spark=settings)
        daemon.wait_for("integrating")
        sent.write(1)
        daemon.wait_for("cycle synced")
        running.add_worker(cores=4)
        state = tmp_path / "state" / "shop"

        def noted():
            sent.write(1)
            time.sleep(2)
            return (state / "cores").read_text() == "5"  # which the driver notes in each cycle

        until(noted, lambda: str(daemon.lines[-5:]))
        sent.write(60)
        until(lambda: begun(broker, state).count == 5, lambda: str(daemon.lines[-5:]))
        assert daemon.terminate() == 0, daemon.lines[-20:]
        sent.check()


def test_a_package_that_executors_do_not_have_is_said_in_two_lines(cluster, broker, tmp_path, name):
    sent = Sent(broker, tmp_path, name, "at_least_once")
    sent.write(1)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    settings = [*SETTINGS, f"spark.pyspark.python={bare}/bin/python", f"spark.pyspark.driver.python={sys.executable}"]
    daemon = Daemon(sent.channel, "--once", submit=True, master=cluster.master, spark=settings)
    code = daemon.wait()
    assert code == 5, "\n".join(daemon.lines[-30:])
    [failed] = daemon.events("failed")
    assert "Python processes of Spark's have no package" in failed["error"]
    assert len(failed["error"]) < 400
