"""MariaDB and MySQL in memory, for the real `binlog.Stream`: a log of files with events, which a restart begins another of.

Events are bytes as the servers write them; catalogue and settings are stand-ins.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from integrator.decode.encodings.pgoutput import Relation
from integrator.engine.pgoutput import DELETE, INSERT
from integrator.errors import SourceAway
from integrator.sources.binlog import events
from integrator.sources.binlog.catalogue import Captured, Found
from integrator.sources.binlog.gtids import Gtid
from integrator.sources.binlog.logged import column_of, in_catalogue
from integrator.sources.binlog.product import product_of
from integrator.sources.binlog.stream import Stream
from integrator.sources.capture.ranges import Part
from integrator.sources.capture.record import Record
from integrator.sources.capture.stream import SpoolTarget
from tests.model.database import SCHEMA, Change, Committed, Database, Point, Row, Table, step
from tests.model.schedule import Choices

_KINDS = {"k": "int", "v": "varchar"}
_LONG, _VARCHAR, _MOST, _UTF8MB4 = 3, 15, 40, 45
_GTID_OF_MARIADB, _GTID, _STOP, _USER_VAR = 162, 33, 3, 14
_SECONDS = 1_800_000_000
_STANDALONE = 1
_WRITE, _UPDATE, _DELETE = 23, 24, 25
"""Kinds of rows events that both products write, or wrote."""


def _named(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _map(table: str) -> bytes:
    """Return what a map of a table has after its number: names of columns, the character set, and the key."""
    metas = struct.pack("<H", _MOST)
    more = {1: b"\x00", 2: bytes([_UTF8MB4]), 4: _named("k") + _named("v"), 8: b"\x00"}
    fields = b"".join(bytes([kind, len(one)]) + one for kind, one in more.items())
    head = b"\0\0" + _named(SCHEMA) + b"\0" + _named(table) + b"\0"
    return head + bytes([2, _LONG, _VARCHAR, len(metas)]) + metas + b"\x02" + fields


def _row(row: Row) -> bytes:
    return b"\x00" + struct.pack("<i", row[0]) + _named(row[1])


def _rows(change: Change) -> tuple[int, bytes]:
    """Return the kind of a rows event, and what it has after its number."""
    assert change.row is not None
    if change.before is not None:
        return _UPDATE, b"\x01\0\x02\x03\x03" + _row(change.before) + _row(change.row)
    return {INSERT: _WRITE, DELETE: _DELETE}[change.action], b"\x01\0\x02\x03" + _row(change.row)


@dataclass(frozen=True)
class _Transaction:
    """What a log has of a transaction: a statement, or changes."""

    gtid: Gtid
    text: str
    changes: tuple[Change, ...] = ()


@dataclass
class _File:
    """A file of the log: its events as packets, each with where it ends. before: the GTIDs of what is before it."""

    name: str
    before: str
    packets: list[tuple[int, bytes]]
    end: int = events.FIRST_EVENT

    def add(self, kind: int, body: bytes) -> None:
        """Write an event."""
        self.end += events.HEADER_BYTES + len(body)
        self.packets.append((self.end, _packet(kind, body, self.end)))


def _packet(kind: int, body: bytes, end: int, flags: int = 0) -> bytes:
    size = events.HEADER_BYTES + len(body)
    return b"\0" + struct.pack("<IBIIIH", _SECONDS, kind, 1, size, end, flags) + body


class Binlog(Database):
    """The server, of a product that is chosen. number: its own; a replica that takes its place has the next one."""

    database = SCHEMA

    def __init__(self, choices: Choices, *, quiet: bool, keys: int) -> None:
        """Begin with an empty log."""
        super().__init__(choices, quiet=quiet, keys=keys)
        self.product = product_of(choices.one(("10.11.6-MariaDB", "8.0.33")))
        self.is_mariadb = self.product.name == "MariaDB"
        self.versions: dict[str, int] = {}
        self.files: list[_File] = []
        self.number = 1
        self._transactions: list[_Transaction] = []
        self._begin_file()

    def _begin_file(self) -> None:
        number = int(self.files[-1].name.rpartition(".")[2]) + 1 if self.files else 1 + self.choices.below(3)
        file = _File(f"bin{self.number}.{number:06d}", self.executed, [])
        self.files.append(file)
        file.add(events.FORMAT, bytes(20) + b"\0" + bytes(events.CHECKSUM_BYTES))

    @property
    def executed(self) -> str:
        """The GTIDs that the server has, as it writes them."""
        last = dict[str, int]()
        for one in self._transactions:
            last.pop(one.gtid.source, None)  # the newest one is the last
            last[one.gtid.source] = one.gtid.number
        if self.is_mariadb:
            return ",".join(f"{source}-{number}" for source, number in last.items())
        numbers = [one.gtid for one in self._transactions]
        return ",".join(f"{one.source}:{one.number}" for one in numbers)

    @property
    def end(self) -> int:
        """The position at which the log ends."""
        return events.position_of(self.files[-1].name, self.files[-1].end)

    def relation(self, number: int) -> Relation:
        """Return the relation of a new table."""
        key = column_of("k", in_catalogue("int", "int", None, "NO", "PRI"))
        value = column_of("v", in_catalogue("varchar", "varchar(10)", "utf8mb4", "YES", ""))
        return Relation(0, SCHEMA, f"t{number}", "f", (key, value))

    def _next_gtid(self) -> Gtid:
        number = len(self._transactions) + 1
        if self.is_mariadb:
            return Gtid(f"0-{self.number}", number, _SECONDS)
        return Gtid(str(uuid.UUID(int=self.number)), number)

    def _write(self, one: _Transaction) -> int:
        """Write a transaction into the log; return where it begins."""
        file, position, (source, number, _) = self.files[-1], self.end, one.gtid
        if self.is_mariadb:
            flags = _STANDALONE if one.text else 0
            gtid = struct.pack("<QIB6x", number, 0, flags)
            file.end += events.HEADER_BYTES + len(gtid)
            packet = bytearray(_packet(_GTID_OF_MARIADB, gtid, file.end))
            packet[6:10] = struct.pack("<I", int(source.rpartition("-")[2]))  # the server that it is of
            file.packets.append((file.end, bytes(packet)))
        else:
            micros = struct.pack("<Q", _SECONDS * 1_000_000)[:7]
            numbers = struct.pack("<QBQQ", number, 2, number - 1, number)
            file.add(_GTID, b"\x01" + uuid.UUID(source).bytes + numbers + micros)
        if one.text or not self.is_mariadb:
            head = struct.pack("<IIBHH", 1, 0, len(SCHEMA), 0, 0)
            file.add(events.QUERY, head + SCHEMA.encode() + b"\0" + (one.text or "BEGIN").encode())
        if one.text:
            return position
        for change in one.changes:
            name = change.relation.table
            map_number = struct.pack("<Q", 100 * self.number + int(name[1:]))[:6]
            file.add(events.TABLE_MAP, map_number + _map(name))
            kind, body = _rows(change)
            file.add(kind, map_number + body)
        file.add(events.XID, struct.pack("<Q", number))
        return position

    def _log(self, text: str, changes: tuple[Change, ...] = ()) -> None:
        one = _Transaction(self._next_gtid(), text, changes)
        position = self._write(one)
        self._transactions.append(one)
        if changes:
            self.log.append(Committed(position, self.end, changes))

    def statement(self, text: str) -> None:
        """Write a statement that defines a table."""
        self._log(text)

    def commit(self, changes: tuple[Change, ...]) -> None:
        """Write a transaction into the log, and, where the log is not quiet, one that is not ours."""
        if not self.quiet and self.choices.below(3) == 1:
            self.statement("create table elsewhere.t (k int)")
        self._log(f"truncate table {changes[0].table}" if changes[0].row is None else "", changes)

    def make_table(self) -> None:
        """Create a table, with some rows before anybody can look at it."""
        name = f"{SCHEMA}.t{len(self.tables) + 1}"
        self.statement(f"create table {name} (k int primary key, v varchar(10))")
        self.versions[name] = 1
        super().make_table()

    def alter(self, table: Table) -> None:
        """Have rows go with a partition: the log has the statement alone."""
        self.versions[table.name] += 1
        self.statement(f"alter table {table.name} drop partition p1")

    def make_anew(self, table: Table) -> None:
        """Drop a table, and create another one of its name, which has no rows: the log has the statements."""
        self.versions[table.name] += 1
        self.statement(f"drop table {table.name}")
        self.statement(f"create table {table.name} (k int primary key, v varchar(10))")

    def restart(self) -> None:
        """End all connections, and begin another file of the log."""
        super().restart()
        self.files[-1].add(_STOP, b"")
        self._begin_file()

    def promote(self) -> bool:
        """Have a replica take the server's place: its log has the same transactions, at other positions."""
        self.connections += 1
        self.is_another = True
        self.number += 1
        replicated, self._transactions, self.files = self._transactions, [], []
        self._begin_file()
        for one in replicated:
            if self.choices.below(5) == 1:
                self.files[-1].add(_STOP, b"")
                self._begin_file()
            if self.choices.below(4) == 1:
                self.files[-1].add(_USER_VAR, bytes(self.choices.below(30)))  # so that offsets are others
            self._write(one)
            self._transactions.append(one)
        return True

    def session(self) -> Session:
        """Return a session."""
        return Session(self)

    def capture(self, running: Any, location: Any, spool: Any, *, until_now: bool) -> None:
        """Run the product's `Stream` to its end."""
        target = SpoolTarget(spool, "binlog", location.spool_bytes, events.position_text)
        at: Any = SimpleNamespace(server=self, location=location, into=lambda _: target)
        Stream(running, at, spool, 9, until_now=until_now).capture()


