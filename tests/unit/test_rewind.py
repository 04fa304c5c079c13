"""Going back to a synced cycle, by files alone; tests/broker/test_rewind.py does it with Spark."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from integrator.cli import output, show
from integrator.errors import EnvironmentFault
from integrator.run.state import consistency, rewind
from tests.parts import states

CYCLES = 5


class PowerCut(BaseException):
    """The process is gone."""


def test_a_crash_while_going_back_is_refused_or_harmless_and_going_back_again_mends(tmp_path, monkeypatch):
    """At each file that is removed: nothing starts, and the error says what to do."""
    outcomes = []
    for crash in range(100):
        state = states.of_cycles(tmp_path / "state", CYCLES)
        states.begin(state, CYCLES)
        removed, unlink = 0, Path.unlink

        def crashing(path, *args, crash=crash, unlink=unlink, **kwargs):
            nonlocal removed
            removed += 1
            if removed > crash:
                raise PowerCut
            unlink(path, *args, **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", crashing)
            with contextlib.suppress(PowerCut):
                rewind.move_back(state, 2)
        try:
            consistency.check(state)
            outcomes.append("starts")
        except EnvironmentFault as fault:
            outcomes.append(str(fault))
            rewind.move_back(state, 2)
            consistency.check(state)
        last = state.marks.cycles()[-1]
        shutil.rmtree(state.path)
        if removed <= crash:
            break
    assert last == 2
    assert outcomes[-1] == "starts"
    assert all("moving back did not come to its end; do it again" in one for one in outcomes[:-1])
    assert all("state --channel FILE --back-to 2)" in one for one in outcomes[:-1])


def test_what_is_gone_back_from_does_not_come_back_after_a_power_cut(tmp_path, monkeypatch):
    """Directories are synced in the order in which files are removed from them."""
    state = states.of_cycles(tmp_path / "state", CYCLES)
    calls, fsync = [], os.fsync

    def recorded(descriptor):
        calls.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    rewind.move_back(state, 2)
    name = state.path.name
    assert calls[0].startswith(".moving_back.")
    assert calls[1:] == [name, "synced", "commits", "offsets", name]


def test_metadata_that_is_damaged_are_made_anew(tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    (state.path / "checkpoint" / "metadata").write_bytes(b"")
    with pytest.raises(EnvironmentFault, match=r"metadata: is gone or damaged.*--back-to 4"):
        consistency.check(state)
    assert rewind.move_back(state, 4) == []
    consistency.check(state)


def test_a_cycle_that_is_not_whole_is_not_gone_back_to(tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    (state.path / "checkpoint" / "offsets" / "2").write_bytes(b"")
    with pytest.raises(
        EnvironmentFault, match=r"cycle 2 cannot be gone back to: .*offsets/2: begins with b''.*--back-to 4"
    ):
        rewind.move_back(state, 2)
    with pytest.raises(EnvironmentFault, match="cycle 3 cannot be gone back to"):  # Spark reads the offset before
        rewind.move_back(state, 3)
    assert len(rewind.history(state)) == CYCLES


def test_a_damaged_mark_that_is_not_gone_back_to_does_not_stop_the_channel(tmp_path, capsys):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    (state.path / "synced" / "0.json").write_bytes(b"")
    consistency.check(state)
    assert rewind.move_back(state, 3) == [4]
    show.state(rewind.history(state), output.console())
    said = capsys.readouterr().out
    assert "0.json: the mark of a synced cycle cannot be read" in said
    assert [line.split()[0] for line in said.splitlines()[2:]] == ["1", "2", "3"]
