"""Runs: the files that a task reads in order, as rows that Spark hands to the first pass."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
        ("read", pa.bool_()),
        ("group", pa.int64()),
    ]
)
FILE_SLICE_DDL = "ordinal bigint, path string, size bigint, read boolean, group bigint"
"""A run is a file. Rows with read = false are the files before a task's first: asked where they end, and not sent.

group: of small files that may be read as one, the number of the first; null where there are no others.
"""

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


def check_unchanged(run: FileSlice) -> None:
    """Raise EnvironmentFault for a file that is not as it was taken."""
    filesystem, inside = pyarrow.fs.LocalFileSystem(), run.path
    if "://" in run.path:
        filesystem, inside = pyarrow.fs.FileSystem.from_uri(run.path)
    try:
        size = filesystem.get_file_info(inside).size
    except OSError as error:
        raise EnvironmentFault(f"{run.path}: the change file cannot be read: {error}") from error
    if size is None:
        raise EnvironmentFault(
            f"{run.path}: the change file is gone; put it back, it is in no synced cycle; if it is lost, or was "
            "sent before the progress was lost, remove everything in the channel's state directory but spool to "
            "send all files that are there"
        )
    if size != run.size:
        raise EnvironmentFault(
            f"{run.path}: has {size} bytes and had {run.size} when it was taken: it was written on; write change files "
            "under a temporary name (.tmp) and rename them when they are whole"
        )
