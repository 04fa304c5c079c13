"""Change files as tasks read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs

from integrator.decode.contract import File
from integrator.decode.lines.joined import Named, join_lines
from integrator.errors import EnvironmentFault
from integrator.names.numbers import counted
from integrator.sources.slices import TaskSlice

_WHOLE = "write change files under a temporary name (.tmp) and rename them when they are whole"


@dataclass(frozen=True)
class FileReader:
    """Reads change files of this machine, or of a store that Arrow knows."""

    def begin(self, slices: Sequence[TaskSlice]) -> None:
        """Do nothing: files are opened one by one."""

    def file(self, one: TaskSlice) -> File:
        """Return the file."""
        return File(one.path, one.ordinal)

    def join(self, slices: Sequence[TaskSlice], *, records: bool) -> File | None:  # noqa: ARG002 - of topics
        """Return small files as one; None where one is no file of lines."""
        lines = join_lines([Named(one.path, one.ordinal, one.stream) for one in slices])
        return None if lines is None else File(slices[0].path, slices[0].ordinal, lines)

    def divide(self, slices: Sequence[TaskSlice], joined: File) -> list[tuple[Sequence[TaskSlice], File]]:  # noqa: ARG002 - of the contract
        """Return the files one by one."""
        return [((one,), self.file(one)) for one in slices]

    def check_unchanged(self, one: TaskSlice) -> None:
        """Raise EnvironmentFault for a file that is not as it was taken: of another size, or written again since."""
        filesystem, inside = pyarrow.fs.LocalFileSystem(), one.path
        if "://" in one.path:
            filesystem, inside = pyarrow.fs.FileSystem.from_uri(one.path)
        try:
            found = filesystem.get_file_info(inside)
        except OSError as error:
            raise EnvironmentFault(f"{one.path}: the change file cannot be read: {error}") from error
        if found.size is None:
            raise EnvironmentFault(
                f"{one.path}: the change file is gone; put it back, it is in no synced cycle; if it is lost, or was "
                "sent before the progress was lost, remove everything in the channel's state directory but spool to "
                "send all files that are there"
            )
        if found.size != one.size:
            raise EnvironmentFault(
                f"{one.path}: has {counted(found.size, 'byte')} and had {one.size:,} when it was taken: it has "
                f"changed; {_WHOLE}"
            )
        if (found.mtime_ns or 0) != one.mtime:
            raise EnvironmentFault(
                f"{one.path}: has {counted(found.size, 'byte')} as when it was taken, but was written again since; "
                f"{_WHOLE}; if its contents are right, start again"
            )


def slice_of(path: Path, ordinal: int, stream: str = "", *, read: bool = True, group: int | None = None) -> TaskSlice:
    """Return a file of this machine, as it is now, as a slice of a task."""
    status = path.stat()
    return TaskSlice(ordinal, str(path), status.st_size, status.st_mtime_ns, stream, read, group)
