"""MessageTimestamp and MessagePartition at a real broker: what arrives, in which order, and what topics refuse."""

import datetime
import json
import random
import shutil

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from integrator.errors import DataError
from tests.parts import kafka_io, pure

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

DDL = "create table t(id int primary key, region int, n int);"
PARTITIONS = 6
FILES, ROWS = 8, 200
COMMIT = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) - datetime.timedelta(hours=2)
"""Not long ago: a topic deletes what is older than its retention.ms."""


def channel(directory, broker, topic, integrate, *actions, more=""):
    """A channel over files of the hvr dialect in `directory`/in."""
    (directory / "in").mkdir(exist_ok=True)
    said = (pure.PLAIN, f"{{action: Integrate, MessageKey: '{{id}}', {integrate}}}", *actions)
    text = "".join(f"  - {action}\n" for action in said)
    pure.recipe(directory, DDL, text, kafka=f', Kafka_Default_Topic: "{topic}"')
    path = directory / "channel.yaml"
    written = path.read_text().replace("Kafka_Brokers: [localhost]", f'Kafka_Brokers: ["{broker.servers}"]')
    path.write_text(written.replace("channel: pure", f"channel: pure\nstate: {directory}/state") + more)
    return path


def write(directory, files=FILES):
    """Changes of a few keys, each in any region, over several files; return of each its commit in milliseconds."""
    chance, commits = random.Random(7), []
    for file in range(files):
        records = []
        for place in range(ROWS):
            number = file * ROWS + place
            commit = COMMIT + datetime.timedelta(milliseconds=number * 17)
            commits.append(round(commit.timestamp() * 1000))
            row = {"id": chance.randrange(50), "region": chance.randrange(PARTITIONS), "n": number}
            moment = commit.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            records.append({**row, "hvr_tx_seq": f"{number + 1:X}", "hvr_cap_tstamp": moment, "hvr_op": 1})
        pure.hvr(directory / "in", *records, name=f"{file}.jsonl")
    return commits


def set_topic(broker, topic, name, value):
    client = AdminClient({"bootstrap.servers": broker.servers})
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    client.incremental_alter_configs([resource])[resource].result(10)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_rows_of_a_partition_are_in_order_and_a_repeat_is_the_same(
    delivery, real_broker, integrate_once, name, tmp_path
):
    """I2, I3: the channel's files are sent twice, from states of their own."""
    topics = [f"{name}.first", f"{name}.second"]
    real_broker.create(topics, PARTITIONS)
    integrate = "MessagePartition: '{region}', MessageTimestamp: '{hvr_cap_tstamp}', MessageHeaders: 'n={n}'"
    for topic in topics:
        directory = tmp_path / topic
        directory.mkdir()
        path = channel(directory, real_broker, topic, integrate, more=f"delivery: {delivery}\n")
        commits = write(directory)
        integrate_once(path)
    received = [kafka_io.read_all(real_broker.servers, [topic]) for topic in topics]
    for one in received[0]:
        row = json.loads(one.value)
        assert (one.partition, one.timestamp) == (row["region"], commits[row["n"]])
        assert one.headers == (("n", str(row["n"]).encode()),)
    assert sorted(json.loads(one.value)["n"] for one in received[0]) == list(range(FILES * ROWS))
    for partition in range(PARTITIONS):
        numbers = [json.loads(one.value)["n"] for one in received[0] if one.partition == partition]
        assert numbers == sorted(numbers)
    first, second = [
        [(one.partition, one.key, one.value, one.headers, one.timestamp) for one in messages] for messages in received
    ]
    assert first == second


def test_a_partition_that_the_topic_does_not_have_is_an_error_of_the_row(real_broker, integrate_once, name, tmp_path):
    real_broker.create([name], PARTITIONS - 2)
    path = channel(tmp_path, real_broker, name, "MessagePartition: '{region}'")
    write(tmp_path, files=1)
    with pytest.raises(
        DataError, match=rf"table t, MessagePartition: [45] is no partition: the topic {name} has 0 to 3"
    ):
        integrate_once(path)
    assert kafka_io.read_all(real_broker.servers, [name]) == []


def test_check_and_errors_say_what_topics_do_with_timestamps(real_broker, integrate_once, command, name, tmp_path):
    real_broker.create([name], PARTITIONS)
    path = channel(tmp_path, real_broker, name, "MessageTimestamp: '{hvr_cap_tstamp}'")
    write(tmp_path, files=1)
    set_topic(real_broker, name, "message.timestamp.before.max.ms", "60000")
    said = command("check", "--channel", path, "--connect")
    limited = f"{name}: refuses messages whose MessageTimestamp is further from the brokers' clock than"
    assert f"{limited} message.timestamp.before.max.ms, 60 seconds" in said.out, said
    assert f"{limited} message.timestamp.after.max.ms, 3,600 seconds" in said.out
    with pytest.raises(DataError, match="MessageTimestamp must be within message"):
        integrate_once(path)
    shutil.rmtree(tmp_path / "state")
    set_topic(real_broker, name, "message.timestamp.type", "LogAppendTime")
    said = command("check", "--channel", path, "--connect")
    assert f"{name}: gives messages timestamps of its own (message.timestamp.type=LogAppendTime)" in said.out
    integrate_once(path)
    now = datetime.datetime.now(datetime.timezone.utc).timestamp() * 1000
    assert all(abs(one.timestamp - now) < 600_000 for one in kafka_io.read_all(real_broker.servers, [name]))
