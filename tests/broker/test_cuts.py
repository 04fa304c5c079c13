"""The same input cut into any number of files, read on any number of cores, gives the same messages, byte for byte."""

import json
import os
import subprocess
import sys

import pytest

from integrator.sources import stream as source
from tests.bench import rows as bench
from tests.conftest import DATA, ROOT
from tests.parts import channels, kafka_io

CUTS = [1, 7, 50]
SHARED = 4
"""Cores of the shared session."""

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def messages(servers, topics):
    return sorted((m.topic.split(".")[-1], m.key, m.value) for m in kafka_io.read_all(servers, topics))


@pytest.fixture(scope="module")
def whole(broker, integrate_once, tmp_path_factory):
    directory = tmp_path_factory.mktemp("whole")
    broker.create(channels.shop_topics(directory.name))
    channel = channels.shop(directory, broker.servers, directory.name)
    channels.cut(DATA / "changes.wal2json-v2.jsonl", directory / "in", 1)
    integrate_once(channel)
    return messages(broker.servers, channels.shop_topics(directory.name))


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_files_and_cores_make_no_difference(cores, whole, broker, tmp_path, name, integrate_once):
    """Fewer cores than the shared session's four in a process of their own; files begin inside transactions of others."""
    command, environment = [sys.executable, "run.py", "--once"], {**os.environ, "SPARK_MASTER": f"local[{cores}]"}
    for files in CUTS:
        directory, topics = tmp_path / str(files), f"{name}-{files}"
        broker.create(channels.shop_topics(topics))
        channel = channels.shop(directory, broker.servers, topics)
        channel.write_text(channel.read_text().replace("channel: shop", f"channel: shop_{files}"))
        channels.cut(DATA / "changes.wal2json-v2.jsonl", directory / "in", files)
        command += ["--channel", str(channel)]
        if cores == SHARED:
            integrate_once(channel)
    if cores != SHARED:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    for files in CUTS:
        assert messages(broker.servers, channels.shop_topics(f"{name}-{files}")) == whole, files


@pytest.mark.parametrize("files", [7, 50])
def test_cut_and_shuffled(files, whole, broker, tmp_path, name, integrate_once, monkeypatch):
    """The same through several tasks and a shuffle, which so small a cycle would do without."""
    monkeypatch.setattr(source, "ONE_TASK_BYTES", 0)
    broker.create(channels.shop_topics(name))
    channel = channels.shop(tmp_path, broker.servers, name)
    channels.cut(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in", files)
    integrate_once(channel)
    assert messages(broker.servers, channels.shop_topics(name)) == whole
    in_order(broker.servers, channels.shop_topics(name))


@pytest.mark.parametrize("limit", [1, 100_000])
def test_files_in_different_cycles(limit, whole, broker, tmp_path, name, integrate_once):
    """A file that begins in a transaction of the cycle before gets that transaction's position."""
    broker.create(channels.shop_topics(name))
    channel = channels.shop(
        tmp_path, broker.servers, name, more=f"\n  - {{action: Integrate, CycleByteLimit: {limit}}}\n"
    )
    channels.cut(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in", 7 if limit == 1 else 50)
    integrate_once(channel)
    cycles = sorted((tmp_path / "state" / "shop" / "synced").glob("*.json"))
    assert len(cycles) == 7 if limit == 1 else len(cycles) > 7
    assert sum(json.loads(cycle.read_text())["messages"] for cycle in cycles) == len(whole)
    assert messages(broker.servers, channels.shop_topics(name)) == whole
    in_order(broker.servers, channels.shop_topics(name))


def test_i3_a_cycle_of_many_tasks_keeps_each_keys_order(broker, tmp_path, name, integrate_once):
    """40,000 changes of 4,000 keys in files of 1.2 MB: cut into tasks by the usual rule."""
    (tmp_path / "in").mkdir()
    bench.write(tmp_path / "in", 40_000, 8)
    for path in (tmp_path / "in").glob(".c*"):
        lines = path.read_text().splitlines()
        path.write_text(
            "\n".join(line.replace('"id":', '"id":1000', 1) if i % 2 else line for i, line in enumerate(lines))
        )
    bench.publish(tmp_path / "in")
    (tmp_path / "orders.sql").write_text(bench.DDL)
    channel = tmp_path / "channel.yaml"
    channel.write_text(
        channels.shop(tmp_path, broker.servers, name, "hvr")
        .read_text()
        .replace(channels.SHOP_SQL, f"{tmp_path}/orders.sql")
        .replace("Extra: true, TimeKey", "Extra: true, TimeKey")
        + "  - {action: ColumnProperties, Name: zip, DistributionKey: true}\n"
    )
    broker.create([f"{name}.orders"])
    integrate_once(channel)
    assert in_order(broker.servers, [f"{name}.orders"]) == 40_000


def in_order(servers, topics):
    """Every key lies in one partition, its changes growing by integ_seq. Returns the number of messages."""
    seen = {}
    received = kafka_io.read_all(servers, topics)
    for message in received:
        sequence = json.loads(message.value)["payload"]["integ_seq"]
        partition, before = seen.get((message.topic, message.key), (message.partition, ""))
        assert partition == message.partition
        assert before < sequence
        seen[message.topic, message.key] = message.partition, sequence
    return len(received)
