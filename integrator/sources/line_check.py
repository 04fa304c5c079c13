"""Lines that a sender sends, looked at before they count as received: each is one JSON object, null, or blank."""

from __future__ import annotations

import re

import pyarrow as pa

from integrator.arrays import first_refused
from integrator.dialects.lines import arrow_json

_NO_OBJECT = re.compile(rb"^(?![ \t]*(?:\{.*\}|null)?[ \t\r]*$)", re.MULTILINE)
_NOTHING = re.compile(rb"^[ \t]*(?:null)?[ \t\r]*$", re.MULTILINE)
_PARSE = arrow_json(pa.schema([("\0", pa.string())]), "ignore")
"""Looks at all of the text, and keeps nothing of it."""


def first_wrong(lines: bytes) -> tuple[int, str] | None:
    """Return where the first line begins that is no record, and why; None if each is one. The last one has its end."""
    try:
        lines.decode()
        good, reason = len(lines), ""
    except UnicodeDecodeError as error:
        good, reason = lines.rfind(b"\n", 0, error.start) + 1, "not UTF-8"
    other = _NO_OBJECT.search(lines, 0, max(good - 1, 0))
    if other is not None:
        good, reason = other.start(), "no JSON record in one line"
    # null kills Arrow's parser, and of a blank line it makes no row
    parts = _NOTHING.sub(b"{}", lines[: good - 1]).split(b"\n") if good else []
    if parts and not _are_records(parts, 0, len(parts)):
        at = first_refused(len(parts), lambda start, stop: _are_records(parts, start, stop))
        good, reason = sum(len(line) + 1 for line in lines[:good].split(b"\n")[:at]), "no JSON record in one line"
    return (good, reason) if reason else None


def _are_records(parts: list[bytes], start: int, stop: int) -> bool:
    try:
        return bool(_PARSE(b"\n".join(parts[start:stop]) + b"\n").num_rows == stop - start)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
