"""Which tables are captured, as the publication has them, and which are not any more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from integrator.channel.databases import PostgresLocation
from integrator.decode.encodings.pgoutput import Relation
from integrator.sources.capture.definitions import is_wanted
from integrator.sources.capture.record import Record
from integrator.sources.postgres.catalogue import Captured, Found, found
from integrator.sources.postgres.publication import publish
from integrator.sources.postgres.rewrites import columns_of, reason, with_shapes
from integrator.sources.postgres.server import Session
from integrator.sources.postgres.slot import Names


class PublishedTables:
    """The tables that a location is for: those that are new are added to the publication."""

    def __init__(self, session: Session, location: PostgresLocation, names: Names, log: Any, spool: Path) -> None:
        self._session, self._location, self._names, self._log, self._spool = session, location, names, log, spool
        self.unpublished: dict[str, str] = {}
        """The tables that the publication lacks, and what must be done."""
        self._found = Found(())
        self.there: Sequence[Captured] = ()
        """The tables that the publication had when they were searched for."""

    def inspect(self, record: Record | None) -> Sequence[Captured]:
        """Return the tables that the publication has now. Raises IntegratorError. record: of what was captured."""
        self._found = found(self._session, self._location)

        def is_captured(one: Captured) -> bool:
            return record is not None and record.read.get(one.name) == one.relation.oid

        there, why = publish(self._session, self._names, self._found.tables, self._location, is_captured)
        for name in why.keys() - self.unpublished.keys():
            self._log.warning("a table is not published yet: it is tried again", table=name, why=str(why[name]))
        self.unpublished = {name: str(one) for name, one in why.items()}
        if record is not None and record.unpublished != self.unpublished:
            record.unpublished = self.unpublished
            record.write(self._spool)
        self.there = with_shapes(self._session, there, self._names.publication)
        return self.there

    def rewritten(self, record: Record) -> dict[str, str]:
        """Return of which tables that were found the rows became others without a change in the log, and why.

        The shapes of others are noted. Raises IntegratorError.
        """
        reasons, shapes = dict[str, str](), dict[str, dict[str, Any]]()
        for one in self.there:
            before = record.shapes.get(one.name)
            is_read = record.read.get(one.name) == one.relation.oid
            if not is_read or not one.shape or before == one.shape:  # without a shape, it was dropped meanwhile
                continue
            if before and (gone := columns_of(before) - columns_of(one.shape)):
                record.drop(one.name, gone)
            if before and (why := reason(self._session, before, one.shape, record.dropped.get(one.name, ()))):
                reasons[one.name] = why
            else:
                shapes[one.name] = dict(one.shape)
        if shapes:
            record.shapes |= shapes
            record.write(self._spool)
        return reasons

    def left(self, record: Record) -> dict[str, int]:
        """Return the tables that were captured, and are not to be any more, with their oids.

        They are excluded, or unlogged: then changes are in no log.
        """
        return {
            name: oid for name, oid in record.read.items() if name in self._found.unlogged or not self.are_for(name)
        }

    def renamed(self, relation: Relation, record: Record) -> list[str]:
        """Return the columns of a relation that may have other names now: the table has others in their place.

        It neither has these now, nor had them when it was noted, nor were they dropped then.
        """
        name = next((one for one, oid in record.read.items() if oid == relation.oid), "")
        now = next((one.shape for one in self.there if one.name == name), None)
        own = {one.name for one in relation.columns}
        if not now or columns_of(now) <= own:  # it is gone, or they are
            return []
        noted = record.shapes.get(name)
        known = {*record.dropped.get(name, ()), *columns_of(now), *(columns_of(noted) if noted else ())}
        return sorted(own - known)

    def are_for(self, name: str) -> bool:
        """Return whether the location is for a table, SCHEMA.TABLE."""
        return is_wanted(name, self._location)

    def is_divided(self, oid: int) -> bool:
        """Return whether a table that is captured has partitions, whose rows are announced as its own."""
        return any(
            one.relation.oid == oid and one.shape and one.shape["members"][str(oid)][1] == "p" for one in self.there
        )

    def has_partition(self, oid: int) -> bool:
        """Return whether a table is a partition whose rows are those of a captured one."""
        return oid in self._found.partitions
