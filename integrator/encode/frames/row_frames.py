"""The kinds of a batch's rows, and what stands around rows of each kind.

A kind is a table and a shape: its rows have the same frame, key frame and headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.encode.frames.headers import KindHeaders
from integrator.engine.arrays import Ints, Mask
from integrator.formats.contract import Frame

Texts: TypeAlias = "bytes | pa.Array"
"""Of each place a text, or one text for all."""


@dataclass(frozen=True)
class RowFrames:
    """The kinds of rows (table and shape) in a batch: each row's number, and the kinds' frames.

    runs: each row's number of its table, so that a run of rows of one table is seen. dead: kinds that are dead letters,
    which are messages already. opening, closing: of each kind's frame, or the same of all. around_keys: of each table,
    or the same of all. headers: of each kind.
    """

    code: Ints
    frames: list[Frame]
    runs: Ints
    dead: Mask
    opening: Texts
    closing: Texts
    around_keys: tuple[Texts, Texts]
    headers: Sequence[KindHeaders]

    def slice(self, start: int, end: int) -> RowFrames:
        """Return the kinds of the rows from `start` to before `end`."""
        return replace(self, code=self.code[start:end], runs=self.runs[start:end])

    def take(self, at: Ints) -> RowFrames:
        """Return the kinds of the rows at these places."""
        return replace(self, code=self.code[at], runs=self.runs[at])


def frame_texts(kinds: RowFrames, starts: Ints, rows: int) -> tuple[Texts, Texts]:
    """Return what stands before and after each row: the same for all, or of each row.

    The lead of a row depends on whether it is its message's first, a run's first, or neither, and on the rows before.
    """
    frames, code, size = kinds.frames, kinds.code, len(kinds.frames)
    if len(starts) == rows:
        return of_kind(kinds.opening, code), of_kind(kinds.closing, code)
    first = np.zeros(rows, bool)
    first[starts] = True
    last = np.append(first[1:], True)
    previous = np.concatenate([[0], code[:-1]])
    same_table = np.concatenate([[False], kinds.runs[1:] == kinds.runs[:-1]])
    place = np.where(first, 0, np.where(same_table, 1, 2))
    leads, which = np.unique((place * size + previous * (place > 0)) * size + code, return_inverse=True)
    texts = [
        _lead(int(lead) // size // size, frames[int(lead) // size % size], frames[int(lead) % size]) for lead in leads
    ]
    ends = [*(frame.after for frame in frames), *(frame.closing for frame in frames)]
    rest = code + size * last
    return of_kind(texts_of(texts), which), (b"" if not any(ends) else of_kind(texts_of(ends), rest))


def _lead(place: int, before: Frame, frame: Frame) -> bytes:
    if place == 0:
        return frame.opening
    if place == 1:
        return frame.between_rows + frame.before
    return before.table_end + frame.between_tables + frame.table_start + frame.before


def texts_of(texts: Sequence[bytes]) -> Texts:
    """Return texts, or the one that all are."""
    if len(set(texts)) <= 1:
        return texts[0] if texts else b""
    return pa.array(texts, pa.binary())


def of_kind(texts: Texts, codes: Ints) -> Texts:
    """Return of each row the text of its kind, or the one of all kinds."""
    return texts if isinstance(texts, bytes) else texts.take(pa.array(codes))
