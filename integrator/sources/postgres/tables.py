"""Which tables are captured, as the publication has them, and which are not any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from integrator.channel.databases import PostgresLocation
from integrator.sources.capture.definitions import is_wanted
from integrator.sources.capture.record import Record
from integrator.sources.postgres.catalogue import Captured, Found, found
from integrator.sources.postgres.publication import publish
from integrator.sources.postgres.server import Session
from integrator.sources.postgres.slot import Names


class PublishedTables:
    """The tables that a location is for: those that are new are added to the publication."""

    def __init__(self, session: Session, location: PostgresLocation, names: Names, log: Any) -> None:
        self._session, self._location, self._names, self._log = session, location, names, log
        self._found = Found(())

    def look(self, record: Record | None) -> Sequence[Captured]:
        """Return the tables that the publication has now. Raises IntegratorError. record: of what was captured."""
        self._found = found(self._session, self._location)

        def is_captured(one: Captured) -> bool:
            known = record and (record.read.get(one.name), record.begun.get(one.name))
            return bool(known and one.relation.oid in known)

        there = publish(self._session, self._names, self._found.tables, self._location, is_captured)
        if locked := [one.name for one in self._found.tables if one not in there]:
            self._log.warning("tables are new, and locked: they are added later", tables=locked)
        return there

    def left(self, record: Record) -> dict[str, int]:
        """Return the tables that were captured, and are not to be any more, with their oids.

        They are excluded, or unlogged: then changes are in no log.
        """
        there = {**record.begun, **record.read}
        return {
            name: oid
            for name, oid in there.items()
            if name in self._found.unlogged or not is_wanted(name, self._location)
        }

    def has_partition(self, oid: int) -> bool:
        """Return whether a table is a partition whose rows are those of a captured one."""
        return oid in self._found.partitions
