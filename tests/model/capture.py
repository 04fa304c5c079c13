"""The real capture of a database in memory: a product's `Stream`, `FirstRows`, `Intake` and the spool, killed anywhere."""

from __future__ import annotations

import contextlib
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from integrator.decode.encodings.pgoutput import relation_of, split
from integrator.engine.pgoutput import BEGIN, COMMIT, COPY, DELETE, INSERT, RELATION, TRUNCATE, UPDATE
from integrator.errors import IntegratorError, SourceAway
from integrator.sources.capture.asked import Asked, ask
from integrator.sources.capture.frames import CHANGES, FRAMES
from integrator.sources.capture.marks import Mark
from integrator.sources.spool import SPOOL, Spool, number_of, sealed_in
from tests.model.database import CURRENT, Database
from tests.model.schedule import NO_LOG, Choices, World


@dataclass
class Running:
    """A process that captures. ending: its end is asked for."""

    ending: bool = False
    failure: IntegratorError | None = None
    marks: Any = None
    log: Any = field(default_factory=lambda: NO_LOG)
    cycle: int = -1
    record: None = None
    away: bool = False
    spool: Any = None

    def connected(self) -> None:
        """Take note of nothing."""

    def run(self, server: Database, directory: Path, *, until_now: bool) -> None:
        """Capture as `Capture` does: once, or until the end is asked for."""
        location = SimpleNamespace(
            snapshot="initial",
            on_rewrite="read_again",
            product="postgres",
            spool_bytes=1 << 30,
            start_position=None,
            snapshot_rows_per_second=None,
            signal_table=None,
            tables=("*",),
            exclude=(),
            captures_changes=True,
        )
        self.marks = SimpleNamespace(add=server.marks.append)
        try:
            spool = self.spool = Spool(directory / SPOOL, framing=FRAMES)
        except OSError:
            self.away = True
            return
        try:
            self._once(server, location, spool, until_now=until_now)
            while (self.away or self.failure) and not (until_now or self.ending):
                CURRENT[-1].world.sleep(0.5)
                self._once(server, location, spool, until_now=False)
        finally:
            self.spool = None
            with contextlib.suppress(OSError):
                spool.close()

    def _once(self, server: Database, location: Any, spool: Spool, *, until_now: bool) -> None:
        self.away, self.failure = False, None
        try:
            server.capture(self, location, spool, until_now=until_now)
        except (SourceAway, OSError):
            self.away = True
        except IntegratorError as failure:
            self.failure = failure

    def sync(self, choices: Choices, taken: dict[str, bytes]) -> bool:
        """Have segments be in synced cycles, and some of these be removed, whose content is taken before."""
        if self.spool is None:
            return False
        there = sealed_in(self.spool.path)
        synced = there[: choices.below(len(there) + 1)]
        removed = synced[: choices.below(len(synced) + 1)]
        taken.update((one.name, one.read_bytes()) for one in removed)
        self.spool.synced([one.name for one in synced])
        self.spool.remove([one.name for one in removed])
        return bool(synced)


def faults_of(world: World, database: Database, directory: Path, left: dict[str, int]) -> Iterator[str]:
    """Have one of the faults that are left."""
    choices = world.choices
    if choices.chance(150) and left["changes"]:
        left["changes"] -= 1
        if left["tables"] and choices.below(4) == 1:
            left["tables"] -= 1
            database.make_table()
            yield f"table {len(database.tables)} is made"
        elif left["rewrites"] and database.tables and choices.below(4) == 1:
            left["rewrites"] -= 1
            database.rewrite(choices.one(database.tables))
            yield "the rows of a table become others"
        elif left["truncates"] and database.tables and choices.below(6) == 1:
            left["truncates"] -= 1
            database.truncate(choices.one(database.tables))
            yield "a table is truncated"
        elif database.tables:
            database.change(choices.one(database.tables))
            yield "a transaction is committed"
    if choices.chance(20) and left["refreshes"] and database.tables:
        left["refreshes"] -= 1
        table = choices.one(database.tables).name
        database.read_again.add(table)
        ask(directory, table, Asked(truncate=choices.below(2) == 1))
        yield f"a refresh of {table} is asked for"
    if choices.chance(15) and left["restarts"]:
        left["restarts"] -= 1
        if choices.below(2) and database.promote():
            yield "a replica takes the place of the database"
        else:
            database.restart()
            yield "the database is started again"


def _image(value: str) -> int:
    """Return which change of the database a value is from."""
    return int(value[1:].rstrip("-"))


