"""The rows of tables at one position of the log: each table's as a transaction, as far as there is time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from integrator.sources.capture.intake import Intake
from integrator.sources.capture.pace import Pace
from integrator.sources.capture.points import Captured, Point, RowsRefused
from integrator.sources.capture.progress import Progress
from integrator.sources.capture.ranges import Part, Reading, last_row
from integrator.sources.capture.read_tables import ReadTables
from integrator.sources.capture.record import Refused

_MICROS_TO_2000 = 946_684_800_000_000
_AGAIN_S, _MOST_AGAIN_S = 30.0, 3600.0
"""After so long, rows that the database did not give are asked for again: each time twice as long, up to an hour."""


class Spooling(Protocol):
    """What rows are written into: a spool, and the connection that its changes come from."""

    @property
    def is_due(self) -> bool:
        """Whether what was written is to become durable."""

    @property
    def waiting_bytes(self) -> int:
        """How much waits to be sent."""

    def seal(self) -> None:
        """Make what was written durable."""

    def rest(self) -> None:
        """Wait after that, while there is no room."""

    def has_changes(self) -> bool:
        """Return whether changes wait for the rows."""


@dataclass
class _Begun:
    """A table whose rows are being written. last: the last row, as COPY writes it; empty: none was.

    is_anew: a truncate is before its rows, once there are some.
    """

    table: Captured
    reading: Reading
    progress: Progress
    is_anew: bool
    last: bytes = b""
    has_begun: bool = False


class _OverError(Exception):
    """The time at a position is over."""


class PositionRows:
    """Reads the rows of tables at a position, and writes them. by_range: tables with a key are read by it, in parts."""

    def __init__(
        self, point: Point, tables: ReadTables, intake: Intake, pace: Pace, log: Any, *, by_range: bool
    ) -> None:
        """Begin at a position that is open, which the caller closes."""
        self._point, self._tables, self._intake, self._pace, self._log = point, tables, intake, pace, log
        self._record, self._by_range = tables.record, by_range
        self._done = list[tuple[Captured, bool]]()  # written, and not durable; whether all rows were
        self._not_read = set[str]()  # of these, those whose rows, or a refresh, the database did not give

    def copy(self, due: Sequence[Captured], into: Spooling) -> set[str]:
        """Write the rows of tables for as long as a position is kept; return the names of tables that are left.

        Small tables are in one segment.
        """
        point, left_over = self._point, set[str]()
        micros = int(time.time() * 1e6) - _MICROS_TO_2000
        self._pace.begin()
        into.seal()  # what the log had before: each relation is sealed in one version
        for left, table in zip(reversed(range(len(due))), due, strict=True):
            reading, number, is_anew = self._reading(table)
            self._intake.begin_rows(table.relation, point.lsn - 1, micros, number)
            progress = Progress(self._tables.spool, self._log, table.name, point.estimate(table), left, reading.rows)
            one = _Begun(table, reading, progress, is_anew)
            is_refused = False
            try:
                is_whole = self._copy_table(one, into)
            except RowsRefused as refused:
                is_refused, is_whole = True, self._refuse(one, str(refused))
            is_cut = not (is_whole or is_refused)
            self._intake.end_rows(point.lsn, micros)
            self._done.append((table, is_whole))
            is_last = is_cut or (left > 0 and self._by_range and self._is_over(into))
            if into.is_due or is_last or is_refused or not left:
                self._seal_rows(one, into)
            if is_last:
                left_over = {one.name for one in due[len(due) - left - is_cut :]}
                break
        self._pace.end()
        return left_over

    def _reading(self, table: Captured) -> tuple[Reading, int, bool]:
        """Return how far a table is read, the number of its transaction, and whether a truncate is before its rows."""
        record, name, oid, point = self._record, table.name, table.relation.oid, self._point
        was_sent, number = name in record.sent, self._tables.begin(table, point.lsn - 1)
        key, before = [*point.key(table)] if self._by_range else [], record.reading.get(name)
        by = (oid, key, point.order(table) if key else "")
        is_same = before is not None and (before.oid, before.key, before.order) == by and before.last is not None
        if before is not None and is_same and name not in record.again:
            return before, number, False
        if name in record.again or record.read.get(name) != oid:  # then all rows are read, whatever is asked for
            record.again = [one for one in record.again if one != name]
            record.asked.pop(name, None)
        refresh = record.asked.get(name)
        reading = Reading(oid, key, [point.lsn - 1, number], where=refresh.where if refresh else "", order=by[2])
        record.reading[name] = reading
        if refresh is None:  # else what became others before is yet to be noticed
            self._tables.note_shapes([table])
            record.dropped.pop(name, None)
        return reading, number, refresh.truncate if refresh else was_sent

    def _copy_table(self, one: _Begun, into: Spooling) -> bool:
        """Write rows of a table; return whether they are all that are left of it."""
        table, reading = one.table, one.reading

        def take(rows: bytes, many: int) -> None:
            self._begin_table(one)
            self._intake.take_rows(table.relation, rows)
            one.last = last_row(rows)
            self._pace.take(many, len(rows))
            if not reading.key:
                self._pace.keep_to_the_rate(into.rest)
            one.progress.add(many)
            if into.is_due:
                self._seal_rows(one, into)
            if reading.key and self._is_over(into):
                raise _OverError

        try:
            self._point.copy(table, Part(reading.key, reading.last, reading.where), take)
        except _OverError:
            return False
        self._begin_table(one)  # where it has no rows
        one.progress.end()
        return True

    def _is_over(self, into: Spooling) -> bool:
        return self._pace.is_over(into.waiting_bytes, into.has_changes)

    def _seal_rows(self, one: _Begun, into: Spooling) -> None:
        """Make what was written durable, and note up to where it is: up to the last row of the last table."""
        self._tables.write()  # before the rows are there
        into.seal()
        if one.last:
            one.reading.last, one.reading.rows = one.reading.values(one.table.relation, one.last), one.progress.rows
        behind = [name for name, one in self._record.asked.items() if one.where or not one.truncate]
        for table in (table for table, is_whole in self._done if is_whole):
            self._record.reading.pop(table.name)
            self._record.asked.pop(table.name, None)
            self._record.refused.pop(table.name, None)
        self._tables.note_read([table for table, _ in self._done if table.name not in self._not_read], behind)
        self._not_read.clear()
        self._done.clear()
        into.rest()

    def _begin_table(self, one: _Begun) -> None:
        """Write what is before the rows of a table, once: a truncate, or deletes that a refresh has."""
        if one.has_begun:
            return
        one.has_begun = True
        if one.is_anew:
            self._intake.begin_anew(one.table.relation)
        refresh = self._record.asked.get(one.table.name)
        if refresh is not None and one.reading.last is None:
            self._intake.take_gone(one.table.relation, refresh.key, refresh.gone)

    def _refuse(self, one: _Begun, reason: str) -> bool:
        """Give up a refresh that the database refuses; leave other rows for later. Return whether none are left.

        Where a truncate or deletes may be before the rows, all of them are read again.
        """
        name, record = one.table.name, self._record
        one.progress.leave()
        if refresh := record.asked.get(name):
            self._log.error("a refresh is given up", table=name, where=refresh.shown, reason=reason)
            self._not_read.add(name)
            if refresh.truncate or refresh.gone:
                record.again = sorted({*record.again, name})
            return True
        if not (one.reading.key and (one.last or one.reading.last)):  # else changes follow the rows that were read
            self._not_read.add(name)
        before = record.refused.get(name)
        pause_s = min(2 * before.pause_s, _MOST_AGAIN_S) if before else _AGAIN_S
        record.refused[name] = Refused(reason, time.time() + pause_s, pause_s)
        self._log.error("the rows of a table cannot be read", table=name, reason=reason, tried_again_in_s=pause_s)
        return False
