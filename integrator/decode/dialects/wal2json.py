"""wal2json, format versions 1 and 2, chosen by looking (https://github.com/eulerto/wal2json).

The position of a change is its transaction's `nextlsn`, its xid, and the number of the row in the transaction. The
before image of an update is the replica identity. A value that PostgreSQL left out of an after image (unchanged TOAST)
is taken from the before image where that has it, and is missing otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from integrator.contracts.sequence import SEQUENCE_WIDTHS, OpenTransaction
from integrator.decode.contract import Batch, File, PreviousEnd, Reading
from integrator.decode.dialect import Dialect, TransactionMarks, mark
from integrator.decode.dialects import wal2json_v1, wal2json_v2
from integrator.decode.fields import Where
from integrator.decode.json.document import Document, read_document
from integrator.decode.json.objects import Objects
from integrator.decode.lines.lines import Lines
from integrator.decode.order.ascending import Ascending
from integrator.decode.rejects import each_block, end_by_reading
from integrator.decode.rows.records import change_rows, check_tables
from integrator.engine.grammar import LIST
from integrator.errors import DataError, Fault, Place

EXPECTED = "a record of wal2json"
_UNKNOWN = OpenTransaction(f"{'0' * SEQUENCE_WIDTHS[0]}|{'0' * SEQUENCE_WIDTHS[1]}|")
"""A transaction that began in an earlier file, whichever it was."""


def read(file: File, before: PreviousEnd, reading: Reading) -> Iterator[Batch]:
    """Yield the change rows of a wal2json file, of either version."""
    position = wal2json_v2.Position(before, file.first_row(reading))
    ascending, tables = Ascending(checked=not reading.repeated_positions), reading.source_tables()

    def step(lines: Lines) -> Batch:
        document = read_document(lines, EXPECTED)
        version = position.variant = position.variant or _version(document)
        records, placed = wal2json_v1.records(document) if version == 1 else wal2json_v2.records(document, position)
        ascending.extend(placed, records.row_counts, Where(file.path, records.line))
        changes, ignored, unknown = change_rows(records, placed, reading, tables)
        state = position.open if version == 2 else OpenTransaction(since_start=False)
        return Batch(changes, state, ignored, unknown, ascending.span, dict(tables.new))

    yield from each_block(file.lines(reading), step, (ascending, position, tables), reading)


def check(lines: Lines, reading: Reading) -> None:
    """Check JSON lines apart, see `Dialect`; those of version 2 may be within a transaction."""
    document = read_document(lines, EXPECTED)
    if _version(document) == 1:
        records, _ = wal2json_v1.records(document)
    else:
        records, _ = wal2json_v2.records(document, wal2json_v2.Position(lambda: _UNKNOWN))
    check_tables(records, reading.source_tables())


def tail(file: File, reading: Reading) -> OpenTransaction:
    """Return where the file ends; a file of version 1 holds whole transactions only."""
    if reading.tolerant:
        return end_by_reading(read, file, reading, _UNKNOWN)
    state = OpenTransaction()
    for lines in file.lines(replace(reading, whole_files=False)):
        document = read_document(lines, EXPECTED)
        if _version(document) == 1:
            return OpenTransaction(since_start=False)
        state = wal2json_v2.tail(document).after(state)
    return state


def _version(document: Document) -> int:
    """Return the version by the first line: a transaction with its changes (1), or one action (2)."""
    objects = Objects.of_lines(document).take(np.arange(1))
    change, action = objects.slices("change"), objects.slices("action")
    if change.end[0] and change.first_bytes(document.text)[0] == LIST:
        return 1
    if action.are_texts(document.text)[0]:
        return 2
    lines = document.lines
    raise DataError(
        Fault(
            Place(lines.file, int(lines.numbers[0])),
            f'neither wal2json version 1 (a line has a "change" list) nor version 2 '
            f'(a line has an "action"); {lines.shown(0)}',
        )
    )


DIALECT = Dialect(
    read,
    tail,
    (mark("change"), mark("action")),
    names_tables=True,
    commit_positions=True,
    connector="postgresql",
    finite=True,
    check=check,
    transactions=TransactionMarks(re.compile(rb'"action"\s*:\s*"B"'), re.compile(rb'"action"\s*:\s*"C"')),
)
