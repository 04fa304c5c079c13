"""I8: with `delivery: exactly_once` a consumer with read_committed sees each change once, whatever is repeated."""

import json
import shutil
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from integrator.contracts.outgoing import Messages
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.deliver.kafka.records import records_of
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.run import cycle as run_cycle
from integrator.run.state import rewind
from integrator.run.state.directory import State
from integrator.run.state.shards import CycleShards
from tests.broker.test_actions import channel
from tests.parts import kafka_io, pure
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def path(broker, tmp_path, name):
    broker.create([name], 4)
    made = channel(tmp_path, broker, name, "{action: Integrate, CycleByteLimit: 0}")
    made.write_text(made.read_text() + "delivery: exactly_once\n")
    return made


def write(tmp_path, number, rows=20):
    records = ({"k": 1000 * number + k, "name": "", "region": "", "n": 0} for k in range(rows))
    pure.hvr(tmp_path / "in", *({**row, "hvr_tx_seq": f"{number + 1}"} for row in records), name=f"{number}.jsonl")


def keys(broker, topic):
    return sorted(json.loads(one.value)["k"] for one in kafka_io.read_all(broker.servers, [topic]))


def ends(broker, topic):
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": "ends"})
    try:
        return [consumer.get_watermark_offsets(TopicPartition(topic, partition))[1] for partition in range(4)]
    finally:
        consumer.close()


def cores(patch, count):
    """Have as many tasks send at once."""
    begin = CycleShards.begin
    patch.setattr(
        CycleShards,
        "begin",
        lambda self, step, after, journal, moment, _: begin(self, step, after, journal, moment, count),
    )


def forget_sync(directory, cycle):
    """What a process leaves that died after Kafka committed the cycle, and before the cycle was marked."""
    for path in (directory / "synced" / f"{cycle}.json", directory / "checkpoint" / "commits" / str(cycle)):
        path.unlink()
    (directory / "checkpoint" / "commits" / f".{cycle}.crc").unlink(missing_ok=True)


def test_a_cycle_that_is_repeated_after_its_commit_is_not_sent_again(path, broker, tmp_path, name, integrate_once):
    state = tmp_path / "state" / "pure"
    for number in range(2):
        write(tmp_path, number)
        integrate_once(path)
    before = ends(broker, name)
    forget_sync(state, 1)
    integrate_once(path)
    assert ends(broker, name) == before
    assert keys(broker, name) == [1000 * number + k for number in range(2) for k in range(20)]
    [_, mark] = rewind.history(State(str(state)))
    assert (mark.cycle, mark.rows, mark.messages) == (1, 20, 20)


def test_several_shards_are_recognized_each(path, broker, tmp_path, name, integrate_once, monkeypatch):
    cores(monkeypatch, 3)
    for number in range(3):
        write(tmp_path, number)

    def dies(*_):
        raise EnvironmentFault("as if the process had died before the cycle was marked")

    with monkeypatch.context() as patch:
        patch.setattr(run_cycle, "check_acknowledged", dies)
        with pytest.raises(EnvironmentFault, match="as if"):
            integrate_once(path)
    assert keys(broker, name) == [1000 * number + k for number in range(3) for k in range(20)]
    before = ends(broker, name)
    integrate_once(path)
    assert ends(broker, name) == before


def test_an_idle_run_writes_nothing(path, broker, tmp_path, name, integrate_once):
    write(tmp_path, 0)
    integrate_once(path)
    before = ends(broker, name)
    integrate_once(path)
    assert ends(broker, name) == before


def test_gone_back_from_cycles_are_sent_again(path, broker, tmp_path, name, integrate_once):
    for number in range(2):
        write(tmp_path, number)
        integrate_once(path)
    rewind.move_back(State(str(tmp_path / "state" / "pure")), 0)
    integrate_once(path)
    assert keys(broker, name) == sorted([*range(20), *range(1000, 1020), *range(1000, 1020)])


def test_an_older_state_directory_with_other_files_is_refused(path, broker, tmp_path, name, integrate_once):
    state = tmp_path / "state"
    write(tmp_path, 0)
    integrate_once(path)
    shutil.copytree(state, tmp_path / "old")
    write(tmp_path, 1)
    integrate_once(path)
    shutil.rmtree(state)
    (tmp_path / "old").rename(state)
    write(tmp_path, 2)
    with pytest.raises(EnvironmentFault, match="the brokers have cycle 1 with other change files"):
        integrate_once(path)
    (state / "pure" / "shards.json").unlink()  # the remedy that the error names
    integrate_once(path)
    assert keys(broker, name) == sorted([*range(20), *range(1000, 1020), *range(1000, 1020), *range(2000, 2020)])


