"""Where Spark's JVM keeps temporary files: a directory for each process, removed when the process ends.

What a killed process left there, the next start removes: each directory has a file that is locked while its process
lives. Where the user's configuration names a directory for Spark (spark.local.dir, SPARK_LOCAL_DIRS), blocks are there.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

from integrator.errors import EnvironmentFault

_PREFIX = "integrator-spark-"
_LOCK = "lock"
_held: list[IO[bytes]] = []
"""Locks of this process: held until it ends, however it ends."""


@cache
def directory() -> Path:
    """Return this process's directory; those of processes that were killed are removed. Raises EnvironmentFault."""
    try:
        made = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = (made / f".{_LOCK}").open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX)
        Path(lock.name).rename(made / _LOCK)  # who sees a lock's name sees it held
    except OSError as error:
        raise EnvironmentFault(
            f"{tempfile.gettempdir()}: Spark's temporary files cannot be kept here: {error.strerror}; make room, or "
            "have TMPDIR name a directory that can be written"
        ) from error
    _held.append(lock)
    atexit.register(lock.close)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    for left in _left_by_killed(made.parent):
        shutil.rmtree(left, ignore_errors=True)
    return made


def _left_by_killed(parent: Path) -> Iterator[Path]:
    """Yield the directories of this user's processes that do not live any more; none of them is locked meanwhile."""
    for found in parent.glob(f"{_PREFIX}*"):
        with _ended(found) as ended:
            if ended:
                yield found


@contextmanager
def _ended(found: Path) -> Iterator[bool]:
    """Hold the lock of a directory, and yield whether nobody else does."""
    try:
        ours = not found.is_symlink() and found.stat().st_uid == os.getuid()
        with (found / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield ours
    except OSError:  # it is held, or gone meanwhile
        yield False
