"""The state directory under any order of cycles, compaction, backups and going back, each cut off at any file."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from integrator.contracts.fragments import Checkpoint
from integrator.errors import EnvironmentFault
from integrator.run.state import backup, consistency, marks, rewind, shards
from integrator.run.state.directory import IMPORTING, MOVING_BACK, State
from integrator.run.state.sync import Cycle
from integrator.sources.journal import digests, journal
from integrator.sources.journal.journal import Journal
from tests.parts import states

KEPT = 4
CHANNEL = "shop"
_CUTS = st.one_of(st.none(), st.integers(0, 30))
"""At which file that is renamed or removed the power is cut; None: it is not."""


class PowerCut(BaseException):
    """The process is gone."""


@dataclass
class Known:
    """What the directory must have: where each synced cycle ends, which are committed, and how many files were taken."""

    ends: dict[int, int] = field(default_factory=dict)
    begun: int | None = None
    begun_end: int = 0
    committed: int = -1

    @property
    def last(self) -> int:
        return max(self.ends, default=-1)

    def copy(self) -> Known:
        return Known(dict(self.ends), self.begun, self.begun_end, self.committed)

    def kept(self) -> list[int]:
        return sorted(self.ends)


class StateDirectory(RuleBasedStateMachine):
    """Each rule is a step of a process or a command of the user."""

    def __init__(self) -> None:
        super().__init__()
        self._root = Path(tempfile.mkdtemp(prefix="state-machine-"))
        self._patches = [
            mock.patch.object(marks, "KEPT_CYCLES", KEPT),
            mock.patch.object(consistency, "KEPT_CYCLES", KEPT),
            mock.patch.object(journal, "LEAST_COMPACTED", 2),
        ]
        for patch in self._patches:
            patch.start()
        self._path = self._root / CHANNEL
        self._known, self._unfinished = Known(), ""
        self._backups: list[tuple[Path, Known]] = []
        State(str(self._path)).make()
        shards.known(self._path, CHANNEL)
        self._generation = self._read_generation()

    def teardown(self) -> None:
        for patch in self._patches:
            patch.stop()
        shutil.rmtree(self._root)

    @property
    def _state(self) -> State:
        return State(str(self._path))

    def _read_generation(self) -> str:
        found = shards.read(self._path)
        assert found is not None
        return found.generation

    def _cut(self, at: int | None, run) -> bool:
        """Run until the power is cut; return whether it came to its end."""
        calls = 0

        def counted(call):
            def cutting(*args, **kwargs):
                nonlocal calls
                calls += 1
                if at is not None and calls > at:
                    raise PowerCut
                return call(*args, **kwargs)

            return cutting

        with contextlib.ExitStack() as stack:
            for name in ("replace", "rename", "unlink", "rmdir"):
                stack.enter_context(mock.patch.object(os, name, counted(getattr(os, name))))
            try:
                run()
            except PowerCut:
                return False
        return True

    @precondition(lambda self: self._known.committed == self._known.last and not self._unfinished)
    @precondition(lambda self: self._known.begun is None)
    @rule(more=st.integers(1, 3))
    def begin(self, more):
        cycle, last = self._known.last + 1, self._known.ends.get(self._known.last, 0) + more
        have = Journal(self._state.journal)
        have.take([states.inbox_file(number + 1) for number in range(len(have), last)])
        states.spark(self._state, "offsets", cycle, {"batchTimestampMs": cycle}, {"slices": last})
        self._known.begun, self._known.begun_end = cycle, last

    @precondition(lambda self: self._known.begun is not None and not self._unfinished)
    @rule(cut=_CUTS)
    def sync(self, cut):
        known = self._known
        before, end = known.ends.get(known.last, 0), known.begun_end
        done = Cycle(known.begun, end - before, 1, 1, 1, None, {}, {}, Checkpoint(end))
        self._cut(cut, lambda: self._state.mark(done))
        if self._state.marks.has(known.begun):
            known.ends = {cycle: to for cycle, to in known.ends.items() if cycle > known.begun - KEPT}
            known.ends[known.begun], known.begun = end, None

    @precondition(lambda self: self._known.committed < self._known.last and not self._unfinished)
    @rule()
    def commit(self):
        self._known.committed = self._known.last
        states.commit(self._state, self._known.committed)

    @precondition(lambda self: not self._unfinished)
    @rule(cut=_CUTS)
    def compact(self, cut):
        state = self._state
        self._cut(cut, lambda: Journal(state.journal).compact(state.compactable()))

    @precondition(lambda self: self._known.committed >= 0 and not self._unfinished)
    @rule()
    def export(self):
        file = self._root / f"{len(self._backups)}.tar.gz"
        made = backup.export(self._state, CHANNEL, file)
        known = self._known
        assert made.cycle == known.committed
        ends = {cycle: end for cycle, end in known.ends.items() if cycle <= made.cycle}
        self._backups.append((file, Known(ends, committed=made.cycle)))

    @precondition(lambda self: self._backups and self._unfinished in ("", IMPORTING, MOVING_BACK))
    @rule(cut=_CUTS, data=st.data())
    def restore(self, cut, data):
        file, known = data.draw(st.sampled_from(self._backups))
        state = self._state
        try:
            done = self._cut(cut, lambda: backup.restore(state, CHANNEL, file, replace=True))
        finally:
            state.unlock()
        if (self._path / IMPORTING).exists():
            assert not done
            self._unfinished = IMPORTING
        elif (self._path / MOVING_BACK).exists():
            assert not done
        elif done or self._unfinished or self._read_generation() > self._generation:  # cut while it tidies up
            self._known, self._unfinished = known.copy(), ""
            self._check_renewed()

    @precondition(lambda self: self._known.committed >= 0 and self._unfinished == "")
    @rule(cut=_CUTS, data=st.data())
    def move_back(self, cut, data):
        able = [cycle for cycle in self._known.ends if cycle <= self._known.committed]
        able = [cycle for cycle in able if cycle - 1 in self._known.ends or cycle == 0]
        if able:
            self._move_back(cut, data.draw(st.sampled_from(able)))

    @precondition(lambda self: self._unfinished == MOVING_BACK)
    @rule(cut=_CUTS)
    def move_back_again(self, cut):
        self._move_back(cut, self._to)

    def _move_back(self, cut, cycle):
        self._to, state = cycle, self._state
        state.lock(CHANNEL, 0, mends=[MOVING_BACK])
        try:
            done = self._cut(cut, lambda: rewind.move_back(state, cycle))
        finally:
            state.unlock()
        if (self._path / MOVING_BACK).exists():
            assert not done
            self._unfinished = MOVING_BACK
        elif done or self._unfinished:
            ends = {one: end for one, end in self._known.ends.items() if one <= cycle}
            self._known, self._unfinished = Known(ends, committed=cycle), ""
            self._check_renewed()

    def _check_renewed(self):
        """I10: what was sent before it is of an earlier generation, which the brokers refuse from then on."""
        generation = self._read_generation()
        assert generation > self._generation
        self._generation = generation

    @invariant()
    def what_is_half_done_does_not_start(self):
        if not self._unfinished:
            return
        for start in (lambda: consistency.check(self._state), lambda: self._state.lock(CHANNEL, 0)):
            with pytest.raises(EnvironmentFault, match="did not come to its end; do it again"):
                start()

    @invariant()
    def what_is_whole_starts_where_it_was(self):
        if self._unfinished:
            return
        state, known = self._state, self._known
        taken = consistency.check(state)
        assert state.marks.cycles()[-KEPT:] == known.kept()[-KEPT:]
        assert state.last_slice() == known.ends.get(known.last, 0)
        assert state.is_in_cycle == (known.begun is not None)
        digest = digests.FIRST
        for number in range(1, known.ends.get(known.last, 0) + 1):
            one = states.inbox_file(number)
            digest = digests.following(digest, one.path, one.size, one.mtime)
        assert taken.digest(state.last_slice()) == digest == state.digest(state.last_slice())
        generation = self._read_generation()
        assert generation >= self._generation
        self._generation = generation


TestStateDirectory = StateDirectory.TestCase
