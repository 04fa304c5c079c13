"""PostgreSQL in memory, for the real `postgres.Stream`: messages of pgoutput, and a slot with a confirmed position."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from integrator.decode.encodings.pgoutput import Column, Relation, frame
from integrator.engine.pgoutput import DELETE, INSERT, TRUNCATE, UPDATE
from integrator.errors import SourceAway
from integrator.sources.capture.frames import begin as begin_of
from integrator.sources.capture.frames import commit
from integrator.sources.capture.intake import OWN_PREFIX
from integrator.sources.capture.record import Record
from integrator.sources.capture.stream import SpoolTarget
from integrator.sources.postgres.slot import Names, Slot
from integrator.sources.postgres.stream import Stream
from tests.model.database import SCHEMA, Change, Committed, Database, Point, Row, Table, step
from tests.model.schedule import Choices

_TEXT, _INT = 25, 23


def _tuple(row: Row) -> bytes:
    texts = (str(row[0]).encode(), row[1].encode())
    return struct.pack(">H", len(texts)) + b"".join(b"t" + struct.pack(">I", len(one)) + one for one in texts)


class Postgres(Database):
    """The server, with one slot. Where it is quiet, two snapshots may be at one position, as in MySQL and MariaDB."""

    first_shape: ClassVar[Mapping[str, Any]] = {"file": 0}

    def __init__(self, choices: Choices, *, quiet: bool, keys: int) -> None:
        """Begin with an empty log."""
        super().__init__(choices, quiet=quiet, keys=keys)
        self.lsn = 800
        self.slot: Slot | None = None
        self._before: list[Slot | None] = []
        self._made = 0

    @property
    def end(self) -> int:
        """The position at which the log ends."""
        return self.lsn

    def relation(self, number: int) -> Relation:
        """Return the relation of a new table."""
        columns = (Column("k", _INT, -1, in_key=True), Column("v", _TEXT, -1, in_key=False))
        return Relation(16_000 + number, SCHEMA, f"t{number}", "d", columns)

    def commit(self, changes: tuple[Change, ...]) -> None:
        """Write a transaction into the log."""
        self.log.append(Committed(self.lsn, self.lsn + 8, changes))
        self.lsn += 16

    def alter(self, table: Table) -> None:
        """Have the rows be in another file: the log has nothing of it."""
        table.shape = {"file": self._changes}

    def make_anew(self, table: Table) -> None:
        """Drop a table, and create another one of its name, which has no rows: the log has nothing of it."""
        self._made += 1
        table.relation, table.shape = replace(table.relation, oid=17_000 + self._made), {"file": self._changes}

    @staticmethod
    def message_of(one: Change) -> bytes:
        """Return a change as pgoutput has it."""
        head = struct.pack(">I", one.relation.oid)
        if one.row is None:
            return bytes([TRUNCATE]) + struct.pack(">IB", 1, 0) + head
        if one.action == INSERT:
            return bytes([INSERT]) + head + b"N" + _tuple(one.row)
        if one.action == DELETE:
            return bytes([DELETE]) + head + b"K" + _tuple(one.row)
        before = b"" if one.before is None or one.before[0] == one.row[0] else b"K" + _tuple(one.before)
        return bytes([UPDATE]) + head + before + b"N" + _tuple(one.row)

    def confirm(self, lsn: int) -> None:
        """Forget the log before a position, as a client allows."""
        if self.slot is not None and lsn > self.slot.confirmed:
            self._before.append(self.slot)
            self.slot = Slot("pgoutput", "db", None, lsn, "reserved", 0, failover=False)

    def make_slot(self) -> None:
        """Create the slot at the end of the log."""
        self.slot = Slot("pgoutput", "db", None, self.lsn, "reserved", 0, failover=False)
        self._before = []

    def drop_slot(self) -> None:
        """Drop the slot."""
        self.slot = None

    def restart(self) -> None:
        """End all connections. What was confirmed last may not be on the server's disk."""
        super().restart()
        if self._before and self.choices.below(2):
            self.slot = self._before.pop()

    def session(self) -> _Session:
        """Return a session."""
        return _Session(self)

    def capture(self, running: Any, location: Any, spool: Any, *, until_now: bool) -> None:
        """Run the product's `Stream` to its end."""
        target = SpoolTarget(spool, "slot", location.spool_bytes, str)
        at: Any = SimpleNamespace(server=self, location=location, names=Names("pub", "slot"), into=lambda _: target)
        Stream(running, at, spool, until_now=until_now).capture()


