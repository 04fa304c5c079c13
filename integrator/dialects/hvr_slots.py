"""Slots: one for each column of each table, and one for each hvr_ column; in a row, where their values are alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.dialects.hvr_records import META
from integrator.dialects.json_columns import json_type
from integrator.dialects.json_layout import Layout, words_of
from integrator.schema import Table, Type, arrow_type
from integrator.spans import SlotsByName

Kind = tuple[pa.DataType, Type | None]
"""Into what a value is parsed, and what is made of that, if it is something else."""
Numbers = npt.NDArray[np.int64]

NOTHING = -1
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
"""In a name, so that its text in JSON is another (RFC 8259, section 7)."""


@lru_cache(maxsize=8)
def slots_of(tables: tuple[Table, ...]) -> Slots:
    """Return the slots of a channel's tables, which a process keeps from cycle to cycle."""
    return Slots(tables)


@lru_cache(maxsize=1 << 14)
def layout_of(slots: Slots, table: str, names: tuple[str, ...]) -> tuple[Layout, Numbers] | None:
    """Return the layout of a table's records of these names, and their slots; None where a parser must look at one."""
    known = slots.of_table_and_meta(table)
    if not known.keys() >= set(names) or len(set(names)) < len(names):
        return None
    layout = Layout.of(names, slots.words)
    return None if layout is None else (layout, np.array([known[name] for name in names], np.int64))


class Slots:
    """The slots of tables.

    kinds: each with its first slot and the one behind its last. kind_of: of each slot the place of its kind. of_table:
    by the table's name, its columns and their slots. of_meta: of the hvr_ columns. words: as `Layout.of` wants them.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        wanted: dict[Kind, list[tuple[str, str]]] = {}
        for name, kind in META.items():
            wanted.setdefault((kind, None), []).append(("", name))
        for table in tables:
            for column in table.columns:
                wanted.setdefault(_kind(column.type), []).append((table.name, column.name))
        # in the order of columns, which is seen in {hvr_missing}
        self.of_table = {table.name: dict.fromkeys((column.name for column in table.columns), 0) for table in tables}
        self.of_meta: dict[str, int] = {}
        self.kinds: list[tuple[Kind, int, int]] = []
        self.kind_of: list[int] = []
        for kind, columns in wanted.items():
            first = len(self.kind_of)
            for slot, (table_name, name) in enumerate(columns, first):
                (self.of_table[table_name] if table_name else self.of_meta)[name] = slot
            self.kind_of += [len(self.kinds)] * len(columns)
            self.kinds.append((kind, first, len(self.kind_of)))
        names = dict.fromkeys(name for _, columns in wanted.items() for _, name in columns)
        self._ids = {name: place for place, name in enumerate(names)}
        self._meta = self._columns(self.of_meta)
        self._tables = {table: self._columns(slots) for table, slots in self.of_table.items()}
        self.by_name = {table: SlotsByName(slots) for table, slots in self.of_table.items()}
        self.words = words_of(names)

    def _columns(self, slots: dict[str, int]) -> tuple[Numbers, Numbers]:
        """Return the names of columns, as numbers, and their slots; NOTHING for those that a parser must look at."""
        left = self._left(slots)
        own = [NOTHING if name in left else slot for name, slot in slots.items()]
        return np.array([self._ids[name] for name in slots], np.int64), np.array(own, np.int64)

    def _left(self, slots: dict[str, int]) -> set[str]:
        """Return the names that a parser must look at: those of hvr_ columns, and those that JSON has escapes in."""
        return {name for name in slots if _ESCAPED.search(name) or (slots is not self.of_meta and name in META)}

    def of_table_and_meta(self, table: str) -> dict[str, int]:
        """Return the names in records of a table and their slots, but for those that a parser must look at."""
        slots = self.of_table[table]
        left = self._left(slots)
        return {name: slot for name, slot in {**self.of_meta, **slots}.items() if name not in left}

    def full(self, tables: Sequence[str], found: Numbers, rows: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Say which tables have a value in each row for each column, given how many were found in each slot."""
        slots = [self.by_name[table].all for table in tables]
        wrong = found[np.concatenate(slots)] != np.repeat(rows, list(map(len, slots)))
        table = np.repeat(np.arange(len(tables)), list(map(len, slots)))
        return np.asarray(np.bincount(table[wrong], minlength=len(tables)) == 0, np.bool_)

    def of_names(self, tables: Sequence[str], names: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the slot that a name, of which there are columns, has in a table, a row; NOTHING for no column."""
        place = np.full(len(self._ids) + 1, NOTHING)
        place[[self._ids.get(name, len(self._ids)) for name in names]] = np.arange(len(names))
        place[-1] = NOTHING
        found = np.full((len(tables), len(names)), NOTHING, np.int32)
        meta, of_meta = self._meta
        found[:, place[meta][place[meta] >= 0]] = of_meta[place[meta] >= 0]
        ids, slots = (np.concatenate(parts) for parts in zip(*(self._tables[table] for table in tables), strict=True))
        row = np.repeat(np.arange(len(tables)), [len(self.of_table[table]) for table in tables])
        there = place[ids] >= 0
        found[row[there], place[ids][there]] = slots[there]
        return found


@lru_cache(maxsize=1024)
def _kind(of_column: Type) -> Kind:
    parsed = json_type(of_column)
    return parsed, None if parsed == arrow_type(of_column) else of_column
