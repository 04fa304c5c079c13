"""What every dialect is given, and what it hands on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.recipe import DebeziumModes, Recipe, UnknownColumns
from integrator.contracts.rejected import Rejected
from integrator.contracts.sequence import EndedTransactions, OpenTransaction, hexadecimal
from integrator.contracts.streams import PositionRange, Source
from integrator.decode import table_files
from integrator.decode.json.shapes import ColumnIndex
from integrator.decode.lines.files import BLOCK_BYTES, container_of, first_lines, raw_lines
from integrator.decode.lines.joined import ONE_STREAM, JoinedLines, Joint, Streams
from integrator.decode.lines.lines import Lines, RecordKeys
from integrator.decode.lines.reading import LineReading, read_lines, whole_lines
from integrator.decode.lines.repeated import RepeatedMember
from integrator.decode.source_tables import Catalogue, SourceTables
from integrator.engine.arrays import Ints
from integrator.errors import DataError, Fault, Place
from integrator.expressions.parts import depends_on
from integrator.schema import Table

_MANY_KINDS = 100
_SENT_LATER, _OF_FILE, _FILES = 1 << 27, 1 << 16, 1 << 11
"""Of the 28 bits of a row's number: set for rows that are sent later; how many a file has; and how many files."""


@dataclass(frozen=True)
class File:
    """What dialects read: a change file, of this machine or of a store, that Arrow opens.

    path: what it is called, in errors, too. number: that of its slice. joined: its lines and those of files after it,
    which are read as if they were in it. location: the source location that it is of, where there are several.
    Another source has a class of its own, with lines, `container` and `start`.
    Errors of joined ones name the first of them: they are for whoever reads them again one by one.
    """

    path: str
    number: int = 0
    joined: JoinedLines | None = None
    location: str = ""

    @property
    def parts(self) -> tuple[File, ...]:
        """The files whose lines these are, each alone."""
        return tuple(File(path) for path in self.joined.paths) if self.joined else (self,)

    @property
    def lost(self) -> int:
        """How many records were deleted before they were read, which the source location accepts."""
        return 0

    @property
    def joint(self) -> Joint | None:
        """Which slices the lines are of, where they are those of several."""
        return self.joined.joint if self.joined else None

    def streams_of(self, line: Ints) -> Streams:
        """Return which streams lines are of, which ascend."""
        return ONE_STREAM if self.joint is None else self.joint.streams_of(line)

    @property
    def container(self) -> str:
        """json, csv, parquet, or empty; joined files are all of JSON lines."""
        return "json" if self.joined else container_of(self.path)

    def container_with(self, name: str, reading: Reading) -> str:
        """Return the container of a file whose CSV would have a header with the column `name`.

        Where wrong lines are rejected, a file without such a header is one of JSON lines, all of which are wrong.
        """
        container = self.container
        if container == "csv" and reading.tolerant:
            with suppress(DataError):  # where the first line is no row of CSV
                return container if name in table_files.first_row(self.path) else "json"
            return "json"
        return container

    def lines(
        self,
        reading: Reading,
        repeated: tuple[str, str] | None = None,
        keys: RecordKeys | None = None,  # noqa: ARG002 - files have no keys
    ) -> Iterator[Lines]:
        """Yield the file's lines, in blocks, or all at once where that is asked for.

        repeated: the member that records begin with whose values are left out, and the one after it. keys: how keys of
        records without a value stand. Raises DataError for joined files where each is to be read at once.
        """
        shortening = None if repeated is None else RepeatedMember(*repeated)
        how = LineReading(reading.block_bytes, reading.tolerant, reading.masks, shortening)
        if not reading.whole_files:
            return read_lines(self.path, how, self.joined.data if self.joined else None)
        self.check_alone()
        return whole_lines(self.path, how)

    def check_alone(self) -> None:
        """Raise DataError for joined files, where each is to be read at once."""
        if self.joined:
            raise DataError(Fault(Place(self.path), "cannot be read together with the files after it"))

    def start(self, least: int) -> bytes:
        """Return its first `least` bytes, and what is after them to the end of the first line."""
        return first_lines(self.path, least)

    def raw_lines(self, numbers: Ints) -> Iterator[bytes]:
        """Yield lines as they came, without their ends: those of these numbers, which ascend."""
        return raw_lines(self.path, numbers)

    def places_of(self, line: Ints) -> pa.Array:
        """Return positions of records whose source gives none, as 20 hex digits: the file's number, and the line."""
        number = np.full(len(line), self.number)
        if self.joined is not None:
            at = self.joined.joint.slice_of(line)
            number, line = self.joined.numbers[at], line - self.joined.joint.first_lines[at] + 1
        file, line = (hexadecimal(one.astype(np.uint64), 10) for one in (number, line))
        return pc.binary_join_element_wise(file, line, "")

    def segments_of(self, line: Ints) -> pa.Array | None:  # noqa: ARG002 - of slices that are no files
        """Return what makes such positions of several streams different ones, as 16 hex digits; None where they are."""
        return None

    @property
    def line_before(self) -> int:
        """The number before that of its first line."""
        return 0

    def first_row(self, reading: Reading) -> int:
        """Return the number of the first row of each transaction in the file.

        Of rows that are sent later than the others of theirs, it is above the numbers that those have, and another one
        in each file: two rows have one position never.
        """
        return _SENT_LATER | self.number % _FILES * _OF_FILE if reading.sent_later else 0


PreviousEnd = Callable[[str], OpenTransaction]
"""Returns where a stream stands before the file. Called only when its first record needs it: it may read the previous
file. A file that is read alone does not know the name of its stream: it is empty."""


def nothing_before(_stream: str) -> OpenTransaction:
    """Return that nothing is known of what is before a file."""
    return OpenTransaction()


