"""The spool after parts of the state directory are gone: no received line is passed over."""

import errno
import os

import pytest

from integrator import durable
from integrator.errors import EnvironmentFault
from integrator.sources.files.listing import Listing
from integrator.sources.journal.journal import Journal
from integrator.sources.spool import PATTERN, Spool, number_of

TAKEN, SEALED = 3, 6


@pytest.fixture
def spool(tmp_path):
    """Segments 4 to 6 are not taken yet; 1 is not kept any more."""
    directory = tmp_path / "spool"
    directory.mkdir()
    for number in range(2, SEALED + 1):
        (directory / f"{number:012d}.a.{number}.jsonl").write_bytes(b"{}\n")
    lines = [f'{{"path": "{directory}/{n:012d}.a.{n}.jsonl", "size": 3}}\n' for n in range(1, TAKEN + 1)]
    (tmp_path / "files.jsonl").write_text("".join(lines))
    return directory


def test_segments_follow_those_that_were_taken(spool):
    journal = Journal(spool.parent / "files.jsonl")
    files = Listing(str(spool), PATTERN, (), "name").slices()
    journal.begin_with(files, number_of)
    assert len(journal) == TAKEN


def test_segments_are_taken_from_the_first_one_on_where_the_journal_was_removed(spool):
    """It is removed with all other progress, to send everything again, and the first segment is not kept any more."""
    (spool.parent / "files.jsonl").unlink()
    journal = Journal(spool.parent / "files.jsonl")
    files = Listing(str(spool), PATTERN, (), "name").slices()
    journal.take(files, number_of)
    assert len(journal) == 0, "number 1 may still come, as far as the stream knows"
    journal.begin_with(files, number_of)
    assert [number_of(entry.path) for _, entry in Journal(spool.parent / "files.jsonl").between(0, 5)] == [
        2,
        3,
        4,
        5,
        6,
    ]


def test_i4_segments_are_taken_where_the_state_was_moved_to(spool, tmp_path):
    """Nothing was ever taken in another directory: the segments that were taken had other paths there."""
    moved = tmp_path / "elsewhere"
    spool.rename(moved)
    journal = Journal(tmp_path / "files.jsonl")
    files = Listing(str(moved), PATTERN, (), "name").slices()
    assert [number_of(one.path) for one in journal.untaken(files, number_of)] == [4, 5, 6]
    journal.begin_with(files, number_of)
    journal.take(files, number_of)
    assert [number_of(one.path) for _, one in Journal(tmp_path / "files.jsonl").between(0, SEALED)] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]
    assert journal.untaken(files, number_of) == []


GONE = {"the next one": (4, 5), "one after it": (5, 6)}


@pytest.mark.parametrize("case", GONE)
def test_i4_a_segment_that_is_gone_before_it_was_taken_is_reported(case, spool):
    """What follows it would never be taken."""
    number, told = GONE[case]
    (spool / f"{number:012d}.a.{number}.jsonl").unlink()
    journal = Journal(spool.parent / "files.jsonl")
    with pytest.raises(
        EnvironmentFault, match=rf"0{told}\.a\.{told}\.jsonl: is number {told}, and number {number} is not"
    ):
        journal.begin_with(Listing(str(spool), PATTERN, (), "name").slices(), number_of)


@pytest.mark.parametrize("content", ["", "\0\0\0", "[]", '{"a": "x"}', '{"a":'])
def test_damaged_counts_of_senders_are_reported(content, spool):
    (spool / "senders.json").write_text(content)
    with pytest.raises(EnvironmentFault, match=r"senders\.json: is damaged .*; restore it, or remove it"):
        Spool(spool)


@pytest.mark.parametrize("name", [b"1.a.1.jsonl", b"0\xff.jsonl"])
def test_a_file_that_is_no_segment_is_reported(name, spool):
    (spool / os.fsdecode(name)).write_bytes(b"{}\n")
    with pytest.raises(EnvironmentFault, match=r"is no segment of the spool .*; move it elsewhere") as raised:
        Spool(spool)
    str(raised.value).encode("utf-8")


@pytest.mark.parametrize("fails", ["before it has its name", "after it"])
def test_i9_a_segment_that_a_full_disk_kept_from_its_name_is_before_those_that_follow(fails, tmp_path, monkeypatch):
    """Left open, the next start would name it: after segments of later lines, which have some of its lines too."""
    spool, renamed = Spool(tmp_path), durable.rename

    def fail(path, to):
        if fails.startswith("after"):
            renamed(path, to)
        raise OSError(errno.ENOSPC, "no space left")

    writer = spool.writer("a")
    writer.write(b"1\n")
    with monkeypatch.context() as patched:
        patched.setattr(durable, "rename", fail)
        with pytest.raises(OSError, match="no space left"):
            writer.seal()
    assert spool.received("a") == (1 if fails.startswith("after") else 0)
    writer.seal()
    writer.write(b"2\n")
    writer.seal()
    assert [one.read_bytes() for one in sorted(tmp_path.glob(PATTERN))] == [b"1\n", b"2\n"]
    assert [number_of(one.path) for one in spool.waiting()] == [1, 2]
    assert not list(tmp_path.glob("*.open"))


def test_a_segment_that_was_never_written_is_no_segment(tmp_path, monkeypatch):
    spool = Spool(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(durable, "sync_directory", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        with pytest.raises(OSError, match="broken"):
            spool.writer("a").write(b"1\n")
    spool.writer("a").seal()
    assert not list(tmp_path.iterdir())
