"""Tables that differ in nothing but their names: where a batch has few rows of each, they are encoded together.

A call of Arrow costs some microseconds, however few the rows; over hundreds of tables that would be most of the time
(I6: the cost of a row does not depend on the number of tables).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from integrator.arrays import FEW_ROWS, in_groups
from integrator.changes import Changes, together
from integrator.encode import TableEncoder
from integrator.errors import DataError
from integrator.expression import Op, Part, Sql
from integrator.fragments import Places, with_column
from integrator.framing import framing_of
from integrator.properties.expression import Clock
from integrator.recipe import CaptureRecipe, Recipe, TableRecipe
from integrator.tally import Tally

NAMING = ("hvr_tbl_name", "hvr_tbl_base_name", "hvr_schema", "hvr_row_uuid")
"""Substitutions that give another value where only the table's name is another."""

Encoded = tuple[pa.RecordBatch, Places]


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
        self._like: dict[str, str] = {}

    def encode(self, parts: Sequence[Changes], clock: Clock, tally: Tally) -> Iterator[Encoded]:
        """Yield fragments of a batch's change rows, and their order: of each table, or of some tables together."""
        for group in self._groups(parts):
            made = self._together(group, clock, tally) if len(group) > 1 else None
            if made is not None:
                yield made
            else:
                yield from (self._alone(part, clock, tally) for part in group)

    def _groups(self, parts: Sequence[Changes]) -> list[list[Changes]]:
        """Return the parts, those of tables that are alike and have few rows together; each in its order."""
        if len(parts) == 1 or len({part.table for part in parts}) < len(parts):
            return [[part] for part in parts]
        groups: dict[str, list[Changes]] = {}
        for part in parts:
            if len(part) < FEW_ROWS:
                groups.setdefault(self._first_like(part.table), []).append(part)
        small = [part for alike in groups.values() for part in in_groups(alike, list(map(len, alike)))]
        return [*small, *([part] for part in parts if len(part) >= FEW_ROWS)]

    def _first_like(self, table: str) -> str:
        if table not in self._like:
            kind = nameless(self._tables[table], self._recipe)
            self._like[table] = table if kind is None else self._first.setdefault(kind, table)
        return self._like[table]

    def _encoder(self, table: str) -> TableEncoder:
        if table not in self._encoders:
            self._encoders[table] = TableEncoder(self._tables[table], self._recipe, self._framing)
        return self._encoders[table]

    def _alone(self, part: Changes, clock: Clock, tally: Tally) -> Encoded:
        return self._encoder(part.table).encode(part, clock, tally)

    def _together(self, parts: list[Changes], clock: Clock, tally: Tally) -> Encoded | None:
        """Return fragments of several tables' rows; None where one is at fault or too large, to be told alone."""
        joint, counted, names = _joint(parts), Tally(), [part.table for part in parts]
        encoder = self._encoder(self._first_like(names[0]))
        try:
            fragments, order = encoder.fragments(joint, clock, counted)
        except DataError:
            return None
        of_row = np.empty(int(joint.order.max(initial=-1)) + 2, np.int64)
        of_row[joint.order + 1] = np.repeat(np.arange(len(parts)), list(map(len, parts)))  # -1: held back before
        at = pa.array(of_row[order + 1])
        fragments = with_column(fragments, "table", pa.array(names).take(at))
        fragments = with_column(fragments, "topic", pa.array([self._tables[name].topic for name in names]).take(at))
        if len(encoder.above(fragments, names)[0]):
            return None
        tally.add(counted)
        return fragments, order


def _joint(parts: list[Changes]) -> Changes:
    """Return the rows of several tables behind each other, as if of one; no update goes from one into the next."""
    return dataclasses.replace(together(parts), tracked=np.concatenate([part.paired for part in parts]))


def nameless(table: TableRecipe, channel: Recipe) -> TableRecipe | None:
    """Return what a table's rows are made by, without its name; None where the name is in them, or is told of them."""
    told = table.capture != CaptureRecipe() or table.coercion.policy not in ("FATAL", "SILENT")
    if channel.layout.envelope or told or any(_names(part) for parts in table.expressions for part in parts):
        return None
    unnamed = dataclasses.replace(table.table, name="", base_name="", schema=None)
    return dataclasses.replace(table, table=unnamed, topic="", value_id=None, key_id=None)


def _names(part: Part) -> bool:
    match part:
        case Op(name=name):
            return name in NAMING
        case Sql(text=text):
            return any(name in text for name in NAMING)
        case _:
            return False
