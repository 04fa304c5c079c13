"""Decode files of units, and say of each unit what is wrong with what became of it."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from integrator.decode.contract import Reading
from integrator.errors import DataError
from tests.fuzz import units
from tests.fuzz.compare import difference
from tests.fuzz.decode import decode, reading_for
from tests.fuzz.oracle.records import OTHER_SPELLING
from tests.fuzz.oracle.verdict import Row
from tests.fuzz.setups import Setup
from tests.fuzz.units import Unit

SLOW = 5.0
"""Seconds that a file of a few lines may take at most."""
_TOGETHER = 150
_PAIRED = 77000001


@dataclass(frozen=True)
class Defect:
    """What is wrong: its class, the line, what came out, and what is right."""

    kind: str
    setup: str
    number: int
    place: int
    line: str
    got: str
    expected: str

    @property
    def cause(self) -> tuple[str, str, str]:
        """What defects of one cause have in common, as near as can be."""
        if self.kind == "taken silently":
            return self.kind, self.setup, self.expected
        got = re.sub(r"the line is .*|/\S+", "", self.got)
        words = re.sub(r"(?<![a-z])'[^']*'|\"[^\"]*\"|[\d.]+|column \w+|JsonText.*", "…", got)
        return self.kind, self.setup, words[:70]

    def shown(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return asdict(self)


@dataclass
class Outcome:
    """rows: by line of the file; error: what was raised instead, and in which line."""

    rows: dict[int, list[Row]] = field(default_factory=dict)
    error: str = ""
    line: int | None = None
    is_data: bool = True
    seconds: float = 0.0


_SECOND_TABLE = "came before: both would be sent as table"
"""Where a line spells its table's name in its own way, the next good line is the second spelling, and is named."""


