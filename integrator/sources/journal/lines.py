"""The lines of the journal: a change file each, as JSON, after a header where earlier files are compacted."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from integrator.durable import Damaged
from integrator.sources.slices import Slice


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
    if not {"path", "size"} <= members <= {"path", "size", "mtime"}:
        raise Damaged(f"{path}:{number}: the journal is damaged: {line[:80]!r} is no object with path, size and mtime")
    valid = isinstance(entry["path"], str) and all(type(entry[name]) is int for name in members - {"path"})
    if not valid or not entry["path"] or entry["size"] < 0:
        raise Damaged(
            f"{path}:{number}: the journal is damaged: {line[:80]!r}: path is text, size and mtime are whole numbers"
        )
    return Slice(**entry)


def lines_of(entries: list[Slice]) -> bytes:
    """Return the lines of entries."""
    return "".join(json.dumps(asdict(entry)) + "\n" for entry in entries).encode()
