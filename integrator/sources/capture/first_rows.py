"""The rows that tables have before their changes are read: at a position, from which their changes follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from integrator.channel.databases import DatabaseLocation
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.capture.asked import asked
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.pace import Pace
from integrator.sources.capture.points import Captured, NotYet, Point, Points
from integrator.sources.capture.position_rows import PositionRows, Spooling
from integrator.sources.capture.read_tables import ReadTables
from integrator.sources.capture.record import Record


class FirstRows:
    """Which tables' rows are due, and at which position; `tables` are those that were read, `record` is theirs."""

    def __init__(
        self, points: Points, record: Record, spool: Path, intake: Intake, log: Any, location: DatabaseLocation
    ) -> None:
        """Take the record of a capture."""
        self.record, self.tables = record, ReadTables(record, spool, intake)
        self._points, self._spool, self._intake, self._log = points, spool, intake, log
        self._are_wanted, self._on_rewrite = location.snapshot != "never", location.on_rewrite
        self._by_range = location.snapshot != "only"  # else no changes follow, and all rows are those of one position
        self._warned = set[tuple[str, str]]()
        record.product = location.product
        self._point: Point | None = None
        self._due: list[Captured] = []
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

    def begin_with(self, tables: Sequence[Captured], learn: Callable[[int], object] = lambda _: None) -> int:
        """Return the first position, at which the rows of all tables are due. Raises SourceAway, EnvironmentFault.

        learn: called with the position, before the record has it.
        """
        record = self.record
        self.tables.write()
        point = self._point = self._points.first()
        if point.lsn <= self._intake.lsn:  # where rows alone were read before, of a server that wrote nothing since
            raise SourceAway("the position to begin at is not after what was read; it is tried again")
        learn(point.lsn)
        record.creating, record.confirmed = False, point.lsn
        self.tables.write()
        if not self._are_wanted:
            self.tables.note_shapes(tables)
            self.tables.note_read(tables)
        self._due = list(point.tables({one.name for one in due(tables, record)}))
        self._log.info("capture begins", position=self._points.shown(point.lsn))
        return point.lsn

    def continue_at(self, position: int, tables: Sequence[Captured]) -> None:
        """Have changes be read from a position up to which another program sent them, with the rows of the tables."""
        self.record.creating, self.record.confirmed = False, position
        self.tables.note_read(tables)
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
            self.tables.note_shapes(unread)
            self.tables.note_read(unread)
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
                self.tables.write()
        elif news:
            for name, why in news.items():
                self._log.warning("the log has no change of a table's rows: they are read again", table=name, why=why)
            record.again = sorted({*record.again, *news})
            self.tables.write()

    def _take_asked(self, tables: Sequence[Captured]) -> set[str]:
        """Have refreshes that were asked for be due; return the tables of which another reading has to end before.

        Refreshes of tables all of whose rows are to be read in any case are dropped.
        """
        there, record, waiting = {one.name: one.relation.oid for one in tables}, self.record, set[str]()
        for path, name, refresh in asked(self._spool.parent):
            is_again = name in record.again
            if name in there and not is_again and (name in record.asked or name in record.reading):
                waiting.add(name)  # ranges that were read have the rows of before
                continue
            if is_again or name not in there or record.read.get(name) != there[name]:
                why = "its rows are read in any case" if name in there else "the table is not captured"
                self._log.warning("a refresh is dropped", table=name, reason=why)
            else:
                self._log.info("a refresh is asked for", table=name, where=refresh.shown, truncate=refresh.truncate)
                record.asked[name] = refresh
                self.tables.write()
            path.unlink()
        return waiting

    def copy(self, into: Spooling) -> None:
        """Write rows that are due, for as long as a position is kept; others are left."""
        if self._point is None:
            return
        rows = PositionRows(self._point, self.tables, self._intake, self._pace, self._log, by_range=self._by_range)
        self._left |= rows.copy(self._due, into)
        self._read_at = self._intake.lsn
        self.close()

    def close(self) -> None:
        """Leave the position: what is due there is not read any more."""
        if self._point is not None:
            self._point.close()
        self._point, self._due = None, []


def due(tables: Sequence[Captured], record: Record) -> list[Captured]:
    """Return the tables whose rows were not read yet, or are to be again: one that was created again is another."""
    due_again = {*record.again, *record.reading, *record.asked}
    return [one for one in tables if record.read.get(one.name) != one.relation.oid or one.name in due_again]