class Session:
    """A session, which answers what `failover` asks."""

    def __init__(self, server: Binlog) -> None:
        """Take the server."""
        self.server, self.product, self._of = server, server.product, server.connections

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def check(self) -> None:
        """Raise SourceAway where the connection has ended."""
        if self._of != self.server.connections:
            raise SourceAway("the server has ended the connection")

    def run(self, _statement: str) -> None:
        """Do nothing."""

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Answer a query."""
        self.check()
        server = self.server
        if query == "show binary logs":
            return [(one.name,) for one in server.files]
        if query.startswith("show binlog events"):
            [before] = [one.before for one in server.files if one.name == values[0]]
            return [("", 4, "Gtid_list" if server.is_mariadb else "Previous_gtids", 1, 100, before)]
        if "gtid_slave_pos" in query:
            return [(server.executed, "", 1)]
        return [("" if "purged" in query else server.executed if "gtid" in query else "7",)]


class Settings:
    """The module `settings`, of a server that has all as it must be."""

    def problems(self, *_: object) -> Iterator[str]:
        """Return none."""
        return iter(())

    def with_names(self, _session: Session) -> bool:
        """Return that the log had names before."""
        return False

    def end_of_log(self, session: Session) -> tuple[str, int]:
        """Return the file and the offset that the log ends at."""
        session.check()
        file = session.server.files[-1]
        return file.name, file.end

    def identity(self, session: Session) -> str:
        """Return the server's identity."""
        session.check()
        return f"server_id {session.server.number}"

    def has_gtids(self, _session: Session) -> bool:
        """Return that transactions have GTIDs."""
        return True


