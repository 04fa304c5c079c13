"""The rows that tables have before their changes are read: at a place in the log, from which their changes follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from integrator.channel.databases import DatabaseLocation
from integrator.decode.encodings.pgoutput import Relation
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.progress import FILE, Progress
from integrator.sources.capture.record import Record

_MICROS_TO_2000 = 946_684_800_000_000


class Captured(Protocol):
    """A table that is captured, at a database."""

    @property
    def name(self) -> str:
        """Its schema and name."""

    @property
    def relation(self) -> Relation:
        """Its number, names and columns."""

    @property
    def shape(self) -> Mapping[str, Any]:
        """What tells, as JSON, whether its rows became others without a change in the log; nothing where that does."""


class Point(Protocol):
    """A place in the log, and a session that sees the rows as of then: of all that is committed before it, no more."""

    @property
    def lsn(self) -> int:
        """The place."""

    def tables(self, names: set[str]) -> Sequence[Any]:
        """Return the tables of these names as they are at the place: columns may have come since they were found."""

    def copy(self, table: Any, take: Callable[[bytes, int], None]) -> None:
        """Read a table; `take` gets whole rows as COPY writes them, about a megabyte each time, and how many."""

    def estimate(self, table: Any) -> int:
        """Return about how many rows a table has."""

    def close(self) -> None:
        """End the session."""


class NotYet(Exception):
    """A place cannot be had now without waiting for long, for transactions that are open.

    again_s: so many seconds are to pass before the next try, for the log waits for each.
    """

    def __init__(self, text: str, again_s: float) -> None:
        """Take what was waited for."""
        super().__init__(text)
        self.again_s = again_s


class Points(Protocol):
    """Makes places of a database's log."""

    def first(self) -> Point:
        """Return the place at which the capture begins. Raises SourceAway, EnvironmentFault."""

    def later(self) -> Point:
        """Return a place for tables that come later. Raises as `first`, and NotYet."""

    def shown(self, lsn: int) -> str:
        """Return a place as the database writes it."""


