"""The table of failures in docs/operations/errors.md, failure by failure: what the daemon does, what it logs, and how it continues."""

import contextlib
import time
import uuid

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from tests.bench import rows as table
from tests.faults.kill_minus_nine import ROWS_A_FILE, check, write_changes
from tests.parts import brokers, channels, kafka_io
from tests.parts.daemon import Daemon, none_left
from tests.parts.disks import small_disk
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

    def __init__(self, cluster, directory, name):
        self.servers, self.topic, self.files, self.inbox = cluster.servers, f"{name}.orders", 0, directory / "in"
        self.first = 0
        """The first file whose changes the topic has."""
        self.admin = AdminClient({"bootstrap.servers": cluster.servers})
        self.create()
        (directory / "orders.sql").write_text(table.DDL)
        channel = channels.shop(directory, cluster.servers.replace(",", '", "'), name, "hvr")
        text = channel.read_text().replace(channels.SHOP_SQL, f"{directory}/orders.sql")
        text = text.replace('Value: "20"', 'Value: "4"')
        channel.write_text(f"{text}restart: {{tries: 100, first_seconds: 0.5, most_seconds: 2}}\n")
        self.channel = channel
        self.daemon = Daemon(channel)
        self.daemon.wait_for("integrating")
        self.write()
        self.daemon.wait_for("cycle synced")

    def create(self):
        new = NewTopic(self.topic, 6, 3, config={"min.insync.replicas": "2"})
        for future in self.admin.create_topics([new]).values():
            future.result()

    def need_in_sync(self, count):
        """Have the topic take messages only while so many replicas are in sync."""
        entry = ConfigEntry("min.insync.replicas", str(count), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, self.topic, incremental_configs=[entry])
        for changed in self.admin.incremental_alter_configs([resource]).values():
            changed.result()

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

    def check(self):
        """All is synced, and the topic has every change but those that went with an earlier topic of its name."""
        self.daemon.wait_for_rows(self.files * ROWS_A_FILE)
        check(kafka_io.read_all(self.servers, [self.topic]), (self.files - self.first) * ROWS_A_FILE)


@pytest.fixture(scope="module")
def running(cluster, tmp_path_factory):
    """One daemon, which outlives each of these failures."""
    begun = Running(cluster, tmp_path_factory.mktemp("failures"), f"t{uuid.uuid4().hex[:10]}")
    with none_left():
        yield begun
        assert begun.daemon.terminate() == 0, begun.daemon.lines[-20:]


def test_one_of_three_brokers_away_and_back(cluster, running):
    for node in cluster.nodes:  # each leads some of the partitions
        running.write()
        node.stop()
        running.write()
        time.sleep(2)
        node.start()
    running.check()


def test_too_few_replicas_in_sync(cluster, running):
    until(lambda: running.in_sync() == 3)
    running.need_in_sync(3)
    cluster.nodes[2].stop()
    until(lambda: running.in_sync() == 2, "the controller has not seen it")
    running.write()
    error = running.failure()
    cluster.nodes[2].start()
    running.check()
    running.need_in_sync(2)
    assert "has 2 of 3 replicas in sync, and min.insync.replicas is 3: start the brokers" in error


def test_a_topic_is_deleted_under_us(running):
    for future in running.admin.delete_topics([running.topic]).values():
        future.result()
    running.first = running.files
    running.write()
    error = running.failure()
    running.create()
    running.check()
    assert f"the topic {running.topic} is not there any more: create it" in error


def test_a_quota_slows_a_cycle_until_it_fails_and_is_named(cluster, running):
    entity = ("--entity-type", "clients", "--entity-default")
    cluster.configure(*entity, "--add-config", "producer_byte_rate=2000")  # a broker's, and a file has 200 kB
    try:
        running.write(4)
        error = running.failure()
    finally:
        cluster.configure(*entity, "--delete-config", "producer_byte_rate")
    running.check()
    assert "(a quota, a slow disk or network)" in error


def test_the_disk_of_the_state_is_full(cluster, tmp_path, name, integrate_once):
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
        integrate_once(running.channel)
        check(kafka_io.read_all(running.servers, [running.topic]), running.files * ROWS_A_FILE)
