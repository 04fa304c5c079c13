"""Members of envelopes: operation words, times, transactions; what is no column's value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tests.fuzz.oracle import moments
from tests.fuzz.oracle.tree import Number
from tests.fuzz.oracle.values import text_of
from tests.fuzz.oracle.verdict import Wrong

Notes = set[str]


def word(members: dict[str, Any], name: str, accepted: Iterable[str]) -> str:
    """Return the operation, which is one of the words that are accepted, as they are written. Raises Wrong."""
    value = members.get(name)
    if not isinstance(value, str) or isinstance(value, Number) or value not in accepted:
        raise Wrong("an unknown operation")
    return value


def time(members: dict[str, Any], name: str, per_second: int, notes: Notes) -> None:
    """Check a time that is a number of so many units a second since 1970. Raises Wrong."""
    value = members.get(name)
    if value is None:
        return
    if isinstance(value, str) and not isinstance(value, Number) and re.fullmatch(r"-?\d+", value, re.ASCII):
        notes.add("a time of the envelope as text")
    elif not isinstance(value, Number) or not re.fullmatch(r"-?\d+", value):
        raise Wrong("a time of the envelope is no integer")
    number = int(value) if len(value) < 100 else 10**100
    if not -(2**63) <= number * max(1_000_000 // per_second, 1) < 2**63:
        raise Wrong("a time of the envelope out of range")
    if not -62_135_596_800 <= number // per_second < 253_402_300_800:
        raise Wrong("a time of the envelope outside the years 1 to 9999")


def moment(notes: Notes, members: dict[str, Any], *names: str) -> None:
    """Check the first moment, as text, that is there. Raises Wrong."""
    for value in [members[name] for name in names if members.get(name) is not None][:1]:
        if not isinstance(value, str) or isinstance(value, Number):
            raise Wrong("a moment of the envelope is no text")
        moments.timestamptz(text_of(value), 6, notes, bare="utc")


def transaction(members: dict[str, Any], name: str, notes: Notes) -> None:
    """Note that a transaction's name is none, where it is: an error is right for it, and so is to take it as text."""
    value = members.get(name)
    if value is None or (isinstance(value, Number) and re.fullmatch(r"(0|[1-9]\d{0,17})", value)):
        return
    notes.add("a transaction's name that is no number")


def number(members: dict[str, Any], name: str, notes: Notes, most: int = 2**64 - 1) -> int | None:
    """Return a position, a number from 0; None where it is absent or null. Raises Wrong."""
    value = members.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch("[0-9]{1,400}", value) or int(value) > most:
        raise Wrong("a position that is no number from 0 to the most")
    if not isinstance(value, Number):
        notes.add("a position as text")
    elif len(value) > 1 and value[0] == "0":
        raise Wrong("no JSON")
    return int(value)
