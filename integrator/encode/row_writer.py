"""Rows of many tables, put together of what was written of their columns and of what is between: one call for all.

A row is a run of pieces: what stands around values, and these. Many tables cost what one does (I6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import flat
from integrator.arrow.compiled import compiled
from integrator.arrow.eight_bytes import WORD
from integrator.engine.arrays import Ints, Mask, Words, words
from integrator.formats.contract import Between

_MOST_BYTES = (1 << 31) - 1


@dataclass(frozen=True)
class Pattern:
    """What stands around the values in rows of tables, of each one piece more than values. bounds: of the tables."""

    around: pa.Array
    bounds: Ints

    @staticmethod
    def of(tables: Sequence[tuple[str, ...] | tuple[bytes, ...]]) -> Pattern:
        """Return the pattern of tables, given by their pieces."""
        pieces = [piece for table in tables for piece in table]
        kind = pa.string() if isinstance(pieces[0], str) else pa.binary()
        return Pattern(pa.array(pieces, kind), np.cumsum([0, *map(len, tables)]))


@lru_cache(maxsize=1 << 14)
def around(between: Between, quotes: Between) -> Between:
    """Return what stands around values, with `between` before the first one, between them, and after the last one.

    quotes: what is directly before and after each value.
    """
    nothing = between[0][:0]
    beside = [nothing, *quotes, nothing]
    return tuple(beside[place] + text + beside[place + 1] for place, text in enumerate(between))


class Rows(NamedTuple):
    """Rows of tables. table: of each. at: its place in columns of the table's. own: its place in those of all rows."""

    table: Ints
    at: Ints
    own: Ints


class Columns(NamedTuple):
    """The values of rows, table after table: where in all that was written each column begins, and if it is of all."""

    start: Ints
    of_all: Mask


def write_rows(written: Sequence[pa.Array], pattern: Pattern, columns: Columns, rows: Rows) -> pa.Array:
    """Return the rows. Raises pa.ArrowInvalid for more text than an array holds."""
    kind = pattern.around.type
    padding = pa.array([b" " * WORD], pa.binary()).cast(kind)  # of which the last word that is read may be a part
    data, offsets = flat(pa.concat_arrays([*written, pattern.around, padding]))
    pieces = _Pieces(offsets, sum(map(len, written)), pattern.bounds)
    ends = np.empty(len(rows.table) + 1, np.int64)
    _measured(rows, columns, pieces, ends)
    if ends[-1] > _MOST_BYTES:
        raise pa.ArrowInvalid("more text than an array holds")
    result = np.empty(ends[-1] + WORD, np.uint8)
    _copied(rows, columns, pieces, words(data), words(result))
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(result)]
    return pa.Array.from_buffers(kind, len(rows.table), buffers)


class _Pieces(NamedTuple):
    """offsets: of all pieces of rows. around: the first piece of the pattern there. bounds: as in `Pattern`."""

    offsets: Ints
    around: int
    bounds: Ints


@compiled
def _measured(rows: Rows, columns: Columns, pieces: _Pieces, ends: Ints) -> None:
    """Write down where each row begins and ends."""
    offsets, bounds, start, of_all = pieces.offsets, pieces.bounds, columns.start, columns.of_all
    total = 0
    ends[0] = 0
    for row in range(len(rows.table)):
        table, at, own = rows.table[row], rows.at[row], rows.own[row]
        first, last = bounds[table], bounds[table + 1] - 1
        total += offsets[pieces.around + last + 1] - offsets[pieces.around + first]
        for value in range(first - table, last - table):
            piece = start[value] + (own if of_all[value] else at)
            total += offsets[piece + 1] - offsets[piece]
        ends[row + 1] = total


@compiled
def _copied(rows: Rows, columns: Columns, pieces: _Pieces, data: Words, result: Words) -> None:
    """Write the rows one after another, by words: what is after the end of a piece is written over by the next."""
    offsets, bounds, start, of_all = pieces.offsets, pieces.bounds, columns.start, columns.of_all
    to = 0
    for row in range(len(rows.table)):
        table, at, own = rows.table[row], rows.at[row], rows.own[row]
        first, last = bounds[table], bounds[table + 1] - 1
        for place in range(first, last + 1):
            piece = pieces.around + place
            begin, end = offsets[piece], offsets[piece + 1]
            for byte in range(begin, end, WORD):
                result[to + byte - begin] = data[byte]
            to += end - begin
            if place < last:
                value = place - table
                piece = start[value] + (own if of_all[value] else at)
                begin, end = offsets[piece], offsets[piece + 1]
                for byte in range(begin, end, WORD):
                    result[to + byte - begin] = data[byte]
                to += end - begin