@dataclass
class _Spooled:
    """What is in the segments of a spool, read as a cycle would: the tables that it makes, and what is wrong."""

    wrong: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    tables: dict[str, dict[int, str]] = field(default_factory=dict)
    is_open: bool = False
    truncated: set[str] = field(default_factory=set)
    _names: dict[int, str] = field(default_factory=dict)
    _images: dict[tuple[str, int], int] = field(default_factory=dict)
    changed: list[tuple[str, tuple[int, int]]] = field(default_factory=list)
    """Of each change its table, and where its transaction stands."""
    _position: tuple[int, int, int] = (0, 0, 0)
    _last: tuple[int, int, int] = (0, 0, 0)

    def read(self, message: bytes) -> None:
        """Read a message."""
        kind = message[0]
        if kind == RELATION:
            relation = relation_of(message)
            self._names[relation.oid] = relation.full_name
        elif kind == BEGIN:
            lsn, _, number = struct.unpack_from(">QqI", message, 1)
            self._position, self.is_open = (lsn, number, 0), True
        elif kind == COMMIT:
            self.is_open = False
        elif kind == TRUNCATE:
            self._position = (*self._position[:2], self._position[2] + 1)
            name = self._names[int.from_bytes(message[6:10], "big")]
            self.truncated |= {name} if self.tables.get(name) else set()
            self.tables[name] = {}
        elif kind in CHANGES or kind == COPY:
            for change in _changes(message):
                self._position = (*self._position[:2], self._position[2] + 1)
                if change is not None:
                    self._take(*change, copied=kind == COPY)

    def _take(self, oid: int, key: int, value: str, is_there: bool, *, copied: bool) -> None:
        name = self._names[oid]
        if self._position <= self._last:
            self.wrong.append(f"positions ascend: {self._position} comes after {self._last}")
        self._last = self._position
        self.changed.append((name, self._position[:2]))
        self.seen[value] += not copied
        image, before = _image(value), self._images.get((name, key), 0)
        if image < before:
            self.wrong.append(f"no older image comes after a newer one: {value} of row {key} comes after {before}")
        self._images[name, key] = image
        rows = self.tables.setdefault(name, {})
        rows.pop(key, None)
        if is_there:
            rows[key] = value


def broken(directory: Path, taken: Mapping[str, bytes], database: Database) -> list[str]:
    """Return what of I3, I4 and I9 does not hold in the segments of a spool. taken: those that may be removed."""
    found, marks, wrong_marks = _Spooled(), sorted(database.marks, key=lambda mark: mark.segment), list[str]()
    ends = list[tuple[int, int]]()
    segments = {**taken, **{one.name: one.read_bytes() for one in sealed_in(directory / SPOOL)}}
    for name, content in sorted(segments.items()):
        while marks and marks[0].segment < number_of(name):
            wrong_marks += lacks(found, database, marks.pop(0))
        for message in split(content):
            found.read(message)
        ends.append((number_of(name), len(found.changed)))
    for mark in marks:
        wrong_marks += lacks(found, database, mark)
    wrong_marks += come_later(found.changed, ends, database.marks)
    wrong = [
        *(wrong_marks[:3] if not database.is_another else ()),
        *found.wrong,
        *(["the spool ends in a transaction"] if found.is_open else []),
    ]
    if database.by_range and (again := found.truncated - database.read_again - database.rewritten):
        wrong.append(f"what is durable is not read again: {again} had rows before a truncate")
    wrong += [f"each change once: {one} is captured {times} times" for one, times in found.seen.items() if times > 1]
    for table in database.tables:
        if table.rows != found.tables.get(table.name, {}):
            captured = found.tables.get(table.name)
            wrong.append(f"nothing is lost: {table.name} has {table.rows}, and what was captured {captured}")
    return wrong


def lacks(found: _Spooled, database: Database, mark: Mark) -> Iterator[str]:
    """I12: of tables that are read, all that was committed before a mark's place is in the segments up to it."""
    last = dict[tuple[str, int], tuple[int, bool]]()
    for one in database.log:
        for change in one.changes if one.lsn < mark.lsn else ():
            if change.row is None:
                last |= {at: (image, False) for at, (image, _) in last.items() if at[0] == change.table}
                continue
            if change.before is not None:
                last[change.table, change.before[0]] = (_image(change.before[1]), False)
            last[change.table, change.row[0]] = (_image(change.row[1]), change.action != DELETE)
    for (name, key), (image, is_there) in last.items():
        if name not in mark.names - mark.unread - database.rewritten:
            continue
        is_gone = not is_there and key not in found.tables.get(name, {})
        if not is_gone and found._images.get((name, key), 0) < image:
            yield f"resolved: {name} lacks image {image} of row {key} in the segments up to {mark}"


def come_later(
    changed: Sequence[tuple[str, tuple[int, int]]], ends: Sequence[tuple[int, int]], marks: Sequence[Mark]
) -> Iterator[str]:
    """I12: in later segments nothing is below a mark's place, nor of rows that were read at it."""
    for mark in marks:
        first = max((many for number, many in ends if number <= mark.segment), default=0)
        for name, position in changed[first:]:
            if name in mark.names - mark.unread and position <= mark.through:
                yield f"resolved: a change of {name} at {position} comes after {mark}"
                break


def _changes(message: bytes) -> Iterator[tuple[int, int, str, bool] | None]:
    """Yield the changes of a message: the table, the key, the value, and whether the row is there after it."""
    kind = message[0]
    if kind == COPY:
        [oid] = struct.unpack_from(">I", message, 1)
        for line in message[5:].decode().splitlines():
            key, value = line.split("\t")
            yield oid, int(key), value, True
    elif kind in (INSERT, UPDATE, DELETE):
        [oid] = struct.unpack_from(">I", message, 1)
        at, images = 5, list[tuple[int, str]]()
        while at < len(message):
            texts, at = [], at + 3
            for _ in range(2):
                [size] = struct.unpack_from(">I", message, at + 1)
                texts.append(message[at + 5 : at + 5 + size].decode())
                at += 5 + size
            images.append((int(texts[0]), texts[1]))
        [*before, (key, value)] = images
        for old, _ in before:
            yield oid, old, f"{value}-", False
        yield oid, key, value, kind != DELETE
    else:
        yield None
