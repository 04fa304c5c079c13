"""Which change files there are, in the order in which they were taken: their numbers are the stream's offsets.

A file once taken keeps its number, so a cycle that is sent again has the same files (I2). The journal is on disk before
Spark can write an offset that speaks of it.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs

from integrator.errors import EnvironmentFault

GLOB = frozenset("*?[")
_OPTIONS = re.compile(r"\?\w+=.*$")
"""What stands behind a URI: how Arrow is to reach the store (region=…, endpoint_override=…)."""
_UNESCAPED = "/=:@!$&'()*+,;~"
"""RFC 3986, section 3.3: characters of a path."""


@dataclass(frozen=True)
class Entry:
    """A change file: its path, and its size in bytes and time of change in ns when it was taken."""

    path: str
    size: int
    mtime: int = 0


@dataclass(frozen=True)
class Listing:
    """Where change files appear, and which of the names there are change files."""

    path: str
    pattern: str
    ignore: tuple[str, ...]
    order: Literal["name", "time"]
    delay_s: int = 0
    """Files that changed later than so many seconds ago are not there yet, nor are those behind them."""

    def files(self) -> list[Entry]:
        """Return the files that are there now, in order. Raises EnvironmentFault if the place cannot be listed."""
        try:
            filesystem, base, pattern = self._place()
            selected = filesystem.get_file_info(base)
            if selected.type == pyarrow.fs.FileType.NotFound:
                raise EnvironmentFault(f"{self.path}: there is no such directory or file; make it, or mend the path")
            infos = [selected]
            if selected.type == pyarrow.fs.FileType.Directory:
                infos = filesystem.get_file_info(pyarrow.fs.FileSelector(base))
        except (OSError, pa.ArrowInvalid) as error:
            raise EnvironmentFault(f"{self.path}: cannot be listed: {error}") from error
        files = [
            info
            for info in infos
            if info.type == pyarrow.fs.FileType.File
            and fnmatch.fnmatchcase(info.base_name, pattern)
            and not any(fnmatch.fnmatchcase(info.base_name, ignored) for ignored in self.ignore)
        ]
        if self.order == "time":
            files.sort(key=lambda info: (info.mtime_ns, info.base_name))
        else:
            files.sort(key=lambda info: info.base_name)
        latest = time.time_ns() - self.delay_s * 1_000_000_000
        ready = itertools.takewhile(lambda info: not self.delay_s or (info.mtime_ns or 0) <= latest, files)
        return [Entry(self._named(info.path), info.size, info.mtime_ns or 0) for info in ready]

    def _named(self, path: str) -> str:
        """Return a path that was listed as it is opened: where it is a URI, with escapes and with its options."""
        if "://" not in self.path:
            return path
        scheme, options = self.path.split("://", 1)[0], _OPTIONS.search(self.path)
        return f"{scheme}://{quote(path, _UNESCAPED)}{options[0] if options else ''}"

    def _place(self) -> tuple[pyarrow.fs.FileSystem, str, str]:
        found = _OPTIONS.search(self.path) if "://" in self.path else None
        options = found[0] if found else ""
        path, pattern = self.path.removesuffix(options), self.pattern
        directory, _, name = path.rpartition("/")
        if GLOB & set(name):
            path, pattern = directory or ".", name
        if "://" in path:
            filesystem, base = pyarrow.fs.FileSystem.from_uri(path + options)
            return filesystem, base, pattern
        return pyarrow.fs.LocalFileSystem(), str(Path(path).absolute()), pattern


class Journal:
    """The files taken so far, in order, on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = list(self._read())
        self._known = {entry.path: number for number, entry in enumerate(self._entries)}

    def __len__(self) -> int:
        return len(self._entries)

    def between(self, start: int, end: int) -> list[tuple[int, Entry]]:
        """Return the entries numbered `start` + 1 to `end`."""
        return [(number + 1, self._entries[number]) for number in range(start, end)]

    def take(self, files: list[Entry], number_of: Callable[[str], int] | None = None) -> None:
        """Add the files that are not known yet, and have them on disk before returning.

        number_of: files are numbered by their names without a gap, and none is taken before those below it: a
        directory that is listed while files get their names may show a later one and not an earlier one.

        Raises EnvironmentFault for a known one that is not as it was taken: what was added to it would be lost (I4).
        """
        new = []
        for file in files:
            number = self._known.get(file.path)
            if number is None:
                new.append(file)
            elif self._entries[number] != file:
                had = self._entries[number].size
                raise EnvironmentFault(
                    f"{file.path}: has {file.size} bytes and had {had} when it was taken, or was "
                    "written again: write change files under a temporary name (.tmp) and rename them when they are "
                    "whole, and use no name twice; a file that is not synced yet may be mended, then start again"
                )
        if number_of is not None:
            last = number_of(self._entries[-1].path) if self._entries else 0
            following = itertools.count(last + 1)
            new = list(itertools.takewhile(lambda file: number_of(file.path) == next(following), new))
        if not new:
            return
        with self._path.open("a", encoding="utf-8") as journal:
            journal.writelines(json.dumps(asdict(entry)) + "\n" for entry in new)
            journal.flush()
            os.fsync(journal.fileno())
        self._known.update((entry.path, number) for number, entry in enumerate(new, len(self._entries)))
        self._entries += new

    def renew(self, files: list[Entry], synced: int) -> list[str]:
        """Take files anew that were mended while they were in no synced cycle (numbered above `synced`).

        Returns their paths. Called before a stream starts, so no cycle has read them half.
        """
        renewed = []
        for file in files:
            number = self._known.get(file.path, -1)
            if number >= synced and self._entries[number] != file:
                self._entries[number] = file
                renewed.append(file.path)
        if renewed:
            temporary = self._path.with_suffix(".tmp")
            lines = (json.dumps(asdict(entry)) + "\n" for entry in self._entries)
            temporary.write_text("".join(lines), encoding="utf-8")
            temporary.replace(self._path)
        return renewed

    def limit(self, start: int, max_bytes: int) -> int:
        """Return the number of the last file of a cycle after `start`: at least one, up to `max_bytes` (0: all)."""
        total = 0
        for number in range(start, len(self._entries)):
            total += self._entries[number].size
            if max_bytes and total > max_bytes and number > start:
                return number
        return len(self._entries)

    def _read(self) -> Iterator[Entry]:
        """Read the journal; a line that a crash cut short was never spoken of, and is cut off."""
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self._path.open("r+b") as journal:
                journal.truncate(len(whole))
        for line in whole.splitlines():
            yield Entry(**json.loads(line))
