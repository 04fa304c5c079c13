"""Backups: consistent while the channel continues, checked when they are imported, and never imported in part."""

import io
import json
import os
import shutil
import tarfile
import time

import pytest

from integrator.errors import EnvironmentFault
from integrator.run.state import backup, consistency, rewind
from integrator.sources.journal.journal import Journal
from tests.parts import states

CYCLES = 4


def tree(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in ("lock", "senders", "integrating")
    }


@pytest.fixture
def state(tmp_path):
    return states.of_cycles(tmp_path / "state", CYCLES)


@pytest.fixture
def file(state, tmp_path):
    backup.export(state, "shop", tmp_path / "backup")
    return tmp_path / "backup"


def other(directory):
    state = states.of_cycles(directory / "other", 1)
    shutil.rmtree(state.path)
    return state


def test_what_is_imported_is_what_was_exported(state, file, tmp_path):
    (state.path / "added.json").write_text("{}")
    (state.path / "refreshed.json").write_text('{"t": "1"}')
    identity = state.identity()
    with pytest.raises(
        EnvironmentFault, match="backup: is there already, perhaps a backup; give another name, or give"
    ):
        backup.export(state, "shop", file)
    done = backup.export(state, "shop", file, replace=True)
    assert (done.channel, done.cycle, done.files) == ("shop", 3, 8)
    restored = other(tmp_path)
    assert backup.restore(restored, "shop", file, replace=False) == done
    assert tree(restored.path) == tree(state.path)
    assert restored.identity() == identity
    consistency.check(restored)


def test_an_import_keeps_the_times_of_cycles(state, file, tmp_path):
    """All cycles were synced at the moment of the import."""
    restored = other(tmp_path)
    time.sleep(0.01)
    backup.restore(restored, "shop", file, replace=False)
    for path in (restored.path / "synced").iterdir():
        os.utime(path, (0, 0))
    assert [one.at for one in rewind.history(restored)] == [one.at for one in rewind.history(state)]


MEANWHILE = {
    "a cycle is begun": lambda state: states.begin(state, 4),
    "a cycle is synced": lambda state: [states.begin(state, 4), states.sync(state, 4)],
    "a line is being written": lambda state: state.journal.write_bytes(state.journal.read_bytes() + b'{"path"'),
    "the first cycles are not kept any more": lambda state: [
        (state.path / name).unlink() for name in ("synced/0.json", "checkpoint/offsets/0", "checkpoint/commits/0")
    ],
}


@pytest.mark.parametrize("case", MEANWHILE)
def test_a_backup_is_that_of_the_last_committed_cycle(case, state, tmp_path):
    """The channel's process holds the lock meanwhile."""
    state.lock("shop", 0)
    before = tree(state.path)
    MEANWHILE[case](state)
    backup.export(type(state)(str(state.path)), "shop", tmp_path / "backup")
    state.unlock()
    restored = other(tmp_path)
    backup.restore(restored, "shop", tmp_path / "backup", replace=False)
    consistency.check(restored)
    assert tree(restored.path).items() <= before.items()
    assert restored.last_slice() == 8


