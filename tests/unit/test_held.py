"""Changes of tables that are set aside are held, and handed back in the order of the log, whatever crashes (I4)."""

import random
import struct
import threading
from types import SimpleNamespace

import pytest

from integrator import durable
from integrator.channel.model import Restart
from integrator.channel.secret import Secrets
from integrator.decode.encodings.pgoutput import Column, Relation, as_they_came, relations_in
from integrator.run import job as jobs
from integrator.run.state import aside
from integrator.sources.capture import held
from integrator.sources.capture.frames import FRAMES, Standing, begin, commit, standing_in
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.signals import Signals
from integrator.sources.capture.source import CaptureFeed
from integrator.sources.contract import HeldTable
from integrator.sources.spool import Spool, sealed_in
from integrator.sources.spooled import Kept
from tests.parts.spooled import Crash, json_of

KEY = (Column("k", 23, -1, in_key=True),)
T, U, LEAF = (Relation(oid, "public", name, "d", KEY) for oid, name in ((1, "t"), (2, "u"), (3, "t_p1")))
TABLE = HeldTable(("public.t", "public.t_p*"), 0)


def insert(relation, key):
    text = str(key).encode()
    return b"I" + struct.pack(">I", relation.oid) + b"N" + struct.pack(">HcI", 1, b"t", len(text)) + text


def update(relation, key):
    text = str(key).encode()
    tuples = struct.pack(">HcI", 1, b"t", len(text)) + text
    return b"U" + struct.pack(">I", relation.oid) + b"K" + tuples + b"N" + tuples


def truncate(*relations):
    return struct.pack(f">cIB{len(relations)}I", b"T", len(relations), 0, *(one.oid for one in relations))


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool", framing=FRAMES)


def intake(spool):
    durable_at = standing_in(spool.path) or Standing()
    made = Intake(spool.writer("capture"), durable_at, "the server", str, Signals("", spool.path.parent, None))
    made.read = {one.oid.to_bytes(4, "big") for one in (T, U, LEAF)}
    for one in (T, U, LEAF):
        made.take(one.message())
    return made


def written(spool, seed):
    """Write transactions of three tables into segments that end anywhere."""
    made, of = intake(spool), random.Random(seed)
    for number in range(1, 40):
        made.take(begin(number * 64, 0, number))
        for key in range(of.randrange(6)):
            one = of.choice((T, U, U, LEAF))
            make = of.choice((insert, insert, update))
            made.take(make(one, number * 100 + key) if of.random() < 0.9 else truncate(T, U))
            if of.random() < 0.2:
                made.seal()
        made.take(commit(number * 64, number * 64 + 8, 0))
        if of.random() < 0.3:
            made.seal()
    made.begin_rows(T, 40 * 64 - 1, 0, 1)
    made.take_rows(T, b"9998\n")
    made.seal()
    made.take_rows(T, b"9999\n")
    made.end_rows(40 * 64)
    made.seal()
    spool.close()


def changes(paths, *tables):
    """Return the changes of tables, with their transaction and their row in it, as a reader of the segments sees them."""
    found, number, row = [], "", 0
    for path in paths:
        data = path.read_bytes()
        for lines in as_they_came(path.name, data, relations_in(data)):
            for line in json_of(lines):
                if line["action"] == "B":
                    number, row = line["lsn"], 0
                elif line["action"] != "C":
                    row += 1 + ("old" in line)
                    if line["table"] in tables:
                        found.append((number, row, line["action"], line["table"], line.get("new")))
    return found


def held_of(spool):
    directory = TABLE.directory(spool.path.parent)
    for path in sealed_in(spool.path):
        held.hold(path, directory, TABLE.names)
    return directory


@pytest.mark.parametrize("seed", range(8))
def test_what_is_held_has_the_changes_of_the_table_and_of_its_partitions_at_their_positions(spool, seed):
    written(spool, seed)
    expected = changes(sealed_in(spool.path), "t", "t_p1")
    directory = held_of(spool)
    files = sorted(directory.glob("*.frames"))
    assert changes(files, "t", "t_p1", "u") == expected
    assert TABLE.held_bytes(spool.path.parent) == sum(path.stat().st_size for path in files)


@pytest.mark.parametrize("seed", range(8))
def test_a_table_that_is_set_aside_later_has_its_changes_at_their_positions(spool, seed):
    """In the middle of a transaction, or of its rows; and after a move back earlier changes are held after later ones."""
    written(spool, seed)
    every = changes(sealed_in(spool.path), "t", "t_p1")
    paths, directory = sealed_in(spool.path), TABLE.directory(spool.path.parent)
    for first in range(len(paths) - 1, -1, -2):
        for path in paths[first:]:
            held.hold(path, directory, TABLE.names)
        found = changes(sorted(directory.glob("*.frames")), "t", "t_p1")
        assert found == every[len(every) - len(found) :], first
    assert len(found) >= len(every) - 12


