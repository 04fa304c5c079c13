"""Slots: one for each name that a record may have, the hvr_ ones and the columns, table behind table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrow.spans import SlotsByName
from integrator.decode.dialects.hvr_records import META
from integrator.decode.json.columns import is_number_text, json_type
from integrator.decode.json.scan import Names, Room
from integrator.schema import Table, Type, arrow_type

Kind = tuple[pa.DataType, Type | None]
"""Into what a value is parsed, and what is made of that, if it is something else."""
Numbers = npt.NDArray[np.int64]


@lru_cache(maxsize=8)
def slots_of(tables: tuple[Table, ...]) -> Slots:
    """Return the slots of a channel's tables, which a process keeps from cycle to cycle."""
    return Slots(tables)


@dataclass(frozen=True)
class Layout:
    """Where the values of some tables' rows go: those of a kind one behind another, kind behind kind.

    In a kind those of each hvr_ name are first, table behind table, then those of columns, table behind table. bounds:
    where each kind begins, and the end.
    """

    room: Room
    bounds: Numbers


class Slots:
    """The slots of tables.

    kinds: of values. kind_of: of each slot the place of its kind. place: of each table, by its name. by_name: the slots
    of a table's columns. names: the names of all slots. left: tables in whose records a name may mean two things.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.left = {table.name for table in tables if any(column.name in META for column in table.columns)}
        self.place = {table.name: place for place, table in enumerate(tables)}
        self.by_name: dict[str, SlotsByName] = {}
        of_slots: list[Kind] = []
        names: list[tuple[str, ...]] = []
        for table in tables:
            own = {column.name: kind_of(column.type) for column in table.columns}
            slots = range(len(of_slots) + len(META), len(of_slots) + len(META) + len(own))
            self.by_name[table.name] = SlotsByName(dict(zip(own, slots, strict=True)))
            of_slots += [*((kind, None) for kind in META.values()), *own.values()]
            names.append((*META, *own))
        kinds = dict.fromkeys(of_slots)
        place_of_kind = {kind: place for place, kind in enumerate(kinds)}
        self.kinds = list(kinds)
        self.kind_of = np.array([place_of_kind[kind] for kind in of_slots], np.int64)
        self.names = Names.of(names)

    def layout(self, tables: Sequence[str], sizes: Sequence[int]) -> Layout:
        """Return where the values go of so many rows of tables, of which none is twice."""
        first = self.names.first
        places = np.array([self.place[table] for table in tables])
        slots = first[places + 1] - first[places]
        part = np.repeat(np.arange(len(places)), slots)
        own = np.arange(len(part)) - np.repeat(np.cumsum(slots) - slots, slots)
        slot = own + first[places][part]
        kind, size = self.kind_of[slot], np.array(sizes, np.int64)[part]
        order = np.lexsort((own, part, np.minimum(own, len(META)), kind))
        base = np.zeros(len(self.kind_of), np.int64)
        base[slot[order]] = np.cumsum(size[order]) - size[order]
        of_kinds = np.bincount(kind, size, len(self.kinds)).astype(np.int64)
        return Layout(Room(base, int(size.sum()), len(META)), np.concatenate([[0], np.cumsum(of_kinds)]))


@lru_cache(maxsize=1024)
def kind_of(of_column: Type) -> Kind:
    """Return into what a column's values are parsed, and what is made of that."""
    parsed = json_type(of_column)
    if is_number_text(of_column):
        return parsed, of_column
    return parsed, None if parsed == arrow_type(of_column) else of_column
