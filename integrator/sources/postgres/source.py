"""A PostgreSQL database as a source: its changes are captured into the spool, whose segments are the slices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from integrator.channel.databases import PostgresLocation
from integrator.channel.problems import Report
from integrator.errors import EnvironmentFault, IntegratorError, SourceAway
from integrator.schema import Table
from integrator.sources.capture import record as records
from integrator.sources.capture.frames import standing_in
from integrator.sources.capture.source import CapturedSource, feed_of
from integrator.sources.contract import Feed, Opening, Problems, ServerLog
from integrator.sources.postgres import catalogue, rights, slot
from integrator.sources.postgres.server import NO_ADDRESS, Server, quoted
from integrator.sources.postgres.snapshot import SlotPoints
from integrator.sources.postgres.stream import Captures
from integrator.sources.spool import SPOOL


@dataclass(frozen=True)
class Postgres(CapturedSource):
    """A database."""

    location: PostgresLocation
    least_left_out = 19
    """One that is kept apart: a pointer to it has 18 bytes (https://www.postgresql.org/docs/current/storage-toast.html)."""
    example = "{class: postgres, address: postgresql://USER@HOST/DATABASE}"

    @property
    def _server(self) -> Server:
        return Server(self.location.address, f"integrator {self.channel}".strip())

    @property
    def names(self) -> slot.Names:
        """What the publication and the slot are called."""
        return slot.names_of(self.location, self.channel)

    def defines(self, *topics: str, asks: bool = True) -> Postgres:
        """Return the source with the definitions that the database's catalogue has now, or, unasked, with those known.

        topics: the first segment whose changes are read now. Where the database does not answer, and none is given, it
        has those that are known, if any are. Raises IntegratorError.
        """
        if not asks or not self._server.is_address:  # which `check` reports, with all other problems
            return self
        try:
            with self._server.session() as session:
                found, known = catalogue.defined(self.known, session, self.location)
                is_closed = bool(found.closed) and not found.tables
                lacks = rights.lacking(session, self.names, found.closed, self.location) if is_closed else ""
                if topics and (undefined := known.undefined()):
                    gone = self._relations(topics[0], undefined)
                    known = catalogue.as_announced(known, session, gone)
        except SourceAway:
            if topics or not self.known.texts:
                raise
            return self
        return replace(self, known=known, left_out=found.left_out, others=found.others, lacks=lacks)

    def describe(self) -> str:
        """Return which database is captured, and which of its tables."""
        location = self.location
        but = f" but {', '.join(location.exclude)}" if location.exclude else ""
        return f"PostgreSQL at {self._server.shown}, tables {', '.join(location.tables)}{but}"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of an address that is none, and of what the location says in vain. Raises EnvironmentFault."""
        super().check(tables, report)
        if not self._server.is_address:
            report("address", NO_ADDRESS)

    def reach(self, directory: str) -> Problems:  # noqa: ARG002 - of the contract
        """Yield why the database cannot be captured, and the statements that somebody with the rights must run."""
        try:
            with self._server.session() as session:
                if self.location.captures_changes:
                    there = slot.slot_of(session, self.names.slot)
                    for text in slot.problems(session, self.names, creates=there is None):
                        yield "address", text
                    yield from self._of_slot(there)
                    tables = catalogue.found(session, self.location).tables
                    try:
                        lacks = rights.lacking(session, self.names, tables, self.location)
                    except EnvironmentFault as fault:
                        lacks = str(fault)
                    if lacks:
                        yield "publication", lacks
        except IntegratorError as error:
            yield "address", str(error)

    def _of_slot(self, there: slot.Slot | None) -> Problems:
        """Yield why the slot is not the one of the channel's state. One that a process has is."""
        spool = self.state / SPOOL if self.state else None
        record = records.read(spool) if spool else None
        standing = standing_in(spool) if spool and record else None
        durable = max(record.confirmed if record else 0, standing.end if standing else 0)
        if record is None and self.location.start_position:
            return
        try:
            slot.check_slot(there, record, self.names, durable)
        except SourceAway:
            return
        except EnvironmentFault as fault:
            yield "slot", str(fault)

    def open(self, opening: Opening) -> Feed:
        """Open the spool. Raises EnvironmentFault where segments are gone."""
        server = Server(self.location.address, f"integrator {opening.channel}")
        at = Captures(self.location, server, slot.names_of(self.location, opening.channel))
        listing = self.listing(opening.recipe.read.path)
        return feed_of(opening, lambda spool: at.capture(spool, opening.channel), listing, self.location.spool_bytes)

    def _try(self, table: str, where: str) -> None:
        schema, _, name = table.partition(".")
        with self._server.session() as session:
            session.try_condition(f"{quoted(schema)}.{quoted(name)}", where)

    def points(self) -> SlotPoints:
        """Return what makes positions: temporary slots of another name than the capture's."""
        own = slot.Names(self.names.publication, f"{self.names.slot}_compare_{os.getpid()}")
        return SlotPoints(self._server, self.location, own, lambda: None, waits=False)

    def captured(self) -> int:
        """Return the position that the slot, or the spool, has."""
        standing = standing_in(self.state / SPOOL) if self.state else None
        with self._server.session() as session:
            there = slot.slot_of(session, self.names.slot)
        return max(there.confirmed if there else 0, standing.end if standing else 0)

    def has_all(self, position: int) -> bool:
        """Return whether the log has no change of ours between what is durable and a position: the slot is asked."""
        if super().has_all(position):
            return True
        with self._server.session() as session:
            return not slot.has_changes(session, self.names, position)

    def _log(self) -> ServerLog | None:
        """Return the log that the slot keeps; None before there is a slot. Raises IntegratorError."""
        with self._server.session() as session:
            return slot.log_of(session, self.names.slot)

    def forget(self) -> list[str]:
        """Drop the slot and the publication; return what was dropped. Raises IntegratorError."""
        with self._server.session() as session:
            return slot.forget(session, self.names)
