"""The ledger of a refresh, damaged, or with what came back after a power cut."""

import dataclasses
import os

import pytest

from integrator.errors import EnvironmentFault
from integrator.refresh import ledger as ledgers
from integrator.refresh.ledger import Ledger, RefreshRun
from integrator.refresh.slices import Slice

RUN = RefreshRun({}, "f", "2026-01-01T00:00:00+00:00", None, online=False)
SLICE = Slice("t", 0, 1, "")


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.begin(RUN)
    ledger.mark(SLICE, {"rows": 3})
    return ledger


def test_a_slice_of_this_run_is_through(ledger):
    assert (ledger.unfinished(), ledger.completed(SLICE), ledger.rows(SLICE)) == (RUN, True, 3)
    ledger.end()
    assert ledger.rows(SLICE) == 3


def test_when_it_began_and_ended_is_said_and_lasts(ledger, monkeypatch):
    """The time was that of a file which is written when a refresh begins, and a copy of the state is of another."""
    monkeypatch.setattr(ledgers, "now", lambda: "2026-01-01T04:30:00+00:00")
    ledger.end()
    for path in ledger.path.iterdir():
        os.utime(path, (0, 0))
    ended = "last refresh: began at 2026-01-01T00:00:00+00:00, ended at 2026-01-01T04:30:00+00:00, 1 slice completed"
    assert list(ledger.standing()) == [ended]
    (ledger.path / "finished.json").write_text("")
    assert "finished.json: is damaged" in "".join(ledger.standing())


def test_i4_the_mark_of_another_run_says_nothing_of_this_one(ledger):
    """It was removed when this run began; a power cut may bring it back."""
    mark = (ledger.path / f"{SLICE.name}.json").read_text()
    ledger.begin(dataclasses.replace(RUN, started="2026-01-02T00:00:00+00:00"))
    (ledger.path / f"{SLICE.name}.json").write_text(mark)
    assert not ledger.completed(SLICE)


@pytest.mark.parametrize("content", ["", "\0\0", "[]", "{}", '{"rows": "3"}'])
def test_i4_a_damaged_mark_is_told_and_no_slice_is_left_out(content, ledger):
    path = ledger.path / f"{SLICE.name}.json"
    path.write_text(content)
    with pytest.raises(EnvironmentFault, match=r"\.json: is damaged, .*; remove it to send the slice again"):
        ledger.completed(SLICE)
    path.unlink()
    assert not ledger.completed(SLICE)


@pytest.mark.parametrize("content", ["", "\0\0", "[]", "{}", '{"expected": 1}'])
def test_a_damaged_run_is_reported(content, ledger):
    (ledger.path / "run.json").write_text(content)
    with pytest.raises(EnvironmentFault, match=r"run\.json: is damaged, .*; restore it, or begin anew with --anew"):
        ledger.unfinished()
