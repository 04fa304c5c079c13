"""What the explorer has found, each as one schedule: it failed before it was mended."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from integrator.contracts.recipe import Send
from integrator.contracts.shards import CycleRecord, Shards
from integrator.deliver.kafka import cycle_records, producer, transaction
from integrator.deliver.kafka.begun_cycles import BegunCycles
from integrator.deliver.kafka.sender_lock import Senders, begin_turn
from integrator.deliver.kafka.transaction import Transaction
from integrator.errors import BegunOtherwise, DeliveryError, EnvironmentFault
from integrator.resolved import topic as resolved_topic
from integrator.resolved.topic import ResolvedTopic
from integrator.run.state import shards
from integrator.sources.capture import marks, stream
from tests.model import process
from tests.model.explore import explore
from tests.model.in_memory import installed
from tests.model.kafka import Broker, Client, Consumer, Faults, Kafka
from tests.model.process import Row, Scene
from tests.model.scenarios import SCENARIOS

SEND = Send(exactly_once=True, producer={"bootstrap.servers": "memory"})
FIRST = CycleRecord("g1", 7, 0, "files", "one definition", 2, 0, "t", 2)


class Straight(Kafka):
    """A broker without a schedule. before: what happens before a call whose label begins so, once. slow: it takes 0.1 s."""

    def __init__(self) -> None:
        self.before, self.slow, self.clock = {}, "", 0.0
        sender = SimpleNamespace(process=SimpleNamespace(cycle=7, record=FIRST), record=FIRST, attempt=None)
        world = SimpleNamespace(step=self.step, now=sender)
        super().__init__(world, Broker(verifies=True), Faults())

    def step(self, label):
        for begin in [begin for begin in self.before if label.startswith(begin)]:
            self.before.pop(begin)()

    def call(self, label, request, **_):
        self.step(label)
        if self.slow and label.startswith(self.slow):
            self.clock += 0.1
        return super().call(label, request)

    def monotonic(self):
        return self.clock

    def committed_rows(self):
        return [entry.value for entry in self.broker.log if entry.state == "committed"]


@pytest.fixture
def kafka(monkeypatch):
    made = Straight()
    monkeypatch.setattr(producer, "ProducerClient", lambda properties, *_: Client(made, properties))
    monkeypatch.setattr(cycle_records, "Consumer", lambda properties: Consumer(made, properties))
    monkeypatch.setattr(cycle_records, "client_settings", lambda _: {})
    monkeypatch.setattr(cycle_records, "client_properties", lambda _: {})
    for module in (transaction, producer):
        monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(transaction, "_PRODUCERS", {})
    return made


def begin(record, after=None):
    return BegunCycles(SEND, "ch", ["t"]).begin(record, after or (record.cycle - 1, 0))


def task(record, shard=0):
    """A task of a process of its own, which has taken over its shard and sent a row."""
    transaction._PRODUCERS = {}
    made = Transaction(SEND, Shards("ch", "stream", record, exactly_once=True), shard)
    made.producer.begin()
    assert made.producer.client.produce("t", _records(f"row of {record.recipe}"))[0] == 1
    return made


def _records(text):
    from integrator.deliver.kafka.records import records_of

    row = Row(1, text)
    _KEPT.append(row.messages)  # its addresses are in the records
    return records_of(row.messages)


_KEPT = []


def changed(record, **values):
    return CycleRecord(**{**vars(record), **values})


def test_i8_a_shard_that_commits_while_the_definition_changes_is_seen(kafka):
    """The shard was looked at, and it committed before the new record was there: a part of each definition was sent."""
    begin(FIRST)
    earlier = task(FIRST)
    kafka.before["add group"] = earlier.commit  # of the claim
    with pytest.raises(BegunOtherwise):
        begin(changed(FIRST, recipe="another"))
    assert begin(FIRST) == FIRST
    assert kafka.committed_rows() == ["row of one definition"]


def test_i8_a_shard_that_begins_while_the_definition_changes_sends_nothing(kafka):
    begin(FIRST)
    kafka.before["init by ch-0"] = lambda: _refused(lambda: task(FIRST, shard=1))
    other = begin(changed(FIRST, recipe="another"))
    assert other.recipe == "another"
    task(other).commit()
    assert kafka.committed_rows() == ["row of another"]


def test_i8_sub_cycles_that_a_copy_of_the_state_has_sent_are_seen(kafka):
    """The next cycle of this state would have their rows again."""
    begin(FIRST)
    first = begin(changed(FIRST, part=1), after=FIRST.step)
    task(first).commit()
    assert begin(changed(FIRST, part=1, count=3, widest=3), after=FIRST.step) == first
    with pytest.raises(EnvironmentFault, match="the brokers have more of cycle 7 than this state knows"):
        begin(changed(FIRST, cycle=8), after=FIRST.step)
    assert begin(changed(FIRST, cycle=8), after=first.step).step == (8, 0)


def test_i8_shards_of_a_wider_try_are_looked_at(kafka):
    """A try on more cores had shards that the one before it had not."""
    begin(FIRST)
    wide = begin(changed(FIRST, recipe="another", count=5, widest=5))
    narrow = begin(changed(FIRST, recipe="a third", count=1, widest=1))
    assert (wide.widest, narrow.widest) == (5, 5)
    again = begin(changed(FIRST, recipe="another", count=5, widest=5))
    task(again, shard=4).commit()
    with pytest.raises(BegunOtherwise):
        begin(changed(FIRST, recipe="a third", count=1, widest=1))


def _refused(action):
    with pytest.raises((DeliveryError, EnvironmentFault)):
        action()


@pytest.mark.parametrize("slow", ["commit", "offset"])
def test_i8_a_producer_that_may_have_repeated_a_request_sends_nothing_more(kafka, slow):
    """KAFKA-17754: a late EndTxn ended the next transaction of the same epoch half way."""
    begin(FIRST)
    first = task(FIRST)
    kafka.slow = slow
    first.commit()
    assert first.producer.may_be_repeated
    assert not transaction._PRODUCERS
    kafka.slow = ""
    second = task(FIRST, shard=1)
    second.commit()
    assert list(transaction._PRODUCERS) == ["ch-1"]


@pytest.mark.parametrize("moment", ["init by ch", "init by ch-1"])
def test_i8_a_claim_that_may_be_repeated_is_not_written_over_the_cycle_of_another_process(kafka, moment):
    """The id was given up after the claim and taken over again before the record: another process had sent between."""
    begin(FIRST)

    def other():
        kafka.slow = ""
        task(begin(FIRST)).commit()

    kafka.slow = "commit"
    kafka.before["commit"] = lambda: kafka.before.update({moment: other})
    _refused(lambda: begin(changed(FIRST, recipe="another")))
    assert kafka.committed_rows() == ["row of one definition"]
    _refused(lambda: task(changed(FIRST, recipe="another"), shard=1))
    assert begin(FIRST) == FIRST


def test_a_request_is_repeated_when_the_client_says_so():
    assert transaction._sent_once_s({}) == pytest.approx(0.08)
    assert transaction._sent_once_s({"retry.backoff.ms": "500"}) == pytest.approx(0.4)
    assert transaction._sent_once_s({"retry.backoff.ms": "5000"}) == pytest.approx(0.8)


def test_i10_a_copy_that_was_moved_back_is_older_than_what_was_sent_since(kafka):
    """A flag in the state said that other generations do not count, and outlived the first cycle of its own."""
    moved_back = changed(FIRST, generation="g2", cycle=0)
    begin(FIRST)
    begin(moved_back)
    task(moved_back).commit()
    begin(changed(moved_back, cycle=1))
    for copied in (moved_back, FIRST, changed(moved_back, cycle=1, journal="others")):
        with pytest.raises(EnvironmentFault):
            begin(copied)
    begin(changed(FIRST, generation="g3", cycle=0))
    with pytest.raises(EnvironmentFault, match="of a newer state directory"):
        begin(changed(moved_back, cycle=2))


def test_i3_a_refresh_holds_tasks_of_a_killed_process(kafka):
    """They committed older rows after those of the refresh."""
    begin(FIRST)
    earlier = task(FIRST)
    cycles = BegunCycles(SEND, "ch", ["t"])
    cycles.hold()
    _refused(earlier.commit)
    _refused(lambda: task(FIRST))
    assert begin(FIRST) == FIRST
    task(FIRST).commit()
    assert kafka.committed_rows() == ["row of one definition"]


def test_i3_a_task_of_an_earlier_try_that_was_not_waited_for_sends_nothing(tmp_path):
    """At least once: it took the lock after its successor had waited, and sent older rows after newer ones."""
    (tmp_path / "senders").touch()
    earlier = Senders.now(tmp_path)
    begin_turn(tmp_path / "senders", 0)
    with pytest.raises(DeliveryError), earlier.sending():
        pass


def test_generations_ascend_though_the_clock_is_set_back(tmp_path):
    first = shards.known(tmp_path, "ch")
    future = "2999-01-01T00:00:00.000000+00:00 aa"
    shards._write(tmp_path, shards.ShardSettings(first.name, future))
    shards.renew_generation(tmp_path)
    found = shards.read(tmp_path)
    assert found is not None
    assert found.generation > future > first.generation


def _broken_by(name, schedules):
    with installed():
        found = explore(SCENARIOS[name], range(schedules), most_broken=1)
    return [reason for _, outcome in found.broken for reason in outcome.broken]


def test_i12_a_resolved_message_before_its_cycle_is_synced_is_found(monkeypatch):
    def of_scene(self, world, slices, made=Scene.__init__):
        made(self, world, slices)
        self.reached_by = lambda _: self.visible

    monkeypatch.setattr(Scene, "__init__", of_scene)
    assert any("comes after" in reason for reason in _broken_by("resolved", 60))


def test_i12_a_process_that_does_not_look_at_what_was_said_is_found(monkeypatch):
    """A state that was moved back says less than was said."""
    monkeypatch.setattr(ResolvedTopic, "_read", lambda _: None)
    assert any("goes back" in reason for reason in _broken_by("resolved, and gone back", 300))


@pytest.mark.parametrize("transactional_id", ["ch-resolved", None])
def test_i12_a_process_that_another_one_took_over_from_says_nothing_more(kafka, monkeypatch, transactional_id):
    """Without transactions nothing fences it."""
    there = lambda *_: process.read_resolved(SimpleNamespace(world=kafka, broker=kafka.broker), "t.resolved")  # noqa: E731
    monkeypatch.setattr(resolved_topic, "each_read_back", there)
    first = ResolvedTopic(SEND, "t.resolved", "ch", transactional_id)
    second = ResolvedTopic(SEND, "t.resolved", "ch", transactional_id)
    second.send(b"2")
    if transactional_id is None:
        first.send(b"1")
    else:
        _refused(lambda: first.send(b"1"))
    assert [one.value for one in kafka.broker.log] == (["2", "1"] if transactional_id is None else ["2"])
    assert ResolvedTopic(SEND, "t.resolved", "ch", transactional_id).last == kafka.broker.log[-1].value.encode()


def test_i9_durable_rows_that_are_not_recorded_are_found(monkeypatch):
    """Of a table that is read by range: a kill among the changes that follow would have it read again."""
    noted = stream.note_durable

    def forgotten(spool, reading):
        noted(spool, reading)
        return False

    monkeypatch.setattr(stream, "note_durable", forgotten)
    assert any("is not read again" in reason for reason in _broken_by("ranges of a quiet binlog", 400))


def test_i12_a_mark_of_a_table_whose_rows_are_not_read_is_found(monkeypatch):
    monkeypatch.setattr(marks, "_unread", lambda *_: frozenset())
    assert any("resolved: " in reason for reason in _broken_by("ranges", 200))


def test_i12_a_mark_before_all_is_sealed_is_found(monkeypatch):
    marked = stream.SpoolingStream._note

    def early(self, seen=0):
        self._intake.end += 16
        try:
            marked(self, seen)
        finally:
            self._intake.end -= 16

    monkeypatch.setattr(stream.SpoolingStream, "_note", early)
    assert any("resolved: " in reason for reason in _broken_by("capture", 200))
