"""The journal's first entries, when they are in cycles long synced: a few bytes a file, which are not parsed again.

A file of pairs of 64-bit hashes in ascending order: of a path, and of its size and time of change. Ranges have none: of
them the end of each stream is known, in the journal's first line. It is written under a name of its own before the
journal names it, so a crash leaves the journal as it was, with what it names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from integrator import durable
from integrator.durable import Damaged
from integrator.sources.journal import digests

if TYPE_CHECKING:
    from integrator.sources.slices import Slice

MEMBERS = {"compacted", "digest", "known", "sha256", "ends"}
"""Of the journal's first line, where it has been compacted."""
_PAIR = np.dtype([("path", "<u8"), ("status", "<u8")])


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _pairs(entries: Iterable[Slice]) -> Any:
    hashes = b"".join(_hash(one.path) + _hash(f"{one.size} {one.mtime}") for one in entries)
    return np.frombuffer(hashes, dtype=_PAIR)


@dataclass(frozen=True)
class Compacted:
    """The first `count` entries of a journal; `digest` is theirs, see digests."""

    count: int = 0
    digest: str = digests.FIRST
    name: str = ""
    sha256: str = ""
    ends: Mapping[str, int] = field(default_factory=dict)
    _known: Any = field(default_factory=lambda: np.empty(0, dtype=_PAIR))

    @classmethod
    def read(cls, journal: Path, header: dict[str, Any]) -> Compacted:
        """Return what the first line of `journal` names. Raises Damaged if it is not as it was written."""
        valid = (
            set(header) == MEMBERS
            and type(header["compacted"]) is int
            and all(isinstance(header[name], str) for name in MEMBERS - {"compacted", "ends"})
            and isinstance(header["ends"], dict)
            and all(type(end) is int for end in header["ends"].values())
            and "/" not in header["known"]
        )
        if not valid:
            raise Damaged(f"{journal}:1: the journal is damaged: {str(header)[:80]} does not describe compacted files")
        path = journal.with_name(header["known"])
        try:
            data = path.read_bytes()
        except OSError as error:
            raise Damaged(f"{path}: the synced change files cannot be read: {error.strerror}") from error
        most = header["compacted"] * _PAIR.itemsize
        whole = len(data) <= most and not len(data) % _PAIR.itemsize if header["ends"] else len(data) == most
        if hashlib.sha256(data).hexdigest() != header["sha256"] or not whole:
            raise Damaged(f"{path}: the record of synced change files is damaged: {journal} has another checksum")
        known = np.frombuffer(data, dtype=_PAIR)
        return cls(header["compacted"], header["digest"], header["known"], header["sha256"], header["ends"], known)

    def header(self) -> dict[str, Any]:
        """Return the journal's first line."""
        return {
            "compacted": self.count,
            "digest": self.digest,
            "known": self.name,
            "sha256": self.sha256,
            "ends": dict(self.ends),
        }

    def with_more(self, journal: Path, entries: Sequence[Slice], ends: Mapping[str, int]) -> Compacted:
        """Write these and the entries that follow them, durably, beside `journal`, which does not name them yet.

        ends: where streams end after them.
        """
        digest = self.digest
        for one in entries:
            digest = digests.following(digest, one.path, one.size, one.mtime)
        files = [one for one in entries if not one.stream]
        known = np.sort(np.concatenate([self._known, _pairs(files)]), order="path", kind="stable")
        count, data = self.count + len(entries), known.tobytes()
        name = f"{journal.stem}.{count}.{hashlib.sha256(data).hexdigest()[:8]}.known"
        durable.replace(journal.with_name(name), data)
        return Compacted(count, digest, name, hashlib.sha256(data).hexdigest(), ends, known)

    def data(self) -> bytes:
        """Return what is in the file `name`."""
        return bytes(self._known.tobytes())

    def remove_others(self, journal: Path) -> None:
        """Remove what an earlier compaction, or one that a crash cut short, has left."""
        durable.remove(path for path in journal.parent.glob(f"{journal.stem}.*.known") if path.name != self.name)

    def statuses(self, files: Sequence[Slice]) -> list[bool | None]:
        """Return for each file whether it is as it was when it was taken; None if it was not taken."""
        if not len(self._known) or not files:
            return [None] * len(files)
        asked, keys = _pairs(files), self._known["path"]
        at = np.minimum(np.searchsorted(keys, asked["path"]), len(keys) - 1)
        there, same = keys[at] == asked["path"], self._known["status"][at] == asked["status"]
        return [bool(s) if t else None for t, s in zip(there, same, strict=True)]