def test_a_copy_of_the_state_from_before_later_cycles_is_refused(path, broker, tmp_path, name, integrate_once):
    state = tmp_path / "state"
    write(tmp_path, 0)
    integrate_once(path)
    shutil.copytree(state, tmp_path / "old")
    for number in (1, 2):
        write(tmp_path, number)
        integrate_once(path)
    shutil.rmtree(state)
    (tmp_path / "old").rename(state)
    with pytest.raises(EnvironmentFault, match="cycle 1: the brokers have cycle 2"):
        integrate_once(path)
    assert keys(broker, name) == [1000 * number + k for number in range(3) for k in range(20)]


def test_a_copy_of_the_state_from_before_it_was_gone_back_is_refused(path, broker, tmp_path, name, integrate_once):
    state = tmp_path / "state"
    for number in range(2):
        write(tmp_path, number)
        integrate_once(path)
    shutil.copytree(state, tmp_path / "old")
    rewind.move_back(State(str(state / "pure")), 0)
    integrate_once(path)
    shutil.rmtree(state)
    (tmp_path / "old").rename(state)
    write(tmp_path, 2)
    with pytest.raises(EnvironmentFault, match="that one was moved back, or a backup was imported into it"):
        integrate_once(path)


def test_i10_a_copy_from_after_it_was_moved_back_is_refused_and_has_sent_nothing(
    path, broker, tmp_path, name, integrate_once, monkeypatch
):
    """Its files are others, in more shards, so that some could be committed before it is refused."""
    state = tmp_path / "state"
    write(tmp_path, 0)
    integrate_once(path)
    rewind.move_back(State(str(state / "pure")), 0)
    shutil.copytree(state, tmp_path / "copy")
    for number in (1, 2):
        write(tmp_path, number)
        integrate_once(path)
    sent = keys(broker, name)
    state.rename(tmp_path / "newest")
    (tmp_path / "copy").rename(state)
    for number in (3, 4, 5):
        write(tmp_path, number)
    with monkeypatch.context() as patch:
        cores(patch, 4)
        with pytest.raises(EnvironmentFault, match=r"the brokers have cycle 2.*use the newest one"):
            integrate_once(path)
    assert keys(broker, name) == sent
    state.rename(tmp_path / "older")
    (tmp_path / "newest").rename(state)  # the remedy that the error names
    integrate_once(path)
    assert keys(broker, name) == [1000 * number + k for number in range(6) for k in range(20)]


def test_a_cycle_that_was_begun_is_not_repeated_by_another_recipe(path, broker, tmp_path, name, integrate_once):
    write(tmp_path, 0)
    integrate_once(path)
    forget_sync(tmp_path / "state" / "pure", 0)
    text = path.read_text()
    more = "actions:\n  - {action: ColumnProperties, Name: x, Extra: true, Datatype: integer, IntegrateExpression: '1'}"
    path.write_text(text.replace("actions:", more))
    with pytest.raises(ConfigurationError, match="cycle 0 was begun with another definition of the channel"):
        integrate_once(path)
    path.write_text(text)
    integrate_once(path)
    assert keys(broker, name) == [*range(20)]


def _note(failed, *what):
    failed.append(what)


@pytest.mark.parametrize("partitions", [1, 3])
def test_messages_name_their_partitions_before_a_new_client_knows_the_topic(partitions, broker, name):
    """As with bundles that have no keys, and MessagePartition: librdkafka added partition -1 to the transaction."""
    values = pa.array([str(number).encode() for number in range(6)], pa.binary())
    given = np.arange(6) % partitions
    for number in range(4):
        topic, failed = f"{name}.{number}", []
        broker.create([topic], partitions)
        noted = partial(_note, failed)
        messages = Messages([(topic, 6)], pa.nulls(6, pa.binary()), values, None, np.ones(6, np.int64), given)
        properties = {"bootstrap.servers": broker.servers, "transactional.id": topic, "message.timeout.ms": "20000"}
        client = ProducerClient(properties, noted, noted)
        try:
            assert (client.init_transactions(30), client.begin_transaction()) == ("", "")
            assert client.produce(topic, records_of(messages)) == (6, "")
            assert client.flush(30) == 0
            assert client.commit_transaction(30) == ""
        finally:
            client.close()
        assert failed == []

        def found(topic=topic):
            return {message.value: message.partition for message in kafka_io.read_all(broker.servers, [topic])}

        until(lambda: len(found()) == 6)  # the brokers write a transaction's marker after they have answered
        assert found() == {str(number).encode(): number % partitions for number in range(6)}
