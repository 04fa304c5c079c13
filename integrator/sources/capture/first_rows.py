"""The rows that tables have before their changes are read: at a position, from which their changes follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from integrator.channel.databases import DatabaseLocation
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.capture.asked import asked
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.pace import Pace
from integrator.sources.capture.points import Captured, NotYet, Point, Points, RowsRefused
from integrator.sources.capture.progress import FILE, Progress
from integrator.sources.capture.ranges import Part, Reading, last_row
from integrator.sources.capture.record import Record, Refused

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


class FirstRows:
    """Which tables' rows are due, and at which position; `record` has those that were read, and is in the spool."""

    def __init__(
        self, points: Points, record: Record, spool: Path, intake: Intake, log: Any, location: DatabaseLocation
    ) -> None:
        """Take the record of a capture."""
        self.record = record
        self._points, self._spool, self._intake, self._log = points, spool, intake, log
        self._are_wanted, self._on_rewrite = location.snapshot != "never", location.on_rewrite
        self._by_range = location.snapshot != "only"  # else no changes follow, and all rows are those of one position
        self._warned = set[tuple[str, str]]()
        (spool / FILE).unlink(missing_ok=True)  # of a process that was killed
        record.product = location.product
        begun = {name: one.oid for name, one in record.reading.items() if one.last is not None}
        record.read |= begun  # changes follow the rows that are durable
        self._point: Point | None = None
        self._due: list[Captured] = []
        self._done = list[tuple[Captured, bool]]()  # written, and not durable; whether all rows were
        self._not_read = set[str]()  # of these, those whose rows, or a refresh, the database did not give
        self._postponed = set[int]()
        self._pace, self._read_at = Pace(location.snapshot_rows_per_second), -1
        self._left = set[str]()

    @property
    def position(self) -> int | None:
        """The position in the log at which rows are due; None where none are."""
        return None if self._point is None else self._point.lsn

    @property
    def is_left(self) -> bool:
        """Whether rows are left that are due at another position."""
        return bool(self._left)

    def is_next(self, waiting_bytes: int) -> bool:
        """Return whether the next position is to be had now, for rows that are left. waiting_bytes: to be sent."""
        if not self.is_left or self._point is not None:
            return False
        return self._pace.is_next(waiting_bytes, has_changed=self._intake.lsn != self._read_at)

    def is_due(self, oid: int) -> bool:
        """Return whether the rows of a table are due, or will be."""
        return oid in self._postponed or any(one.relation.oid == oid for one in self._due)

    def write(self) -> None:
        """Make the record durable."""
        self.record.write(self._spool)

    def begin_with(self, tables: Sequence[Captured], learn: Callable[[int], object] = lambda _: None) -> int:
        """Return the first position, at which the rows of all tables are due. Raises SourceAway, EnvironmentFault.

        learn: called with the position, before the record has it.
        """
        record = self.record
        record.write(self._spool)
        point = self._point = self._points.first()
        if point.lsn <= self._intake.lsn:  # where rows alone were read before, of a server that wrote nothing since
            raise SourceAway("the position to begin at is not after what was read; it is tried again")
        learn(point.lsn)
        record.creating, record.confirmed = False, point.lsn
        record.write(self._spool)
        if not self._are_wanted:
            self._note_shapes(tables)
            self.note_read(tables)
        self._due = list(point.tables({one.name for one in due(tables, record)}))
        self._log.info("capture begins", position=self._points.shown(point.lsn))
        return point.lsn

    def continue_at(self, position: int, tables: Sequence[Captured]) -> None:
        """Have changes be read from a position up to which another program sent them, with the rows of the tables."""
        self.record.creating, self.record.confirmed = False, position
        self.note_read(tables)
        self._log.info("capture continues what another program has sent", position=self._points.shown(position))

    def make_due(self, tables: Sequence[Captured], least: int = 0, *, is_next: bool = False) -> bool:
        """Have the rows of tables that came since be due, at a position from which their changes are read, too.

        Return False where that is to be tried again at once: the position must not be before `least`, up to where the
        log was read. Where no position can be had without waiting, they are due another time. is_next: rows that are
        left are read on, too.
        """
        self.note_rewritten(self.record.behind)  # at each start, until they are read again
        waiting = self._take_asked(tables)
        for name in self.record.refused.keys() - {one.name for one in tables}:
            del self.record.refused[name]  # it is gone
        resting = {name for name, one in self.record.refused.items() if one.rests}
        new = [one for one in due(tables, self.record) if one.name not in resting]
        if self._point is not None:  # what is not due there is read at a later position
            self._left = {one.name for one in new if one.name in self._left or not self.is_due(one.relation.oid)}
            return True
        if not new:
            self._left = set()
            return True
        if not self._are_wanted:
            begun = {*self.record.asked, *self.record.reading, *self.record.again}
            unread = [one for one in new if one.name not in begun]
            self._note_shapes(unread)
            self.note_read(unread)
            new = [one for one in new if one not in unread]
            if not new:
                return True
        names = [one.name for one in new]
        if not is_next and self._left.issuperset(names):
            return True
        if self._pace.is_put_off:
            return True
        began = time.monotonic()
        try:
            point = self._points.later()
        except NotYet as reason:
            if not self._postponed.issuperset(one.relation.oid for one in new):
                self._log.warning("the rows of tables wait", tables=names, reason=str(reason))
            self._postponed.update(one.relation.oid for one in new)
            self._pace.put_off(reason.again_s)
            return True
        if point.lsn < least:
            point.close()
            return False
        self._pace.note_cost(time.monotonic() - began)
        record = self.record
        known = {*record.reading, *record.asked, *self._left} - set(record.again)
        again = sorted(set(names) & set(record.sent) - known)
        if new_names := sorted(set(names) - set(again) - known):
            self._log.info("tables are new", tables=new_names)
        if again:
            self._log.info("the rows of tables are read again, after a truncate", tables=again)
        self._point, self._left = point, waiting
        there = point.tables({one.name for one in new})
        self._due = sorted(there, key=lambda one: one.name in record.refused)  # which may take long to be refused
        return True

    def note_read(self, tables: Sequence[Captured]) -> None:
        """Record that the rows of tables were read, or are not wanted: changes from now on are.

        A table that had another name has this one alone: should it have the other one again, its rows are read again.
        """
        record, names = self.record, {one.relation.oid: one.name for one in tables}
        read = {name: oid for name, oid in record.read.items() if names.get(oid, name) == name}
        record.read = read | {name: oid for oid, name in names.items()}
        record.again = [name for name in record.again if name not in names.values()]
        record.behind = {name: why for name, why in record.behind.items() if name not in names.values()}
        record.shapes = {one.name: dict(one.shape) for one in tables if one.shape} | record.shapes
        record.write(self._spool)
        self._intake.read |= {one.relation.oid.to_bytes(4, "big") for one in tables}

    def _note_shapes(self, tables: Sequence[Captured]) -> None:
        """Note what tables are like as their rows begin to be read: what is otherwise later has other rows."""
        self.record.shapes |= {one.name: dict(one.shape) for one in tables if one.shape}

    def note_rewritten(self, reasons: Mapping[str, str]) -> None:
        """Do what the location says with tables whose rows became others, and the log has no change of them.

        reasons: why, by their names. Raises EnvironmentFault where the channel is to stop.
        """
        record, on_rewrite = self.record, self._on_rewrite if self._are_wanted else "warn"
        news = {name: why for name, why in reasons.items() if name not in record.again}
        if news and on_rewrite == "stop":
            texts = "; ".join(f"table {name}: {why}" for name, why in news.items())
            raise EnvironmentFault(
                f"{texts}; the log has no change of these rows, so that topics have others than tables. To have them "
                "read again, after a truncate: on_rewrite: read_again"
            )
        if on_rewrite == "warn":
            for name, why in sorted(news.items() - self._warned):
                self._log.warning(
                    "the topic of a table has other rows than it: the log has no change of them",
                    table=name,
                    why=why,
                    remedy="to have its rows read again, after a truncate: on_rewrite: read_again",
                )
            self._warned.update(news.items())
            if not record.behind.items() >= news.items():
                record.behind = {**record.behind, **news}
                record.write(self._spool)
        elif news:
            for name, why in news.items():
                self._log.warning("the log has no change of a table's rows: they are read again", table=name, why=why)
            record.again = sorted({*record.again, *news})
            record.write(self._spool)

    def forget(self, oids: set[int]) -> None:
        """Record that tables are not captured any more: should they be again, their rows are read."""
        record = self.record
        record.read = {name: oid for name, oid in record.read.items() if oid not in oids}
        record.reading = {name: one for name, one in record.reading.items() if one.oid not in oids}
        (self._spool / FILE).unlink(missing_ok=True)
        record.write(self._spool)
        self._intake.leave(oids)

    def _begun(self, table: Captured, lsn: int) -> int:
        """Note that rows of a table may be there: a truncate is before those that are read next, if it is interrupted.

        Return which table it is of those that were read at this position: a quiet server's log has one for many rounds,
        and positions ascend.
        """
        record = self.record
        record.sent = sorted({*record.sent, table.name})
        record.copied_at, record.copies = lsn, record.copies + 1 if record.copied_at == lsn else 1
        return record.copies

    def _take_asked(self, tables: Sequence[Captured]) -> set[str]:
        """Have refreshes that were asked for be due; return the tables of which another one has to end before.

        Refreshes of tables whose rows are read in any case are dropped.
        """
        there, record, waiting = {one.name: one.relation.oid for one in tables}, self.record, set[str]()
        for path, name, refresh in asked(self._spool.parent):
            if name in record.asked and name not in record.again:
                waiting.add(name)
                continue
            is_read = name in record.again or name in record.reading
            if is_read or name not in there or record.read.get(name) != there[name]:
                why = "its rows are read in any case" if name in there else "the table is not captured"
                self._log.warning("a refresh is dropped", table=name, reason=why)
            else:
                self._log.info("a refresh is asked for", table=name, where=refresh.shown, truncate=refresh.truncate)
                record.asked[name] = refresh
                self.write()
            path.unlink()
        return waiting

    def _reading(self, point: Point, table: Captured) -> tuple[Reading, int, bool]:
        """Return how far a table is read, the number of its transaction, and whether a truncate is before its rows."""
        record, name, oid = self.record, table.name, table.relation.oid
        was_sent, number = name in record.sent, self._begun(table, point.lsn - 1)
        key, before = [*point.key(table)] if self._by_range else [], record.reading.get(name)
        is_same = before is not None and (before.oid, before.key) == (oid, key) and before.last is not None
        if before is not None and is_same and name not in record.again:
            return before, number, False
        if name in record.again or record.read.get(name) != oid:  # then all rows are read, whatever is asked for
            record.again = [one for one in record.again if one != name]
            record.asked.pop(name, None)
        refresh = record.asked.get(name)
        reading = Reading(oid, key, [point.lsn - 1, number], where=refresh.where if refresh else "")
        record.reading[name] = reading
        if refresh is None:  # else what became others before is yet to be noticed
            self._note_shapes([table])
            record.dropped.pop(name, None)
        return reading, number, refresh.truncate if refresh else was_sent

    def copy(self, into: Spooling) -> None:
        """Write rows that are due, each table as a transaction, for as long as a position is kept; others are left.

        Small tables are in one segment.
        """
        point = self._point
        if point is None:
            return
        micros = int(time.time() * 1e6) - _MICROS_TO_2000
        self._pace.begin()
        into.seal()  # what the log had before: each relation is sealed in one version
        for left, table in zip(reversed(range(len(self._due))), self._due, strict=True):
            reading, number, is_anew = self._reading(point, table)
            self._intake.begin_rows(table.relation, point.lsn - 1, micros, number)
            progress = Progress(self._spool, self._log, table.name, point.estimate(table), left, reading.rows)
            one = _Begun(table, reading, progress, is_anew)
            is_refused = False
            try:
                is_whole = self._copy_table(point, one, into)
            except RowsRefused as refused:
                is_refused, is_whole = True, self._refuse(one, str(refused))
            is_cut = not (is_whole or is_refused)
            self._intake.end_rows(point.lsn, micros)
            self._done.append((table, is_whole))
            is_last = is_cut or (left > 0 and self._by_range and self._is_over(into))
            if into.is_due or is_last or is_refused or not left:
                self._seal_rows(one, into)
            if is_last:
                self._left |= {one.name for one in self._due[len(self._due) - left - is_cut :]}
                break
        self._read_at = self._intake.lsn
        self._pace.end()
        self.close()

    def _copy_table(self, point: Point, one: _Begun, into: Spooling) -> bool:
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
            point.copy(table, Part(reading.key, reading.last, reading.where), take)
        except _OverError:
            return False
        self._begin_table(one)  # where it has no rows
        one.progress.end()
        return True

    def _is_over(self, into: Spooling) -> bool:
        return self._pace.is_over(into.waiting_bytes, into.has_changes)

    def _seal_rows(self, one: _Begun, into: Spooling) -> None:
        """Make what was written durable, and note up to where it is: up to the last row of the last table."""
        self.write()  # before the rows are there
        into.seal()
        if one.last:
            one.reading.last, one.reading.rows = one.reading.values(one.table.relation, one.last), one.progress.rows
        for table in (table for table, is_whole in self._done if is_whole):
            self.record.reading.pop(table.name)
            self.record.asked.pop(table.name, None)
            self.record.refused.pop(table.name, None)
        self.note_read([table for table, _ in self._done if table.name not in self._not_read])
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
        refresh = self.record.asked.get(one.table.name)
        if refresh is not None and one.reading.last is None:
            self._intake.take_gone(one.table.relation, refresh.key, refresh.gone)

    def _refuse(self, one: _Begun, reason: str) -> bool:
        """Give up a refresh that the database refuses; leave other rows for later. Return whether none are left.

        Where a truncate or deletes may be before the rows, all of them are read again.
        """
        name, record = one.table.name, self.record
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

    def close(self) -> None:
        """Leave the position: what is due there is not read any more."""
        if self._point is not None:
            self._point.close()
        self._point, self._due = None, []


def due(tables: Sequence[Captured], record: Record) -> list[Captured]:
    """Return the tables whose rows were not read yet, or are to be again: one that was created again is another."""
    due_again = {*record.again, *record.reading, *record.asked}
    return [one for one in tables if record.read.get(one.name) != one.relation.oid or one.name in due_again]
