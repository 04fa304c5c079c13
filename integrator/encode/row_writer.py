"""Rows of many tables, put together of what was written of their columns and of what is between: one call for all.

A row is a run of pieces: what stands around values, and these. Many tables cost what one does (I6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import flat
from integrator.engine.arrays import Ints, words
from integrator.engine.rows import Columns, Pieces, Rows, copy_rows, measure_rows
from integrator.engine.words import WORD
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


def write_rows(written: Sequence[pa.Array], pattern: Pattern, columns: Columns, rows: Rows) -> pa.Array:
    """Return the rows. Raises pa.ArrowInvalid for more text than an array holds."""
    kind = pattern.around.type
    padding = pa.array([b" " * WORD], pa.binary()).cast(kind)  # of which the last word that is read may be a part
    data, offsets = flat(pa.concat_arrays([*written, pattern.around, padding]))
    pieces = Pieces(offsets, sum(map(len, written)), pattern.bounds)
    ends = np.empty(len(rows.form) + 1, np.int64)
    measure_rows(rows, columns, pieces, ends)
    if ends[-1] > _MOST_BYTES:
        raise pa.ArrowInvalid("more text than an array holds")
    result = np.empty(ends[-1] + WORD, np.uint8)
    copy_rows(rows, columns, pieces, words(data), words(result))
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(result)]
    return pa.Array.from_buffers(kind, len(rows.form), buffers)
