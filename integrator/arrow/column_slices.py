"""Columns that lie in arrays with those of other tables, and are cut out only where one is asked for.

To cut one out costs a microsecond, as much as some of its values; what is done to the columns of many tables at once
asks for none of them alone (I6).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from integrator.engine.arrays import Ints, Mask


class SlotsByName(dict[str, int]):
    """The slots of a table's columns by their names."""

    def __init__(self, slots: Mapping[str, int]) -> None:
        super().__init__(slots)
        self._of: dict[tuple[str, ...], Ints] = {}

    def of(self, names: tuple[str, ...]) -> Ints:
        """Return the slots of columns, which are kept: the same ones are asked for again and again."""
        if names not in self._of:
            self._of[names] = np.array([self[name] for name in names], np.int64)
        return self._of[names]


@dataclass(frozen=True, eq=False)
class ColumnStore:
    """Columns by their slots. arrays: values of many columns each. array, start: in which one a slot is, and where."""

    arrays: Sequence[pa.Array]
    array: Ints
    start: Ints


class ColumnSlices(Mapping[str, pa.Array]):
    """The columns of one table, of `size` rows. first: the number of its slot 0 among all slots."""

    def __init__(self, whole: ColumnStore, slots: SlotsByName, first: int, size: int) -> None:
        self.whole, self._slots, self._first, self._size = whole, slots, first, size

    def __getitem__(self, name: str) -> pa.Array:
        slot = self._slots[name] + self._first
        return self.whole.arrays[self.whole.array[slot]].slice(int(self.whole.start[slot]), self._size)

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def slots(self, names: tuple[str, ...]) -> Ints:
        """Return the slots of columns."""
        return self._slots.of(names) + self._first


@dataclass(frozen=True)
class Columns:
    """Columns of tables, one after the other: of each the number of its array, where it begins there, and its rows."""

    arrays: Sequence[pa.Array]
    array: Ints
    start: Ints
    size: Ints

    @staticmethod
    def of(tables: Sequence[tuple[Mapping[str, pa.Array], int]], names: Sequence[tuple[str, ...]]) -> Columns:
        """Return the columns of these names of each table, which is given by its columns and the number of its rows."""
        arrays: list[pa.Array] = []
        array, start = [], []
        for whole, group in itertools.groupby(zip(tables, names, strict=True), lambda pair: _whole(pair[0][0])):
            of_group = [(own, of_table) for (own, _), of_table in group]
            if whole is not None:
                slots = np.concatenate(
                    [own.slots(of_table) for own, of_table in of_group if isinstance(own, ColumnSlices)]
                )
                array.append(whole.array[slots] + len(arrays))
                start.append(whole.start[slots])
                arrays += whole.arrays
                continue
            for own, of_table in of_group:
                array.append(np.arange(len(arrays), len(arrays) + len(of_table)))
                start.append(np.zeros(len(of_table), np.int64))
                arrays += [own[name] for name in of_table]
        size = np.repeat([size for _, size in tables], list(map(len, names)))
        return Columns(arrays, np.concatenate(array), np.concatenate(start), size)

    def __len__(self) -> int:
        return len(self.array)

    def take(self, at: Ints) -> Columns:
        """Return the columns at some places."""
        return Columns(self.arrays, self.array[at], self.start[at], self.size[at])

    def order(self, kind: Ints) -> Ints:
        """Return the places of the columns by their kinds, and among those of a kind as they lie."""
        return np.lexsort((self.start, self.array, kind))

    def with_nulls(self) -> Mask:
        """Return which columns may have nulls, for their arrays have."""
        return np.array([array.null_count > 0 for array in self.arrays], np.bool_)[self.array]

    def joined(self) -> pa.Array:
        """Return the values one after another, of which there is at least one column, all of one type."""
        beside = (self.array[1:] == self.array[:-1]) & (self.start[1:] == self.start[:-1] + self.size[:-1])
        first = np.flatnonzero(np.concatenate([[True], ~beside]))
        runs = zip(self.array[first], self.start[first], np.add.reduceat(self.size, first), strict=True)
        parts = [self.arrays[array].slice(start, size) for array, start, size in runs]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _whole(columns: Mapping[str, pa.Array]) -> ColumnStore | None:
    return columns.whole if isinstance(columns, ColumnSlices) else None
