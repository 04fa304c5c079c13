"""What PostgreSQL announces before changes of a table, and what of it the captured tables do not have any more.

A relation is announced as it was when its changes were made; the catalogue has tables as they are now.
https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from integrator.decode.encodings.pgoutput import Relation
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.frames import ROWS
from integrator.sources.capture.intake import Intake
from integrator.sources.postgres.tables import PublishedTables


class Announced:
    """Inspects each relation, and the message after it, before they are taken.

    inspect: lists the published tables again. leave: skips changes of tables from now on, by their
    names, with their oids.
    """

    def __init__(
        self,
        tables: PublishedTables,
        rows: FirstRows,
        intake: Intake,
        inspect: Callable[[], None],
        leave: Callable[[Mapping[str, int]], None],
        log: Any,
    ) -> None:
        """Take what changes are captured by."""
        self._tables, self._rows, self._intake = tables, rows, intake
        self._inspect, self._leave, self._log = inspect, leave, log
        self._last: Relation | None = None
        """The relation that the message before announced, if it announced one."""
        self._gone: tuple[Relation, Relation] | None = None
        """A table, and what may have been its partition: it was, if the next message is a change of the table."""

    @property
    def waits(self) -> bool:
        """Whether the next message is to be inspected by `settle`."""
        return self._gone is not None

    def take(self, relation: Relation) -> None:
        """List tables where one is new; leave one that has a name that is not meant; log one that is not captured.

        A table whose rows cannot follow from its changes any more is read again. Raises IntegratorError.
        """
        if self._is_read(relation):
            self._take_captured(relation)
        elif not self._tables.has_partition(relation.oid):
            self._inspect()
            whole = self._last  # the server announces a partition right after its table
            if whole is not None and self._is_read(whole) and self._tables.is_divided(whole.oid):
                self._gone = whole, relation
            else:
                self._log_missing(relation)
        self._last = relation

    def passed(self) -> None:
        """Note that another message than a relation came."""
        self._last = None

    def settle(self, message: bytes) -> None:
        """Have a table be read again that has a change of a partition that it has no more. message: the one after."""
        if self._gone is None:
            return
        (whole, part), self._gone = self._gone, None
        if message[0] not in ROWS or int.from_bytes(message[1:5], "big") != whole.oid:
            self._log_missing(part)
        elif not self._tables.has_partition(part.oid) and not self._intake.is_repeated:
            why = f"it had a partition while rows changed that it has no more: {part.full_name}"
            self._rows.note_rewritten({whole.full_name: why})
            self._inspect()

    def _take_captured(self, relation: Relation) -> None:
        """Inspect a table whose changes are written.

        Changes of a table that had another name are of that one: where it is called as before again, it lacks them. One
        without columns has rows without values.
        """
        if not (relation.columns and self._tables.are_for(relation.full_name)):
            self._leave({relation.full_name: relation.oid})
            return
        if self._intake.is_repeated:
            return
        names = [name for name, oid in self._rows.record.read.items() if oid == relation.oid]
        why = ""
        if relation.full_name not in names:
            why = f"it was called {relation.full_name} while rows changed"
        elif self._tables.renamed(relation, self._rows.record):
            self._inspect()
            if came := self._tables.renamed(relation, self._rows.record):
                why = f"it had columns of other names while rows changed: {', '.join(came)}"
        if why:
            self._rows.note_rewritten(dict.fromkeys(names, why))
            self._inspect()

    def _log_missing(self, relation: Relation) -> None:
        """Log a table that is published, and not captured."""
        is_due = self._is_read(relation) or self._rows.is_due(relation.oid)
        if not is_due and not self._tables.has_partition(relation.oid):
            self._log.warning("published, and not captured", table=relation.full_name)

    def _is_read(self, relation: Relation) -> bool:
        return relation.oid.to_bytes(4, "big") in self._intake.read