class Charsets:
    """`Charsets`: all text is UTF-8."""

    maps = np.zeros(0, np.uint8)
    lower_names = False

    def __init__(self, session: Session) -> None:
        """Take a session."""
        self.product = session.product

    def of_collation(self, _number: int) -> str:
        """Return UTF-8."""
        return "utf8mb4"

    def is_read(self, _name: str) -> bool:
        """Return that it is."""
        return True

    def map_of(self, _name: str) -> None:
        """Return that there is none."""

    def decoded(self, _name: str, octets: bytes) -> str:
        """Return text."""
        return octets.decode()


def found(session: Session, _location: object, numbers: Mapping[str, int]) -> Found:
    """Stand in for the catalogue: all tables."""
    session.check()
    tables = session.server.tables
    return Found(tuple(_captured(one.relation, numbers) for one in tables))


def _captured(relation: Relation, numbers: Mapping[str, int]) -> Captured:
    return Captured(replace(relation, oid=numbers.get(relation.full_name, 0)), _KINDS)


class _Point(Point):
    """A snapshot, which cannot read a table that was altered since."""

    def __init__(self, server: Binlog, record: Record) -> None:
        super().__init__(server)
        self._server, self._record, self._versions = server, record, dict(server.versions)
        self.lsn = events.position_of(server.files[-1].name, server.files[-1].end, record.files)
        self._session = server.session()

    def tables(self, names: set[str]) -> list[Any]:
        """Return tables by their names, as the catalogue has them now."""
        self._session.check()
        wanted = [one.relation for one in self._server.tables if one.name in names]
        return [_captured(one, self._record.numbers) for one in wanted]

    def copy(self, table: Any, part: Part, take: Any) -> None:
        """Read rows, each as a piece of its own."""
        self._session.check()
        if self._versions.get(table.name) != self._server.versions[table.name]:
            raise SourceAway("table definition has changed")
        super().copy(table, part, take)