class _Session:
    def __init__(self, server: Postgres) -> None:
        self.server = server

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def rows(self, query: str, _values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Answer the queries of `Stream` and `Answers`."""
        server = self.server
        if "pg_drop_replication_slot" in query:
            server.drop_slot()
        elif "pg_logical_emit_message" in query:
            assert OWN_PREFIX in query + str(_values)
            server.commit(())  # a message of ours
            return [(server.log[-1].lsn,)]
        return [(server.lsn,)]

    def close(self) -> None:
        """Nothing is held."""


class Replication:
    """`Replication`: gives a message at once."""

    def __init__(self, server: Postgres, wait: Callable[[], None]) -> None:
        """Begin to send, from what was confirmed. wait: lets time pass."""
        assert server.slot is not None
        self._server, self._of, self._wait = server, server.connections, wait
        self.seen = self.received = 0
        self.is_asked = False
        self._messages = self._sent(server.slot.confirmed)

    def _sent(self, since: int) -> Iterator[bytes]:
        announced, at, server = set[int](), 0, self._server
        while True:
            while at < len(server.log):
                one = server.log[at]
                at += 1
                if one.lsn < since:
                    continue
                yield begin_of(one.lsn, 0, 700 + at)
                if not one.changes:
                    own = struct.pack(">cBQ", b"M", 1, one.lsn)
                    yield own + OWN_PREFIX.encode() + b"\0" + struct.pack(">I", 0)
                for change in one.changes:
                    if change.relation.oid not in announced:
                        announced.add(change.relation.oid)
                        yield change.relation.message()
                    yield server.message_of(change)
                self.seen = max(self.seen, one.end)
                yield commit(one.lsn, one.end, 0)
            self.seen = max(self.seen, server.lsn)
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
        step(f"confirm {lsn}")
        self._check()
        if lsn:
            self._server.confirm(lsn)

    def close(self) -> None:
        """Nothing is held."""


class Points:
    """`SlotPoints`."""

    def __init__(self, server: Postgres, *_: object, waits: bool) -> None:
        """Take the server."""
        del waits
        self._server = server

    def first(self) -> Point:
        """Create the slot."""
        step("create the slot")
        self._server.make_slot()
        return self._later()

    def later(self) -> Point:
        """Return a position that has no slot afterwards."""
        step("take a snapshot")
        return self._later()

    def _later(self) -> Point:
        point = Point(self._server)
        if not self._server.quiet:
            self._server.lsn += 16
        return point

    def shown(self, lsn: int) -> str:
        """Return a position."""
        return str(lsn)


class Published:
    """`PublishedTables`: all tables."""

    unpublished: ClassVar[dict[str, str]] = {}

    def __init__(self, session: _Session, *_: object) -> None:
        """Take a session."""
        self._server = session.server
        self.there: list[Table] = []

    def inspect(self, _record: object) -> Sequence[Table]:
        """Return the tables that there are."""
        self.there = list(self._server.tables)
        return self.there

    def rewritten(self, record: Record) -> dict[str, str]:
        """Return the tables whose rows became others since they were read."""
        known, read = record.shapes, record.read
        there = [one for one in self._server.tables if read.get(one.name) == one.relation.oid]
        return {one.name: "" for one in there if known[one.name] != one.shape}

    def left(self, _record: object) -> dict[str, int]:
        """Return none."""
        return {}

    def are_for(self, _name: str) -> bool:
        """Return that all tables are meant."""
        return True

    def renamed(self, _relation: object, _record: object) -> list[str]:
        """Return that no column has another name."""
        return []

    def is_divided(self, _oid: int) -> bool:
        """Return that there are no partitions."""
        return False

    def has_partition(self, _oid: int) -> bool:
        """Return that there are no partitions."""
        return False