class Checker:
    """Checks units of one kind. progress: a file that says which lines are being decoded, for whoever watches."""

    def __init__(self, setup: Setup, directory: Path, rng: random.Random) -> None:
        self.setup, self.directory, self.rng = setup, directory, rng
        self.reading: Reading = reading_for(setup, directory)
        self.path, self.progress = directory / "f", directory / "progress"
        self.counts: Counter[str] = Counter()
        self.good = list(range(len(setup.recorded)))
        self.of_each_table: list[int] = []

    def seeds(self) -> Iterator[Defect]:
        """Yield what is wrong with recorded lines as they are; such are not taken for good ones."""
        wrong: list[int] = []
        for place in self.good:
            line = self.setup.recorded[place].encode()
            one = units.with_line(self.setup, place, -1, line)
            data, owners = units.file_of(self.setup, [one])
            found = self.outcome(data)
            got = found.error or "; ".join(defect.got for defect in self._rows(found, owners))
            if got or one.verdict.rows is None or one.verdict.notes:
                wrong.append(place)
                expected = one.verdict.reason or ", ".join(one.verdict.notes) or f"rows {one.verdict.rows}"
                yield self._defect("recorded line", one, got, expected)
        self.good = [place for place in self.good if place not in wrong]
        tables: dict[str, int] = {}
        for place in self.good:
            for row in units.good(self.setup, place).verdict.rows or []:
                tables.setdefault(row.table, place)
        self.of_each_table = list(tables.values())

    def _good(self) -> Unit:
        return units.good(self.setup, self.rng.choice(self.good))

    def outcome(self, data: bytes) -> Outcome:
        """Decode a file."""
        self.path.write_bytes(data)
        started, found = time.process_time(), Outcome()
        try:
            found.rows = decode(self.setup, self.reading, self.path)
        except DataError as error:
            found.error = str(error)
            place = re.search(re.escape(str(self.path)) + r":(\d+)", found.error)
            found.line = int(place[1]) if place else None
        except Exception as error:  # noqa: BLE001 - each is a defect, and is told as one
            found.error, found.is_data = f"{type(error).__name__}: {error}", False
        found.seconds = time.process_time() - started
        return found

    def check(self, made: Sequence[Unit]) -> Iterator[Defect]:
        """Yield what is wrong with units."""
        some = [one for one in made if not one.verdict.skipped]
        self.counts["skipped"] += len(made) - len(some)
        self.counts["lines"] += len(made)
        sure = [one for one in some if self._is_sure(one)]
        for start in range(0, len(sure), _TOGETHER):
            yield from self._together(sure[start : start + _TOGETHER])
        together = set(map(id, sure))
        for one in some:
            if id(one) not in together:
                yield from self.alone(one)

    def _is_sure(self, one: Unit) -> bool:
        """Return whether a unit must become rows, whichever others are in its file."""
        are_rows = all(each.rows is not None and not each.notes for each in one.verdicts)
        return are_rows and units.may_meet_others(self.setup, one)

    def _timed(self, data: bytes) -> Outcome:
        """Return the outcome of a file; of one that takes long that of the second time: loops are compiled once."""
        found = self.outcome(data)
        return self.outcome(data) if found.seconds > SLOW else found

    def _together(self, some: list[Unit]) -> Iterator[Defect]:
        """Check units each of which must become rows, in one file, beside good ones."""
        while some:
            mixed = [*some, *(self._good() for _ in range(len(some) // 10 + 1))]
            self.rng.shuffle(mixed)
            mixed.insert(0, self._good())
            data, owners = units.file_of(self.setup, mixed)
            self._say(mixed)
            found = self._timed(data)
            if found.seconds > SLOW:
                yield self._defect("slow", some[0], f"{found.seconds:.1f} s for {len(data)} bytes", "less")
            if not found.error:
                yield from self._rows(found, owners)
                return
            named = self._named(found, owners, some)
            told = list(self.alone(named)) if named else []
            culprit = named if told else self._culprit([one for one in some if one is not named])
            if culprit is None:
                yield self._defect("neighbours", named or some[0], found.error, f"rows; the file is {self._kept(data)}")
                return
            yield from told or self.alone(culprit)
            if named is not None and culprit is not named:
                self.counts["rows equal"] -= 1  # it is counted again with the others
                yield self._defect(
                    "error with another line", culprit, found.error, "an error with the line that is wrong"
                )
            some = [one for one in some if one is not culprit]

    def _named(self, found: Outcome, owners: list[tuple[Unit, int]], some: list[Unit]) -> Unit | None:
        """Return the unit whose line an error names."""
        if found.line is None or found.line > len(owners):
            return None
        owner = owners[found.line - 1][0]
        return next((one for one in some if one is owner), None)

    def _culprit(self, left: list[Unit]) -> Unit | None:
        """Return a unit that is refused alone."""
        while len(left) > 1:
            half = left[: len(left) // 2]
            data, _ = units.file_of(self.setup, [self._good(), *half])
            left = half if self.outcome(data).error else left[len(left) // 2 :]
        data, _ = units.file_of(self.setup, [self._good(), *left])
        return left[0] if left and self.outcome(data).error else None

    def _rows(self, found: Outcome, owners: list[tuple[Unit, int]]) -> Iterator[Defect]:
        told: set[int] = set()
        for number, (one, at) in enumerate(owners, 1):
            expected = one.verdicts[at].rows or []
            if self.setup.dialect == "delta-cdf":
                expected = [_renumbered(row, found.rows.get(number, [])) for row in expected]
            wrong = difference(expected, found.rows.get(number, []))
            self.counts["rows equal"] += not wrong and one.number >= 0 and at == one.at
            if wrong and id(one) not in told:
                told.add(id(one))
                kind = "bent" if at == one.at and one.number >= 0 else "bent neighbour"
                yield self._defect(kind, one, wrong, f"rows {expected}")

    def alone(self, one: Unit) -> Iterator[Defect]:
        """Check a unit in a file of its own, between good ones."""
        before, after = ([self._good() for _ in range(self.rng.randint(1, 2))] for _ in range(2))
        if one.verdict.reason.startswith(OTHER_SPELLING):
            before = [units.good(self.setup, place) for place in self.of_each_table]
        data, owners = units.file_of(self.setup, [*before, one, *after])
        self._say([one])
        found = self._timed(data)
        number = next(number for number, (owner, at) in enumerate(owners, 1) if owner is one and at == one.at)
        verdict = one.verdict
        expected = f"an error: {verdict.reason}" if verdict.rows is None else f"rows {verdict.rows}"
        expected += f"; or an error: {', '.join(sorted(verdict.notes))}" if verdict.notes else ""
        if found.seconds > SLOW:
            yield self._defect("slow", one, f"{found.seconds:.1f} s", "less")
        if not found.error:
            yield from self._accepted(found, owners, one, expected)
        elif not found.is_data:
            yield self._defect("no DataError", one, found.error, expected)
        elif found.line is None:
            yield self._defect("error without its line", one, found.error, expected)
        elif verdict.rows is not None and not any(each.rows is None or each.notes for each in one.verdicts):
            yield self._defect("wrongly refused", one, found.error, expected)
        elif owners[found.line - 1][0] is not one and not verdict.notes and _SECOND_TABLE not in found.error:
            yield self._defect(
                "error with another line", one, f"line {found.line}, not {number}: {found.error}", expected
            )
        else:
            self.counts["either, refused" if verdict.notes else "errors right"] += 1

    def _accepted(self, found: Outcome, owners: list[tuple[Unit, int]], one: Unit, expected: str) -> Iterator[Defect]:
        if one.verdict.rows is None:
            number = next(number for number, (owner, at) in enumerate(owners, 1) if owner is one and at == one.at)
            yield self._defect("taken silently", one, f"{found.rows.get(number, [])}", expected)
        else:
            wrong = list(self._rows(found, owners))
            if one.verdict.notes and not wrong:
                self.counts.update({"either, rows": 1, "rows equal": -1})
            yield from wrong

    def _say(self, some: Sequence[Unit]) -> None:
        numbers = [one.number for one in some if one.number >= 0]
        self.progress.write_text(json.dumps({"numbers": numbers}), encoding="utf-8")

    def _kept(self, data: bytes) -> str:
        """Keep a file that is wrong only as a whole, and return its name."""
        kept = self.directory / f"neighbours-{abs(hash(data)) % 10**6}"
        kept.write_bytes(data)
        return str(kept)

    def _defect(self, kind: str, one: Unit, got: str, expected: str) -> Defect:
        self.counts[kind] += 1
        line = one.lines[one.at].decode("utf-8", "backslashreplace")
        return Defect(kind, self.setup.name, one.number, one.place, line, got[:1000], expected[:3000])


def _renumbered(row: Row, got: list[Row]) -> Row:
    """Return a row of the recorded update of Delta with the key that it has in its file."""
    if row.values is None or row.values.get("id") != _PAIRED or not got or got[0].values is None:
        return row
    key = got[0].values.get("id")
    return replace(
        row, values=row.values | {"id": key if isinstance(key, int) and 0 <= key - units.PLACED < 10_000 else _PAIRED}
    )
