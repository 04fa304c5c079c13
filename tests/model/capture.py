"""A database's log in memory, and the real capture of it: `Stream`, `FirstRows`, `Intake` and the spool, killed anywhere.

What stands in is PostgreSQL: transactions of changes in pgoutput's messages, a slot with a confirmed position, snapshots at
a place in the log. Where the log is quiet, two snapshots may be at one place, as in MySQL and MariaDB, which write nothing
into their logs for a snapshot.
"""

from __future__ import annotations

import contextlib
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from integrator.decode.encodings.pgoutput import Column, Relation, frame, relation_of, split
from integrator.engine.pgoutput import BEGIN, COMMIT, COPY, DELETE, INSERT, RELATION, TRUNCATE, UPDATE
from integrator.errors import IntegratorError, SourceAway
from integrator.sources.capture.asked import Asked, ask
from integrator.sources.capture.frames import CHANGES, FRAMES, commit
from integrator.sources.capture.frames import begin as begin_of
from integrator.sources.capture.intake import OWN_PREFIX
from integrator.sources.capture.marks import Mark
from integrator.sources.capture.ranges import Part
from integrator.sources.capture.record import Record
from integrator.sources.capture.stream import SpoolTarget
from integrator.sources.postgres.slot import Names, Slot
from integrator.sources.postgres.stream import Stream
from integrator.sources.spool import SPOOL, Spool, number_of, sealed_in
from tests.model.schedule import NO_LOG, Choices, World

_TEXT, _INT = 25, 23
FEW_KEYS, MANY_KEYS = 3, 6
"""How many rows a table has at most: with many, keys change, too."""


@dataclass
class Table:
    """A table of the database, and its rows by their keys."""

    relation: Relation
    rows: dict[int, str] = field(default_factory=dict)
    shape: dict[str, Any] = field(default_factory=lambda: {"file": 0})

    @property
    def name(self) -> str:
        """Its schema and name."""
        return self.relation.full_name


@dataclass(frozen=True)
class Committed:
    """A transaction in the log: its changes as messages, with the oids of their tables."""

    lsn: int
    end: int
    changes: tuple[tuple[int, bytes], ...]


def _tuple(key: int, value: str) -> bytes:
    texts = (str(key).encode(), value.encode())
    return struct.pack(">H", len(texts)) + b"".join(b"t" + struct.pack(">I", len(one)) + one for one in texts)


