"""Units: a line, mutated or not, with the lines that must stand around it, and what must become of each."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tests.fuzz.mutate import csv_lines, json_lines
from tests.fuzz.oracle.records import BEFORE_UPDATE, UPDATE
from tests.fuzz.oracle.tree import parse
from tests.fuzz.oracle.verdict import Row, Verdict
from tests.fuzz.setups import BY_NAME, LSN, Setup

_PAIRED = re.compile(rb"(?<!\d)77000001(?!\d)")
"""The key of the recorded update of Delta, whose two images find each other by it."""
PLACED = 88000000
"""From which on such keys are numbered in a file, so that each update is another."""


@dataclass
class Unit:
    """Lines that stand together. at: which of them is mutated. verdicts: what is right for each."""

    lines: list[bytes]
    at: int
    number: int
    place: int = 0
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """What is right for the mutated line."""
        return self.verdicts[self.at]


def unit(setup: Setup, seed: int, number: int) -> Unit:
    """Return the unit of this number: the same for the same seed."""
    rng = random.Random(f"{seed}/{setup.name}/{number}")
    place = rng.randrange(len(setup.recorded))
    line = setup.recorded[place]
    mutated = csv_lines.mutated(line, rng) if setup.is_csv else json_lines.mutated(line, rng, setup.names, setup.frozen)
    return with_line(setup, place, number, mutated)


def with_line(setup: Setup, place: int, number: int, mutated: bytes) -> Unit:
    """Return the unit of a recorded line, with another in its place."""
    before, after = (list(map(str.encode, part)) for part in setup.around(place))
    made = Unit([*before, mutated, *after], len(before), number, place)
    made.verdicts = [
        _verdict(setup.name, line) if at != made.at else setup.verdict(line) for at, line in enumerate(made.lines)
    ]
    if len(made.lines) == 2:
        _pair(made)
    if setup.name == "wal2json-v2" and _moves_frames(setup, place, made):
        made.verdicts[made.at] = Verdict(skipped=True)
    return made


def _moves_frames(setup: Setup, place: int, made: Unit) -> bool:
    """Return whether a change of wal2json's version 2 has become a begin or an end, which moves the lines around it."""
    text = made.lines[made.at].decode("utf-8", "replace")
    is_change = place < len(setup.recorded) - 2
    return bool(made.verdict.rows is not None and text.strip() and is_change and parse(text)["action"] in ("B", "C"))


def good(setup: Setup, place: int) -> Unit:
    """Return the unit of a recorded line as it is."""
    return with_line(setup, place, -1, setup.recorded[place].encode())


@lru_cache(maxsize=1024)
def _verdict(name: str, line: bytes) -> Verdict:
    return BY_NAME[name].verdict(line)


def _pair(made: Unit) -> None:
    """Say of two images of Delta that they are one update, if they still are."""
    one, other = made.verdicts
    if not one.rows or not other.rows or len(one.rows) + len(other.rows) != 2:
        return
    parsed = [parse(line.decode()) for line in made.lines]
    if parsed[0]["_commit_version"] != parsed[1]["_commit_version"]:
        return
    before, after = one.rows[0], other.rows[0]
    if not before.values or not after.values or before.values["id"] != after.values["id"]:
        return
    kinds = [members["_change_type"] for members in parsed]
    if kinds == ["update_preimage", "update_preimage"]:
        made.verdicts[1] = Verdict(reason="two before images of one key in a version, which cannot be paired")
    if kinds == ["update_preimage", "update_postimage"]:
        made.verdicts = [
            replace(one, rows=[]),
            replace(
                other, rows=[Row(BEFORE_UPDATE, before.table, before.values), Row(UPDATE, after.table, after.values)]
            ),
        ]


def may_meet_others(setup: Setup, one: Unit) -> bool:
    """Return whether a unit may stand in a file with others: two updates of one key and version of Delta may not."""
    return setup.dialect != "delta-cdf" or len(one.lines) < 2 or all(map(_PAIRED.search, one.lines))


def file_of(setup: Setup, units: Sequence[Unit]) -> tuple[bytes, list[tuple[Unit, int]]]:
    """Return a file of units, and for each of its lines, from the first on, the unit and the place in it."""
    lines: list[bytes] = [setup.header.encode()] if setup.is_csv else []
    owners: list[tuple[Unit, int]] = [(Unit([b""], 0, -1, verdicts=[Verdict([])]), 0)] if setup.is_csv else []
    for rank, one in enumerate(units):
        high = f"0/{0x7F000000 + 16 * (rank + 1):08X}".encode()
        for at, line in enumerate(one.lines):
            placed = line.replace(LSN.encode(), high) if setup.dialect == "wal2json" else line
            if setup.dialect == "delta-cdf":
                placed = _PAIRED.sub(b"%d" % (PLACED + rank), placed)
            lines.append(placed)
            owners.append((one, at))
    return b"\n".join(lines) + b"\n", owners