class End(NamedTuple):
    """Where a stream stands after a part of a file: in which transaction, and the positions of the file's changes.

    span: the positions of the first and the last change of the file so far; empty where they are by line.
    """

    open: OpenTransaction
    span: PositionRange


class BlockState(Protocol):
    """What blocks of a file change as they are read, and what is set back where a block is read again."""

    def saved(self) -> Callable[[], None]:
        """Return what sets it back to what it is now."""


@dataclass(frozen=True)
class Reading:
    """The tables of the channel, and how to read."""

    tables: tuple[Table, ...]
    default_table: str | None
    ignore_unknown_tables: bool
    unknown_columns: UnknownColumns
    absent: tuple[Table, ...]
    """Tables that the channel has and does not send: their records are counted."""
    whole_files: bool
    """Read each file as one batch: needed where a transaction's end must be known, for {hvr_tx_countdown}."""
    debezium: DebeziumModes = field(default_factory=DebeziumModes)
    time_zone: str = "UTC"
    """Of moments that are written without a zone where the column has one."""
    timestamp_column: str | None = None
    known_sources: tuple[tuple[str, Source], ...] = ()
    any_database: bool = False
    """Of tables whose records came in earlier cycles: which table of the source they were of."""
    repeated_positions: bool = False
    """Whether changes may come again, or at positions that are not after those before."""
    follows_schemas: bool = False
    """Whether columns have the types that the schemas of records have."""
    records: bool = False
    """Whether expressions ask for what topics have of records beside their values."""
    transactions: bool = False
    """Whether the ends of transactions are asked for."""
    sent_later: bool = False
    """Whether rows are read of whose transactions others were sent before."""
    tolerant: bool = False
    """Whether wrong lines are rejected; otherwise the first one is an error."""
    shapes: dict[tuple[Hashable, ...], ColumnIndex] = field(default_factory=dict, compare=False)
    """What readers prepared for the tables, which a process keeps from batch to batch."""
    learned: dict[tuple[Hashable, ...], dict[str, str]] = field(default_factory=dict, compare=False)
    """As `shapes`: names in records that are no columns, or mean one, as readers found them."""

    @cached_property
    def masks(self) -> bool:
        """Whether there are columns whose values are in no log and no error: then no line is shown."""
        return any(column.masked for table in self.tables for column in table.columns)

    @cached_property
    def block_bytes(self) -> int:
        """How much of a file is decoded at once: more for many tables of other columns, of which each costs something.

        Blocks of 16 MiB come into memory that was used before; larger ones into new pages.
        """
        return BLOCK_BYTES * (2 if len(set(self.kinds.values())) > _MANY_KINDS else 1)

    @cached_property
    def kinds(self) -> dict[str, int]:
        """Of each table a number, the same for tables with the same columns and the same key, of one database.

        Records of tables that share them can be parsed together.
        """
        numbers: dict[object, int] = {}
        return {
            table.name: numbers.setdefault((table.columns, table.key, table.database), len(numbers))
            for table in self.tables
        }

    @cached_property
    def tables_with(self) -> dict[str, list[Table]]:
        """The tables that have a column of a name, by that name in lower case."""
        found: dict[str, list[Table]] = {}
        for table in self.tables:
            for name in {column.name.lower() for column in table.columns}:
                found.setdefault(name, []).append(table)
        return found

    @cached_property
    def catalogue(self) -> Catalogue:
        """The tables by their names."""
        return Catalogue(self.tables, self.absent)

    def source_tables(self) -> SourceTables:
        """Return what looks up the tables of a file's records."""
        known = dict(self.known_sources)
        return SourceTables(
            self.catalogue, ignores_unknown=self.ignore_unknown_tables, known=known, any_database=self.any_database
        )

    @property
    def only_table(self) -> Table | None:
        """The table of all records, where these do not name theirs."""
        return next((table for table in self.tables if table.name == self.default_table), None)


@dataclass(frozen=True)
class Batch:
    """A part of a file: its change rows, where it ended, and what in it was no change row of the channel.

    ends: of each stream of which the part has records where it stands; of none where all lines are rejected. Spans are
    without the dialect where the channel has one. unknown: how many values of columns that the tables do not have were
    passed over, by column. sources: of which table of the source the records of a table are, where that was not known
    before the file.
    """

    changes: ChangeBatch
    ends: Mapping[str, End] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()
    transactions: EndedTransactions = field(default_factory=EndedTransactions)
    """Where the channel sends messages of transactions."""


@lru_cache(maxsize=8)
def reading_of(recipe: Recipe, known_sources: tuple[tuple[str, Source], ...] = ()) -> Reading:
    """Return what a dialect needs to know of the recipe, which a process keeps from cycle to cycle."""
    every = [parts for table in recipe.tables for parts in table.expressions]
    counted_down = any(depends_on(parts, "transaction") for parts in every)
    return Reading(
        tables=tuple(replace(one.in_source, key=()) if one.keyless else one.in_source for one in recipe.tables),
        absent=recipe.read.absent,
        default_table=recipe.read.default_table,
        ignore_unknown_tables=recipe.read.ignore_unknown_tables,
        unknown_columns=recipe.read.unknown_columns,
        whole_files=counted_down,
        debezium=recipe.read.debezium,
        time_zone=recipe.read.source_zone,
        timestamp_column=recipe.read.timestamp_column,
        repeated_positions=recipe.read.repeated_positions,
        records=any(depends_on(parts, what) for parts in every for what in ("record", "header")),
        transactions=recipe.counts_transactions,
        sent_later=recipe.read.sent_later,
        tolerant=recipe.tolerance.rejects,
        known_sources=known_sources,
        any_database=recipe.read.any_database,
        follows_schemas=recipe.read.follows_schemas,
    )