class Database:
    """The server: tables, a log, and one slot. quiet: a snapshot writes nothing into the log. keys: rows at most."""

    def __init__(self, choices: Choices, *, quiet: bool, keys: int) -> None:
        self._choices, self.quiet, self._keys = choices, quiet, keys
        self.lsn = 800
        self.log: list[Committed] = []
        self.tables: list[Table] = []
        self.slot: Slot | None = None
        self.connections = 0
        self.is_read_again = keys == FEW_KEYS  # where tables are not read by range
        self.rewritten = set[str]()
        self.marks: list[Mark] = []
        self._before: list[Slot | None] = []
        self._changes = 0
        self.shown = "memory"

    def make_table(self) -> None:
        """Create a table, with some rows before anybody can look at it."""
        number = len(self.tables) + 1
        columns = (Column("k", _INT, -1, in_key=True), Column("v", _TEXT, -1, in_key=False))
        table = Table(Relation(16_000 + number, "public", f"t{number}", "d", columns))
        self.tables.append(table)
        for _ in range(self._choices.below(self._keys)):
            self.change(table)

    def change(self, table: Table) -> None:
        """Commit a transaction of one or two changes."""
        changes = tuple(self._one(table) for _ in range(1 + self._choices.below(2)))
        self.log.append(Committed(self.lsn, self.lsn + 8, changes))
        self.lsn += 16

    def rewrite(self, table: Table) -> None:
        """Have all rows become others, or go, as by ALTER TABLE: the log has nothing of it."""
        self._changes += 1
        self.is_read_again = True
        self.rewritten.add(table.name)
        table.shape = {"file": self._changes}
        table.rows = {key: f"w{self._changes}" for key in table.rows if self._choices.below(2)}

    def _one(self, table: Table) -> tuple[int, bytes]:
        oid = table.relation.oid
        head, self._changes = struct.pack(">I", oid), self._changes + 1
        key, value = self._choices.below(self._keys), f"v{self._changes}"
        other = self._choices.below(self._keys)
        if self._keys > FEW_KEYS and key in table.rows and other not in table.rows and self._choices.below(3) == 1:
            before, table.rows[other] = table.rows.pop(key), value
            return oid, bytes([UPDATE]) + head + b"K" + _tuple(key, before) + b"N" + _tuple(other, value)
        if key not in table.rows:
            table.rows[key] = value
            return oid, bytes([INSERT]) + head + b"N" + _tuple(key, value)
        if self._choices.below(3) == 1:
            del table.rows[key]
            return oid, bytes([DELETE]) + head + b"K" + _tuple(key, value)  # the value says which change it is
        table.rows[key] = value
        return oid, bytes([UPDATE]) + head + b"N" + _tuple(key, value)

    def few(self) -> int:
        """Return how many messages come at once, less one."""
        return self._choices.below(4)

    def confirm(self, lsn: int) -> None:
        """Forget the log before a position, as a client allows."""
        if self.slot is not None and lsn > self.slot.confirmed:
            self._before.append(self.slot)
            self.slot = Slot("pgoutput", "db", None, lsn, "reserved", 0, failover=False)

    def make_slot(self) -> None:
        """Create the slot at the end of the log."""
        self.slot = Slot("pgoutput", "db", None, self.lsn, "reserved", 0, failover=False)
        self._before = []

    def restart(self) -> None:
        """End all connections. What was confirmed last may not be on the server's disk."""
        self.connections += 1
        if self._before and self._choices.below(2):
            self.slot = self._before.pop()

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Do nothing: what is refused is raised as what it becomes."""
        yield

    def session(self) -> _Session:
        """Return a session."""
        return _Session(self)


class _Session:
    def __init__(self, server: Database) -> None:
        self.server = server

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def rows(self, query: str, _values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Answer the queries of `Stream` and `Answers`."""
        if "pg_drop_replication_slot" in query:
            self.server.slot = None
        elif "pg_logical_emit_message" in query:
            assert OWN_PREFIX in str(_values)
            lsn = self.server.lsn
            message = struct.pack(">cBQ", b"M", 1, lsn) + OWN_PREFIX.encode() + b"\0" + struct.pack(">I", 0)
            self.server.log.append(Committed(lsn, lsn + 8, ((0, message),)))
            self.server.lsn += 16
            return [(lsn,)]
        return [(self.server.lsn,)]

    def close(self) -> None:
        """Nothing is held."""


class Replication:
    """`Replication`: gives a message at once."""

    def __init__(self, server: Database, wait: Callable[[], None]) -> None:
        """Begin to send, from what was confirmed. wait: lets time pass."""
        assert server.slot is not None
        self._server, self._of, self._wait = server, server.connections, wait
        self.seen = self.received = 0
        self.is_asked = False
        self._messages = self._sent(server.slot.confirmed)

    def _sent(self, since: int) -> Iterator[bytes]:
        announced, at = set[int](), 0
        while True:
            while at < len(self._server.log):
                one = self._server.log[at]
                at += 1
                if one.lsn < since:
                    continue
                yield begin_of(one.lsn, 0, 700 + at)
                for oid, message in one.changes:
                    if oid and oid not in announced:
                        announced.add(oid)
                        yield next(
                            table for table in self._server.tables if table.relation.oid == oid
                        ).relation.message()
                    yield message
                self.seen = max(self.seen, one.end)
                yield commit(one.lsn, one.end, 0)
            self.seen = max(self.seen, self._server.lsn)
            yield b""

    def _check(self) -> None:
        if self._of != self._server.connections:
            raise SourceAway("the server has ended the connection")

    def read(self) -> Any:
        """Return the frames of a few messages; none where there are none now."""
        self._check()
        self.received += 1
        found = []
        for _ in range(1 + self._server.few()):
            if not (message := next(self._messages)):
                break
            found.append(frame(message))
        return np.frombuffer(b"".join(found), np.uint8)

    @property
    def has_more(self) -> bool:
        """Whether something has come."""
        return self._server.few() == 0

    def wait(self, _seconds: float) -> None:
        """Let time pass."""
        self._wait()

    def report(self, lsn: int, *, ask: bool = False) -> None:
        """Confirm a position."""
        del ask
        CURRENT[-1].world.step(f"confirm {lsn}")
        self._check()
        if lsn:
            self._server.confirm(lsn)

    def close(self) -> None:
        """Nothing is held."""


