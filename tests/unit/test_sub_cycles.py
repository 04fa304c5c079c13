"""Sub-cycles: what they are made of is durable before it is sent, and their cycle's mark has them."""

import json
import pickle
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from integrator.contracts.fragments import Checkpoint
from integrator.durable import Damaged
from integrator.run import gate
from integrator.run.state import consistency
from integrator.run.state.marks import CycleMarks
from integrator.run.state.sync import Cycle
from integrator.run.sub_cycles import Limits, SubCycles
from integrator.sources import stream
from integrator.sources.contract import Feed
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import ALL, Slice
from integrator.sources.spool import LINES, Segments, Spool, segments
from tests.parts import states

CYCLES = 4
LAST = CYCLES * states.FILES


A_MINUTE = Limits(60.0)


class Fed(Feed):
    """Has slices that wait."""

    def __init__(self, *slices, comes=None):
        self.slices, self.waited, self._comes = list(slices), 0, comes

    def waiting(self):
        return self.slices

    def wait(self, seconds):
        self.waited += 1
        if self._comes is not None and self.waited == 3:
            self.slices.append(self._comes)


def of(number, size=100):
    return Slice(f"/spool/{number:012d}.a.{number}.jsonl", size, 1)


@pytest.fixture
def state(tmp_path):
    made = states.of_cycles(tmp_path / "state", CYCLES)
    consistency.check(made)
    return made


class Gated:
    """Ends when the feed was waited for so often."""

    def __init__(self, feed, waits):
        self._feed, self._waits, self.is_resting = feed, waits, False

    def rest(self):
        self.is_resting = True

    def wake(self):
        self.is_resting = False

    @property
    def is_ending(self):
        return self._feed.waited >= self._waits


def sub_cycles(state, feed, waits=1, limits=A_MINUTE):
    listing = Segments(str(state.path / "spool"), LINES.pattern, (), "name")
    return SubCycles(state, _Unnumbered(listing), feed, limits, Gated(feed, waits))


class _Unnumbered:
    """The listing of a spool, whose first segments have other numbers than the journal's files."""

    number_of = None

    def __init__(self, listing):
        self.stream_of, self.together = listing.stream_of, listing.together


def test_i2_slices_and_moment_are_durable_before_they_are_sent(state):
    feed, synced = Fed(of(1), of(2)), [LAST]
    found = sub_cycles(state, feed)
    for one in found.each(LAST):
        again = Journal(state.journal, one.end)
        assert [entry.path for _, entry in again.between(LAST, one.end)] == [of(1).path, of(2).path]
        assert one.rows["ordinal"].to_pylist() == [LAST + 1, LAST + 2]
        assert one.rows["group"].to_pylist() == [LAST + 1, LAST + 1]
        left = found.left(LAST)
        assert (left.rows, left.end, left.moment) == (one.rows, one.end, one.moment)
        synced[0] = one.end
    assert synced == [LAST + 2]
    assert found.left(synced[0]) is None  # it is synced


def test_what_waits_long_is_for_a_spark_job(state):
    found = sub_cycles(state, Fed(of(1, stream.ONE_TASK_BYTES), of(2)))
    assert list(found.each(LAST)) == []
    assert len(Journal(state.journal)) == LAST


def test_what_must_be_listed_is_for_a_spark_job(state):
    """Files and topics: their cycles follow one another at once."""
    found = SubCycles(state, None, Feed(), Limits(60.0), None)
    assert not found.are_possible
    assert list(found.each(LAST)) == []


def test_without_seconds_there_are_none(state):
    assert list(sub_cycles(state, Fed(of(1)), limits=Limits(0.0)).each(LAST)) == []


def test_a_cycle_that_has_nothing_to_send_continues(state):
    """What comes after hours waits for no Spark job; meanwhile nothing is overdue."""
    feed, synced = Fed(comes=of(1)), [LAST]
    found, resting = sub_cycles(state, feed, 5, Limits(1e-9)), []
    gate = found._gate
    for one in found.each(LAST):
        resting.append(gate.is_resting)
        synced[0] = one.end
    assert (synced, resting, feed.waited, gate.is_resting) == ([LAST + 1], [False], 3, False)


def test_what_is_more_than_a_cycle_may_have_is_for_a_cycle(state):
    assert list(sub_cycles(state, Fed(of(1), of(2)), limits=Limits(60.0, 199)).each(LAST)) == []


def test_a_damaged_record_is_refused(state):
    state.sub_cycle.write_text('{"after": 8')
    with pytest.raises(Damaged, match=r"sub_cycle\.json: is no sub-cycle that was begun"):
        sub_cycles(state, Fed()).left(LAST)


