"""What a later start relies on is on disk when it counts as written: the order of system calls, recorded."""

import os
import re
from pathlib import Path

import pytest

from integrator import durable
from integrator.contracts.fragments import Checkpoint
from integrator.refresh.ledger import Ledger, RefreshRun
from integrator.refresh.slices import Slice
from integrator.run.state.directory import State
from integrator.run.state.sync import Cycle
from integrator.sources import slices
from integrator.sources.journal.journal import Journal
from integrator.sources.spool import Spool


@pytest.fixture
def calls(monkeypatch):
    """The calls of the operating system that make files durable, in order, with names of files and directories."""
    made = []

    def named(path):
        return re.sub(r"\.[0-9a-f]{32}\.tmp$", ".tmp", Path(path).name)

    def recorded(name, call, paths):
        def record(*args, **kwargs):
            result = call(*args, **kwargs)
            made.append((name, *(named(path(argument)) for path, argument in zip(paths, args, strict=False))))
            return result

        monkeypatch.setattr(os, name, record)

    def opened(descriptor):
        return Path(f"/proc/self/fd/{descriptor}").readlink()

    recorded("fsync", os.fsync, [opened])
    for name in ("rename", "replace"):
        recorded(name, getattr(os, name), [os.fspath, os.fspath])
    for name in ("unlink", "mkdir"):
        recorded(name, getattr(os, name), [os.fspath])
    recorded("ftruncate", os.ftruncate, [opened])
    return made


def replaced(name, directory):
    """A file written under another name, synced, renamed, and the directory synced, in this order."""
    temporary = f".{name}.tmp"
    return [("fsync", temporary), ("replace", temporary, name), ("fsync", directory)]


def test_a_file_is_replaced_whole(tmp_path, calls):
    durable.replace(tmp_path / "x", b"1")
    assert calls == replaced("x", tmp_path.name)
    assert (tmp_path / "x").read_bytes() == b"1"


def test_a_process_that_was_paused_while_it_replaced_a_file_harms_none(tmp_path, monkeypatch):
    """I4: of two writers of one file, each has a file of its own until it renames it."""
    write = durable.write

    def paused(path, data):
        write(path, data[:1])
        monkeypatch.setattr(durable, "write", write)
        durable.replace(tmp_path / "x", b"other")
        write(path, data)

    monkeypatch.setattr(durable, "write", paused)
    durable.replace(tmp_path / "x", b"first")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"first")]


def test_what_cannot_be_written_leaves_the_old_file_alone(tmp_path, monkeypatch):
    durable.replace(tmp_path / "x", b"1")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        durable.replace(tmp_path / "x", b"2")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"1")]


def test_the_name_of_a_new_file_is_durable_and_later_lines_need_no_more_than_the_file(tmp_path, calls):
    durable.append(tmp_path / "x", b"1\n")
    durable.append(tmp_path / "x", b"2\n")
    assert calls == [("fsync", "x"), ("fsync", tmp_path.name), ("fsync", "x")]
    assert (tmp_path / "x").read_bytes() == b"1\n2\n"


def test_what_cannot_be_added_is_not_there_in_part(tmp_path, monkeypatch):
    durable.append(tmp_path / "x", b"1\n")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        durable.append(tmp_path / "x", b"2\n")
    assert (tmp_path / "x").read_bytes() == b"1\n"


def test_a_directory_is_durable_in_those_above_it(tmp_path, calls):
    durable.make_directory(tmp_path / "a" / "b")
    assert calls == [("mkdir", "a"), ("fsync", tmp_path.name), ("mkdir", "b"), ("fsync", "a")]


def journal_of_one(directory):
    journal = Journal(directory / "files.jsonl")
    journal.take([slices.Slice("/in/a", 1, 1)])
    return journal


def state_of(directory):
    state = State(str(directory))
    state.make()
    return state


