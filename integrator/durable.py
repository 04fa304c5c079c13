"""Files that survive a power cut: what returns from here is on disk, its name in its directory too.

A file's bytes are synced before the file gets its name, and the directory after: a crash leaves the old file or the new
one, whole. Everything that a later start relies on is written by these functions.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from integrator.errors import EnvironmentFault


class Damaged(EnvironmentFault):
    """A file of the state directory is gone, or is not as it was written. See consistency for what to do about it."""


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: of files that were created, renamed or removed there."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are not there."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        sync_directory(path.parent)


def write(path: Path, data: bytes) -> None:
    """Create a file, or overwrite it in place. For files that nobody reads before a later `rename`."""
    with open(path, "wb", opener=_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    """Open a file; a new one is the owner's alone, also in processes that the JVM has started, with its umask."""
    return os.open(path, flags, 0o600)


def replace(path: Path, data: bytes) -> None:
    """Create or replace a file, whole: a reader, or a start after a crash, sees the old content or the new.

    Also where another process, or one that was paused, replaces the same file: each writes a file of its own.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        write(temporary, data)
        rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def rename(path: Path, to: Path) -> None:
    """Rename a file or directory whose content is durable; a file that has the new name is replaced."""
    os.replace(path, to)  # noqa: PTH105 - as os.fsync: tests record the order of system calls
    sync_directory(to.parent)
    if path.parent != to.parent:
        sync_directory(path.parent)


def append(path: Path, data: bytes) -> None:
    """Add to the end of a file, which is created if it is not there. Where it fails, the file is as it was."""
    created = not path.exists()
    with open(path, "ab", buffering=0, opener=_private) as file:
        before = os.fstat(file.fileno()).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), before)
            raise
    if created:
        sync_directory(path.parent)


def cut(path: Path, size: int) -> None:
    """Cut a file to its first `size` bytes."""
    with path.open("r+b") as file:
        file.truncate(size)
        os.fsync(file.fileno())


def remove(paths: Iterable[Path]) -> None:
    """Remove files, those that are there, in the given order. No name comes back after a power cut."""
    removed = {}
    for path in paths:
        path.unlink(missing_ok=True)
        removed[path.parent] = True
    for directory in removed:
        sync_directory(directory)