class Points:
    """`SnapshotPoints`."""

    def __init__(self, server: Binlog, _location: object, record: Record, _log: object) -> None:
        """Take the server and the record of the capture."""
        self._server, self._record = server, record
        self.until_named = self.waits = False

    def first(self) -> Point:
        """Return a position."""
        return self.later()

    def later(self) -> Point:
        """Return a position, which writes nothing into the log."""
        step("take a snapshot")
        if Settings().identity(self._server.session()) != self._record.system:
            raise SourceAway("the address leads to another server now")
        return _Point(self._server, self._record)

    def shown(self, lsn: int) -> str:
        """Return a position."""
        return events.position_text(lsn)


class Packets:
    """`Packets` of a log from a position on."""

    def __init__(self, server: Binlog, file: str, offset: int, wait: Any) -> None:
        """wait: lets time pass."""
        self._server, self._of, self._wait = server, server.connections, wait
        [at] = [at for at, one in enumerate(server.files) if one.name == file]
        self._packets = self._sent(at, offset)

    def _sent(self, number: int, offset: int) -> Iterator[bytes]:
        """Yield events; each file begins with its name and its format, which no log has. Nothing: no more is there."""
        at, files = 0, self._server.files
        while True:
            file = files[number]
            name = struct.pack("<Q", max(offset, events.FIRST_EVENT)) + file.name.encode()
            yield _packet(events.ROTATE, name, 0, events.ARTIFICIAL)
            if offset > events.FIRST_EVENT:
                yield _packet(events.FORMAT, file.packets[0][1][1 + events.HEADER_BYTES :], 0)
            while at < len(file.packets) or number + 1 == len(files):
                if at == len(file.packets):
                    yield b""
                    continue
                end, packet = file.packets[at]
                at += 1
                if end > offset:
                    yield packet
            number, offset, at = number + 1, 0, 0

    def read(self, wait_s: float) -> list[bytes]:
        """Return some packets; none where none come, after a while."""
        if self._of != self._server.connections:
            raise SourceAway("the server has ended the connection")
        read = list[bytes]()
        for _ in range(1 + self._server.few()):
            if not (packet := next(self._packets)):
                break
            read.append(packet)
        if not read:
            self._wait(wait_s)
        return read

    @property
    def has_more(self) -> bool:
        """Whether something has come."""
        return self._server.few() == 0
