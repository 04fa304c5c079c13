"""Dialects whose files are records with positions: decoded part by part, and placed in the order of changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from integrator.contracts.sequence import OpenTransaction
from integrator.decode.contract import Batch, File, PreviousEnd, Reading
from integrator.decode.json.document import Document, read_document
from integrator.decode.lines.lines import Lines, RecordKeys
from integrator.decode.order.ascending import Ascending
from integrator.decode.order.positions import Positions, ended
from integrator.decode.order.sequencer import Sequencer, trailing
from integrator.decode.rejects import each_block, end_by_reading
from integrator.decode.rows.records import Records, change_rows, check_tables

Decoded = tuple[Records, Positions]


@dataclass(frozen=True)
class Parts:
    """The parts of a file: blocks of lines, or of rows of a table; and what decodes one.

    joined: what a line means depends on others, such as the other one of an update, or its transaction's begin.
    positions: those of the parts, where they can be read with less work than the records.
    """

    blocks: Iterator[Any]
    decode: Callable[[Any], Decoded]
    joined: bool = False
    positions: Iterator[Positions] | None = None


@dataclass(frozen=True)
class JsonRecords:
    """How blocks of JSON lines are decoded; `expected` describes a right line, for errors.

    repeated: the member that records begin with, whose value is the same in many, as a schema is, and the one after it.
    keys: how keys of records without a value stand; None where these are not asked for. joined, positions: see
    `Parts`; `positions` is given a document.
    """

    decode: Callable[[Document, Reading], Decoded]
    expected: str
    repeated: tuple[str, str] | None = None
    keys: RecordKeys | None = None
    joined: bool = False
    positions: Callable[[Document], Positions] | None = None

    def parts(self, file: File, reading: Reading) -> Parts:
        """Return the parts of a file."""

        def decode(lines: Lines) -> Decoded:
            return self.decode(self._document(lines), reading)

        found = self.positions and self._placed(self.positions, file, reading)
        return Parts(file.lines(reading, self.repeated, self.keys), decode, self.joined, found)

    def _placed(self, of: Callable[[Document], Positions], file: File, reading: Reading) -> Iterator[Positions]:
        for lines in file.lines(reading, self.repeated, self.keys):
            yield of(self._document(lines))

    def _document(self, lines: Lines) -> Document:
        return read_document(lines, self.expected, collected=not self.joined)

    def check(self, lines: Lines, reading: Reading) -> None:
        """Check lines apart, see `Dialect`."""
        records, _ = self.decode(read_document(lines, self.expected), reading)
        check_tables(records, reading.source_tables())


@dataclass(frozen=True)
class Mark:
    """Names by which a record is recognized: it has all that are `needed`, and, if `others` are given, only these more.

    certain: hardly a column is called so; marks that are come before others.
    """

    needed: frozenset[str]
    others: frozenset[str] | None = None
    certain: bool = False


def mark(*needed: str, others: Sequence[str] | None = None, certain: bool = False) -> Mark:
    """Return a mark of these names."""
    return Mark(frozenset(needed), None if others is None else frozenset(others), certain)


@dataclass(frozen=True)
class TransactionMarks:
    """What lines match that begin and that end a transaction, where the lines between have no position without them."""

    begin: re.Pattern[bytes]
    end: re.Pattern[bytes]


@dataclass(frozen=True)
class Dialect:
    """A shape of files: how they are read, and what else depends on it.

    read: yields the batches of a file in order, given where the file before it ended. tail: where the file alone ends,
    `OpenTransaction.since_start` where its beginning is in a file before it. marks: how its records are recognized.
    names_tables: whether all of its records name their tables. commit_positions: whether positions are those of commits
    in the source's own order, with which the moment of a refresh can be compared. connector: what Debezium calls the
    source, if not as the dialect. bare: the names of records that are none of rows, by which a file of nothing else is
    recognized. check: raises DataError for JSON lines, seen apart from those around them, whose envelopes or tables
    are wrong whatever comes before or after; it is not there where records mean nothing apart. transactions: see there.
    in_transactions: whether its records name their transactions, one after another.
    waits: whether a JSON line is the first of two that are one change, so that a file must not end with it. finite:
    whether it has null for numbers that are none, or without end (NaN, Infinity). events_for: the envelope in which its
    records' events are messages as they came, see `contracts.whole_event`. has_metadata: whether {hvr_cap_header}
    is an entry of its records' metadata, too.
    """

    read: Callable[[File, PreviousEnd, Reading], Iterator[Batch]]
    tail: Callable[[File, Reading], OpenTransaction]
    marks: tuple[Mark, ...] = ()
    names_tables: bool = False
    commit_positions: bool = False
    connector: str = ""
    bare: frozenset[str] | None = None
    check: Callable[[Lines, Reading], None] | None = None
    transactions: TransactionMarks | None = None
    waits: Callable[[bytes], bool] | None = None
    finite: bool = False
    events_for: str = ""
    in_transactions: bool = False
    has_metadata: bool = False


def of_parts(
    parts: Callable[[File, Reading], Parts],
    marks: tuple[Mark, ...],
    *,
    names_tables: bool = False,
    check: Callable[[Lines, Reading], None] | None = None,
) -> Dialect:
    """Return the dialect whose files are decoded by `parts`; the rest as in `Dialect`."""

    def read(file: File, before: PreviousEnd, reading: Reading, *, alone: bool = False) -> Iterator[Batch]:
        ascending = Ascending(checked=not reading.repeated_positions)
        order = Sequencer(before, ascending, file.first_row(reading), alone=alone)
        tables, of_file = reading.source_tables(), parts(file, reading)
        if of_file.joined and file.joint is not None:
            file.joint.check_one_stream(file.path)

        def step(block: Any) -> Batch:
            records, positions = of_file.decode(block)
            placed_at = positions.numbered(file, records.where.line)
            opened = [order.open(name) for name in placed_at.streams.names] if reading.transactions else None
            placed = order.place(placed_at, records.where)
            changes, ignored, unknown = change_rows(records, placed, reading, tables)
            batch = Batch(changes, order.ends(placed_at.streams), ignored, unknown, dict(tables.new))
            return batch if opened is None else replace(batch, transactions=ended(placed_at, placed, opened))

        yield from each_block(of_file.blocks, step, (ascending, order, tables), reading, joined=of_file.joined)

    def positions_of(file: File, reading: Reading) -> Iterator[Positions]:
        of_file = parts(file, reading)
        if of_file.positions is not None:
            yield from of_file.positions
            return
        for records, positions in map(of_file.decode, of_file.blocks):
            yield positions.numbered(file, records.where.line)

    def tail(file: File, reading: Reading) -> OpenTransaction:
        if reading.tolerant:
            return end_by_reading(partial(read, alone=True), file, reading)
        state = OpenTransaction()
        for positions in positions_of(file, replace(reading, whole_files=False)):
            [part] = trailing(positions)
            state = part.after(state)
        return state

    return Dialect(read, tail, marks, names_tables, check=check)


def of_lines(
    records: JsonRecords, marks: tuple[Mark, ...], *, names_tables: bool = False, events_for: str = ""
) -> Dialect:
    """Return the dialect whose files are JSON lines; the rest as in `Dialect`."""
    made = of_parts(records.parts, marks, names_tables=names_tables, check=records.check)
    return replace(made, events_for=events_for)
