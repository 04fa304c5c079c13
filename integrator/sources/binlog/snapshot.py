"""The rows that tables have at one position of the log: read in a transaction that sees just these.

MariaDB knows the position of a consistent snapshot, so that nothing is locked for it
(https://mariadb.com/kb/en/enhancements-for-start-transaction-with-consistent-snapshot/). MySQL does not: nothing may be
committed while a snapshot begins and the position is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from integrator.channel.databases import BinlogLocation
from integrator.engine.binlog import copied_rows
from integrator.errors import EnvironmentFault, IntegratorError, SourceAway
from integrator.sources.binlog.catalogue import TOO_LARGE, Captured, found
from integrator.sources.binlog.events import position_in_no_log, position_of, position_text
from integrator.sources.binlog.packets import Packets, is_end
from integrator.sources.binlog.server import LimitFault, MissingName, Server, Session
from integrator.sources.binlog.settings import OPEN_TRANSACTIONS, end_of_log, identity
from integrator.sources.capture.points import ConditionRefused, NotYet, RowsRefused
from integrator.sources.capture.ranges import Part
from integrator.sources.capture.record import Record

_FRAME_BYTES = 1024 * 1024
_BEGIN = "start transaction with consistent snapshot"
_FREED = "rollback to savepoint before_table"
"""Else the table could not be altered until the end."""
_COLLATIONS = (
    "select coalesce(collation_name, '') from information_schema.columns "
    "where table_schema = %s and table_name = %s and column_key = 'PRI' order by ordinal_position"
)
_POLL_S, _SILENT_S, _LOCK_S, _REST, _XA_S = 0.2, 60.0, 5, 10, 5.0
"""_LOCK_S: who writes waits for as long as we wait for the lock; so it is given up, and tried again after _REST
times as long."""
_LIMITED_S = 30.0
_ONE_MORE = "raise max_connections, or max_user_connections: the rows of a table that is new need up to two more"


class Point:
    """A position in the log, and a session that sees the rows of that time: what is committed before it, no more."""

    def __init__(self, lsn: int, session: Session, location: BinlogLocation, numbers: Mapping[str, int]) -> None:
        self.lsn, self._session, self._location, self._numbers = lsn, session, location, numbers

    def tables(self, names: set[str]) -> list[Captured]:
        """Return the tables of these names. One that is altered after the position cannot be read (error 1412)."""
        return [one for one in found(self._session, self._location, self._numbers).tables if one.name in names]

    def estimate(self, table: Captured) -> int:
        """Return about how many rows a table has."""
        return table.rows

    def key(self, table: Captured) -> list[str]:
        """Return the columns of the primary key, in the order of its index; none where it cannot be read by that."""
        key = list[str]()
        for *_, column, order, _, prefix in (
            row[:8] for row in self._session.rows(f"show keys from {table.quoted} where Key_name = 'PRIMARY'")
        ):
            if order != "A" or prefix is not None or not table.is_ordered_by(column):
                return []
            key.append(column)
        return key

    def order(self, table: Captured) -> str:
        """Return the collations of the key's columns: one that is modified may have its values as they were."""
        names = table.relation.schema, table.relation.table
        return ",".join(collation for (collation,) in self._session.rows(_COLLATIONS, names))

    def copy(self, table: Captured, part: Part, take: Callable[[bytes, int], None]) -> None:
        """Read a part of a table; `take` gets whole rows as COPY writes them, a megabyte at once, and how many."""
        if part.where:  # what it has and the table has not is its own fault, and not the table's
            try:
                self._session.try_condition(table.name, part.where)
            except EnvironmentFault as refused:
                raise ConditionRefused(str(refused)) from None
        self._session.run("savepoint before_table")
        refusing = (EnvironmentFault, MissingName) if part.where else (EnvironmentFault,)  # a function may lack a name
        try:
            self._take_rows(table, part, take)
        except refusing as refused:
            self._session.run(_FREED)
            raise RowsRefused(str(refused)) from None
        self._session.run(_FREED)

    def _take_rows(self, table: Captured, part: Part, take: Callable[[bytes, int], None]) -> None:
        with self._session.server.asked():
            each = iter(_Rows(self._session.query(table.query(part)), len(table.select), self._session.is_running))
        is_cut = False
        while True:
            with self._session.server.asked():  # and not what `take` does: a full disk is not the server's
                rows = next(each, None)
            if rows is None:
                break
            is_cut = is_cut or any(TOO_LARGE in one for one in rows)
            if not is_cut:
                take(_copied(table, rows), len(rows))
        if is_cut:
            raise EnvironmentFault(
                f"table {table.name}: the server does not give its rows as they are, for a value is too large: set "
                "global max_allowed_packet to more than twice the largest value, at most 1073741824"
            )

    def close(self) -> None:
        """End the session."""
        self._session.close()


