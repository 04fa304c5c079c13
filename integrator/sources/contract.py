"""What a source of changes is. Each class of location has one: a file or a folder here, and a line in `SOURCES`.

Its slices are found by `listing`, numbered by the journal, and read by `reader` on executors. Whoever integrates asks
nothing else of it, and knows no location class.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import xxhash

from integrator.contracts.recipe import Recipe
from integrator.decode.contract import File
from integrator.errors import IntegratorError, Place, SchemasFound
from integrator.schema import Table
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice, SliceListing, TaskSlice

if TYPE_CHECKING:  # the model of channels, which workers need nothing of
    from integrator.channel.problems import Report
    from integrator.channel.sources import SourceLocation

Problems: TypeAlias = Iterator[tuple[str, str]]
"""Problems of a location: the key, and what is wrong there."""


class SliceReader(Protocol):
    """Reads slices in a task. It is pickled for the executors."""

    def begin(self, slices: Sequence[TaskSlice]) -> None:
        """Take note of the slices that are read next, in order."""

    def file(self, one: TaskSlice) -> File:
        """Return a slice as dialects read it: the same lines each time (I2)."""

    def check_unchanged(self, one: TaskSlice) -> None:
        """Raise EnvironmentFault where a slice is not as it was taken. Called before and after it is read."""

    def join(self, slices: Sequence[TaskSlice], *, records: bool) -> File | None:
        """Return small slices as one, of which those of a stream are in a row; None: they are to be read one by one.

        records: whether expressions ask for what topics have of records beside their values.
        """

    def divide(self, slices: Sequence[TaskSlice], joined: File) -> Sequence[tuple[Sequence[TaskSlice], File]]:
        """Return slices that cannot be read as one, fewer of them together. joined: what `join` or this returned.

        Called also while another thread reads slices after them.
        """


class Letters(SliceReader, Protocol):
    """Writes rejected records of a source into the files of a replay, and reads them as what they were."""

    def written(self, number: int, file: str, letters: Sequence[tuple[int, bytes]]) -> bytes:
        """Return the content of a file: places, which ascend, and records. number: the file's. file: where they stood.

        Raises ConfigurationError for what was never a record of the source.
        """


@dataclass(frozen=True)
class Opening:
    """What a feed is opened with.

    channel: its name. recipe: what is read. journal, journal_path: the slices taken so far; no stream runs.
    slices: those that are there. kept_cycles: so many synced cycles may still be gone back to. ends: with which number
    of a slice each of these ends.
    """

    channel: str
    recipe: Recipe
    journal: Journal
    journal_path: Path
    slices: Sequence[Slice]
    kept_cycles: int
    ends: Sequence[int]


@dataclass(frozen=True)
class ServerLog:
    """The log that a database keeps for a channel, as it is now.

    status: in the database's words. position: up to where it may be forgotten. kept_bytes: how much is kept.
    behind_bytes, behind_s: what is not durable here yet, and for how long; None: the capture is not connected.
    left_bytes: how much may still come until the database gives the channel's place up, and changes are gone; None:
    without limit. transactions, oldest_s: how many are open, and for how long the oldest is, from whose beginning the
    log is kept; None: none is, or our user may not see it (pg_read_all_stats). snapshot_table: whose rows are being
    read, with how many were, about how many it has, about how long the rest takes, and how many tables come after it.
    unsent: tables whose changes or rows the database does not give, with what must be done. refreshes: tables whose
    refresh was asked for, and has not ended.
    """

    status: str
    position: str
    kept_bytes: int
    behind_bytes: int
    behind_s: float | None
    left_bytes: int | None
    transactions: int
    oldest_s: float | None
    snapshot_table: str = ""
    snapshot_rows: int | None = None
    snapshot_about_rows: int | None = None
    snapshot_seconds_left: float | None = None
    snapshot_tables_left: int | None = None
    unsent: Mapping[str, str] = field(default_factory=dict)
    refreshes: tuple[str, ...] = ()


HELD = "aside"
"""Where in a channel's state directory changes of tables that are set aside are held."""


