"""Rows of many tables, woven out of what was written of their columns and of what stands between: one call for all.

A row is a run of pieces. With these in the order of rows, one behind the other, each row is there without a copy more;
so many tables cost what one does (I6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.formats.contract import Between

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pattern:
    """The pieces of a table's rows.

    constants: those that are the same in each row. at: their places in a row; values: those of the others.
    """

    constants: pa.Array
    at: Places
    values: Places


@lru_cache(maxsize=1 << 14)
def pattern_of(between: Between, quotes: Between) -> Pattern:
    """Return the pattern of rows with `between` before the first value, between values, and behind the last one.

    quotes: what stands directly before and behind each value.
    """
    nothing = between[0][:0]
    around = [nothing, *quotes, nothing]
    constants = [around[place] + text + around[place + 1] for place, text in enumerate(between)]
    there = np.array([bool(text) for text in constants])
    at = np.cumsum(there) - 1 + np.arange(len(constants))
    values = at[:-1] + 1
    return Pattern(pa.array([text for text in constants if text], _kind(nothing)), at[there], values)


def _kind(text: str | bytes) -> pa.DataType:
    return pa.string() if isinstance(text, str) else pa.binary()


@dataclass(frozen=True)
class Share:
    """Rows of one table.

    starts: where in all that was written the column of each value begins. rows: the places of the rows in columns. own:
    their places in those columns that have the rows of all shares, and no others; of_own: which values are of these.
    """

    pattern: Pattern
    starts: Places
    rows: Places
    own: Places
    of_own: Sequence[int]


def woven(written: Sequence[pa.Array], shares: Sequence[Share]) -> pa.Array:
    """Return the rows of all shares, behind each other. Raises pa.ArrowInvalid for more text than an array holds."""
    constants = sum(map(len, written))
    sizes = [len(share.pattern.at) + len(share.pattern.values) for share in shares]
    order = np.empty(sum(size * len(share.rows) for size, share in zip(sizes, shares, strict=True)), np.int32)
    ends, before = [], 0
    for share, size in zip(shares, sizes, strict=True):
        first, step = np.empty(size, np.int32), np.zeros(size, np.int32)
        first[share.pattern.at] = np.arange(constants, constants + len(share.pattern.at))
        first[share.pattern.values], step[share.pattern.values] = share.starts, 1
        of_own = share.pattern.values[list(share.of_own)]
        step[of_own] = 0
        constants += len(share.pattern.at)
        behind = before + size * len(share.rows)
        pieces = order[before:behind].reshape(len(share.rows), size)
        np.multiply(share.rows[:, None], step, out=pieces, casting="same_kind")
        pieces += first
        if len(of_own):
            pieces[:, of_own] += share.own[:, None]
        ends.append(np.arange(before + size, behind + 1, size))
        before = behind
    taken = pa.concat_arrays([*written, *(share.pattern.constants for share in shares)]).take(pa.array(order))
    _, offsets, data = taken.buffers()
    bounds = np.frombuffer(offsets, np.int32)[np.concatenate([[0], *ends])]
    return pa.Array.from_buffers(taken.type, len(bounds) - 1, [None, pa.py_buffer(bounds), data])
