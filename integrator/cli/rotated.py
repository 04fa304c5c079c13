"""A file that grows, and the files beside it that had its name before: which one has lines, and which one is next.

Files are known by what is in them: how they begin, and what stands before the place up to which lines were received. So
it does not matter whether a file was renamed and written anew, or copied and cut (logrotate's copytruncate).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from integrator import durable
from integrator.errors import DataError, EnvironmentFault

SHOWN = 4096
"""So many bytes at the beginning, and before a place, say which file it is."""
_BESIDE = (".", "-")
"""What follows a file's name in the names of rotated ones: wal.jsonl.1, wal.jsonl-20261124."""
_NOT_ROTATED = (".sent", ".tmp")
_PACKED = (".gz", ".zst", ".bz2", ".xz", ".lz4")


@dataclass(frozen=True)
class Mark:
    """A place in a file, which says so much of the file that it is found again.

    before: the number of lines in the files before it. line: the number of lines up to the place, with those. offset:
    the place in bytes. begins: a digest of the first `size` bytes. ends: of the last bytes before the place.
    """

    before: int
    line: int
    offset: int
    size: int
    begins: str
    ends: str
    device: int
    inode: int


def digest(data: bytes) -> str:
    """Return the digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Opened:
    """A file that is read. before: the number of lines in those before it. head: how it begins."""

    file: BinaryIO
    before: int
    head: bytes


@dataclass(frozen=True)
class Place:
    """A place in a file after a whole line, whose number is `line`. tail: what stands before it."""

    of: Opened
    line: int
    offset: int
    tail: bytes

    @property
    def mark(self) -> Mark:
        """What is written down of it."""
        head, (device, inode) = self.of.head, identity(self.of.file)
        return Mark(self.of.before, self.line, self.offset, len(head), digest(head), digest(self.tail), device, inode)


def read_mark(record: Path) -> Mark | None:
    """Return what a record says; None if there is none yet. Raises EnvironmentFault for a damaged one."""
    try:
        known = json.loads(record.read_text(encoding="utf-8"))
        mark = Mark(**known)
        valid = all(type(getattr(mark, name)) is type(of_type) for name, of_type in asdict(_EXAMPLE).items())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise EnvironmentFault(f"{record}: cannot be read, and it records what was sent: {error}; {_AGAIN}") from error
    if not valid:
        raise EnvironmentFault(f"{record}: is damaged, and it records what was sent: {str(known)[:200]}; {_AGAIN}")
    return mark


_EXAMPLE = Mark(0, 0, 0, 0, "", "", 0, 0)
_AGAIN = "restore it, or send the file with another --sender"


def write_mark(record: Path, mark: Mark) -> None:
    """Write a record, durably. Raises EnvironmentFault."""
    try:
        durable.replace(record, json.dumps(asdict(mark)).encode())
    except OSError as error:
        raise EnvironmentFault(f"{record}: cannot be written, and it records what was sent: {error}") from error


def opened(path: Path) -> BinaryIO | None:
    """Open a file, without a buffer; None where there is none."""
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be read: {error.strerror}") from error
    if S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise DataError(f"{path}: is no regular file")


def identity(file: BinaryIO) -> tuple[int, int]:
    """Return which file of the system an open one is."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def has(file: BinaryIO, mark: Mark) -> bool:
    """Return whether a file is the one of a mark, or a copy of it: it has the same bytes around the place."""
    if os.fstat(file.fileno()).st_size < max(mark.size, mark.offset):
        return False
    first = os.pread(file.fileno(), mark.size, 0)
    start = max(mark.offset - SHOWN, 0)
    return digest(first) == mark.begins and digest(os.pread(file.fileno(), mark.offset - start, start)) == mark.ends


def beside(path: Path) -> Iterator[Path]:
    """Yield the files beside a file that may have had its name before."""
    for name in sorted(os.listdir(path.parent)):  # noqa: PTH208 - names are wanted
        if name.startswith(tuple(path.name + mark for mark in _BESIDE)) and not name.endswith(_NOT_ROTATED):
            yield path.with_name(name)


def found(path: Path, mark: Mark, but: tuple[int, int] | None = None) -> BinaryIO | None:
    """Return the file that a mark is of: under its name, or beside it; None where it is not there any more.

    Of several that have the same bytes, it is the same file of the system, or has its name, or is the longest. but: not
    this one.
    """
    best: tuple[tuple[bool, bool, int], BinaryIO] | None = None
    for place in (path, *(one for one in beside(path) if one.suffix not in _PACKED)):
        file = opened(place)
        if file is None:
            continue
        same = identity(file)
        rank = same == (mark.device, mark.inode), place == path, os.fstat(file.fileno()).st_size
        if same == but or not has(file, mark) or (best is not None and rank <= best[0]):
            file.close()
            continue
        if best is not None:
            best[1].close()
        best = rank, file
    return None if best is None else best[1]


def next_after(path: Path, file: BinaryIO, mark: Mark, done: Container[tuple[int, int, int]]) -> Path | None:
    """Return the file that was begun after `file`, which has the mark; None while there is none with lines.

    Rotated files follow each other by the time of their last change: none is written to once the next one has lines.
    done: those that were read, with their times. Raises DataError for a packed one that was rotated later.
    """
    last, now = os.fstat(file.fileno()), _status(path)
    if now is not None and (now.st_dev, now.st_ino) == (last.st_dev, last.st_ino):
        return None
    later: list[tuple[int, str, Path]] = []
    for one in beside(path):
        status = _status(one)
        if status is None or not S_ISREG(status.st_mode) or status.st_mtime_ns < last.st_mtime_ns:
            continue
        if (status.st_dev, status.st_ino) == (last.st_dev, last.st_ino):
            continue
        if one.suffix in _PACKED:
            if status.st_mtime_ns > last.st_mtime_ns:  # otherwise it is that file, packed
                raise PackedError(
                    f"{one}: is packed, and may have lines that were not sent: unpack it, or move it away"
                )
            continue
        if (status.st_dev, status.st_ino, status.st_mtime_ns) not in done and not _is_copy(one, mark):
            later.append((status.st_mtime_ns, one.name, one))
    if later:
        return min(later)[2]
    return path if now is not None and now.st_size else None


class PackedError(DataError):
    """A rotated file cannot be read, for it is packed."""


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_copy(path: Path, mark: Mark) -> bool:
    """Return whether a file is a copy of the one of a mark; one that is gone has no lines either."""
    file = opened(path)
    if file is None:
        return True
    with file:
        return mark.size > 0 and has(file, mark)


def read(file: int, begin: int, end: int) -> bytes:
    """Return the bytes from a place to another one; fewer where the file is shorter now."""
    pieces = []
    while begin < end and (data := os.pread(file, min(end - begin, 1 << 20), begin)):
        pieces.append(data)
        begin += len(data)
    return b"".join(pieces)
