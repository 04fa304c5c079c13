"""Digests of the journal's beginning: a mark records which files the cycles up to it had, not only how many.

Each entry's digest covers the one before it, so that entries can be compacted and those after them still be checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FIRST = "chain:"
"""The digest of no entry."""


def following(digest: str, path: str, size: int, mtime: int) -> str:
    """Return the digest of a journal's entries up to this one, given that of those before it."""
    return FIRST + hashlib.sha256(f"{digest} {size} {mtime} {path}".encode()).hexdigest()


class Beginning:
    """The digest of a journal's first entries, and where streams end after them.

    It reads on where it was, for a journal grows at its end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = (0, 0)
        self._begin()

    def _begin(self) -> None:
        self._position, self._entries, self._digest = 0, 0, FIRST
        self._ends: dict[str, int] = {}

    def of(self, entries: int) -> str | None:
        """Return the digest of the first `entries` entries; None if the journal does not have so many.

        The journal was checked when the stream began, see sources.journal.
        """
        if entries == 0:
            return FIRST
        return self._digest if self._are_read(entries) else None

    def ends(self, entries: int) -> Mapping[str, int]:
        """Return where each stream of ranges ends after the first `entries` entries; nothing if there are not so many.

        The journal was checked, as for `of`.
        """
        return dict(self._ends) if entries and self._are_read(entries) else {}

    def _are_read(self, entries: int) -> bool:
        """Read so many entries; return whether the journal has them."""
        try:
            with self._path.open("rb") as journal:
                return self._read(journal, entries)
        except FileNotFoundError:
            return False

    def _read(self, journal: Any, entries: int) -> bool:
        status = self._path.stat()
        if self._file != (status.st_dev, status.st_ino) or entries < self._entries:  # it was replaced, or gone back
            self._file = (status.st_dev, status.st_ino)
            self._begin()
        journal.seek(self._position)
        while self._entries < entries or self._position == 0:
            line = journal.readline()
            if not line.endswith(b"\n"):
                return False
            entry = json.loads(line)
            if "compacted" in entry:
                self._entries, self._digest, self._ends = entry["compacted"], entry["digest"], entry["ends"]
            else:
                self._digest = following(self._digest, entry["path"], entry["size"], entry["mtime"])
                self._entries += 1
                if "stream" in entry:
                    self._ends[entry["stream"]] = entry["end"]
            self._position += len(line)
        return self._entries == entries