DAMAGED = {
    "files.jsonl": "has 0 change files",
    "synced/3.json": "the mark of a synced cycle cannot be read",
    "checkpoint/offsets/3": "begins with b''",
    "checkpoint/commits/3": "begins with b''",
    "checkpoint/metadata": "is gone or damaged",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_backup_is_not_made_of_a_damaged_state(name, state, tmp_path):
    (state.path / name).write_bytes(b"")
    with pytest.raises(EnvironmentFault, match=f"no consistent state to back up: .*{name}: {DAMAGED[name]}"):
        backup.export(state, "shop", tmp_path / "backup")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state"]


def test_there_is_nothing_to_back_up_before_the_first_cycle(tmp_path):
    state = states.of_cycles(tmp_path / "state", 0)
    with pytest.raises(EnvironmentFault, match="channel shop has no committed cycle"):
        backup.export(state, "shop", tmp_path / "backup")


def test_progress_that_is_there_is_not_lost_unasked(state, file):
    before = tree(state.path)
    with pytest.raises(EnvironmentFault, match=r"has files\.jsonl, checkpoint, synced .* or give --replace"):
        backup.restore(state, "shop", file, replace=False)
    assert tree(state.path) == before
    states.begin(state, 4)
    (state.path / "suspended").write_text("x")
    backup.restore(state, "shop", file, replace=True)
    assert tree(state.path) == before


def packed(members):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return archive.getvalue()


def members_of(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [(info.name, tar.extractfile(info).read()) for info in tar]


def another(name, data):
    return lambda whole: packed([(one, data if one == name else old) for one, old in members_of(whole)])


BROKEN = {
    "it is empty": (lambda _: b"", "no backup, or is damaged"),
    "it is no archive": (lambda _: b"hello", "no backup, or is damaged"),
    "it is cut": (lambda whole: whole[:-200], "no backup, or is damaged"),
    "it is cut in the middle": (lambda whole: whole[: len(whole) // 2], "no backup, or is damaged"),
    "a byte is another": (lambda whole: whole[:300] + bytes([whole[300] ^ 1]) + whole[301:], "damaged"),
    "a file is another": (another("files.jsonl", b"x"), "damaged: files.jsonl differ"),
    "a file is missing": (
        lambda whole: packed(members_of(whole)[:3] + members_of(whole)[4:]),
        "differ from its checksums",
    ),
    "a file is too many": (
        lambda whole: packed([*members_of(whole)[:-1], ("more", b""), members_of(whole)[-1]]),
        "damaged: more differ",
    ),
    "the checksums are missing": (lambda whole: packed(members_of(whole)[:-1]), "damaged"),
    "it leads out of the directory": (lambda whole: packed([*members_of(whole)[:-1], ("../x", b"")]), "no file below"),
    "it is another channel's": (
        lambda whole: another("backup.json", members_of(whole)[0][1].replace(b"shop", b"mall"))(whole),
        "is a backup of channel 'mall' in format 1; accepted is one of channel 'shop' in format 1",
    ),
    "it is of another format": (
        lambda whole: another("backup.json", members_of(whole)[0][1].replace(b'"format": 1', b'"format": 2'))(whole),
        "in format 2; accepted",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_backup_that_is_damaged_changes_nothing(case, state, file):
    before = tree(state.path)
    change, said = BROKEN[case]
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(EnvironmentFault, match=said):
        backup.restore(state, "shop", file, replace=True)
    assert tree(state.path) == before
    consistency.check(state)


class PowerCut(BaseException):
    """The process is gone."""


def test_a_crash_in_an_import_leaves_nothing_that_starts_in_part(state, file, tmp_path, monkeypatch):
    """At every system call that changes a name: the state is as it was, or as in the backup, or is refused."""
    states.begin(state, 4)
    states.sync(state, 4)
    before, calls = tree(state.path), 0
    kept = tmp_path / "kept"
    shutil.copytree(state.path, kept)
    outcomes = set()
    for crash in range(1000):
        shutil.rmtree(state.path)
        shutil.copytree(kept, state.path)
        calls = 0
        with monkeypatch.context() as patched:
            for name in ("replace", "unlink", "rmdir", "mkdir"):
                call = getattr(os, name)

                def crashing(*args, call=call, crash=crash, **kwargs):
                    nonlocal calls
                    calls += 1
                    if calls > crash:
                        raise PowerCut
                    return call(*args, **kwargs)

                patched.setattr(os, name, crashing)
            try:
                backup.restore(state, "shop", file, replace=True)
                break
            except PowerCut:
                state.unlock()
        if tree(state.path).keys() >= before.keys() and not (state.path / "importing").exists():
            outcomes.add("as it was")
            consistency.check(state)
            continue
        if (state.path / "importing").exists():
            outcomes.add("refused")
            with pytest.raises(EnvironmentFault, match="importing: the import of a backup did not come to its end"):
                consistency.check(state)
            with pytest.raises(EnvironmentFault, match="did not come to its end"):
                state.lock("shop", 0)
            backup.restore(state, "shop", file, replace=False)
        consistency.check(state)
        assert state.last_slice() == 8
    assert {"as it was", "refused"} <= outcomes


def spooled(state):
    """The lines of a sender in segments, one for each file of the journal; the last one is open."""
    state.spool.mkdir()
    lines = []
    for number in range(1, 9):
        name = f"{number:012d}.a.{number}.jsonl"
        (state.spool / name).write_bytes(b"{}\n")
        lines.append(f'{{"path": "{state.spool / name}", "size": 3, "mtime": 1}}\n')
    (state.spool / "000000000009.a.9.jsonl").write_bytes(b"{}\n")
    (state.spool / "a.10.open").write_bytes(b"{}\n{")
    (state.spool / "senders.json").write_text('{"b": 7}')
    state.journal.write_text("".join(lines))
    for path in state.marks.path.glob("*.json"):
        mark = json.loads(path.read_text())
        mark["journal"] = Journal(state.journal).digest(mark["checkpoint"]["ordinal"])
        path.write_text(json.dumps(mark))


def test_received_lines_that_are_not_synced_are_in_a_backup(state, tmp_path):
    spooled(state)
    backup.export(state, "shop", tmp_path / "backup")
    restored = other(tmp_path)
    backup.restore(restored, "shop", tmp_path / "backup", replace=False)
    kept = ["000000000008.a.8.jsonl", "000000000009.a.9.jsonl", "a.10.open", "senders.json"]
    assert sorted(path.name for path in restored.spool.iterdir()) == kept


def test_received_lines_that_are_there_are_kept_by_an_import(state, tmp_path):
    """Their senders were told that they are durable, and do not send them again."""
    spooled(state)
    backup.export(state, "shop", tmp_path / "backup")
    (state.spool / "000000000010.a.10.jsonl").write_bytes(b"{}\n{}\n")
    before = tree(state.spool)
    backup.restore(state, "shop", tmp_path / "backup", replace=True)
    assert tree(state.spool) == before


def test_lines_that_are_being_received_are_not_backed_up_in_part(state, tmp_path):
    spooled(state)
    state.lock("shop", 0)
    with pytest.raises(EnvironmentFault, match="receives lines now"):
        backup.export(type(state)(str(state.path)), "shop", tmp_path / "backup")
    state.unlock()
