"""Backups of a channel's progress: a file with the state as it was when a cycle was done.

The file is a gzipped tar archive. Its first member, backup.json, names the channel and the cycle; the last one,
checksums.json, has the size and the SHA-256 of all others.

A backup is that of one committed cycle N: its mark and those before it, Spark's files up to N, and the journal up to
N's last file. None of them is written again while a process integrates, so that a backup may be made meanwhile; going
back takes the channel's lock, and is found out by N's mark. The spool of sockets is written all the time: where there
is one, a backup needs the lock.

An import writes the file `importing` before it touches anything, and removes it at its end: what a crash leaves in
between does not start.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from integrator import durable
from integrator.durable import Damaged
from integrator.errors import EnvironmentFault
from integrator.run.state import consistency, shards
from integrator.run.state.directory import IMPORTING, MOVING_BACK, State
from integrator.run.state.spark_checkpoint import SparkCheckpoint
from integrator.sources.journal.journal import Journal
from integrator.sources.spool import number_of, sealed_in

FORMAT = 1
_BACKUP, _CHECKSUMS = "backup.json", "checksums.json"
_UNPACKED = ".import"
_WAIT_S = 1.0
_PROGRESS = ("files.jsonl", "checkpoint", "synced")
"""What makes a state directory that is not empty."""
_REPLACED = (
    *_PROGRESS,
    "added.json",
    "schemas.json",
    "refreshed.json",
    "aside.json",
    "identity",
    "refresh",
    "suspended",
    "sub_cycle.json",
    MOVING_BACK,
)


@dataclass(frozen=True)
class Backup:
    """What a backup is of."""

    format: int
    channel: str
    cycle: int
    files: int
    made: str


def export(state: State, channel: str, file: Path, *, replace: bool = False) -> Backup:
    """Write a backup of the last committed cycle into a file. Raises EnvironmentFault.

    replace: also where there is a file of that name, which is lost.
    """
    if file.exists() and not replace:
        raise EnvironmentFault(
            f"{file}: is there already, perhaps a backup; give another name, or give --replace, which overwrites it"
        )
    committed = SparkCheckpoint(Path(state.spark_checkpoint)).committed()
    if not committed:
        raise EnvironmentFault(f"{state.path}: channel {channel} has no committed cycle, and no progress to back up")
    temporary = file.with_name(f".{file.name}.tmp")
    locked = _try_lock(state, channel)
    try:
        if state.spool.exists() and not locked:
            raise EnvironmentFault(
                f"{state.spool}: receives lines now, and a backup would have them in part; stop the channel's process"
            )
        cycle = committed[-1]
        made = datetime.now(timezone.utc).isoformat(timespec="seconds")
        try:
            SparkCheckpoint(Path(state.spark_checkpoint)).check_metadata()
            consistency.check_whole(state, cycle)
            backup = Backup(FORMAT, channel, cycle, state.marks.read(cycle).last_slice, made)
            _pack(temporary, backup, _members(state, backup), state.journal)
            consistency.check_whole(state, cycle)  # nobody went back meanwhile
            state.check_finished()
        except Damaged as damaged:
            raise consistency.fault(state, f"there is no consistent state to back up: {damaged}") from damaged
        except OSError as error:
            raise EnvironmentFault(f"{file}: the backup cannot be written: {error}") from error
        durable.rename(temporary, file)
        return backup
    finally:
        temporary.unlink(missing_ok=True)
        if locked:
            state.unlock()


def _try_lock(state: State, channel: str) -> bool:
    """Take the channel's lock; return whether it could be taken. An unfinished command is an error in any case."""
    state.check_finished()
    try:
        state.lock(channel, 0)
    except EnvironmentFault:
        return False
    return True


def _members(state: State, backup: Backup) -> Iterator[tuple[str, Path]]:
    """Yield the files of the state after a cycle but the journal, with their names in the state directory."""
    checkpoint = Path(state.spark_checkpoint)
    paths = [
        checkpoint / "metadata",
        state.path / "added.json",
        state.path / "schemas.json",
        state.path / "captured.json",
        state.path / "refreshed.json",
        state.path / "aside.json",
        state.path / "identity",
        *(state.path / "aside").glob("*/*"),
    ]
    for directory in (checkpoint / "offsets", checkpoint / "commits", state.marks.path):
        numbered = [(path.name.partition(".")[0], path) for path in directory.glob("[0-9]*")]
        paths += [path for number, path in numbered if number.isdecimal() and int(number) <= backup.cycle]
    if state.spool.exists():
        [*_, (_, last)] = Journal(state.journal).between(backup.files - 1, backup.files)
        segments = sealed_in(state.spool)
        paths += [path for path in segments if number_of(path.name) >= number_of(last.path)]  # it numbers the next one
        paths += [state.spool / "senders.json", state.spool / "capture.json", *state.spool.glob("*.open")]
    for path in paths:
        if path.exists():
            yield str(path.relative_to(state.path)), path


