"""A captured database as a source: its changes are in the spool, whose segments are the slices."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path

import numpy as np
from typing_extensions import Self

from integrator import durable
from integrator.channel.databases import DatabaseLocation
from integrator.channel.problems import Report
from integrator.decode.encodings.pgoutput import Relation
from integrator.errors import ConfigurationError, EnvironmentFault, IntegratorError, Place, SchemasFound
from integrator.names.near import meant
from integrator.schema import Table
from integrator.sources.capture import definitions, held, progress
from integrator.sources.capture import record as records
from integrator.sources.capture.asked import Asked, ask, asked
from integrator.sources.capture.frames import FRAMES, standing_in
from integrator.sources.capture.marks import ReachedMark
from integrator.sources.capture.points import Points
from integrator.sources.capture.reader import FrameReader, FramesFile
from integrator.sources.capture.thread import Capture
from integrator.sources.capture.versions import VersionedSegments
from integrator.sources.contract import Feed, HeldTable, Opening, Problems, Reached, ServerLog
from integrator.sources.location import check_table
from integrator.sources.spool import SPOOL, Segments, Spool, number_of, segments
from integrator.sources.spooled import Kept, Spooled

_IDLE = frozenset({"debezium", "time_zone", "timestamp_column"})
"""Keys of locations that are for records of others."""
_OF_CHANGES = frozenset({"signal_table", "publication", "slot", "failover", "server_id", "start_position"})
"""Keys of locations that are for changes."""


class CaptureFeed(Spooled):
    """The capture, while a channel is integrated."""

    receiver: Capture
    _held: Sequence[HeldTable] = ()

    def set_aside(self, tables: Sequence[HeldTable]) -> None:
        """Hold the changes of these tables, and of no others, of each slice that is in a synced cycle."""
        self._held = tables
        if lost := held.forget(self.spool.path.parent, tables):
            self.receiver.log.warning("changes of tables that are captured no longer are removed", bytes=lost)

    def synced(self, last: int, *, ends_cycle: bool = True) -> None:
        """Take note of a synced cycle, whose changes of tables that are set aside are held."""
        self._follow()
        new = [(number, name) for number, name in self._taken if self._held and self._synced < number <= last]
        for number, name in new:
            for table in self._held:
                if table.after < number and (segment := self.spool.path / name).exists():
                    held.hold(segment, table.directory(self.spool.path.parent), table.names)
        super().synced(last, ends_cycle=ends_cycle)

    @property
    def is_between(self) -> bool:
        """Whether what was captured ends between two transactions."""
        standing = standing_in(self.spool.path)
        return standing is None or not standing.is_open

    def hand_back(self, table: HeldTable) -> None:
        """Have the changes that are held of a table be slices. Closed, and all slices are in synced cycles."""
        held.hand_back(self.spool.path, table.directory(self.spool.path.parent))

    def catch_up(self, synced: int) -> None:
        """Capture what is committed now; `synced` is as of `start`. Raises IntegratorError."""
        self.synced(synced)
        self.receiver.catch_up()

    def reached(self) -> Reached | None:
        """Return up to where all that was committed is in synced cycles."""
        mark = self.receiver.marks.before(self.spool.first_waiting)  # first: what is synced, is so without tables held
        return None if mark is None else ReachedMark(mark, frozenset(one.names[0] for one in self._held))

    def failure(self) -> IntegratorError | None:
        """Return why nothing is captured, where somebody must act."""
        return self.receiver.failure

    def away(self) -> str:
        """Return why nothing is captured now, where that passes."""
        return self.receiver.away


@dataclass(frozen=True, kw_only=True)
class CapturedSource:
    """What captured databases share as sources. known: the definitions of tables. channel: whose source it is.

    left_out: tables that are not captured, and why. lacks: what our user lacks, where that is why none is captured.
    others: those that the location is not for. state: the channel's state directory, once it is known.
    """

    location: DatabaseLocation
    known: definitions.Definitions = field(default_factory=definitions.Definitions)
    channel: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    lacks: str = ""
    others: tuple[str, ...] = ()
    state: Path | None = None
    whole_transactions = True
    has_records = False
    any_database = False
    letters = None
    least_left_out = 0
    """The least bytes of a text that the log may lack where a change left it as it was: of a binary log with
    binlog_row_image = NOBLOB any."""

    @property
    def has_positions(self) -> bool:
        """Whether changes are captured."""
        return self.location.captures_changes

    @property
    def no_tables(self) -> tuple[str, str]:
        """Why no table is captured."""
        why = [self.lacks] if self.lacks else [f"table {name} {text}" for name, text in self.left_out.items()]
        why = why or list(self._unmatched())
        return "tables", f"no table is captured: {'; '.join(why) or 'the database has none that our user may see'}"

    def _unmatched(self) -> Iterator[str]:
        """Yield which patterns of `tables` match no table yet, and which one may be meant."""
        there = {*self.left_out, *(table.full_name for table in self.known.tables())}
        for pattern in self.location.tables:
            if not any(definitions.matches(name, [pattern]) for name in there):
                whole = "." in pattern
                known = sorted({name if whole else name.partition(".")[2] for name in {*self.others, *there}})
                yield f"{pattern!r} matches no table; {meant(pattern, known, 'there are')}"

    def _unknown(self) -> Iterator[tuple[str, str]]:
        """Yield keys of the location that name what no captured table is or has, each with what that is."""
        tables, location = self.known.tables(), self.location
        if not tables:
            return
        for pattern in definitions.without_column(tables, location.text_columns):
            yield "text_columns", f"no table that is captured has a column {pattern!r}: mend it, or leave it out"
        signals = location.signal_table
        if signals and signals not in {one.full_name for one in tables}:
            yield "signal_table", f"no table that is captured is called {signals}: mend it, or leave it out"

    @property
    def _has_begun(self) -> bool:
        """Whether something was captured: what a location names may be gone since, which stops no other table."""
        return self.state is not None and records.read(self.state / SPOOL) is not None

    @property
    def reader(self) -> FrameReader:
        """What reads segments on executors."""
        return FrameReader(self.known.read)

    def known_in(self, state: Path) -> Self:
        """Return the source with the definitions that its state directory keeps. Raises EnvironmentFault."""
        record = records.read(state / SPOOL)
        if record is not None and record.product != self.location.product:
            raise EnvironmentFault(
                f"{state}: has what was captured by a location of class {record.product}, and this one is of class "
                f"{self.location.product}: give the channel another name or another state, or, {records.ANEW}"
            )
        return replace(self, known=definitions.read(state), channel=state.name, state=state)

    def tables(self) -> Sequence[Table]:
        """Return the tables, by their names in the channel."""
        tables = definitions.as_text(self.known.tables(), self.location.text_columns)
        return definitions.with_forms(tables, self.location.values_without_form)

    def learned(self, found: SchemasFound, *, tolerant: bool = False) -> Self:  # noqa: ARG002 - of the contract
        """Return the source, by which changes of relations are read: as tables were at that time (I11)."""
        return replace(self, known=self.known.with_current(self._relations(found.topic, found.ids)))

    def _relations(self, since: str, digests: Collection[int]) -> list[Relation]:
        """Return relations of the spool's segments, the first of which is named `since`. Raises EnvironmentFault."""
        if self.state is None:
            raise RuntimeError("a source without a state has no spool")
        return definitions.relations_in(self.state / SPOOL, since, digests)

    def keep(self, state: Path) -> None:
        """Keep the definitions in a state directory."""
        self.known.write(state)

    def table_at(self, place: Place) -> str | None:
        """Return the name of the table of a change in a segment; None for a place that has none."""
        if place.line < 1 or not Path(place.file).is_file():
            return None
        [lines] = FramesFile(place.file).raw_lines(np.array([place.line]))
        change = json.loads(lines.rpartition(b"\n")[2].decode(errors="replace"))
        name = f"{change.get('schema')}.{change.get('table')}"
        return next((one.name for one in self.tables() if held.is_of(name, one.at_source)), None)

    def notes(self) -> Iterator[str]:
        """Yield which tables are left out."""
        for name, why in self.left_out.items():
            yield f"table {name} is not captured: it {why}"
        if self.known.texts and "*" not in self.location.tables:
            yield from (f"tables: {text}" for text in self._unmatched())
        if self._has_begun:
            yield from (f"{key}: {text}" for key, text in self._unknown())
        there = {*self.left_out, *self.others, *(table.full_name for table in self.known.tables())}
        for pattern in self.location.exclude if self.known.texts else ():
            if not any(definitions.matches(name, [pattern]) for name in there):
                yield f"exclude: {pattern!r} matches no table, and leaves none out"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of a `table`, for changes name theirs, of idle keys, and of names that the database never had."""
        check_table(self.location, tables, report)
        for key, text in () if self._has_begun else self._unknown():
            report(key, text)
        for key in _IDLE & self.location.model_fields_set:
            report(key, "does nothing where changes are captured: leave it out")
        for key in set() if self.location.captures_changes else _OF_CHANGES & self.location.model_fields_set:
            report(key, "does nothing with `snapshot: only`, with which no changes are captured: leave it out")

    def inspect(self, directory: str, *, is_free: bool) -> Problems:  # noqa: ARG002 - of the contract
        """Yield nothing: the database is not on this machine."""
        yield from ()

    def place(self, state: Path) -> str:
        """Return the directory of the spool."""
        return str((state / SPOOL).absolute())

    def listing(self, place: str, delay_s: int = 0) -> VersionedSegments:
        """Return what finds the sealed segments."""
        return VersionedSegments(*astuple(segments(place, delay_s, FRAMES)))

    def prepare(self, place: str) -> None:
        """Make the directory of the spool."""
        durable.make_directory(Path(place))

    def server_log(self) -> ServerLog | None:
        """Return the log that the server has for the channel, and the snapshot that is under way.

        None before the first start. Raises IntegratorError.
        """
        log, spool = self._log(), self.state and self.state / SPOOL
        if log is None or spool is None:
            return log
        record, snapshot = records.read(spool), progress.read(spool)
        unsent, refreshes = dict[str, str](), dict[str, Asked]()
        if record is not None:
            unsent = record.unpublished | {name: one.why for name, one in record.refused.items()}
            refreshes = record.asked
        waiting = sorted({*refreshes, *(name for _, name, _ in asked(spool.parent))})
        found = replace(log, unsent=unsent, refreshes=tuple(waiting))
        of_rows = {} if snapshot is None else asdict(snapshot)
        return replace(found, **{f"snapshot_{name}": value for name, value in of_rows.items()})

    def refresh(self, table: str, where: str, *, truncate: bool) -> None:
        """Ask for rows of a table. Raises ConfigurationError where the database refuses the condition, SourceAway."""
        if self.state is None or records.read(self.state / SPOOL) is None:
            raise EnvironmentFault(
                f"the channel {self.channel} has not captured anything yet: its first run sends the rows of all tables"
            )
        [name] = [one.full_name for one in self.tables() if one.name == table]
        try:
            if where:
                self._try(name, where)
        except (EnvironmentFault, UnicodeError) as refused:
            raise ConfigurationError(f"--where {where!r}: {refused}") from None
        ask(self.state, name, Asked(where, truncate))

    def _try(self, table: str, where: str) -> None:
        """Have the database read a condition on the rows of a table. Raises IntegratorError where it refuses that."""
        raise NotImplementedError

    def repair(self, table: str, refresh: Asked) -> None:
        """Ask for rows of a table, by its schema and name. Raises OSError."""
        if self.state is None:
            raise RuntimeError("a source without a state has no spool")
        ask(self.state, table, refresh)

    def points(self) -> Points:
        """Return what makes positions at which tables are read beside the capture. Nothing of the capture's is used."""
        raise NotImplementedError

    def captured(self) -> int:
        """Return the position in the log up to which all that is ours is durable here. Raises IntegratorError.

        0 before the first start.
        """
        raise NotImplementedError

    def begun(self) -> int:
        """Return the position before which all is that is durable here, parts of a transaction, too."""
        standing = standing_in(self.state / SPOOL) if self.state else None
        return max(self.captured(), standing.lsn + 1 if standing is not None and standing.is_open else 0)

    def has_all(self, position: int) -> bool:
        """Return whether all that is ours before a position is durable here, while nothing captures."""
        return self.captured() >= position

    def _log(self) -> ServerLog | None:
        """Return the log; None before the first start. Raises IntegratorError."""
        raise NotImplementedError

    def forget(self) -> list[str]:
        """Drop what is kept for the channel at the database; return what was. Raises IntegratorError."""
        return []


def feed_of(opening: Opening, capture: Callable[[Spool], Capture], listing: Segments, spool_bytes: int) -> Feed:
    """Open the spool, and what captures into it. Raises EnvironmentFault where segments are gone."""
    path = Path(opening.recipe.read.path)
    held.finish(path.parent, path)
    spool = Spool(path, framing=FRAMES)
    kept = Kept(opening.kept_cycles, spool_bytes, opening.ends)
    feed = CaptureFeed(spool, capture(spool), opening.journal_path, kept)
    try:
        opening.journal.begin_with(listing.slices(), number_of)
    except IntegratorError:
        feed.close()
        raise
    return feed