class _Rows:
    """The packets of a result's rows, about a megabyte each time. is_running: whether the server looks for more."""

    def __init__(self, packets: Packets, columns: int, is_running: Callable[[], bool]) -> None:
        self._packets, self._before = packets, columns + 2  # how many columns there are, each of them, and their end
        self._is_running = is_running

    def __iter__(self) -> Any:
        rows: list[bytes] = []
        size = 0
        while True:
            read = self._packets.read(_SILENT_S)
            if not read and not self._is_running():  # a condition may be of few rows of a large table
                raise SourceAway(f"the server sends nothing for {_SILENT_S:.0f} s, and has ended the query")
            for packet in read:
                if is_end(packet):
                    if self._before:
                        self._before -= 1
                        continue
                    if rows:
                        yield rows
                    return
                if self._before:
                    self._before -= 1
                    continue
                rows.append(packet)
                size += len(packet)
            if size >= _FRAME_BYTES:
                yield rows
                rows, size = [], 0


def _copied(table: Captured, rows: list[bytes]) -> bytes:
    data = np.frombuffer(b"".join(rows), np.uint8)
    out = np.empty(2 * len(data) + 3 * len(rows) * len(table.select), np.uint8)
    size = copied_rows(data, np.cumsum([*map(len, rows)], dtype=np.int64), len(table.select), out)
    if size < 0:
        raise EnvironmentFault(f"table {table.name}: the server's result is damaged")
    return out[:size].tobytes()


class SnapshotPoints:
    """Positions in the log at which snapshots begin.

    until_named: transactions are open that began before the log has the names of columns. waits: whether the log may
    wait for transactions, where tables come later.
    """

    def __init__(self, server: Server, location: BinlogLocation, record: Record, log: Any) -> None:
        """Take the record of the capture, which has the server."""
        self._server, self._location, self._record, self._log = server, location, record, log
        self.until_named = self.waits = self._is_warned = False

    def first(self) -> Point:
        """Return a position. Raises SourceAway, EnvironmentFault."""
        if self.until_named:
            self._wait()
        return self._awaited()

    def _awaited(self) -> Point:
        try:
            return self._point()
        except NotYet as reason:
            raise SourceAway(str(reason)) from None

    def _wait(self) -> None:
        """Wait for transactions to end that began before the log has the names of columns."""
        with self._server.session() as session:
            open_ = {one for one in session.rows(OPEN_TRANSACTIONS) if one[0]}
            while open_ & set(session.rows(OPEN_TRANSACTIONS)):
                self._log.info("waits for transactions that are open")
                time.sleep(_POLL_S)

    def later(self) -> Point:
        """Return a position. Raises as `first`, and NotYet."""
        if self.waits:
            return self._awaited()
        try:
            return self._point()
        except LimitFault as fault:
            raise NotYet(f"{fault}; {_ONE_MORE}", _LIMITED_S) from None

    def _point(self) -> Point:
        session = self._server.session()
        try:
            self._check_server(session)
            self._check_prepared(session)
            session.run("set session transaction isolation level repeatable read")
            if session.product.knows_snapshots:
                begun = self._begun(session, lambda: _begun(session))
            else:
                begun = self._begun_locked(session)
            return Point(position_of(*begun, self._record.files), session, self._location, self._record.numbers)
        except BaseException:
            session.close()
            raise

    def _begun(self, session: Session, begin: Callable[[], tuple[str, int]]) -> tuple[str, int]:
        """Begin a snapshot, before which no XA transaction is prepared; return its position."""
        commits = self._check_prepared(session)
        position = begin()
        self._check_prepared(session, commits)
        return position

    def _check_prepared(self, session: Session, before: str | None = None) -> str:
        """Raise NotYet while XA transactions are prepared: their changes are before it, and in no snapshot.

        Return how many such commits have begun. before: how many had before the snapshot, if it has begun. One that is
        prepared at a snapshot was before it, still is after it, or its commit began between the two.
        """
        found = dict(session.rows("show global status like 'Com_xa_%'"))
        # those of one phase are among the commits, and are never prepared
        commits = str(found["Com_xa_commit"]) if int(found["Com_xa_prepare"]) else "none"
        if commits != (before or commits):
            raise NotYet(f"{self._server.shown}: an XA transaction was committed while a snapshot began", _XA_S)
        try:
            prepared = session.rows("xa recover")
        except EnvironmentFault:
            if not self._is_warned:
                text = "our user may not see which XA transactions are prepared: changes of these would be lacking"
                self._log.warning(text, remedy="grant xa_recover_admin on *.* to it")
            self._is_warned = True
            return commits
        if prepared:
            named = ", ".join(
                repr(one.decode(errors="replace") if isinstance(one, bytes) else one) for *_, one in prepared
            )
            raise NotYet(f"{self._server.shown}: XA transactions are prepared, and not committed: {named}", _XA_S)
        return commits

    def _check_server(self, session: Session) -> None:
        """Raise SourceAway where the address leads to another server than the one whose log is read."""
        if identity(session) != self._record.system:
            raise SourceAway(f"{self._server.shown}: the address leads to another server now")

    def _begun_locked(self, session: Session) -> tuple[str, int]:
        """Begin a snapshot while nothing is committed; return its position."""
        with self._server.session() as locking:
            self._check_server(locking)
            locking.run(f"set session lock_wait_timeout = {_LOCK_S}")
            try:  # which who only reads does not hold up, but transactions that have changed the tables do
                self._lock_tables(locking)
            except (EnvironmentFault, SourceAway) as error:
                _lock_all(locking, error)

            def begin() -> tuple[str, int]:
                session.run(_BEGIN)
                return end_of_log(locking)

            position = self._begun(session, begin)
            locking.run("unlock tables")
        return position

    def _lock_tables(self, locking: Session) -> None:
        """Wait for transactions that have changed our tables, and let no other change them."""
        if tables := found(locking, self._location, self._record.numbers).tables:
            locking.run(f"lock tables {', '.join(f'{one.quoted} read' for one in tables)}")

    def shown(self, lsn: int) -> str:
        """Return a position as the server that is captured now writes it."""
        return position_text(lsn, self._record.files)


