"""What is kept between cycles."""

import dataclasses

import pytest

from integrator.contracts.fragments import Checkpoint, to_deferred
from integrator.contracts.recipe import Send, Tolerance
from integrator.errors import ConfigurationError
from integrator.run.state import rewind
from integrator.run.state.directory import State
from integrator.run.state.sync import Cycle
from tests.parts import pure

DDL = "create table t(k int primary key, v text);"


def marked(directory, deferred):
    state = State(str(directory / "state"))
    (state.path / "synced").mkdir(parents=True)
    recipe = pure.tables(directory, DDL, [], kafka=", Kafka_Message_Bundling: TRANSACTION")
    sent, _ = pure.fragments(recipe, pure.hvr(directory, {"k": 1, "v": "a"}))
    checkpoint = Checkpoint(1, deferred=to_deferred(sent.to_batches()) if deferred else b"")
    state.mark(Cycle(0, 1, 1, 1, 1, None, {}, {}, checkpoint), recipe.fingerprint)
    return state, recipe, checkpoint


def test_rows_that_wait_are_those_that_were_written(tmp_path):
    state, recipe, checkpoint = marked(tmp_path, deferred=True)
    assert state.checkpoint(1, recipe.fingerprint) == checkpoint


OTHERS = [
    "{action: ColumnProperties, Name: v, Absent: true}",
    "{action: FileFormat, Csv: true}",
    "{action: Integrate, Topic: other}",
]


@pytest.mark.parametrize("other", OTHERS)
def test_rows_that_wait_are_not_put_into_messages_of_another_make(other, tmp_path):
    state, recipe, _ = marked(tmp_path, deferred=True)
    base = [] if "FileFormat" in other else [pure.PLAIN]
    text = "".join(f"  - {said}\n" for said in (*base, other))
    changed = pure.recipe(tmp_path, DDL, text, kafka=", Kafka_Message_Bundling: TRANSACTION")
    assert changed.fingerprint != recipe.fingerprint
    with pytest.raises(ConfigurationError) as raised:
        state.checkpoint(1, changed.fingerprint)
    assert "0.held: deferred rows of an unfinished transaction were encoded by" in str(raised.value)


def test_a_channel_may_change_where_nothing_waits(tmp_path):
    state, _, checkpoint = marked(tmp_path, deferred=False)
    assert state.checkpoint(1, "another") == checkpoint


def test_the_fingerprint_knows_no_broker(tmp_path):
    recipe = pure.tables(tmp_path, DDL, [])
    assert dataclasses.replace(recipe, send=Send(rate_limit=5)).fingerprint == recipe.fingerprint


def test_the_fingerprint_is_the_same_when_the_states_identity_was_lost(tmp_path):
    made = pure.recipe(tmp_path, "create table t(id int primary key);")
    assert made.of_state("a") != made.of_state("b")
    assert made.of_state("a").fingerprint == made.of_state("b").fingerprint == made.fingerprint


def test_a_damaged_mark_is_told_by_name(tmp_path):
    state, _, _ = marked(tmp_path, deferred=False)
    (state.path / "synced" / "0.json").write_text("{}")
    [said] = rewind.history(state)
    assert "synced/0.json: the mark of a synced cycle cannot be read" in str(said)


TOLERANCES = [
    # another tolerance, the one before it, whether messages may be others
    (Tolerance(logged="lines"), Tolerance(), False),
    (Tolerance(rejects=True, topic="dead", most=(1, 10)), Tolerance(rejects=True, topic="dead"), False),
    (Tolerance(rejects=True, topic="dead", logged="messages"), Tolerance(rejects=True, topic="dead"), False),
    (Tolerance(rejects=True), Tolerance(), True),
    (Tolerance(rejects=True, topic="dead"), Tolerance(rejects=True), True),
    (Tolerance(rejects=True, topic="dead", headers=False), Tolerance(rejects=True, topic="dead"), True),
]


@pytest.mark.parametrize(("after", "before", "others"), TOLERANCES)
def test_the_fingerprint_knows_of_tolerance_what_changes_messages(after, before, others, tmp_path):
    """A change of the threshold or of the log refused rows that waited."""
    recipe = pure.tables(tmp_path, DDL, [])
    made = [dataclasses.replace(recipe, tolerance=one).fingerprint for one in (before, after)]
    assert (made[0] != made[1]) == others


def test_a_damaged_mark_is_none_that_the_journal_is_kept_for(tmp_path):
    """No cycle can be gone back to by it, and the channel does not need it: it continues."""
    state, _, checkpoint = marked(tmp_path, deferred=False)
    for number in (1, 2):
        after = dataclasses.replace(checkpoint, ordinal=number + 1)
        state.mark(Cycle(number, 1, 1, 1, 1, None, {}, {}, after), "recipe")
    assert state.compactable() == 1
    (state.path / "synced" / "0.json").write_bytes(b"")
    assert state.compactable() == 2
    (state.path / "synced" / "1.json").write_bytes(b"")
    assert state.compactable() == 0
