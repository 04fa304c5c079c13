"""The rows that tables have at one place of the log: read by COPY, in a transaction that sees just these."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog

from integrator.channel.databases import PostgresLocation
from integrator.sources.postgres.catalogue import Captured, found
from integrator.sources.postgres.server import Server, Session, lsn_of, quoted
from integrator.tables.postgres_catalogue import literal

_FRAME_BYTES = 1024 * 1024
_REPORT_S = 10.0


class Point:
    """A place in the log, and a session that sees the rows as of then: of all that is committed before it, no more."""

    def __init__(self, lsn: int, session: Session) -> None:
        self.lsn, self._session = lsn, session

    def tables(self, location: PostgresLocation, names: set[str]) -> list[Captured]:
        """Return the tables of these names as they are at the place: columns may have come since they were found."""
        return [one for one in found(self._session, location).tables if one.name in names]

    def copy(self, table: Captured, take: Callable[[bytes], None]) -> int:
        """Read a table; `take` gets whole rows, about a megabyte each time. Returns how many rows there are."""
        rows = _Rows(take, table.name, self._estimate(table))
        self._session.copy(table.copy, rows)
        return rows.end()

    def _estimate(self, table: Captured) -> int:
        [(rows,)] = self._session.rows(
            "select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint from pg_class c where c.oid = %s or c.oid in "
            "(select inhrelid from pg_inherits where inhparent = %s)",
            [table.relation.oid, table.relation.oid],
        )
        return int(rows)

    def close(self) -> None:
        """End the session."""
        self._session.close()


def point_of_slot(server: Server, name: str, *, temporary: bool) -> Point:
    """Create a replication slot; return its place, which is after all transactions that are open now have ended.

    Raises SourceAway, EnvironmentFault.
    """
    connection = server.replication()
    try:
        with server.asked():
            cursor: Any = connection.cursor()
            lasting = " TEMPORARY" if temporary else ""
            cursor.execute(f"CREATE_REPLICATION_SLOT {quoted(name)}{lasting} LOGICAL pgoutput")
            _, lsn, snapshot, _ = cursor.fetchone()
        session = server.session()
        try:
            session.run("begin isolation level repeatable read, read only")
            session.run(f"set transaction snapshot {literal(snapshot)}")
        except BaseException:
            session.close()
            raise
        return Point(lsn_of(lsn), session)
    finally:
        connection.close()  # the slot stays, if it is not temporary; the snapshot is the session's now


class _Rows:
    """What COPY writes to, row by row."""

    def __init__(self, take: Callable[[bytes], None], table: str, estimate: int) -> None:
        self._take, self._table, self._estimate = take, table, estimate
        self._pieces: list[bytes] = []
        self._size = self._count = 0
        self._began = self._reported = time.monotonic()

    def write(self, row: bytes) -> int:
        """Take a row."""
        self._pieces.append(row)
        self._size += len(row)
        if self._size >= _FRAME_BYTES:
            self._hand_over()
        return len(row)

    def _hand_over(self) -> None:
        self._count += len(self._pieces)
        self._take(b"".join(self._pieces))
        self._pieces, self._size = [], 0
        now = time.monotonic()
        if now - self._reported > _REPORT_S:
            self._reported = now
            left = max(self._estimate - self._count, 0) * (now - self._began) / self._count
            structlog.get_logger().info(
                "snapshot", table=self._table, rows=self._count, about=self._estimate, seconds_left=round(left)
            )

    def end(self) -> int:
        """Hand over the rest; return how many rows there were."""
        if self._pieces:
            self._hand_over()
        return self._count


def due(tables: Sequence[Captured], read: dict[str, int]) -> list[Captured]:
    """Return the tables whose rows were not read yet: one that was created again is another one."""
    return [one for one in tables if read.get(one.name) != one.relation.oid]
