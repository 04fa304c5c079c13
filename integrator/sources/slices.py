"""Runs: the files that a task reads in order, as rows that Spark hands to the first pass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.fs

from integrator.errors import EnvironmentFault

if TYPE_CHECKING:
    from integrator.decode.contract import File

FILE_SLICE = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("mtime", pa.int64()),
        ("read", pa.bool_()),
        ("group", pa.int64()),
    ]
)
FILE_SLICE_DDL = "ordinal bigint, path string, size bigint, mtime bigint, read boolean, group bigint"
"""A run is a file. Rows with read = false are the files before a task's first: asked where they end, and not sent.

size, mtime: its size, and its time of change in ns (0 where a store has none), when it was taken. group: of
small files that may be read as one, the number of the first; null where there are no others.
"""

_WHOLE = "write change files under a temporary name (.tmp) and rename them when they are whole"
_SEGMENT = re.compile(r"\d{12}\.([A-Za-z0-9_-]+)\.\d+\.jsonl")
"""A file of lines that came through a socket, see sources.spool: its sender is named in the middle."""


def stream_of(path: str) -> str:
    """Return what a file is a part of: of lines from sockets, each sender is a stream; change files are all of one."""
    found = _SEGMENT.fullmatch(path.rpartition("/")[2])
    return found[1] if found else ""


@dataclass(frozen=True)
class FileSlice:
    """A file to read, or only to be asked where it ends."""

    ordinal: int
    path: str
    size: int
    mtime: int
    read: bool
    group: int | None = None

    @property
    def file(self) -> File:
        """The file, as dialects know it."""
        from integrator.decode.contract import File  # noqa: PLC0415 - a stream's source, which starts often, reads none

        return File(self.path, self.ordinal)

    @property
    def stream(self) -> str:
        """What the file is a part of: a transaction goes on in the next file of the same stream."""
        return stream_of(self.path)


def row_of(path: Path, ordinal: int, *, read: bool = True, group: int | None = None) -> dict[str, object]:
    """Return the row of a file of this machine, as it is now."""
    status = path.stat()
    taken = {"ordinal": ordinal, "path": str(path), "size": status.st_size, "mtime": status.st_mtime_ns}
    return {**taken, "read": read, "group": group}


def check_unchanged(run: FileSlice) -> None:
    """Raise EnvironmentFault for a file that is not as it was taken: of another size, or written again since."""
    filesystem, inside = pyarrow.fs.LocalFileSystem(), run.path
    if "://" in run.path:
        filesystem, inside = pyarrow.fs.FileSystem.from_uri(run.path)
    try:
        found = filesystem.get_file_info(inside)
    except OSError as error:
        raise EnvironmentFault(f"{run.path}: the change file cannot be read: {error}") from error
    if found.size is None:
        raise EnvironmentFault(
            f"{run.path}: the change file is gone; put it back, it is in no synced cycle; if it is lost, or was "
            "sent before the progress was lost, remove everything in the channel's state directory but spool to "
            "send all files that are there"
        )
    if found.size != run.size:
        raise EnvironmentFault(
            f"{run.path}: has {found.size} bytes and had {run.size} when it was taken: it has changed; {_WHOLE}"
        )
    if (found.mtime_ns or 0) != run.mtime:
        raise EnvironmentFault(
            f"{run.path}: has {found.size} bytes as when it was taken, but was written again since; {_WHOLE}; if its "
            "contents are right, start again"
        )