def test_a_mark_has_its_sub_cycles_and_belongs_to_sparks_checkpoint(state):
    Journal(state.journal).take([of(1), of(2)])
    before = state.marks.read(CYCLES - 1)
    for number in (1, 2):
        done = Cycle(CYCLES - 1, 1, 10, 11, 12, None, {}, {}, Checkpoint(LAST + number), deferred=0)
        state.mark_more(done, "recipe")
    mark = state.last_mark()
    assert (mark.planned, mark.last_slice, mark.begins_after) == (LAST, LAST + 2, before.begins_after)
    assert (mark.files, mark.rows, mark.messages) == (before.files + 2, before.rows + 20, before.messages + 22)
    assert len(consistency.check(state)) == LAST + 2
    assert state.last_slice() == LAST + 2
    consistency.check_whole(state, CYCLES - 1)


def test_slices_that_spark_plans_again_are_not_compacted(state):
    """It plans those of sub-cycles in the next cycle."""
    Journal(state.journal).take([of(1)])
    first, *_ = state.marks.cycles()
    state.marks.add(
        Cycle(first, 1, 1, 1, 1, None, {}, {}, Checkpoint(states.FILES + 1)), "recipe", state.digest(states.FILES + 1)
    )
    assert state.compactable() == states.FILES


def test_sparks_process_sees_what_sub_cycles_add_to_the_journal(state):
    reader = stream._Reader(
        pickle.dumps(_Listing()),
        {"journal": str(state.journal), "bytes": "0", "one_task_bytes": "1", "shuffling_cores": "4"},
    )
    start = {"slices": LAST}
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) == start
    Journal(state.journal).take([of(1)])
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) == {"slices": LAST + 1}


class _Listing:
    number_of = None
    together = staticmethod(len)

    def modified(self):
        return None

    def slices(self, _ends=(), _limit=ALL):
        return []


def test_a_spool_says_which_segments_wait(tmp_path):
    spool = Spool(tmp_path / "spool")
    writer = spool.writer("a")
    for _ in range(3):
        writer.write(b"{}\n")
        writer.seal()
    assert spool.waiting() == segments(str(tmp_path / "spool")).slices()
    first, *others = spool.waiting()
    spool.synced([first.path.rpartition("/")[2]])
    assert spool.waiting() == others
    assert spool.waiting_bytes == sum(one.size for one in others)
    spool.close()
    assert Spool(tmp_path / "spool").waiting() == [first, *others]


def test_a_record_has_its_moment(state):
    moment = datetime(2026, 1, 2, 3, 4, 5, 678, timezone.utc)
    Journal(state.journal).take([of(1)])
    state.sub_cycle.write_text(json.dumps({"after": LAST, "end": LAST + 1, "moment": moment.isoformat()}))
    assert sub_cycles(state, Fed()).left(LAST).moment == moment


def test_a_cycle_that_rests_is_not_overdue(monkeypatch):
    """After a quiet hour its first sub-cycle was said to be not synced for an hour."""
    now = [0.0]
    monkeypatch.setattr(gate, "time", SimpleNamespace(monotonic=lambda: now[0]))
    passed, seconds = gate.CycleGate(lambda: False), []

    def integrate(_batch, _number):
        now[0] += 2
        seconds.append(passed.seconds)
        passed.rest()
        now[0] += 3600
        seconds.append(passed.seconds)
        passed.wake()
        now[0] += 3
        seconds.append(passed.seconds)

    passed.around(integrate)(None, 0)
    assert (seconds, passed.seconds) == ([2, 0, 3], 0)


def test_i8_a_cycle_that_sub_cycles_had_sent_is_none_that_the_brokers_have(tmp_path):
    """An older copy of the state passed such cycles over, and then took the brokers' sub-cycle for one of its own."""
    marks = CycleMarks(tmp_path)
    assert marks.begun_before(0) == (-1, 0)
    marks.write(Cycle(0, 2, 1, 1, 1, None, {}, {}, Checkpoint(2)), "recipe", "digest", part=1)
    for number in (1, 2):
        marks.write(Cycle.of_nothing(number, Checkpoint(2), 0.1), "recipe", "digest")
    assert [marks.begun_before(number) for number in (1, 2, 3)] == [(0, 1)] * 3
    marks.write(Cycle(3, 1, 1, 1, 1, None, {}, {}, Checkpoint(3)), "recipe", "digest")
    assert marks.begun_before(4) == (3, 0)
