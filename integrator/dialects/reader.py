"""Dialects whose files are records with positions: decoded part by part, and placed in the order of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from integrator.arrays import first_refused
from integrator.changes import OpenTransaction
from integrator.dialects.lines import Lines
from integrator.dialects.reading import Batch, Before, File, Reading
from integrator.dialects.records import Records, change_rows
from integrator.dialects.transactions import Order, Positions, trailing
from integrator.errors import DataError, IntegratorError

Decoded = tuple[Records, Positions]
_FAULTS = (pa.ArrowException, ValueError, LookupError)
"""What Arrow, Python and numpy say of values that no dialect expected."""
_SHOWN = 200


@dataclass(frozen=True)
class Dialect:
    """How files of one shape are read."""

    read: Callable[[File, Before, Reading], Iterator[Batch]]
    tail: Callable[[File, Reading], OpenTransaction]


def of_parts(parts: Callable[[File, Reading], Iterator[Decoded]]) -> Dialect:
    """Return the dialect whose files are decoded by `parts`."""

    def read(file: File, before: Before, reading: Reading) -> Iterator[Batch]:
        order = Order(before)
        for records, positions in parts(file, reading):
            placed = order.place(positions)
            changes, ignored, unknown = change_rows(records, placed, reading)
            yield Batch(changes, order.open, ignored, unknown)

    def tail(file: File, reading: Reading) -> OpenTransaction:
        state = OpenTransaction()
        for _, positions in parts(file, reading):
            state = trailing(positions).after(state)
        return state

    return Dialect(read, tail)


def of_lines(decode: Callable[[Lines, File, Reading], Decoded]) -> Dialect:
    """Return the dialect whose blocks of JSON lines are decoded by `decode`."""

    def decoded(lines: Lines, file: File, reading: Reading) -> Decoded:
        try:
            return decode(lines, file, reading)
        except _FAULTS as error:
            raise _of_line(lines, error, lambda some: decode(some, file, reading)) from error

    return of_parts(lambda file, reading: (decoded(lines, file, reading) for lines in file.lines(reading)))


def _of_line(lines: Lines, error: Exception, decode: Callable[[Lines], Decoded]) -> DataError:
    """Return the error for the first line that cannot be decoded, for a reason that nobody has put in words."""

    def reason(start: int, stop: int) -> Exception | None:
        try:
            decode(lines.take(np.arange(start, stop)))
        except (*_FAULTS, IntegratorError) as found:
            return found
        return None

    at = first_refused(len(lines), lambda start, stop: reason(start, stop) is None)
    alone = reason(at, at + 1)
    if isinstance(alone, IntegratorError):
        return DataError(str(alone))
    where = "" if alone is None else f":{lines.numbers[at]}"  # some are wrong only beside others
    shown = "" if alone is None else f"; the line is {lines.array[at].as_py().rstrip()[:_SHOWN]}"
    return DataError(f"{lines.file}{where}: a record cannot be read: {alone or error}{shown}")
