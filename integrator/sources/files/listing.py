"""Which change files there are now: those of a directory, or of a store that Arrow knows, in order."""

from __future__ import annotations

import errno
import fnmatch
import itertools
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from stat import S_ISREG
from typing import Literal
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs

from integrator.errors import EnvironmentFault
from integrator.sources.slices import ALL, NOTHING_KNOWN, NOTHING_TAKEN, Limit, Slice

GLOB = frozenset("*?[")
_OPTIONS = re.compile(r"\?\w+=.*$")
"""What is after a URI: how Arrow is to reach the store (region=…, endpoint_override=…)."""
_NO_FILE = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ESTALE})
"""A name that leads to no file: removed since, or a link to nothing, to itself, or to what cannot be there."""
RIGHT = "give the integrator's user the right to"
_UNESCAPED = "/=:@!$&'()*+,;~"
"""RFC 3986, section 3.3: characters of a path."""
_Wanted = Callable[[str], "re.Match[str] | None"]


@dataclass(frozen=True)
class Listing:
    """Where change files appear, and which of the names there are change files."""

    path: str
    pattern: str
    ignore: tuple[str, ...]
    order: Literal["name", "time"]
    delay_s: int = 0
    """Files that changed later than so many seconds ago are not there yet, nor are those after them."""

    def slices(self, _ends: Mapping[str, int] = NOTHING_TAKEN, limit: Limit = ALL) -> list[Slice]:
        """Return the files that are there now, in order. Raises EnvironmentFault if the place cannot be listed."""
        base, pattern = self._place()
        ignored = "".join(f"(?!{fnmatch.translate(one)})" for one in self.ignore)
        wanted = re.compile(ignored + fnmatch.translate(pattern)).match
        try:
            files = _stored(base, wanted) if "://" in base else _local(base, wanted, limit.known)
        except UnicodeDecodeError as error:  # of Arrow, which decodes all names of a store
            raise EnvironmentFault(_no_utf8(f"{self.path}: ".encode() + error.object)) from error
        except (OSError, pa.ArrowInvalid) as error:
            reason = f"{error.strerror}; {RIGHT}" if isinstance(error, PermissionError) else error
            raise EnvironmentFault(f"{self.path}: cannot be listed: {reason}") from error
        _check_names(files)
        if self.order == "time":
            files.sort(key=lambda file: (file[1].mtime, file[0]))
        else:
            files.sort(key=itemgetter(0))
        entries = [entry for _, entry in files]
        if self.delay_s:
            latest = time.time_ns() - self.delay_s * 1_000_000_000
            entries = list(itertools.takewhile(lambda entry: entry.mtime <= latest, entries))
        if "://" in self.path:
            return [replace(entry, path=self._named(entry.path)) for entry in entries]
        return entries

    def until(self) -> None:
        """Return that files are listed all at once."""

    def modified(self) -> int | None:
        """Return when a name was last added to or removed from the directory, in ns; None where that is not known."""
        base, _ = self._place()
        try:
            return None if "://" in base or self.delay_s else Path(base).stat().st_mtime_ns
        except OSError:
            return None

    def stream_of(self, _path: str) -> str:
        """Return that all change files are of one stream."""
        return ""

    def together(self, paths: Sequence[str]) -> int:
        """Return all of them."""
        return len(paths)

    @property
    def number_of(self) -> Callable[[str], int] | None:
        """Nothing: change files are numbered as they arrive."""
        return None

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


def _check_names(files: list[tuple[str, Slice]]) -> None:
    """Raise EnvironmentFault for a change file whose name is not UTF-8: Spark and the journal cannot have it."""
    for name, entry in files:
        if not name.isascii() and any("\udc80" <= character <= "\udcff" for character in name):
            raise EnvironmentFault(_no_utf8(entry.path.encode("utf-8", "surrogateescape")))


def _no_utf8(path: bytes) -> str:
    return (
        f"{path.decode('utf-8', 'backslashreplace')}: its name is not UTF-8 (\\x.. is a byte of it); rename the file, "
        "or have the location's `ignore` match it"
    )


def _not_inspected(path: bytes, error: OSError) -> str:
    return (
        f"{path.decode('utf-8', 'backslashreplace')}: cannot be inspected: {error.strerror}; {RIGHT}, or "
        "have the location's `ignore` match it"
    )


def _local(base: str, wanted: _Wanted, known: Mapping[str, Slice] = NOTHING_KNOWN) -> list[tuple[str, Slice]]:
    """Return the wanted files of a directory with their names, or a file alone.

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
    files, above = [], base.encode() + b"/"
    for written in names:
        name = written.decode("utf-8", "surrogateescape")
        if not wanted(name):
            continue
        path = f"{base}/{name}"
        if (there := known.get(path)) is not None:
            files.append((name, there))
            continue
        try:
            status = os.stat(above + written)  # noqa: PTH116 - pathlib takes no bytes
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise EnvironmentFault(_not_inspected(above + written, error)) from error
            continue
        if S_ISREG(status.st_mode):
            files.append((name, Slice(path, status.st_size, status.st_mtime_ns)))
    return files


def _stored(base: str, wanted: _Wanted) -> list[tuple[str, Slice]]:
    """Return the wanted files in a store that Arrow knows, with their names; or a file alone."""
    filesystem, path = pyarrow.fs.FileSystem.from_uri(base)
    if isinstance(filesystem, pyarrow.fs.LocalFileSystem):
        return _local(path, wanted)
    selected = filesystem.get_file_info(path)
    if selected.type == pyarrow.fs.FileType.NotFound:
        raise EnvironmentFault(f"{base}: there is no such directory or file; make it, or mend the path")
    infos = [selected]
    if selected.type == pyarrow.fs.FileType.Directory:
        infos = filesystem.get_file_info(pyarrow.fs.FileSelector(path))
    return [
        (info.base_name, Slice(info.path, info.size, info.mtime_ns or 0))
        for info in infos
        if info.type == pyarrow.fs.FileType.File and wanted(info.base_name)
    ]
