"""Tables of which a batch has few rows each, encoded together.

They differ in their names only, or share a recipe but for their columns.
A call of Arrow costs some microseconds, however few the rows; over hundreds of tables that would be most of the time
(I6: the cost of a row does not depend on the number of tables).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import FEW_ROWS, in_groups
from integrator.contracts.changes import Changes, RowTables
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import with_column
from integrator.contracts.multi_table_changes import AnyChanges, MultiTableChanges, concat_tables
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.frames.framing import framing_of
from integrator.encode.joinable import can_lack, is_joinable, missing_by_segment, truncates
from integrator.encode.row_batch import RowBatch
from integrator.encode.row_layout import RowLayout, row_layout_of
from integrator.encode.table import TableEncoder
from integrator.engine.arrays import Ints
from integrator.errors import DataError
from integrator.expressions.parts import depends_on
from integrator.schema import Table
from integrator.transform.expression import RunClock

Encoded = tuple[pa.RecordBatch, Ints]


@lru_cache(maxsize=8)
def encoders_of(recipe: Recipe) -> Encoders:
    """Return the encoders of a channel, which a process keeps from cycle to cycle."""
    return Encoders(recipe)


class Encoders:
    """The encoders of all tables, made when they are needed."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._framing = framing_of(recipe)
        self._tables = {table.table.name: table for table in recipe.tables}
        self._encoders: dict[str, TableEncoder] = {}
        self._first: dict[object, str] = {}
        self._first_of: dict[str, str] = {}
        self._shared: dict[TableRecipe, TableRecipe] = {}
        self._layouts: dict[str, RowLayout | None] = {}

    def encode(self, parts: Sequence[AnyChanges], clock: RunClock, counters: CycleCounters) -> Iterator[Encoded]:
        """Yield fragments of a batch's change rows, and their order: of each table, or of some tables together."""
        for part in self._by_layout(self._groups(parts)):
            yield from self._encoded(part, clock, counters)

    def _encoded(self, part: AnyChanges | RowBatch, clock: RunClock, counters: CycleCounters) -> Iterator[Encoded]:
        if isinstance(part, Changes):
            yield self._encoder(part.table).encode(part, clock, counters)
            return
        made = self._together(part, clock, counters)
        if made is not None:
            yield made
        else:
            for one in part.split_by_table():
                yield from self._encoded(one, clock, counters)

    def _by_layout(self, parts: Sequence[AnyChanges]) -> list[AnyChanges | RowBatch]:
        """Return the parts, those of tables that share a recipe and have few rows together."""
        ready: list[AnyChanges | RowBatch] = []
        sharing: dict[int, list[tuple[AnyChanges, list[RowLayout]]]] = {}
        for part in parts:
            few = len(part) < FEW_ROWS or part.own
            found = map(self._layout, part.tables if part.own else part.tables[:1]) if few else ()
            layouts = [one for one in found if one is not None]
            if layouts and is_joinable(part, layouts):
                sharing.setdefault(id(layouts[0].shared_recipe), []).append((part, layouts))
            else:
                ready.append(part)
        for batches in sharing.values():
            for group in in_groups(batches, [len(part) for part, _ in batches]):
                made = RowBatch([part for part, _ in group], [layout for _, of_part in group for layout in of_part])
                ready += [made] if len(made.layouts) > 1 else made.split_by_table()
        return ready

    def _divided(self, part: AnyChanges) -> Sequence[AnyChanges]:
        """Return a part, or, where its tables have columns of their own, those that share a recipe, and others."""
        if not isinstance(part, MultiTableChanges) or not part.own:
            return [part]
        sharing: dict[int, list[int]] = {}
        alone = np.array(part.sizes) >= FEW_ROWS
        alone[np.searchsorted(np.cumsum(part.sizes), truncates(part), side="right")] = True
        for place, (table, of_table) in enumerate(zip(part.tables, missing_by_segment(part), strict=True)):
            layout = None if alone[place] else self._layout(table)
            if layout is not None and of_table[0] and not can_lack(layout, *of_table):
                layout = None
            sharing.setdefault(0 if layout is None else id(layout.shared_recipe), []).append(place)
        others = part.only(sharing.pop(0)).split_by_table() if 0 in sharing else []
        return [*map(part.only, sharing.values()), *others]

    def _groups(self, parts: Sequence[AnyChanges]) -> list[AnyChanges]:
        """Return the parts, small ones of tables of the same columns together; each in its order."""
        tables = [table for part in parts for table in part.tables]
        if len(set(tables)) < len(tables):
            return [one for part in parts for one in part.split_by_table()]
        ready: list[AnyChanges] = []
        groups: dict[str, list[Changes]] = {}
        for part in itertools.chain.from_iterable(map(self._divided, parts)):
            if isinstance(part, MultiTableChanges) and (part.own or len(set(map(self._first_alike, part.tables))) == 1):
                ready.append(part)
                continue
            for one in part.split_by_table():
                if len(one) < FEW_ROWS:
                    groups.setdefault(self._first_alike(one.table), []).append(one)
                else:
                    ready.append(one)
        small = [part for group in groups.values() for part in in_groups(group, list(map(len, group)))]
        return [*map(_joined, small), *ready]

    def _first_alike(self, table: str) -> str:
        if table not in self._first_of:
            kind = nameless(self._tables[table])
            self._first_of[table] = table if kind is None else self._first.setdefault(kind, table)
        return self._first_of[table]

    def _layout(self, table: str) -> RowLayout | None:
        if table not in self._layouts:
            recipe = self._tables[table]
            unnamed = nameless(recipe)
            layout = None if unnamed is None else row_layout_of(recipe, unnamed, self._recipe)
            if layout is not None:  # the same shared recipe is one object
                layout = dataclasses.replace(
                    layout, shared_recipe=self._shared.setdefault(layout.shared_recipe, layout.shared_recipe)
                )
            self._layouts[table] = layout
        return self._layouts[table]

    def _encoder(self, table: str) -> TableEncoder:
        if table not in self._encoders:
            self._encoders[table] = TableEncoder(self._tables[table], self._recipe, self._framing)
        return self._encoders[table]

    def _together(self, part: MultiTableChanges | RowBatch, clock: RunClock, counters: CycleCounters) -> Encoded | None:
        """Return fragments of several tables' rows; None where one is at fault or too large, to be reported alone."""
        if isinstance(part, MultiTableChanges):
            joint, encoder = part, self._encoder(self._first_alike(part.tables[0]))
        else:
            joint = part.joint()
            encoder = TableEncoder(part.layouts[0].shared_recipe, self._recipe, self._framing, part)
        counted, names = CycleCounters(), joint.tables
        tables = RowTables(
            np.repeat(np.arange(len(names)), joint.sizes), tuple(self._tables[one].table for one in names)
        )
        try:
            rows = encoder.captured(dataclasses.replace(joint.rows, of_tables=tables), clock, counted)
            fragments, order = encoder.fragments(rows, clock, counted)
        except DataError:
            return None
        of_row = np.empty(int(joint.order.max(initial=-1)) + 2, np.int64)
        of_row[joint.order + 1] = np.repeat(np.arange(len(names)), joint.sizes)  # -1: held back before
        at = pa.array(of_row[order + 1])
        fragments = with_column(fragments, "table", pa.array(names).take(at))
        fragments = with_column(fragments, "topic", pa.array([self._tables[name].topic for name in names]).take(at))
        if len(encoder.above(fragments)[0]):
            return None
        counters.add(counted)
        return fragments, order


def _joined(parts: list[Changes]) -> AnyChanges:
    """Return the rows of several tables one after another, of one as they are."""
    if len(parts) == 1:
        return parts[0]
    return concat_tables(parts, [part.table for part in parts], list(map(len, parts)))


def nameless(table: TableRecipe) -> TableRecipe | None:
    """Return what a table's rows are made by, without its name; None where its name is in a counter or a capture."""
    capture = table.capture
    condition = () if capture.condition is None else (capture.condition,)
    of_capture = [*(parts for _, parts in capture.expressions), capture.addresses, condition]
    named = any(depends_on(parts, "table") for parts in of_capture)
    if named or capture.coalesce or capture.trims or table.coercion.policy not in ("FATAL", "SILENT"):
        return None
    return dataclasses.replace(
        table,
        table=_unnamed(table.table),
        capture=dataclasses.replace(capture, table=capture.table and _unnamed(capture.table)),
        in_database=None,
        topic="",
        value_id=None,
        key_id=None,
    )


def _unnamed(table: Table) -> Table:
    return Table("", "", None, table.columns, table.key)