class _Point:
    """A snapshot at the end of the log."""

    def __init__(self, server: Database) -> None:
        self._rows = {table.relation.oid: dict(table.rows) for table in server.tables}
        self._tables, self.lsn = [replace(table) for table in server.tables], server.lsn

    def tables(self, names: set[str]) -> list[Table]:
        """Return tables by their names."""
        return [one for one in self._tables if one.name in names]

    def key(self, _table: Table) -> list[str]:
        """Return the key."""
        return ["k"]

    def copy(self, table: Table, part: Part, take: Callable[[bytes, int], None]) -> None:
        """Read rows, each as a piece of its own."""
        rows = sorted(self._rows[table.relation.oid].items())
        for key, value in [one for one in rows if part.last is None or one[0] > int(part.last[0])]:
            CURRENT[-1].world.step(f"read row {key} of {table.name}")
            take(f"{key}\t{value}\n".encode(), 1)

    def estimate(self, _table: Table) -> int:
        """Return that nothing is known."""
        return 0

    def close(self) -> None:
        """Nothing is held."""


class Points:
    """`SlotPoints`."""

    def __init__(self, server: Database, *_: object, waits: bool) -> None:
        """Take the server."""
        del waits
        self._server = server

    def first(self) -> _Point:
        """Create the slot."""
        CURRENT[-1].world.step("create the slot")
        self._server.make_slot()
        return self._later()

    def later(self) -> _Point:
        """Return a place that has no slot afterwards."""
        CURRENT[-1].world.step("take a snapshot")
        return self._later()

    def _later(self) -> _Point:
        point = _Point(self._server)
        if not self._server.quiet:
            self._server.lsn += 16
        return point

    def shown(self, lsn: int) -> str:
        """Return a place."""
        return str(lsn)


class Published:
    """`PublishedTables`: all tables."""

    unpublished: ClassVar[dict[str, str]] = {}

    def __init__(self, session: _Session, *_: object) -> None:
        """Take a session."""
        self._server = session.server
        self.there: list[Table] = []

    def look(self, _record: object) -> Sequence[Table]:
        """Return the tables that there are."""
        self.there = list(self._server.tables)
        return self.there

    def rewritten(self, record: Record) -> dict[str, str]:
        """Return the tables whose rows became others since they were read."""
        known, read = record.shapes, record.read
        return {one.name: "" for one in self._server.tables if one.name in read and known[one.name] != one.shape}

    def left(self, _record: object) -> dict[str, int]:
        """Return none."""
        return {}

    def has_partition(self, _oid: int) -> bool:
        """Return that there are no partitions."""
        return False


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

    def run(self, server: Any, directory: Path, *, until_now: bool) -> None:
        """Capture as `Capture` does: once, or until the end is asked for."""
        location = SimpleNamespace(
            snapshot="initial",
            on_rewrite="read_again",
            spool_bytes=1 << 30,
            start_position=None,
            snapshot_rows_per_second=None,
        )

        def into(spool: Spool) -> SpoolTarget:
            return SpoolTarget(spool, "slot", location.spool_bytes, str)

        at: Any = SimpleNamespace(server=server, location=location, names=Names("pub", "slot"), into=into)
        capture: Any = self
        self.marks = SimpleNamespace(add=server.marks.append)
        spool = Spool(directory / SPOOL, framing=FRAMES)
        try:
            Stream(capture, at, spool, until_now=until_now).capture()
        except SourceAway:
            self.away = True
        except IntegratorError as failure:
            self.failure = failure
        finally:
            spool.close()


