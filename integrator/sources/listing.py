"""Which change files there are now: those of a directory, or of a store that Arrow knows, in order."""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Literal
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs

from integrator.errors import EnvironmentFault

GLOB = frozenset("*?[")
_OPTIONS = re.compile(r"\?\w+=.*$")
"""What is after a URI: how Arrow is to reach the store (region=…, endpoint_override=…)."""
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
    """Files that changed later than so many seconds ago are not there yet, nor are those after them."""

    def files(self) -> list[Entry]:
        """Return the files that are there now, in order. Raises EnvironmentFault if the place cannot be listed."""
        base, pattern = self._place()
        try:
            found = _stored(base) if "://" in base else _local(base)
        except UnicodeDecodeError as error:  # of Arrow, which decodes all names of a store
            raise EnvironmentFault(_no_utf8(f"{self.path}: ".encode() + error.object)) from error
        except (OSError, pa.ArrowInvalid) as error:
            raise EnvironmentFault(f"{self.path}: cannot be listed: {error}") from error
        files = [
            (name, entry)
            for name, entry in found
            if fnmatch.fnmatchcase(name, pattern)
            and not any(fnmatch.fnmatchcase(name, ignored) for ignored in self.ignore)
        ]
        self._check_names(files)
        if self.order == "time":
            files.sort(key=lambda file: (file[1].mtime, file[0]))
        else:
            files.sort(key=lambda file: file[0])
        latest = time.time_ns() - self.delay_s * 1_000_000_000
        ready = itertools.takewhile(lambda file: not self.delay_s or file[1].mtime <= latest, files)
        return [Entry(self._named(entry.path), entry.size, entry.mtime) for _, entry in ready]

    def _check_names(self, files: list[tuple[str, Entry]]) -> None:
        """Raise EnvironmentFault for a change file whose name is not UTF-8: Spark and the journal cannot have it."""
        for name, entry in files:
            if any("\udc80" <= character <= "\udcff" for character in name):
                written = entry.path.encode("utf-8", "surrogateescape")
                raise EnvironmentFault(_no_utf8(written))

    def _named(self, path: str) -> str:
        """Return a path that was listed as it is opened: where it is a URI, with escapes and with its options."""
        if "://" not in self.path:
            return path
        scheme, options = self.path.split("://", 1)[0], _OPTIONS.search(self.path)
        return f"{scheme}://{quote(path, _UNESCAPED)}{options[0] if options else ''}"

    def _place(self) -> tuple[str, str]:
        """Return where files are listed, a URI with its options, and what their names are like."""
        found = _OPTIONS.search(self.path) if "://" in self.path else None
        options = found[0] if found else ""
        path, pattern = self.path.removesuffix(options), self.pattern
        directory, _, name = path.rpartition("/")
        if GLOB & set(name):
            path, pattern = directory or ".", name
        return (path + options if "://" in path else str(Path(path).absolute())), pattern


def _no_utf8(path: bytes) -> str:
    return (
        f"{path.decode('utf-8', 'backslashreplace')}: its name is not UTF-8 (\\x.. is a byte of it); rename the file, "
        "or have the location's `ignore` match it"
    )


def _local(base: str) -> list[tuple[str, Entry]]:
    """Return the files of a directory with their names, or a file alone.

    A byte that is not UTF-8 is a surrogate in the name, as PEP 383 has it.
    """
    try:
        with os.scandir(base.encode()) as directory:
            names = [entry.name for entry in directory]
    except NotADirectoryError:
        base, _, name = base.rpartition("/")
        names = [name.encode()]
    except FileNotFoundError:
        raise EnvironmentFault(f"{base}: there is no such directory or file; make it, or mend the path") from None
    files = []
    for written in names:
        path = base.encode() + b"/" + written
        try:
            status = os.stat(path)  # noqa: PTH116 - pathlib takes no bytes
        except FileNotFoundError:  # removed since, or a link to nothing
            continue
        if S_ISREG(status.st_mode):
            entry = Entry(path.decode("utf-8", "surrogateescape"), status.st_size, status.st_mtime_ns)
            files.append((written.decode("utf-8", "surrogateescape"), entry))
    return files


def _stored(base: str) -> list[tuple[str, Entry]]:
    """Return the files in a store that Arrow knows, with their names; or a file alone."""
    filesystem, path = pyarrow.fs.FileSystem.from_uri(base)
    if isinstance(filesystem, pyarrow.fs.LocalFileSystem):
        return _local(path)
    selected = filesystem.get_file_info(path)
    if selected.type == pyarrow.fs.FileType.NotFound:
        raise EnvironmentFault(f"{base}: there is no such directory or file; make it, or mend the path")
    infos = [selected]
    if selected.type == pyarrow.fs.FileType.Directory:
        infos = filesystem.get_file_info(pyarrow.fs.FileSelector(path))
    return [
        (info.base_name, Entry(info.path, info.size, info.mtime_ns or 0))
        for info in infos
        if info.type == pyarrow.fs.FileType.File
    ]