RUN = RefreshRun({}, "", "2026-01-01T00:00:00+00:00", None, online=False)
SLICE = Slice("t", 0, 1, "")
CYCLE = Cycle(0, 1, 1, 1, 1, None, {}, {}, Checkpoint(1, deferred=b"rows"), details=[{"column": "c"}])
"""A synced cycle with rows that wait, and a value that was made to fit."""


def ledger_of(directory):
    ledger = Ledger(directory)
    ledger.begin(RUN)
    return ledger


def suspended(directory):
    state = state_of(directory)
    state.suspend("upgrade")
    return state


def spool_of(directory):
    spool = Spool(directory / "spool")
    spool.writer("a").write(b"{}\n")
    return spool


FACTS = {
    "a journal is begun": (
        lambda path: Journal(path / "files.jsonl"),
        lambda journal: journal.take([slices.Slice("/in/a", 1)]),
        [("fsync", "files.jsonl"), ("fsync", "state")],
    ),
    "a file is taken": (
        journal_of_one,
        lambda journal: journal.take([slices.Slice("/in/a", 1, 1), slices.Slice("/in/b", 1, 1)]),
        [("fsync", "files.jsonl")],
    ),
    "a mended file is taken anew": (
        journal_of_one,
        lambda journal: journal.renew([slices.Slice("/in/a", 2, 1)], 0),
        replaced("files.jsonl", "state"),
    ),
    "a cycle is synced": (
        state_of,
        lambda state: state.mark(CYCLE),
        [
            ("fsync", "coerced.jsonl"),
            ("fsync", "state"),
            *replaced("0.held", "synced"),
            *replaced("0.json", "synced"),
        ],
    ),
    "tables are refreshed": (
        state_of,
        lambda state: state.mark_refreshed({"t": "1"}),
        replaced("refreshed.json", "state"),
    ),
    "the state has an identity": (state_of, State.identity, replaced("identity", "state")),
    "columns are added": (state_of, lambda state: state.mark_added({}), replaced("added.json", "state")),
    "the channel is suspended": (state_of, lambda state: state.suspend("x"), replaced("suspended", "state")),
    "the channel is resumed": (suspended, State.resume, [("unlink", "suspended"), ("fsync", "state")]),
    "a refresh begins": (
        Ledger,
        lambda ledger: ledger.begin(RUN),
        [("mkdir", "refresh"), ("fsync", "state"), *replaced("run.json", "refresh")],
    ),
    "a slice is through": (
        ledger_of,
        lambda ledger: ledger.mark(SLICE, {"rows": 1}),
        replaced(f"{SLICE.name}.json", "refresh"),
    ),
    "a refresh ends": (
        ledger_of,
        Ledger.end,
        [*replaced("finished.json", "refresh"), ("unlink", "run.json"), ("fsync", "refresh")],
    ),
    "a refresh is forgotten": (ledger_of, Ledger.forget, [("unlink", "run.json"), ("fsync", "refresh")]),
    "lines begin a segment": (
        lambda path: Spool(path / "spool"),
        lambda spool: spool.writer("a").write(b"{}\n"),
        [("fsync", "spool")],
    ),
    "lines are received": (spool_of, lambda spool: spool.writer("a").sync(), [("fsync", "a.1.open")]),
    "a segment is sealed": (
        spool_of,
        lambda spool: spool.writer("a").seal(),
        [("fsync", "a.1.open"), ("replace", "a.1.open", "000000000001.a.1.jsonl"), ("fsync", "spool")],
    ),
    "segments are removed": (spool_of, lambda spool: spool.remove([]), replaced("senders.json", "spool")),
}
"""What is recorded durably: how it begins, what records it, and the calls that must be made, in order."""


@pytest.mark.parametrize("fact", FACTS)
def test_what_a_later_start_relies_on_is_durable_when_it_counts(fact, tmp_path, calls):
    begin, record, expected = FACTS[fact]
    (tmp_path / "state").mkdir()
    begun = begin(tmp_path / "state")
    calls.clear()
    record(begun)
    made = list(calls)
    if isinstance(begun, Spool):
        begun.close()
    assert made == expected
