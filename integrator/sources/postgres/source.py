"""A PostgreSQL database as a source: its changes are captured into the spool, whose segments are the slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from integrator import durable
from integrator.channel.databases import PostgresLocation
from integrator.channel.problems import Report
from integrator.errors import IntegratorError, SchemasFound, SourceAway
from integrator.schema import Table
from integrator.sources.contract import Feed, Opening, Problems, ServerLog
from integrator.sources.location import check_table
from integrator.sources.postgres import catalogue, slot
from integrator.sources.postgres.capture import Capture
from integrator.sources.postgres.frames import FRAMES
from integrator.sources.postgres.reader import FrameReader
from integrator.sources.postgres.server import NO_ADDRESS, Server
from integrator.sources.spool import SPOOL, Segments, Spool, number_of, segments
from integrator.sources.spooled import Spooled

_IDLE = frozenset({"debezium", "time_zone", "timestamp_column"})
"""Keys of locations that are for records of others."""


class CaptureFeed(Spooled):
    """The capture, while a channel is integrated."""

    receiver: Capture

    def catch_up(self, synced: int) -> None:
        """Capture what is committed now; `synced` is as of `start`. Raises IntegratorError."""
        self.synced(synced)
        self.receiver.catch_up()

    def failure(self) -> IntegratorError | None:
        """Return why nothing is captured, where somebody must act."""
        return self.receiver.failure


@dataclass(frozen=True)
class Postgres:
    """A database. known: the definitions of its tables. channel: whose source it is.

    left_out: tables that are not captured, and why.
    """

    location: PostgresLocation
    known: catalogue.Definitions = field(default_factory=catalogue.Definitions)
    channel: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    whole_transactions = True
    has_records = False
    any_database = False
    example = "{class: postgres, address: postgresql://USER@HOST/DATABASE}"

    @property
    def reader(self) -> FrameReader:
        """What reads segments on executors."""
        return FrameReader(self.known.digests)

    @property
    def _server(self) -> Server:
        return Server(self.location.address, f"integrator {self.channel}".strip())

    @property
    def names(self) -> slot.Names:
        """What the publication and the slot are called."""
        return slot.names_of(self.location, self.channel)

    def known_in(self, state: Path) -> Postgres:
        """Return the source with the definitions that its state directory keeps. Raises EnvironmentFault."""
        return replace(self, known=catalogue.read(state), channel=state.name)

    def defines(self, *topics: str) -> Postgres:
        """Return the source with the definitions that the database's catalogue has now.

        topics: the tables whose changes are read now. Where the database does not answer, and none is given, it has
        those that are known, if any are. Raises IntegratorError.
        """
        if not self._server.is_address:  # which `check` reports, with all other problems
            return self
        try:
            with self._server.session() as session:
                found = catalogue.found(session, self.location)
                known = self.known.with_found(session, found.tables, self.location)
        except SourceAway:
            if topics or not self.known.texts:
                raise
            return self
        return replace(self, known=known, left_out=found.left_out)

    def tables(self) -> Sequence[Table]:
        """Return the tables, by their names in the channel."""
        return self.known.tables()

    def learned(self, found: SchemasFound) -> Postgres:
        """Return the source, which knows relations that changes have; their tables are asked for by `defines`."""
        return replace(self, known=replace(self.known, digests=self.known.digests | set(found.ids)))

    def keep(self, state: Path) -> None:
        """Keep the definitions in a state directory."""
        self.known.write(state)

    def describe(self) -> str:
        """Return which database is captured, and which of its tables."""
        location = self.location
        but = f" but {', '.join(location.exclude)}" if location.exclude else ""
        return f"PostgreSQL at {self._server.shown}, tables {', '.join(location.tables)}{but}"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of an address that is none, and of a `table`, for changes name theirs."""
        check_table(self.location, tables, report)
        for key in _IDLE & self.location.model_fields_set:
            report(key, "does nothing where changes are captured: leave it out")
        if not self._server.is_address:
            report("address", NO_ADDRESS)

    def notes(self) -> Iterator[str]:
        """Yield which tables are left out."""
        for name, why in self.left_out.items():
            yield f"table {name} is not captured: it {why}"

    def look(self, directory: str, *, is_free: bool) -> Problems:  # noqa: ARG002 - of the contract
        """Yield nothing: the database is not on this machine."""
        yield from ()

    def reach(self, directory: str) -> Problems:  # noqa: ARG002 - of the contract
        """Yield why the database cannot be captured, and the statements that somebody with the rights must run."""
        try:
            with self._server.session() as session:
                there = slot.slot_of(session, self.names.slot)
                for text in slot.problems(session, self.names, creates=there is None):
                    yield "address", text
        except IntegratorError as error:
            yield "address", str(error)

    def place(self, state: Path) -> str:
        """Return the directory of the spool."""
        return str((state / SPOOL).absolute())

    def listing(self, place: str, delay_s: int = 0) -> Segments:
        """Return what finds the sealed segments."""
        return segments(place, delay_s, FRAMES)

    def prepare(self, place: str) -> None:
        """Make the directory of the spool."""
        durable.make_directory(Path(place))

    def open(self, opening: Opening) -> Feed:
        """Open the spool. Raises EnvironmentFault where segments are gone."""
        spool = Spool(Path(opening.recipe.read.path), framing=FRAMES)
        capture = Capture(self.location, slot.names_of(self.location, opening.channel), spool, opening.channel)
        feed = CaptureFeed(spool, capture, opening.journal_path, opening.kept_cycles)
        try:
            opening.journal.begin_with(self.listing(opening.recipe.read.path).slices(), number_of)
        except IntegratorError:
            feed.close()
            raise
        return feed

    def server_log(self) -> ServerLog | None:
        """Return the log that the slot keeps; None before there is a slot. Raises IntegratorError."""
        with self._server.session() as session:
            return slot.log_of(session, self.names.slot)

    def forget(self) -> list[str]:
        """Drop the slot and the publication; return what was dropped. Raises IntegratorError."""
        with self._server.session() as session:
            return slot.forget(session, self.names)
