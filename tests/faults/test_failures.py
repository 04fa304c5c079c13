"""The table of failures in docs/operations/errors.md, row by row: what the daemon does, what it logs, and how it goes on."""

import contextlib
import os
import subprocess
import time

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.bench import rows as table
from tests.faults.kill_minus_nine import ROWS_A_FILE, check, write_changes
from tests.parts import brokers, channels, kafka_io
from tests.parts.daemon import Daemon
from tests.parts.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("three brokers need mvn and Java 17")
    with brokers.KraftCluster(class_path, tmp_path_factory.mktemp("brokers")) as running:
        yield running


class Running:
    """A daemon whose channel sends changes of 500 keys to a topic of six partitions, three replicas each."""

    def __init__(self, cluster, directory, name, replicas=2, more=""):
        self.servers, self.topic, self.files, self.inbox = cluster.servers, f"{name}.orders", 0, directory / "in"
        self.admin = AdminClient({"bootstrap.servers": cluster.servers})
        self.create(replicas)
        (directory / "orders.sql").write_text(table.DDL)
        channel = channels.shop(directory, cluster.servers.replace(",", '", "'), name, "hvr", more=more)
        text = channel.read_text().replace(channels.SHOP_SQL, f"{directory}/orders.sql")
        text = text.replace('Value: "20"', 'Value: "4"')
        channel.write_text(f"{text}restart: {{tries: 100, first_seconds: 0.5, most_seconds: 2}}\n")
        self.channel = channel
        self.daemon = Daemon(channel)
        self.daemon.wait_for("integrating")
        self.write()
        self.daemon.wait_for("cycle synced")

    def create(self, replicas=2):
        new = NewTopic(self.topic, 6, 3, config={"min.insync.replicas": str(replicas)})
        for future in self.admin.create_topics([new]).values():
            future.result()

    def in_sync(self):
        """The fewest replicas in sync that a partition of the topic has."""
        found = self.admin.list_topics(self.topic, timeout=PATIENCE_S).topics[self.topic]
        return min(len(partition.isrs) for partition in found.partitions.values())

    def write(self, files=1):
        for _ in range(files):
            write_changes(self.inbox, self.files)
            self.files += 1

    def failure(self):
        """The text of the next failure that is retried."""
        before = len(self.daemon.events("failed, starts again"))
        return self.daemon.wait_for("failed, starts again", before + 1)[-1]["error"]

    def end(self, lost=0):
        """The daemon ends well, and the topic has every change but those of the first `lost` files."""
        self.daemon.wait_for_rows(self.files * ROWS_A_FILE)
        assert self.daemon.terminate() == 0, self.daemon.lines[-20:]
        if not lost:
            check(kafka_io.read_all(self.servers, [self.topic]), self.files * ROWS_A_FILE)


def test_one_of_three_brokers_away_and_back(cluster, tmp_path, name):
    running = Running(cluster, tmp_path, name)
    for node in cluster.nodes:  # each leads some of the partitions
        running.write()
        node.stop()
        running.write()
        time.sleep(2)
        node.start()
    running.end()


def test_too_few_replicas_in_sync(cluster, tmp_path, name):
    running = Running(cluster, tmp_path, name, replicas=3)
    cluster.nodes[2].stop()
    until(lambda: running.in_sync() == 2, "the controller has not seen it")
    running.write()
    error = running.failure()
    cluster.nodes[2].start()
    running.end()
    assert "has 2 of 3 replicas in sync, and min.insync.replicas is 3: start the brokers" in error


def test_a_topic_is_deleted_under_us(cluster, tmp_path, name):
    running = Running(cluster, tmp_path, name)
    for future in running.admin.delete_topics([running.topic]).values():
        future.result()
    running.write()
    error = running.failure()
    running.create()
    running.end(lost=1)
    assert f"the topic {running.topic} is not there any more: create it" in error


def test_a_quota_slows_a_cycle_until_it_fails_and_is_named(cluster, tmp_path, name):
    running = Running(cluster, tmp_path, name)
    entity = ("--entity-type", "clients", "--entity-default")
    cluster.configure(*entity, "--add-config", "producer_byte_rate=2000")  # a broker's, and a file has 200 kB
    try:
        running.write(4)
        error = running.failure()
    finally:
        cluster.configure(*entity, "--delete-config", "producer_byte_rate")
    running.end()
    assert "(a quota, a slow disk or network)" in error


@contextlib.contextmanager
def small_disk(path, megabytes):
    """A file system of so many megabytes at `path`."""
    path.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(made, check=False, capture_output=True).returncode:
        pytest.skip("a small file system needs the right to mount one")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_the_disk_of_the_state_is_full(cluster, tmp_path, name):
    with small_disk(tmp_path / "state", 1):
        running = Running(cluster, tmp_path, name)
        filler = tmp_path / "state" / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        running.write()
        assert running.daemon.wait() == 5, running.daemon.lines[-20:]
        [failed] = running.daemon.events("failed")
        assert "No space left on device" in failed["error"]
        assert "Traceback" not in "\n".join(running.daemon.lines)
        filler.unlink()
        assert Daemon(running.channel, "--once").wait() == 0
        check(kafka_io.read_all(running.servers, [running.topic]), running.files * ROWS_A_FILE)
