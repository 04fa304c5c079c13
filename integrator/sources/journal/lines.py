"""The lines of the journal: a change file each, as JSON, after a header where earlier files are compacted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from integrator.durable import Damaged
from integrator.sources.slices import Slice

_FILE = ("path", "size", "mtime")
_RANGE = {*_FILE, "stream", "begin", "end"}


def header_of(line: bytes) -> dict[str, Any] | None:
    """Return the first line of a journal that has been compacted; None if it is an entry, or damaged."""
    if not line.startswith(b'{"compacted"'):
        return None
    try:
        header = json.loads(line)
    except ValueError:
        return None
    return header if isinstance(header, dict) else None


def entry_of(path: Path, number: int, line: bytes) -> Slice:
    """Return the entry in a line of the journal. Raises Damaged if it is not one."""
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise Damaged(f"{path}:{number}: the journal is damaged: {line[:80]!r} is no JSON: {error}") from error
    members = set(entry) if isinstance(entry, dict) else set()
    if not ({"path", "size"} <= members <= {"path", "size", "mtime"} or members == _RANGE):
        raise Damaged(f"{path}:{number}: the journal is damaged: {line[:80]!r} is no object with path, size and mtime")
    texts = members & {"path", "stream"}
    valid = all(isinstance(entry[name], str) and entry[name] for name in texts)
    valid = valid and all(type(entry[name]) is int for name in members - texts)
    if not valid or entry["size"] < 0 or (members == _RANGE and not 0 <= entry["begin"] <= entry["end"]):
        raise Damaged(
            f"{path}:{number}: the journal is damaged: {line[:80]!r}: path is text, size and mtime are whole numbers; "
            "of a range stream is text, begin and end are whole numbers that ascend"
        )
    return Slice(**entry)


def lines_of(entries: list[Slice]) -> bytes:
    """Return the lines of entries."""
    return "".join(json.dumps(_members(entry)) + "\n" for entry in entries).encode()


def _members(entry: Slice) -> dict[str, Any]:
    found = vars(entry)
    return found if entry.stream else {name: found[name] for name in _FILE}
