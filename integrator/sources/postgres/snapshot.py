"""The rows that tables have at one position of the log: read by COPY, in a transaction that sees just these."""

from __future__ import annotations

import contextlib
import math
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import structlog

from integrator.channel.databases import PostgresLocation
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.capture.points import ConditionRefused, NotYet, RowsRefused
from integrator.sources.capture.ranges import Part
from integrator.sources.postgres.catalogue import Captured, found
from integrator.sources.postgres.rewrites import with_shapes
from integrator.sources.postgres.server import (
    END,
    LimitFault,
    MissingName,
    Server,
    Session,
    is_standby,
    lsn_of,
    lsn_text,
    psycopg2,
    quoted,
)
from integrator.sources.postgres.slot import Names, version_of
from integrator.tables.sql.postgres_catalogue import literal

_FRAME_BYTES = 1024 * 1024
_LATER_S, _MOST_S, _REST = 2.0, 64.0, 5
"""For so long the log waits for open transactions where a table is new, at first; twice as long each time, for others
begin meanwhile. Between two tries it continues for so many times as long."""
_ALIVE_S, _LIMITED_S = 1.0, 30.0
_ONE_MORE = "raise max_replication_slots and max_wal_senders: a table that is new needs one more of each for its rows"
_AT_STANDBY = (
    "a standby waits until its primary has logged which are open, which a primary where nothing is written does not: "
    "there, select pg_log_standby_snapshot()"
)
_KEY = (
    "select a.attname, t.typcategory <> 'C' and r.oprnamespace = 'pg_catalog'::regnamespace from pg_index i "
    "cross join unnest(i.indkey) with ordinality k(number, at) "
    "join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number join pg_type t on t.oid = a.atttypid "
    "join pg_opclass o on o.oid = i.indclass[k.at - 1] join pg_amop m on m.amopfamily = o.opcfamily "
    "and m.amoplefttype = o.opcintype and m.amoprighttype = o.opcintype and m.amopstrategy = 5 "
    "join pg_operator r on r.oid = m.amopopr "
    "where i.indrelid = %s and i.indisprimary and k.at <= i.{} order by k.at"
)
"""Columns of the key, and whether rows can be compared with a value of each as they are ordered: a literal of a
composite type needs a cast, and `>` of an extension's type, as citext, may be another one by the search path. Category
and strategy: https://www.postgresql.org/docs/current/catalog-pg-type.html, …/xindex.html."""
_BY_INDEX = "set local enable_sort = off"
"""Rows of a large table come by its index, from the first one on."""
_INCLUDES_FROM = 110000
"""The server's version whose keys may have columns that only their index has."""


class Point:
    """A position in the log, and a session that sees the rows of that time: what is committed before it, no more."""

    def __init__(self, lsn: int, session: Session, location: PostgresLocation, publication: str = "") -> None:
        """publication: that by which changes follow; nothing where none do."""
        self.lsn, self._session, self._location, self._publication = lsn, session, location, publication

    def tables(self, names: set[str]) -> list[Captured]:
        """Return the tables of these names as they are at the position: columns may have come since they were found."""
        tables = [one for one in found(self._session, self._location).tables if one.name in names]
        return with_shapes(self._session, tables, self._publication) if self._publication else tables

    def key(self, table: Captured) -> list[str]:
        """Return the columns of the primary key, in the order of its index; none where it cannot be read by that."""
        if self._session.has_no_encoding:
            return []
        size = "indnkeyatts" if version_of(self._session) >= _INCLUDES_FROM else "indnatts"
        rows = self._session.rows(_KEY.format(size), [table.relation.oid])
        key, columns = [name for name, _ in rows], {one.name for one in table.relation.columns}
        can_compare = all(is_comparable for _, is_comparable in rows)
        return key if can_compare and columns.issuperset(key) else []

    def order(self, table: Captured) -> str:
        """Return the collations of the key's columns: another one leaves the table, and its type, as they are."""
        [(collations,)] = self._session.rows(
            "select i.indcollation::text from pg_index i where i.indrelid = %s and i.indisprimary", [table.relation.oid]
        )
        return str(collations)

    def copy(self, table: Captured, part: Part, take: Callable[[bytes, int], None]) -> None:
        """Read a part of a table; `take` gets whole rows, about a megabyte at once, and how many."""
        if part.where:  # what it has and the table has not is its own fault, and not the table's
            with self._refused_as(ConditionRefused):
                self._session.try_condition(table.only, part.where)
        rows = _Rows(take)
        with self._refused_as(RowsRefused, *([MissingName] if part.where else [])):  # a function may lack a name
            self._session.copy(table.copy(part), rows)
        rows.hand_over()

    @contextlib.contextmanager
    def _refused_as(self, kind: type[RowsRefused], *more: type[SourceAway]) -> Iterator[None]:
        """Raise an error of a kind for what the server refuses, and for `more`; the transaction continues."""
        self._session.run("savepoint before_rows")
        try:
            yield
        except (EnvironmentFault, SourceAway) as refused:
            if isinstance(refused, SourceAway) and not isinstance(refused, more):
                raise
            self._session.run("rollback to savepoint before_rows")
            raise kind(str(refused)) from None
        self._session.run("release savepoint before_rows")

    def estimate(self, table: Captured) -> int:
        """Return about how many rows a table has."""
        [(rows,)] = self._session.rows(
            "select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint from pg_class c where c.oid = %s or c.oid in "
            "(select inhrelid from pg_inherits where inhparent = %s)",
            [table.relation.oid, table.relation.oid],
        )
        return int(rows)

    def close(self) -> None:
        """End the session."""
        self._session.close()


