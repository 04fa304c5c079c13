"""The journal of change files, compacted: what it knows, what a crash leaves, and what a start costs."""

import errno
import json
import os
import signal

import pytest

from integrator import durable
from integrator.durable import Damaged
from integrator.errors import EnvironmentFault
from integrator.sources.journal.digests import Beginning
from integrator.sources.journal.journal import LEAST_COMPACTED, Journal
from integrator.sources.slices import Slice

pytestmark = pytest.mark.fast

FILES = 3 * LEAST_COMPACTED
SYNCED = FILES - 10


def files(first=0, end=FILES):
    return [Slice(f"/in/{number:06d}.jsonl", 100 + number, 1000 + number) for number in range(first, end)]


def taken(directory):
    journal = Journal(directory / "files.jsonl")
    journal.take(files())
    return journal


def known(directory):
    return sorted(path.name for path in directory.glob("*.known"))


@pytest.fixture
def compacted(tmp_path):
    taken(tmp_path).compact(SYNCED)
    return Journal(tmp_path / "files.jsonl")


def test_a_compacted_journal_has_the_same_files_numbers_and_digests(compacted, tmp_path):
    (tmp_path / "whole").mkdir()
    whole = taken(tmp_path / "whole")
    assert len(compacted) == len(whole) == FILES
    assert compacted.between(SYNCED, FILES) == whole.between(SYNCED, FILES)
    assert compacted.limit(SYNCED, 1) == whole.limit(SYNCED, 1) == SYNCED + 1
    beginning = Beginning(tmp_path / "files.jsonl")
    for entries in (SYNCED, SYNCED + 3, FILES, SYNCED):
        assert compacted.digest(entries) == whole.digest(entries) == beginning.of(entries)
    assert beginning.of(SYNCED - 1) is None
    assert len((tmp_path / "files.jsonl").read_bytes().splitlines()) == 11


def test_no_file_is_taken_again_and_new_ones_follow(compacted, tmp_path):
    compacted.take(files())
    compacted.take(files() + files(FILES, FILES + 2))
    again = Journal(tmp_path / "files.jsonl")
    assert len(again) == FILES + 2
    assert [entry.path for _, entry in again.between(FILES, FILES + 2)] == [one.path for one in files(FILES, FILES + 2)]


def test_untaken_files_are_neither_in_the_journal_nor_compacted(compacted):
    new = Slice("/in/new.jsonl", 7, 1)
    assert compacted.untaken([*files(0, 5), *files(SYNCED, FILES), new]) == [new]


def test_it_is_compacted_again_and_again(compacted, tmp_path):
    for end in range(FILES + LEAST_COMPACTED, FILES + 5 * LEAST_COMPACTED, LEAST_COMPACTED):
        compacted.take(files(end - LEAST_COMPACTED, end))
        compacted.compact(end)
        compacted = Journal(tmp_path / "files.jsonl")
        compacted.take(files(0, end))
        assert len(compacted) == end
        assert len(known(tmp_path)) == 1


CHANGED = {
    "size": Slice("/in/000007.jsonl", 5, 1007),
    "time": Slice("/in/000007.jsonl", 107, 5),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_compacted_file_that_changed_is_an_error(change, compacted):
    with pytest.raises(
        EnvironmentFault, match=r"/in/000007.jsonl: has another size or time of change .* move a synced"
    ):
        compacted.take([CHANGED[change]])
    assert compacted.renew([CHANGED[change]], SYNCED) == []


def test_few_files_are_not_compacted(tmp_path):
    journal = taken(tmp_path)
    journal.compact(LEAST_COMPACTED - 1)
    assert known(tmp_path) == []


def test_the_files_that_are_compacted_cannot_be_read_again(compacted):
    with pytest.raises(Damaged, match="compacted"):
        compacted.between(SYNCED - 1, FILES)


def test_a_mended_file_keeps_its_number_and_the_compacted_ones(compacted, tmp_path):
    mended = Slice(files()[-1].path, 7, 8)
    assert compacted.renew([*files()[:-1], mended], SYNCED) == [mended.path]
    again = Journal(tmp_path / "files.jsonl")
    assert again.between(FILES - 1, FILES) == [(FILES, mended)]
    again.take([*files()[:-1], mended])
    assert len(again) == FILES


def test_a_copy_of_the_first_entries_is_a_journal(compacted, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path, data in Journal.first(tmp_path / "files.jsonl", SYNCED + 2):
        (copy / path.name).write_bytes(data)
    assert Journal(copy / "files.jsonl").digest(SYNCED + 2) == compacted.digest(SYNCED + 2)
    assert len(Journal(copy / "files.jsonl")) == SYNCED + 2


@pytest.mark.parametrize("damage", [b"", b"x" * SYNCED * 16, None], ids=["empty", "others", "gone"])
def test_damaged_compacted_files_are_found(damage, compacted, tmp_path):
    path = tmp_path / known(tmp_path)[0]
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(Damaged, match=path.name):
        Journal(tmp_path / "files.jsonl")


def test_a_damaged_first_line_is_found(compacted, tmp_path):
    path = tmp_path / "files.jsonl"
    first, *rest = path.read_bytes().splitlines(keepends=True)
    for wrong in (first[:40] + b"\n", first.replace(b'"known"', b'"other"'), first.replace(b"files.", b"../x/"), b""):
        path.write_bytes(wrong + b"".join(rest))
        with pytest.raises(Damaged):
            Journal(path, FILES)


def crash_before(which, act):
    """Run `act` in a process that is killed before its nth call of the system."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    seen = [0]

    def counted(do):
        def called(*arguments, **named):
            if seen[0] == which:
                os.kill(os.getpid(), signal.SIGKILL)
            seen[0] += 1
            return do(*arguments, **named)

        return called

    durable.os.fsync = counted(os.fsync)
    durable.os.replace = counted(os.replace)
    durable.Path.unlink = counted(durable.Path.unlink)
    durable.write = counted(durable.write)
    act()
    os._exit(0)


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_kill_at_any_step_of_a_compaction_loses_nothing(compacted, tmp_path):
    compacted.take(files(FILES, 2 * FILES))
    expected = compacted.digest(2 * FILES)
    path = tmp_path / "files.jsonl"
    for step in range(100):
        before = {one: one.read_bytes() for one in tmp_path.iterdir()}
        ended = crash_before(step, lambda: Journal(path).compact(2 * FILES - 5))
        after = Journal(path)
        assert len(after) == 2 * FILES
        assert after.digest(2 * FILES) == expected
        after.take(files(0, 2 * FILES))
        assert len(after) == 2 * FILES, "a file was taken again"
        if ended == 0:
            break
        assert os.WTERMSIG(ended) == signal.SIGKILL
        for one in set(tmp_path.iterdir()) - set(before):
            one.unlink()
        for one, data in before.items():
            one.write_bytes(data)
    assert step > 6
    assert len(known(tmp_path)) == 1


def test_a_full_disk_during_a_compaction_changes_nothing(compacted, tmp_path, monkeypatch):
    compacted.take(files(FILES, 2 * FILES))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable, "write", full)
    with pytest.raises(EnvironmentFault, match="No space"):
        compacted.compact(2 * FILES - 5)
    again = Journal(tmp_path / "files.jsonl")
    again.take(files(0, 2 * FILES))
    assert len(again) == 2 * FILES
    [header, *_] = (tmp_path / "files.jsonl").read_text().splitlines()
    assert json.loads(header)["compacted"] == SYNCED
