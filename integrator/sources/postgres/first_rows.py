"""The rows that tables have before their changes are read: at a place in the log, from which their changes follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from integrator.channel.databases import PostgresLocation
from integrator.decode.encodings.pgoutput import Relation
from integrator.sources.postgres.catalogue import Captured
from integrator.sources.postgres.intake import Intake
from integrator.sources.postgres.record import Record
from integrator.sources.postgres.server import Server, lsn_text
from integrator.sources.postgres.snapshot import Point, due, point_of_slot

_MICROS_TO_2000 = 946_684_800_000_000


class FirstRows:
    """Which tables' rows are due, and at which place; `record` has those that were read, and is kept with the spool."""

    def __init__(
        self, server: Server, location: PostgresLocation, record: Record, spool: Path, intake: Intake, log: Any
    ) -> None:
        self.record = record
        self._server, self._location, self._spool, self._intake, self._log = server, location, spool, intake, log
        self._point: Point | None = None
        self._due: list[Captured] = []

    @property
    def place(self) -> int | None:
        """The place in the log at which rows are due; None where none are."""
        return None if self._point is None else self._point.lsn

    def is_due(self, oid: int) -> bool:
        """Return whether the rows of a table are due."""
        return any(one.relation.oid == oid for one in self._due)

    def begin_with(self, tables: Sequence[Captured]) -> int:
        """Create the slot; return its place, at which the rows of all tables are due. Raises as `point_of_slot`."""
        record = self.record
        record.write(self._spool)
        self._log.info("waits for transactions that are open", slot=record.slot)
        point = self._point = point_of_slot(self._server, record.slot, temporary=False)
        record.creating, record.confirmed = False, point.lsn
        record.write(self._spool)
        if self._location.snapshot == "never":
            self.note_read(tables)
        self._due = point.tables(self._location, {one.name for one in due(tables, record.read)})
        self._log.info("capture begins", slot=record.slot, position=lsn_text(point.lsn))
        return point.lsn

    def look_for(self, tables: Sequence[Captured]) -> None:
        """Have the rows of tables that came since be due, at a place from which their changes are read, too."""
        new = due(tables, self.record.read)
        if not new or self._point is not None:
            return
        if self._location.snapshot == "never":
            self.note_read(new)
            return
        self._log.info("tables are new", tables=[one.name for one in new])
        self._point = point_of_slot(self._server, f"{self.record.slot[:50]}_snapshot", temporary=True)
        self._due = self._point.tables(self._location, {one.name for one in new})

    def note_read(self, tables: Sequence[Captured]) -> None:
        """Record that the rows of tables were read, or are not wanted: changes from now on are."""
        self.record.read |= {one.name: one.relation.oid for one in tables}
        self.record.write(self._spool)
        self._intake.read |= {one.relation.oid.to_bytes(4, "big") for one in tables}

    def _note_begun(self, table: Captured) -> None:
        """Record that rows of a table are there: where it is broken off, all of its changes follow them.

        Else those of its rows that are deleted before it is read again would stay with consumers.
        """
        self.record.begun[table.name] = table.relation.oid
        self.record.write(self._spool)
        self._intake.read.add(table.relation.oid.to_bytes(4, "big"))

    def copy(self, taken: Callable[[], None], seal: Callable[[], None]) -> None:
        """Write the rows that are due, each table as a transaction.

        taken: is called after each piece of rows. seal: makes what was written durable.
        """
        point = self._point
        if point is None:
            return
        lsn, micros = point.lsn - 1, int(time.time() * 1e6) - _MICROS_TO_2000
        for number, table in enumerate(self._due, 1):
            began, relation = time.monotonic(), table.relation
            self._note_begun(table)
            self._intake.begin_rows(relation, lsn, micros, number)

            def take(rows: bytes, relation: Relation = relation) -> None:
                self._intake.take_rows(relation, rows)
                taken()

            count = point.copy(table, take)
            self._intake.end_rows(point.lsn, micros)
            seal()
            self.note_read([table])
            seconds = round(time.monotonic() - began, 1)
            left = len(self._due) - number
            self._log.info("snapshot of a table", table=table.name, rows=count, seconds=seconds, tables_left=left)
        self.close()

    def close(self) -> None:
        """Leave the place: what is due there is not read any more."""
        if self._point is not None:
            self._point.close()
        self._point, self._due = None, []