@dataclass(frozen=True)
class HeldTable:
    """A table whose changes are held. names: its SCHEMA.TABLE first, then patterns of its partitions.

    after: the number in the journal of the last slice in which its changes were sent.
    """

    names: tuple[str, ...]
    after: int

    def directory(self, state: Path) -> Path:
        """Return where its changes are held. Names may have characters that file names may not."""
        return state / HELD / xxhash.xxh3_64_hexdigest(self.names[0].encode())

    def held_bytes(self, state: Path) -> int:
        """Return how much is held of it."""
        return sum(path.stat().st_size for path in self.directory(state).glob("[0-9]*"))


class Feed:
    """What a source does beside the cycles, from when the channel is locked until it is given back: nothing here."""

    def start(self, synced: int) -> None:
        """Start; `synced` is the ordinal of the last slice that is in a synced cycle. Called once, by a daemon only."""

    def catch_up(self, synced: int) -> None:
        """Receive what there is now, for a run that ends; `synced` is as of `start`. Called instead of it."""

    def failure(self) -> IntegratorError | None:
        """Return why nothing is received any more, where somebody must act; None while all is well."""

    def away(self) -> str:
        """Return why nothing is received now, where that passes by itself; empty while all is well."""
        return ""

    def synced(self, last: int, *, ends_cycle: bool = True) -> None:
        """Take note of a synced cycle, which ends with the slice `last` (I1): what was read may be given up.

        ends_cycle: False for a sub-cycle, whose end cannot be gone back to.
        """

    def waiting(self) -> Sequence[Slice] | None:
        """Return slices that are in no synced cycle, in order, without a listing; None: they must be listed."""
        return None

    def reached(self) -> Reached | None:
        """Return up to where all that was committed is in synced cycles; None where that is not known, or not yet.

        Called by any thread.
        """
        return None

    def wait(self, seconds: float) -> None:
        """Wait until there are more slices that wait, or so many seconds are over."""
        time.sleep(seconds)

    def set_aside(self, tables: Sequence[HeldTable]) -> None:
        """Hold the changes of these tables, and of no others, of each slice that is in a synced cycle."""

    @property
    def is_between(self) -> bool:
        """Whether what was received ends between two transactions: held changes are handed back as whole ones."""
        return True

    def hand_back(self, table: HeldTable) -> None:
        """Have the changes that are held of a table be slices. Closed, and all slices are in synced cycles."""

    def compact(self, journal: Journal, synced: int) -> None:
        """Compact the journal, see `Journal.compact`. No stream runs."""
        journal.compact(synced)

    def close(self) -> None:
        """End what `start` began, and give back what was opened. Called once."""


class Reached(Protocol):
    """Up to where all that a database committed is in synced cycles: plain data.

    position: as the database writes it; each transaction that ends there, or before it, is in them. integ_seq: the
    same for {hvr_integ_seq}: changes up to it, and no others. committed: when the last transaction was, in microseconds
    since 1970; 0: that is not known. server: whose position it is, where servers number theirs by themselves.
    """

    @property
    def server(self) -> str:
        """See the class."""

    @property
    def position(self) -> str:
        """See the class."""

    @property
    def integ_seq(self) -> str:
        """See the class."""

    @property
    def committed(self) -> int:
        """See the class."""

    def lacks(self, names: Sequence[str]) -> str:
        """Return why it does not hold for a table; empty where it does. names: as of `HeldTable`."""


NO_TABLES = (
    "",
    "is needed: files with table definitions; databases that are captured, and topics with schemas, have their own",
)
"""The problem of a source that has no tables itself."""


class FixedSchemas:
    """What a source does about schemas whose lines have none but the tables' definitions, and are no records."""

    has_records = False
    has_positions = False
    any_database = False
    no_tables = NO_TABLES
    letters: Letters | None = None

    def known_in(self, state: Path) -> Any:  # noqa: ARG002 - of the contract
        """Return the source itself."""
        return self

    def defines(self, *topics: str, asks: bool = True) -> None:
        """Return that it defines no tables."""

    def tables(self) -> Sequence[Table]:
        """Return nothing."""
        return ()

    def learned(self, found: SchemasFound, *, tolerant: bool) -> Any:  # noqa: ARG002 - of the contract
        """Raise what was found: there is nothing to ask."""
        raise found

    def keep(self, state: Path) -> None:
        """Keep nothing."""

    def table_at(self, place: Place) -> str | None:  # noqa: ARG002 - of the contract
        """Return None: no table is set aside."""
        return None

    def server_log(self) -> ServerLog | None:
        """Return None: nobody keeps a log for it."""


