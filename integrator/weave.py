"""Rows of many tables, woven out of what was written of their columns and of what stands between: one call for all.

A row is a run of pieces. With these in the order of rows, one behind the other, each row is there without a copy more;
so many tables cost what one does (I6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrays import Words, flat, words
from integrator.compiled import compiled
from integrator.formats.contract import Between

Places = npt.NDArray[np.int64]
_WORD = 8
_SAME, _BY_ROW, _BY_OWN = 0, 1, 2
_MOST_BYTES = (1 << 31) - 1


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
    kind = shares[0].pattern.constants.type
    behind = pa.array([b" " * _WORD], pa.binary()).cast(kind)  # of which the last word that is read may be a part
    data, offsets = flat(pa.concat_arrays([*written, *(share.pattern.constants for share in shares), behind]))
    first, step, constants = [], [], sum(map(len, written))
    for share in shares:
        pattern = share.pattern
        first.append(np.empty(len(pattern.at) + len(pattern.values), np.int64))
        step.append(np.full(len(first[-1]), _SAME, np.int8))
        first[-1][pattern.at] = np.arange(constants, constants + len(pattern.at))
        first[-1][pattern.values], step[-1][pattern.values] = share.starts, _BY_ROW
        step[-1][pattern.values[list(share.of_own)]] = _BY_OWN
        constants += len(pattern.at)
    bounds = np.cumsum([0, *map(len, first)])
    rows = _Rows(
        np.repeat(np.arange(len(shares)), [len(share.rows) for share in shares]),
        np.concatenate([share.rows for share in shares]),
        np.concatenate([share.own for share in shares]),
    )
    pieces = _Pieces(offsets, np.concatenate(first), np.concatenate(step), bounds)
    ends = np.empty(len(rows.share) + 1, np.int64)
    _measured(rows, pieces, ends)
    if ends[-1] > _MOST_BYTES:
        raise pa.ArrowInvalid("more text than an array holds")
    result = np.empty(ends[-1] + _WORD, np.uint8)
    _copied(rows, pieces, words(data), words(result))
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(result)]
    return pa.Array.from_buffers(kind, len(rows.share), buffers)


class _Rows(NamedTuple):
    """The rows to be woven: the share of each, and its places, as in `Share`."""

    share: Places
    at: Places
    own: Places


class _Pieces(NamedTuple):
    """What rows are woven of.

    offsets: of all pieces. first: of each piece of a share's rows, the one at place 0. step: by which of the row's
    places it goes on from there. bounds: of the shares.
    """

    offsets: Places
    first: Places
    step: npt.NDArray[np.int8]
    bounds: Places


@compiled
def _measured(rows: _Rows, pieces: _Pieces, ends: Places) -> None:
    """Write down where each row begins and ends."""
    offsets, first, step, bounds = pieces.offsets, pieces.first, pieces.step, pieces.bounds
    total = 0
    ends[0] = 0
    for row in range(len(rows.share)):
        share, at, own = rows.share[row], rows.at[row], rows.own[row]
        for place in range(bounds[share], bounds[share + 1]):
            piece = first[place] + (0 if step[place] == _SAME else at if step[place] == _BY_ROW else own)
            total += offsets[piece + 1] - offsets[piece]
        ends[row + 1] = total


@compiled
def _copied(rows: _Rows, pieces: _Pieces, data: Words, result: Words) -> None:
    """Write the rows one behind another, by words: what is behind the end of a piece is written over by the next."""
    offsets, first, step, bounds = pieces.offsets, pieces.first, pieces.step, pieces.bounds
    to = 0
    for row in range(len(rows.share)):
        share, at, own = rows.share[row], rows.at[row], rows.own[row]
        for place in range(bounds[share], bounds[share + 1]):
            piece = first[place] + (0 if step[place] == _SAME else at if step[place] == _BY_ROW else own)
            begin, size = offsets[piece], offsets[piece + 1] - offsets[piece]
            for word in range(0, size, _WORD):
                result[to + word] = data[begin + word]
            to += size