class ReadPoints:
    """Positions at which tables are read, and which no changes follow: nothing is locked, and there may be no log.

    after: returns a position after those before, where one is not.
    """

    def __init__(
        self, server: Server, location: BinlogLocation, numbers: Mapping[str, int], after: Callable[[int], int]
    ) -> None:
        self._server, self._location, self._numbers, self._after = server, location, numbers, after

    def first(self) -> Point:
        """Return a position. Raises SourceAway, EnvironmentFault."""
        return self.later()

    def later(self) -> Point:
        """Return a position before all of a log: the second that it is. Raises as `first`."""
        session = self._server.session()
        try:
            session.run("set session transaction isolation level repeatable read")
            session.run(_BEGIN)
        except BaseException:
            session.close()
            raise
        return Point(self._after(position_in_no_log(int(time.time()))), session, self._location, self._numbers)

    def shown(self, lsn: int) -> str:
        """Return a position as people read it."""
        return str(lsn)


def _lock_all(locking: Session, before: IntegratorError) -> None:
    """Wait for statements that run, and let no transaction be committed. before: why the tables are not locked."""
    try:
        locking.run("flush tables with read lock")
    except SourceAway as error:
        raise NotYet(
            f"{error}, within {_LOCK_S} s: the rows that tables have are read once nobody has them locked for so long; "
            f"before: {before}",
            _REST * _LOCK_S,
        ) from None
    except EnvironmentFault as error:
        if isinstance(before, SourceAway):
            raise NotYet(str(before), _REST * _LOCK_S) from None
        raise EnvironmentFault(
            f"{before}; {error}: to read the rows that tables have, grant lock tables on the tables, or reload on *.*, "
            "to our user; or declare `snapshot: never`"
        ) from None


def _begun(session: Session) -> tuple[str, int]:
    """Begin a snapshot; return its position. Raises EnvironmentFault where the server does not say it."""
    session.run(_BEGIN)
    at = {str(name).lower(): value for name, value in session.rows("show status like 'binlog_snapshot_%'")}
    if not at.get("binlog_snapshot_file"):
        raise EnvironmentFault(f"{session.server.shown}: the server does not say where in its log a snapshot is")
    return str(at["binlog_snapshot_file"]), int(at["binlog_snapshot_position"])