class FirstRows:
    """Which tables' rows are due, and at which place; `record` has those that were read, and is kept with the spool."""

    def __init__(
        self, points: Points, record: Record, spool: Path, intake: Intake, log: Any, location: DatabaseLocation
    ) -> None:
        """Take the record of a capture."""
        self.record = record
        self._points, self._spool, self._intake, self._log = points, spool, intake, log
        self._are_wanted, self._on_rewrite = location.snapshot != "never", location.on_rewrite
        self._warned = set[tuple[str, str]]()
        (spool / FILE).unlink(missing_ok=True)  # of a process that was killed
        self._point: Point | None = None
        self._due: list[Captured] = []
        self._postponed = set[int]()
        self._not_before = 0.0

    @property
    def place(self) -> int | None:
        """The place in the log at which rows are due; None where none are."""
        return None if self._point is None else self._point.lsn

    def is_due(self, oid: int) -> bool:
        """Return whether the rows of a table are due, or will be."""
        return oid in self._postponed or any(one.relation.oid == oid for one in self._due)

    def write(self) -> None:
        """Make the record durable."""
        self.record.write(self._spool)

    def begin_with(self, tables: Sequence[Captured]) -> int:
        """Return the first place, at which the rows of all tables are due. Raises SourceAway, EnvironmentFault."""
        record = self.record
        record.write(self._spool)
        point = self._point = self._points.first()
        if point.lsn <= self._intake.lsn:  # where rows alone were read before, of a server that wrote nothing since
            raise SourceAway("the place to begin at is not after what was read; it is tried again")
        record.creating, record.confirmed = False, point.lsn
        record.write(self._spool)
        if not self._are_wanted:
            self.note_read(tables)
        self._due = list(point.tables({one.name for one in due(tables, record)}))
        self._log.info("capture begins", position=self._points.shown(point.lsn))
        return point.lsn

    def continue_at(self, place: int, tables: Sequence[Captured]) -> None:
        """Have changes be read from a place up to which another program has sent them, with the rows of the tables."""
        self.record.creating, self.record.confirmed = False, place
        self.note_read(tables)
        self._log.info("capture continues what another program has sent", position=self._points.shown(place))

    def look_for(self, tables: Sequence[Captured], least: int = 0) -> bool:
        """Have the rows of tables that came since be due, at a place from which their changes are read, too.

        Return False where that is to be tried again at once: the place must not be before `least`, up to where the log
        was read. Where no place can be had without waiting, they are due another time.
        """
        self.note_rewritten(self.record.behind)  # at each start, until they are read again
        new = due(tables, self.record)
        if not new or self._point is not None:
            return True
        if not self._are_wanted:
            self.note_read(new)
            return True
        names = [one.name for one in new]
        if time.monotonic() < self._not_before:
            return True
        try:
            point = self._points.later()
        except NotYet as reason:
            if not self._postponed.issuperset(one.relation.oid for one in new):
                self._log.warning("tables are new, and wait for open transactions", tables=names, reason=str(reason))
            self._postponed.update(one.relation.oid for one in new)
            self._not_before = time.monotonic() + reason.again_s
            return True
        if point.lsn < least:
            point.close()
            return False
        again = sorted(set(names) & set(self.record.sent))
        if len(again) < len(names):
            self._log.info("tables are new", tables=sorted(set(names) - set(again)))
        if again:
            self._log.info("the rows of tables are read again, after a truncate", tables=again)
        self._point = point
        self._due = list(point.tables({one.name for one in new}))
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
        record.shapes |= {one.name: dict(one.shape) for one in tables if one.shape}
        record.write(self._spool)
        self._intake.read |= {one.relation.oid.to_bytes(4, "big") for one in tables}

    def note_rewritten(self, reasons: Mapping[str, str]) -> None:
        """Do what the location says with tables whose rows became others, and the log has no change of them.

        reasons: why, by their names. Raises EnvironmentFault where the channel is to stop.
        """
        record, on_rewrite = self.record, self._on_rewrite if self._are_wanted else "warn"
        news = {name: why for name, why in reasons.items() if name not in record.again}
        if news and on_rewrite == "stop":
            told = "; ".join(f"table {name}: {why}" for name, why in news.items())
            raise EnvironmentFault(
                f"{told}; the log has no change of these rows, so that topics have others than tables. To have them "
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
        record.write(self._spool)
        self._intake.leave(oids)

    def _begun(self, table: Captured, lsn: int) -> int:
        """Note that rows of a table may be there: a truncate is before those that are read next, if it is broken off.

        Return which table it is of those that were read at this position: a quiet server's log has one for many rounds,
        and positions ascend.
        """
        record = self.record
        record.sent = sorted({*record.sent, table.name})
        record.copied_at, record.copies = lsn, record.copies + 1 if record.copied_at == lsn else 1
        return record.copies

    def copy(self, is_due: Callable[[], bool], seal: Callable[[], None], rest: Callable[[], None]) -> None:
        """Write the rows that are due, each table as a transaction; small tables are in one segment.

        is_due: returns whether what was written is to become durable; seal: makes it so; rest: waits, after that.
        """
        point = self._point
        if point is None:
            return
        lsn, micros = point.lsn - 1, int(time.time() * 1e6) - _MICROS_TO_2000
        whole = list[Captured]()

        def seal_rows() -> None:
            self.write()  # before the rows are there
            seal()
            self.note_read(whole)
            whole.clear()
            rest()

        seal()  # what the log had before: each relation is sealed in one version
        for left, table in zip(reversed(range(len(self._due))), self._due, strict=True):
            relation = table.relation
            is_anew = table.name in self.record.sent
            self._intake.begin_rows(relation, lsn, micros, self._begun(table, lsn))
            if is_anew:
                self._intake.begin_anew(relation)
            progress = Progress(self._spool, self._log, table.name, point.estimate(table), left)

            def take(rows: bytes, many: int, relation: Relation = relation, progress: Progress = progress) -> None:
                self._intake.take_rows(relation, rows)
                progress.add(many)
                if is_due():
                    seal_rows()

            point.copy(table, take)
            self._intake.end_rows(point.lsn, micros)
            whole.append(table)
            progress.end()
            if is_due():
                seal_rows()
        seal_rows()
        self.close()

    def close(self) -> None:
        """Leave the place: what is due there is not read any more."""
        if self._point is not None:
            self._point.close()
        self._point, self._due = None, []


def due(tables: Sequence[Captured], record: Record) -> list[Captured]:
    """Return the tables whose rows were not read yet, or are to be again: one that was created again is another."""
    return [one for one in tables if record.read.get(one.name) != one.relation.oid or one.name in record.again]
