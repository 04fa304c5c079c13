"""Digests of the journal's beginning: a mark records which files the cycles up to it had, not only how many."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def add(digest: Any, path: str, size: int, mtime: int) -> None:
    """Add a journal's entry to a digest."""
    digest.update(f"{size} {mtime} {path}\0".encode())


class Beginning:
    """The digest of a journal's first entries; it reads on where it was, for a journal grows at its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = (0, 0)
        self._begin()

    def _begin(self) -> None:
        self._position, self._entries, self._digest = 0, 0, hashlib.sha256()

    def of(self, entries: int) -> str | None:
        """Return the digest of the first `entries` entries; None if the journal does not have so many.

        The journal was checked when the stream began, see sources.journal.
        """
        try:
            with self._path.open("rb") as journal:
                return self._read(journal, entries)
        except FileNotFoundError:
            return None

    def _read(self, journal: Any, entries: int) -> str | None:
        status = self._path.stat()
        if self._file != (status.st_dev, status.st_ino) or entries < self._entries:  # it was replaced, or gone back
            self._file = (status.st_dev, status.st_ino)
            self._begin()
        journal.seek(self._position)
        while self._entries < entries:
            line = journal.readline()
            if not line.endswith(b"\n"):
                return None
            entry = json.loads(line)
            add(self._digest, entry["path"], entry["size"], entry.get("mtime", 0))
            self._position += len(line)
            self._entries += 1
        return self._digest.hexdigest()
