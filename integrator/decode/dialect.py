"""Dialects whose files are records with positions: decoded part by part, and placed in the order of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from integrator.contracts.changes import OpenTransaction
from integrator.contracts.streams import Span
from integrator.decode.ascending import Ascending
from integrator.decode.contract import Batch, Before, File, Reading
from integrator.decode.fields import Where
from integrator.decode.json.document import Document, read_document
from integrator.decode.positions import Order, Positions, by_line, trailing
from integrator.decode.records import Placed, Records, change_rows

Decoded = tuple[Records, Positions]


@dataclass(frozen=True)
class Dialect:
    """How files of one shape are read."""

    read: Callable[[File, Before, Reading], Iterator[Batch]]
    tail: Callable[[File, Reading], OpenTransaction]


def of_parts(parts: Callable[[File, Reading], Iterator[Decoded]]) -> Dialect:
    """Return the dialect whose files are decoded by `parts`."""

    def read(file: File, before: Before, reading: Reading) -> Iterator[Batch]:
        ascending = Ascending(checked=not reading.repeated_positions)
        order, tables, is_numbered = Order(before, ascending), reading.source_tables(), False
        for records, positions in parts(file, reading):
            placed = order.place(positions, Where(file.path, records.line))
            changes, ignored, unknown = change_rows(records, placed, reading, tables)
            is_numbered = is_numbered or _is_numbered(placed, records, file)
            span = Span() if is_numbered else ascending.span
            yield Batch(changes, order.open, ignored, unknown, span, tables.known)

    def tail(file: File, reading: Reading) -> OpenTransaction:
        state = OpenTransaction()
        for _, positions in parts(file, reading):
            state = trailing(positions).after(state)
        return state

    return Dialect(read, tail)


def _is_numbered(placed: Placed, records: Records, file: File) -> bool:
    """Return whether positions are by file and line, as the source gives none: those cannot be compared with others."""
    return bool(len(placed.commit)) and placed.commit[0] == by_line(file.number, records.line[:1])[0]


def of_lines(decode: Callable[[Document, File, Reading], Decoded], expected: str, repeated: str = "") -> Dialect:
    """Return the dialect whose blocks of JSON lines are decoded by `decode`; `expected` says what each line is.

    repeated: a member of records whose value is the same in many, as a schema is.
    """

    def parts(file: File, reading: Reading) -> Iterator[Decoded]:
        for lines in file.lines(reading):
            yield decode(read_document(lines, expected, repeated), file, reading)

    return of_parts(parts)