class Source(Protocol):
    """Where changes come from: a location of the channel, understood. Plain data, which prints and compares.

    location: what all sources have. reader: what reads slices on executors. example: a location as it may be written.
    """

    @property
    def whole_transactions(self) -> bool:
        """Whether all rows of a transaction are in one stream, one after another."""

    @property
    def has_records(self) -> bool:
        """Whether lines are records of topics, with keys, headers and times."""

    @property
    def has_positions(self) -> bool:
        """Whether its feed says up to where all that was committed is in synced cycles."""

    @property
    def any_database(self) -> bool:
        """Whether a table may be one of several databases."""

    @property
    def no_tables(self) -> tuple[str, str]:
        """The parameter of the location to be mended where it has no tables, empty: the channel's; and the problem."""

    @property
    def location(self) -> SourceLocation:
        """The location as the channel has it."""

    @property
    def reader(self) -> SliceReader:
        """What reads its slices on executors."""

    @property
    def letters(self) -> Letters | None:
        """What writes and reads its rejected records; None where they are lines of files."""

    @property
    def example(self) -> str:
        """A location as it may be written, for a channel that has none."""

    def describe(self) -> str:
        """Return where changes come from, for people; nothing secret (I7)."""

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report what is wrong with the location as it is written. tables: those of the channel."""

    def notes(self) -> Iterator[str]:
        """Yield what is allowed, and may not be meant."""

    def inspect(self, directory: str, *, is_free: bool) -> Problems:
        """Yield what this machine lacks. directory: of the channel's file. is_free: no process has the channel."""

    def reach(self, directory: str) -> Problems:
        """Yield what cannot be reached elsewhere: in a store, or through the network."""

    def place(self, state: Path) -> str:
        """Return where slices are: a path or a URI. state: the channel's state directory."""

    def listing(self, place: str, delay_s: int = 0) -> SliceListing:
        """Return what finds slices at `place` that are at least `delay_s` seconds old."""

    def known_in(self, state: Path) -> Source:
        """Return the source with what the channel's state directory keeps of its schemas. Raises EnvironmentFault."""

    def defines(self, *topics: str, asks: bool = True) -> Source | None:
        """Return the source with the definitions of its tables as they are now, or, unasked, as they are known.

        topics: those that are there for certain. None where it has none: they are in files. Raises IntegratorError
        where it cannot be asked.
        """

    def tables(self) -> Sequence[Table]:
        """Return the tables that it defines itself, as far as is known."""

    def learned(self, found: SchemasFound, *, tolerant: bool) -> Source:
        """Return the source with schemas that records were found to have. Raises IntegratorError.

        tolerant: whether records that cannot be read are rejected.
        """

    def keep(self, state: Path) -> None:
        """Keep what is known of its schemas in the channel's state directory."""

    def table_at(self, place: Place) -> str | None:
        """Return the name of the captured table that a record is of; None where that is not known."""

    def server_log(self) -> ServerLog | None:
        """Return the log that a database keeps for the channel; None where there is none. Raises IntegratorError."""

    def prepare(self, place: str) -> None:
        """Make what must be there before slices are listed first."""

    def open(self, opening: Opening) -> Feed:
        """Open what runs beside the cycles. Raises IntegratorError where slices and journal do not belong together."""


@runtime_checkable
class Refreshable(Protocol):
    """A source that reads tables again by itself, beside their changes."""

    def refresh(self, table: str, where: str, *, truncate: bool) -> None:
        """Ask for all rows of a table of the channel, or for those that a condition in SQL is true of.

        truncate: a truncate is before them. Raises IntegratorError where the database refuses the condition.
        """


class ClientSource(Source, Protocol):
    """A source whose location is of topics: it has a client of Kafka."""

    def with_properties(self, extra: Mapping[str, str]) -> Source:
        """Return the source with librdkafka's properties beside those of the location."""
