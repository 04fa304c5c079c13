"""Dialects whose files are records with positions: decoded part by part, and placed in the order of changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc

from integrator.contracts.sequence import OpenTransaction
from integrator.contracts.streams import PositionRange
from integrator.decode.contract import Batch, File, PreviousEnd, Reading
from integrator.decode.fields import Where
from integrator.decode.json.document import Document, read_document
from integrator.decode.lines.lines import Lines
from integrator.decode.order.ascending import Ascending
from integrator.decode.order.positions import Positions, Sequencer, trailing
from integrator.decode.rejects import each_block, end_by_reading
from integrator.decode.rows.records import Records, Sequenced, change_rows, check_tables

Decoded = tuple[Records, Positions]


@dataclass(frozen=True)
class Parts:
    """The parts of a file: blocks of lines, or of rows of a table; and what decodes one.

    joined: an update is made of two lines, so that a line without the other one means something else.
    """

    blocks: Iterator[Any]
    decode: Callable[[Any], Decoded]
    joined: bool = False


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
    waits: whether a JSON line is the first of two that are one change, so that a file must not end with it. finite:
    whether it has null for numbers that are none, or without end (NaN, Infinity).
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


def of_parts(
    parts: Callable[[File, Reading], Parts],
    marks: tuple[Mark, ...],
    *,
    names_tables: bool = False,
    check: Callable[[Lines, Reading], None] | None = None,
) -> Dialect:
    """Return the dialect whose files are decoded by `parts`; the rest as in `Dialect`."""

    def read(file: File, before: PreviousEnd, reading: Reading) -> Iterator[Batch]:
        ascending = Ascending(checked=not reading.repeated_positions)
        order, tables = Sequencer(before, ascending, file.first_row(reading)), reading.source_tables()
        of_file = parts(file, reading)

        def step(block: Any) -> Batch:
            records, positions = _in_stream(of_file.decode(block), file)
            placed = order.place(positions, Where(file.path, records.line))
            changes, ignored, unknown = change_rows(records, placed, reading, tables)
            order.variant = order.variant or int(_is_numbered(placed, records, file))
            span = PositionRange() if order.variant else ascending.span
            return Batch(changes, order.open, ignored, unknown, span, dict(tables.new))

        yield from each_block(of_file.blocks, step, (ascending, order, tables), reading, joined=of_file.joined)

    def tail(file: File, reading: Reading) -> OpenTransaction:
        if reading.tolerant:
            return end_by_reading(read, file, reading)
        state = OpenTransaction()
        of_file = parts(file, reading)
        for block in of_file.blocks:
            state = trailing(_in_stream(of_file.decode(block), file)[1]).after(state)
        return state

    return Dialect(read, tail, marks, names_tables, check=check)


def _in_stream(decoded: Decoded, file: File) -> Decoded:
    """Return what was decoded with positions that differ from those of other streams, where the source gives none."""
    records, positions = decoded
    if not file.segment or not len(positions.commit):
        return decoded
    is_place = pc.equal(positions.commit, file.places_of(records.line))
    return records, replace(positions, segment=pc.if_else(is_place, file.segment, positions.segment))


def envelope_check(
    decode: Callable[[Document, File, Reading], Decoded], expected: str
) -> Callable[[Lines, Reading], None]:
    """Return the `check` of a dialect whose blocks of JSON lines are decoded by `decode`; the rest as in `of_lines`."""

    def check(lines: Lines, reading: Reading) -> None:
        records, _ = decode(read_document(lines, expected), File(lines.file), reading)
        check_tables(records, reading.source_tables())

    return check


def _is_numbered(placed: Sequenced, records: Records, file: File) -> bool:
    """Return whether positions are by file and line, as the source gives none: those cannot be compared with others."""
    return bool(len(placed.commit)) and placed.commit[0] == file.places_of(records.line[:1])[0]


def of_lines(
    decode: Callable[[Document, File, Reading], Decoded],
    expected: str,
    marks: tuple[Mark, ...],
    *,
    repeated: tuple[str, str] | None = None,
    names_tables: bool = False,
) -> Dialect:
    """Return the dialect whose blocks of JSON lines are decoded by `decode`; `expected` says what each line is.

    repeated: the member that records begin with, whose value is the same in many, as a schema is, and the one after
    it. The rest as in `Dialect`.
    """

    def read(lines: Lines) -> Document:
        return read_document(lines, expected, collected=True)

    def parts(file: File, reading: Reading) -> Parts:
        return Parts(file.lines(reading, repeated), lambda lines: decode(read(lines), file, reading))

    check = envelope_check(decode, expected)
    return of_parts(parts, marks, names_tables=names_tables, check=check)