class SlotPoints:
    """Positions in the log at which replication slots are created: after all transactions that are open have ended.

    waits: whether the log may wait for their end, where tables come later. alive: answers the server meanwhile.
    """

    def __init__(
        self, server: Server, location: PostgresLocation, names: Names, alive: Callable[[], None], *, waits: bool
    ) -> None:
        self._server, self._location, self._slot, self._failover = server, location, names.slot, names.failover
        self._waits, self._alive, self._later_s, self._publication = waits, alive, _LATER_S, names.publication

    def first(self) -> Point:
        """Create the slot; return its position. Raises SourceAway, EnvironmentFault."""
        with self._server.session() as session:
            hint = {"hint": _AT_STANDBY} if is_standby(session) else {}
        structlog.get_logger().info("waits for transactions that are open", slot=self._slot, **hint)
        return self._create(self._slot, options=" (FAILOVER)" if self._failover else "")

    def later(self) -> Point:
        """Return the position of a slot that is gone with the connection. Raises as `first`, and NotYet."""
        name = f"{self._slot[:45]}_snapshot_{zlib.crc32(self._slot.encode()):08x}"
        if self._waits:
            return self._create(name, lasting=" TEMPORARY")
        try:
            point = self._create(name, lasting=" TEMPORARY", most_s=self._later_s)
        except NotYet:
            self._later_s = min(2 * self._later_s, _MOST_S)
            raise
        except LimitFault as fault:
            raise NotYet(f"{fault}; {_ONE_MORE}", _LIMITED_S) from None
        self._later_s = _LATER_S
        return point

    def shown(self, lsn: int) -> str:
        """Return a position as PostgreSQL writes it."""
        return lsn_text(lsn)

    def _create(self, name: str, lasting: str = "", options: str = "", most_s: float | None = None) -> Point:
        connection = self._server.replication()
        try:
            with self._server.asked(), self._watched(most_s, connection):
                cursor: Any = connection.cursor()
                try:
                    cursor.execute(f"CREATE_REPLICATION_SLOT {quoted(name)}{lasting} LOGICAL pgoutput{options}")
                except psycopg2.errors.QueryCanceled:
                    if most_s is None:
                        raise
                    raise NotYet(f"some were open for {most_s:.0f} s", _REST * most_s) from None
                _, lsn, snapshot, _ = cursor.fetchone()
            session = _reading(self._server, f"set transaction snapshot {literal(snapshot)}")
            return Point(lsn_of(lsn), session, self._location, self._publication)
        finally:
            connection.close()  # the slot stays, if it is not temporary; the snapshot is the session's now

    @contextlib.contextmanager
    def _watched(self, seconds: float | None, connection: Any) -> Iterator[None]:
        """Answer the server while a connection waits, and cancel what it does after so many seconds."""
        done = threading.Event()

        def watch() -> None:
            deadline = time.monotonic() + (math.inf if seconds is None else seconds)
            while not done.wait(min(_ALIVE_S, max(deadline - time.monotonic(), 0.0))):
                self._alive()
                if time.monotonic() >= deadline:
                    with contextlib.suppress(psycopg2.Error):
                        connection.cancel()
                    deadline = time.monotonic() + _ALIVE_S  # it may not have arrived

        watching = threading.Thread(target=watch, name="waiting for a position", daemon=True)
        watching.start()
        try:
            yield
        finally:
            done.set()
            watching.join(_ALIVE_S)  # the server may never answer the cancellation


class ReadPoints:
    """Positions in the log at which tables are read, and which no changes follow: nothing is made for them.

    after: returns a position after those before, where one is not.
    """

    def __init__(self, server: Server, location: PostgresLocation, after: Callable[[int], int]) -> None:
        self._server, self._location, self._after = server, location, after

    def first(self) -> Point:
        """Return a position. Raises SourceAway, EnvironmentFault."""
        return self.later()

    def later(self) -> Point:
        """Return a position. Raises as `first`."""
        session = _reading(self._server)
        try:
            [(lsn,)] = session.rows(f"select ({END})::text")
        except BaseException:
            session.close()
            raise
        return Point(self._after(lsn_of(lsn)), session, self._location)

    def shown(self, lsn: int) -> str:
        """Return a position as PostgreSQL writes it."""
        return lsn_text(lsn)


def _reading(server: Server, *before: str) -> Session:
    """Return a session in a transaction that sees the rows as of its begin, or as of what it runs `before`."""
    session = server.session()
    try:
        session.run("begin isolation level repeatable read, read only")
        for one in before:  # a snapshot is taken before any query
            session.run(one)
        session.run(_BY_INDEX)
    except BaseException:
        session.close()
        raise
    return session


class _Rows:
    """What COPY writes to, row by row."""

    def __init__(self, take: Callable[[bytes, int], None]) -> None:
        self._take = take
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, row: bytes) -> int:
        """Take a row."""
        self._pieces.append(row)
        self._size += len(row)
        if self._size >= _FRAME_BYTES:
            self.hand_over()
        return len(row)

    def hand_over(self) -> None:
        """Hand over the rows that were not yet."""
        if self._pieces:
            self._take(b"".join(self._pieces), len(self._pieces))
            self._pieces, self._size = [], 0