CURRENT: list[Any] = []
"""The schedule that runs, which has a `world`."""


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
        elif database.tables:
            database.change(choices.one(database.tables))
            yield "a transaction is committed"
    if choices.chance(20) and left["refreshes"] and database.tables:
        left["refreshes"] -= 1
        table = choices.one(database.tables).name
        database.is_read_again = True
        ask(directory, table, Asked(truncate=choices.below(2) == 1))
        yield f"a refresh of {table} is asked for"
    if choices.chance(15) and left["restarts"]:
        left["restarts"] -= 1
        database.restart()
        yield "the database is started again"


@dataclass
class _Spooled:
    """What is in the segments of a spool, read as a cycle would: the tables that it makes, and what is wrong."""

    wrong: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    tables: dict[str, dict[int, str]] = field(default_factory=dict)
    is_open: bool = False
    truncated: set[str] = field(default_factory=set)
    _names: dict[int, str] = field(default_factory=dict)
    _images: dict[tuple[int, int], int] = field(default_factory=dict)
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
        if self._position <= self._last:
            self.wrong.append(f"positions ascend: {self._position} comes after {self._last}")
        self._last = self._position
        self.changed.append((self._names[oid], self._position[:2]))
        self.seen[value] += not copied
        image, before = int(value[1:].rstrip("-")), self._images.get((oid, key), 0)
        if image < before:
            self.wrong.append(f"no older image comes after a newer one: {value} of row {key} comes after {before}")
        self._images[oid, key] = image
        rows = self.tables.setdefault(self._names[oid], {})
        rows.pop(key, None)
        if is_there:
            rows[key] = value


def broken(directory: Path, database: Database) -> list[str]:
    """Return what of I3, I4 and I9 does not hold in the segments of a spool."""
    found, marks, wrong_marks = _Spooled(), sorted(database.marks, key=lambda mark: mark.segment), list[str]()
    ends = list[tuple[int, int]]()
    for path in sealed_in(directory / SPOOL):
        while marks and marks[0].segment < number_of(path.name):
            wrong_marks += lacks(found, database, marks.pop(0))
        for message in split(path.read_bytes()):
            found.read(message)
        ends.append((number_of(path.name), len(found.changed)))
    for mark in marks:
        wrong_marks += lacks(found, database, mark)
    wrong_marks += come_later(found.changed, ends, database.marks)
    wrong = [*wrong_marks[:3], *found.wrong, *(["the spool ends in a transaction"] if found.is_open else [])]
    if found.truncated and not database.is_read_again:
        wrong.append(f"what is durable is not read again: {found.truncated} had rows before a truncate")
    wrong += [f"each change once: {one} is captured {times} times" for one, times in found.seen.items() if times > 1]
    for table in database.tables:
        if table.rows != found.tables.get(table.name, {}):
            captured = found.tables.get(table.name)
            wrong.append(f"nothing is lost: {table.name} has {table.rows}, and what was captured {captured}")
    return wrong


def lacks(found: _Spooled, database: Database, mark: Mark) -> Iterator[str]:
    """I12: of tables that are read, all that was committed before a mark's place is in the segments up to it."""
    names = {one.relation.oid: one.name for one in database.tables}
    last = dict[tuple[int, int], tuple[int, bool]]()
    for one in database.log:
        for oid, message in one.changes if one.lsn < mark.lsn else ():
            for change in _changes(message) if oid else ():
                assert change is not None
                last[oid, change[1]] = int(change[2][1:].rstrip("-")), change[3]
    for (oid, key), (image, is_there) in last.items():
        name = names[oid]
        if name not in mark.names - mark.unread - database.rewritten:
            continue
        is_gone = not is_there and key not in found.tables.get(name, {})
        if not is_gone and found._images.get((oid, key), 0) < image:
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