@pytest.mark.parametrize("at", range(1, 9))
def test_a_crash_while_it_is_handed_back_neither_loses_nor_repeats_a_change(spool, at, monkeypatch):
    written(spool, 3)
    before = sealed_in(spool.path)
    expected, standing = changes(before, "t", "t_p1"), standing_in(spool.path)
    directory = held_of(spool)
    steps, rename = iter(range(1, at + 1)), durable.rename

    def crashing(*given):
        if next(steps, None) is None:
            raise Crash
        rename(*given)

    with monkeypatch.context() as patched:
        patched.setattr(durable, "rename", crashing)
        with pytest.raises(Crash):
            held.hand_back(spool.path, directory)
    held.finish(spool.path.parent, spool.path)
    again = [path for path in sealed_in(spool.path) if path not in before]
    if not again:  # before anything was decided
        held.hand_back(spool.path, directory)
        again = [path for path in sealed_in(spool.path) if path not in before]
    assert changes(again, "t", "t_p1") == expected
    assert (standing_in(spool.path).lsn, standing_in(spool.path).end) == (standing.lsn, standing.end)
    numbers = [int(path.name[:12]) for path in sealed_in(spool.path)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert Spool(spool.path, framing=FRAMES).received("capture") == spool.received("capture") + again[-1].stat().st_size


def test_what_was_handed_back_is_held_again_where_it_is_not_sent_and_nothing_twice(spool):
    written(spool, 5)
    expected = changes(sealed_in(spool.path), "t", "t_p1")
    held.hand_back(spool.path, held_of(spool))
    directory = held_of(spool)  # as after a start: of all segments that are kept
    assert changes(sorted(directory.glob("*.frames")), "t", "t_p1") == expected


def test_a_name_is_no_pattern():
    assert held.is_of("public.a[1]", ("public.a[1]", "public.a_p*"))
    assert held.is_of("public.a_p1", ("public.a[1]", "public.a_p*"))
    assert not held.is_of("public.a1", ("public.a[1]", "public.a_p*"))


def test_positions_within_a_transaction_do_not_count_what_was_handed_back(spool):
    """A transaction continues after the changes of another table were handed back; its segments are others' neighbours."""
    made = intake(spool)
    for message in (begin(64, 0, 1), *(insert(LEAF, key) for key in range(3)), commit(64, 72, 0)):
        made.take(message)
    made.seal()
    made.take(begin(128, 0, 2))
    made.take(insert(U, 1))
    made.seal()
    spool.close()
    other = HeldTable((LEAF.full_name,), 0)
    for path in sealed_in(spool.path):
        held.hold(path, other.directory(spool.path.parent), other.names)
    held.hand_back(spool.path, other.directory(spool.path.parent))
    again = Spool(spool.path, framing=FRAMES)
    made = intake(again)
    made.take(begin(128, 0, 2))
    made.take(insert(U, 1))  # which comes again, and is durable
    made.take(insert(T, 2))
    made.take(commit(128, 136, 0))
    made.seal()
    again.close()
    directory = TABLE.directory(spool.path.parent)
    held.hold(sealed_in(spool.path)[-1], directory, ("public.t",))
    [(_, row, *_)] = changes(sorted(directory.glob("*.frames")), "t")
    assert row == 2


def test_tables_are_resumed_between_transactions_alone(spool, monkeypatch):
    """Else a part of the open one would be held, and the rest not, and what is handed back would come within it."""
    state = spool.path.parent
    plan = SimpleNamespace(
        state=str(state),
        channel="c",
        secrets=Secrets(),
        restart=Restart(),
        delay=0,
        aside={},
        recipe=SimpleNamespace(read=SimpleNamespace(path="")),
        changes=SimpleNamespace(listing=lambda *_: SimpleNamespace(slices=lambda *_: (), number_of=None)),
    )
    handed = []
    monkeypatch.setattr(jobs, "resumed", lambda plan, _state: handed.append(1) or plan)
    job = jobs.Job(plan, threading.Event())
    job.state.make()
    job._feed = CaptureFeed(spool, SimpleNamespace(), state / "journal", Kept(1, 1))
    made = intake(spool)

    def resumes(*messages):
        for message in messages:
            made.take(message)
        made.seal()
        aside.request(state, ["t"])
        is_between, before = job._resumes(), len(handed)
        job._hand_back()
        assert len(handed) - before == is_between
        return is_between

    assert resumes()
    assert not resumes(begin(64, 0, 1), insert(T, 1))
    assert not resumes(insert(U, 2))
    assert resumes(insert(T, 3), commit(64, 72, 0))
    assert not resumes(commit(64, 72, 0), begin(128, 0, 2))
    assert resumes(commit(128, 136, 0))


def test_tables_that_are_not_captured_any_more_are_forgotten(spool):
    written(spool, 5)
    directory = held_of(spool)
    assert held.forget(spool.path.parent, [TABLE]) == 0
    assert held.forget(spool.path.parent, []) > 0
    assert not directory.exists()
