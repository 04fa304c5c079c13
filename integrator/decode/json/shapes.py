"""The columns of tables as records have them, and where the values of rows of many tables are put."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from integrator.arrow.column_slices import SlotsByName
from integrator.decode.lines.lines import json_text
from integrator.engine.arrays import Ints, Mask, Places, words
from integrator.engine.grid import ColumnNames
from integrator.engine.words import WORD, hash_of

NO_COLUMN = -1
"""The slot of a name that is to be passed over."""


class ColumnIndex:
    """The columns of a table as records have them: their names, and of which kind their values are.

    hash, text, bounds: of each name, as in `members.Wanted`. slot: the column of each name, or NO_COLUMN. kinds: of
    each column. by_name: the columns. is_key, is_required: which are in the key, and which may not be null.
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, int]],
        keys: Iterable[str],
        required: Iterable[str],
        others: Sequence[tuple[str, int]],
    ) -> None:
        """Take names and kinds of columns; others: more names, each with the column that it means, or NO_COLUMN."""
        names = [name for name, _ in columns]
        written = [json_text(name) for name in [*names, *(name for name, _ in others)]]
        self.text = np.frombuffer(b"".join(written), np.uint8)
        self.bounds = np.cumsum([0, *map(len, written)]).astype(np.int32)
        padded = words(np.append(self.text, np.zeros(WORD, np.uint8)))
        spans = zip(self.bounds[:-1], self.bounds[1:], strict=True)
        self.hash = np.array([hash_of(padded, start, end) for start, end in spans], np.uint64)
        self.slot = np.array([*range(len(names)), *(slot for _, slot in others)], np.int32)
        self.kinds = np.array([kind for _, kind in columns], np.int64)
        self.by_name = SlotsByName({name: place for place, name in enumerate(names)})
        keys, required = set(keys), set(required)
        self.is_key = np.array([name in keys for name in names], np.bool_)
        self.is_required = np.array([name in required for name in names], np.bool_)


class CodecIds:
    """Numbers of kinds of values."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.all: list[Hashable] = []

    def number(self, kind: Hashable) -> int:
        """Return the number of a kind."""
        if kind not in self._numbers:
            self._numbers[kind] = len(self.all)
            self.all.append(kind)
        return self._numbers[kind]


@dataclass(frozen=True)
class Layout:
    """Where the values of rows are put.

    slots: the first slot of each part, and the number of all. rows: the first row of each part, and the number of all.
    base: the place of each slot's first value. kinds, bounds: the kinds of values, and where each begins, and the end.
    kind_at: of each slot, the place of its kind in `kinds`.
    """

    shapes: Sequence[ColumnIndex]
    names: ColumnNames
    slots: Ints
    rows: Ints
    base: Ints
    kinds: Ints
    bounds: Ints
    kind_at: Ints

    @staticmethod
    def of(shapes: Sequence[ColumnIndex], sizes: Sequence[int]) -> Layout:
        """Return the layout of parts of so many rows each."""
        slots = np.cumsum([0, *(len(shape.kinds) for shape in shapes)])
        rows = np.cumsum([0, *sizes])
        counts = [len(shape.hash) for shape in shapes]
        texts = np.cumsum([0, *(len(shape.text) for shape in shapes)])
        slot = np.concatenate([shape.slot for shape in shapes])
        of_part = np.repeat(slots[:-1], counts)
        names = ColumnNames(
            np.concatenate([shape.hash for shape in shapes]),
            words(np.concatenate([*(shape.text for shape in shapes), np.zeros(WORD, np.uint8)])),
            np.append(
                np.concatenate([shape.bounds[:-1] + at for shape, at in zip(shapes, texts[:-1], strict=True)]),
                texts[-1],
            ).astype(np.int32),
            np.where(slot == NO_COLUMN, NO_COLUMN, slot + of_part).astype(np.int32),
            np.cumsum([0, *counts]),
        )
        size = np.repeat(np.array(sizes, np.int64), np.diff(slots))
        kinds, kind_at = _in_order(np.concatenate([shape.kinds for shape in shapes]))
        order = np.argsort(kind_at, kind="stable")
        base = np.zeros(len(order), np.int64)
        base[order] = np.cumsum(size[order]) - size[order]
        totals = np.bincount(kind_at, size, len(kinds)).astype(np.int64)
        return Layout(shapes, names, slots, rows, base, kinds, np.concatenate([[0], np.cumsum(totals)]), kind_at)

    def have(self, column: str, part: int, rows: Ints, ends: Places) -> Mask:
        """Return which rows of a part have a value of a column; `ends`: where each value ends, 0 without one."""
        slot = int(self.slots[part]) + [*self.shapes[part].by_name].index(column)
        return np.asarray(ends[self.base[slot] + rows - self.rows[part]] > 0, np.bool_)

    def flags(self, name: str) -> Mask:
        """Return a flag of each slot: `is_key` or `is_required`."""
        return np.concatenate([getattr(shape, name) for shape in self.shapes])

    def place_of(self, value: int) -> tuple[int, int, int]:
        """Return the part, the column's slot in it, and the row, that a value is of."""
        size = np.repeat(np.diff(self.rows), np.diff(self.slots))
        slot = int(np.flatnonzero((self.base <= value) & (value < self.base + size))[0])
        part = int(np.searchsorted(self.slots, slot, side="right")) - 1
        return part, slot - int(self.slots[part]), int(self.rows[part] + value - self.base[slot])

    def value_at(self, part: int, slot: int, row: int) -> int:
        """Return the place of the value that a row of a part has in a column's slot."""
        return int(self.base[int(self.slots[part]) + slot] + row - self.rows[part])


def _in_order(kind: Ints) -> tuple[Ints, Ints]:
    """Return the kinds of slots, each once, and the place of each slot's.

    They are in the order of the slots, and not of their numbers, which are given as a process meets them: the first
    value that is refused, of several in a record, is the same in any process.
    """
    kinds, first, kind_at = np.unique(kind, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return kinds[order], place[kind_at]
