"""Records: the rows of messages, made of what a format writes of each column and of what stands between.

A record is a run of pieces, put together by one compiled loop. Those of many forms cost what those of one do (I6): a
form is the columns that a record has, of one table or of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.fragments import PresentFields, shapes
from integrator.contracts.message_format import Options
from integrator.engine import rows as engine
from integrator.engine.arrays import Ints, Mask, words
from integrator.engine.words import WORD
from integrator.schema import Column

Arrays = dict[str, pa.Array]
Missing = dict[str, Mask]
"""By column, True for rows whose source record has no value (which is not null)."""
Encoder = Callable[[Arrays, Missing], pa.Array]
"""From arrays by column name, of equal length, to the bytes or text of each row.

Raises UnsupportedValue."""
Columns = Sequence[Column]

PATH = "\0"
"""What is between the names of a field's path: of structs, and the field."""
_MOST_BYTES = (1 << 31) - 1

Piece: TypeAlias = "str | bytes"
Between: TypeAlias = "tuple[str, ...] | tuple[bytes, ...]"
Beside: TypeAlias = "tuple[Piece, Piece]"
"""What is directly before and after each value of a column."""


class UnsupportedValue(ValueError):
    """A value that the format has no word for: the column, the row, and why."""

    def __init__(self, column: str, index: int, text: str) -> None:
        self.column, self.index = column, index
        super().__init__(text)


class InvalidValue(ValueError):
    """A value among those of one column that cannot be written: its place, and why."""

    def __init__(self, index: int, text: str) -> None:
        self.index = index
        super().__init__(text)


def at_column(name: str, error: UnsupportedValue | InvalidValue) -> UnsupportedValue:
    """Return the error as one of the column `name`, or of a field in its structs."""
    inside = f".{error.column}" if isinstance(error, UnsupportedValue) else ""
    return UnsupportedValue(name + inside, error.index, str(error))


class Written(NamedTuple):
    """What is written of each value of a column, without nulls; before, after: what stands directly beside each."""

    values: pa.Array
    before: Piece
    after: Piece

    @property
    def beside(self) -> Beside:
        """What stands beside each value."""
        return self.before, self.after


Write = Callable[[pa.Array], Written]
"""From values to what is written of them. Raises InvalidValue, or UnsupportedValue for a field of a struct."""


@dataclass(frozen=True)
class ByColumn:
    """How records are made of what is written of each column: columns of many tables can be written in one call.

    write: from a column to what is written of its values, whatever its name, its place, and the length of its text.
    between: from a message's columns to what stands before the first value of a record without missing ones, between
    its values, and after the last one. order: from a message's columns to the places of these in the order in which
    records have them, each with the options that `write` is given for it. images: how a record in another one is
    written, if otherwise than a record alone; it is a value of the type Encoded there. image_options: from the columns
    of a message, those of the type Encoded among them, to the options of the latter.
    """

    write: Callable[[Column, Options], Write]
    between: Callable[[Columns, Options], Between]
    order: Callable[[Columns, Options], Sequence[tuple[int, Options]]] = lambda columns, options: [
        (place, options) for place in range(len(columns))
    ]
    images: ByColumn | None = None
    image_options: Callable[[Columns, Options], Options] = lambda _columns, options: options

    def encoder(self, columns: Columns, options: Options) -> Encoder:
        """Return a function from the columns' arrays to the record of each row. Raises UnsupportedValue.

        A missing value is left out of its record.
        """
        order = self.order(columns, options)
        writers = [(columns[place].name, self.write(columns[place], of_column)) for place, of_column in order]

        @lru_cache(maxsize=1 << 10)
        def between(shape: PresentFields) -> Between:
            return self.between(shape.present(columns), options)

        def written(name: str, write: Write, values: pa.Array) -> Written:
            try:
                return write(values)
            except (InvalidValue, UnsupportedValue) as error:
                raise at_column(name, error) from None

        def encode(arrays: Arrays, missing: Missing) -> pa.Array:
            size = len(next(iter(arrays.values())))
            of_columns = [written(name, write, arrays[name]) for name, write in writers]
            beside = tuple(column.beside for column in of_columns)
            gone = {place: missing[name] for place, (name, _) in enumerate(writers) if name in missing}
            found, form = shapes(gone, np.zeros(size, bool)), np.zeros(size, np.int64)
            for number, (_, places) in enumerate(found):
                if places is not None:
                    form[places] = number
            start = np.concatenate([np.delete(np.arange(len(writers)) * size, shape.absent) for shape, _ in found])
            pattern = Pattern.of([around(between(shape), shape.present(beside)) for shape, _ in found])
            columns = engine.Columns(start, np.ones(len(start), np.bool_))
            return write_records(
                [column.values for column in of_columns], pattern, columns, engine.Rows(form, form, np.arange(size))
            )

        return encode

    def value_encoder(self, column: Column, options: Options) -> Encoder:
        """Return a function from a column's array to each value as it is written, without a record around it."""
        write = self.write(column, options)

        def encode(arrays: Arrays, _missing: Missing) -> pa.Array:
            try:
                written = write(arrays[column.name])
            except (InvalidValue, UnsupportedValue) as error:
                raise at_column(column.name, error) from None
            return pc.binary_join_element_wise(written.before, written.values, written.after, written.after[:0])

        return encode


@dataclass(frozen=True)
class Pattern:
    """What stands around the values in records of each form, one piece more than values. bounds: of the forms."""

    around: pa.Array
    bounds: Ints

    @staticmethod
    def of(forms: Sequence[Between]) -> Pattern:
        """Return the pattern of forms, given by their pieces."""
        pieces = [piece for form in forms for piece in form]
        kind = pa.string() if isinstance(pieces[0], str) else pa.binary()
        return Pattern(pa.array(pieces, kind), np.cumsum([0, *map(len, forms)]))


@lru_cache(maxsize=1 << 14)
def around(between: Between, beside: tuple[Beside, ...]) -> Between:
    """Return what stands around values: `between` before the first one, between them, and after the last one.

    beside: what is directly before and after each value.
    """
    nothing = between[0][:0]
    after: list[Any] = [nothing, *(piece for _, piece in beside)]
    before: list[Any] = [*(piece for piece, _ in beside), nothing]
    return tuple(after[place] + text + before[place] for place, text in enumerate(between))


def write_records(
    written: Sequence[pa.Array], pattern: Pattern, columns: engine.Columns, rows: engine.Rows
) -> pa.Array:
    """Return the records. Raises pa.ArrowInvalid for more text than an array holds."""
    kind = pattern.around.type
    padding = pa.array([b" " * WORD], pa.binary()).cast(kind)  # of which the last word that is read may be a part
    joined = pa.concat_arrays([*written, pattern.around, padding])
    _, offsets, data = joined.buffers()
    every, frame = np.frombuffer(offsets, np.int32, len(joined) + 1), sum(map(len, written))
    pieces = engine.Pieces(every, frame, bool(every[frame] < every[-1] - WORD), pattern.bounds)
    ends = np.empty(len(rows.form) + 1, np.int64)
    engine.measure_rows(rows, columns, pieces, ends)
    if ends[-1] > _MOST_BYTES:
        raise pa.ArrowInvalid("more text than an array holds")
    result = np.empty(ends[-1] + WORD, np.uint8)
    engine.copy_rows(rows, columns, pieces, words(np.frombuffer(data, np.uint8)), words(result))
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(result)]
    return pa.Array.from_buffers(kind, len(rows.form), buffers)