def _pack(file: Path, backup: Backup, members: Iterator[tuple[str, Path]], journal: Path) -> None:
    recorded: dict[str, dict[str, Any]] = {}

    def add(name: str, data: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o600
        archive.addfile(info, io.BytesIO(data))
        recorded[name] = _checksum(data)

    with tarfile.open(file, mode="w:gz") as archive:
        add(_BACKUP, json.dumps(backup.__dict__).encode())
        for name, path in members:
            with contextlib.suppress(FileNotFoundError):  # of a cycle that is not kept any more
                add(name, path.read_bytes())
        for path, data in Journal.first(journal, backup.files):
            add(path.name, data)
        add(_CHECKSUMS, json.dumps(recorded, indent=1).encode())
    with file.open("rb") as packed:
        os.fsync(packed.fileno())


def restore(state: State, channel: str, file: Path, *, replace: bool) -> Backup:
    """Have the state directory be as the backup in `file`. Raises EnvironmentFault, and then nothing has changed.

    replace: also where the directory has progress, which is lost. A spool that has segments is kept: it has lines that
    were received since, which nobody sends again.
    """
    state.lock(channel, 0, mends=(IMPORTING, MOVING_BACK))
    unpacked = state.path / _UNPACKED
    try:
        there = [name for name in _PROGRESS if _has_files(state.path / name)]
        if there and not replace and not (state.path / IMPORTING).exists():
            raise EnvironmentFault(
                f"{state.path}: has {', '.join(there)} of channel {channel}; import into an empty directory, or give "
                "--replace, which removes the existing state"
            )
        _remove(unpacked)
        backup = _unpack(file, unpacked, channel)
        with state.integrating(_WAIT_S):  # no refresh sends rows
            _replace(state, unpacked)
    finally:
        _remove(unpacked)
        state.unlock()
    return backup


def _has_files(path: Path) -> bool:
    return path.is_file() or any(one.is_file() for one in path.rglob("*"))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _replace(state: State, unpacked: Path) -> None:
    """Replace the parts of the state directory. A crash leaves them as they were, or the file `importing`."""
    durable.replace(state.path / IMPORTING, b"a backup is being imported\n")
    for name in _REPLACED:
        _remove(state.path / name)
    if (unpacked / "spool").exists():
        _remove(unpacked / "spool" if _has_files(state.spool) else state.spool)
    if (unpacked / "aside").exists():
        _remove(unpacked / "aside" if _has_files(state.path / "aside") else state.path / "aside")
    for path in sorted(unpacked.iterdir()):
        durable.rename(path, state.path / path.name)
    state.make()
    shards.renew_generation(state.path)
    durable.remove([state.path / IMPORTING])


def _unpack(file: Path, to: Path, channel: str) -> Backup:
    """Unpack a backup, and check it. Raises EnvironmentFault if it is none, is damaged, or is another channel's."""
    actual: dict[str, dict[str, Any]] = {}
    try:
        with tarfile.open(file, "r:gz") as archive:
            members = _contents(archive)
            _, first = next(members)
            backup = Backup(**json.loads(first))
            if (backup.format, backup.channel) != (FORMAT, channel):
                raise EnvironmentFault(
                    f"{file}: is a backup of channel {backup.channel!r} in format {backup.format}; accepted is one of "
                    f"channel {channel!r} in format {FORMAT}"
                )
            data, actual[_BACKUP] = first, _checksum(first)
            for name, data in members:
                if name != _CHECKSUMS:
                    durable.make_directory((to / name).parent)
                    durable.write(to / name, data)
                    actual[name] = _checksum(data)
            recorded = json.loads(data)  # the last one
    except OSError as error:
        raise EnvironmentFault(f"{file}: cannot be imported: {error}") from error
    except (
        EOFError,
        StopIteration,
        tarfile.TarError,
        zlib.error,
        ValueError,
        LookupError,
        TypeError,
    ) as error:
        raise EnvironmentFault(f"{file}: is no backup, or is damaged: {error!r}; take another backup") from error
    wrong = sorted(name for name in actual.keys() | recorded.keys() if actual.get(name) != recorded.get(name))
    if wrong:
        raise EnvironmentFault(
            f"{file}: is damaged: {', '.join(wrong[:5])} differ from its checksums; take another backup"
        )
    for directory in [to, *(path for path in to.rglob("*") if path.is_dir())]:
        durable.sync_directory(directory)
    return backup


def _contents(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an archive. Raises ValueError for one that would not be a file in the state directory."""
    for info in archive:
        path = PurePosixPath(info.name)
        data = archive.extractfile(info) if info.isreg() else None
        if data is None or path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{info.name} is no file below the state directory")
        yield info.name, data.read()


def _checksum(data: bytes) -> dict[str, Any]:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
