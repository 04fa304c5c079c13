"""Change rows of a batch -> fragments: the rows of all tables whose programs share a recipe at once.

A call of Arrow costs some microseconds, however few the rows; over hundreds of tables that would be most of the time
(I6: the cost of a row does not depend on the number of tables).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from integrator.arrow.arrays import in_groups
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.counters import CycleCounters
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.divided import row_program_of
from integrator.encode.frames.framing import framing_of
from integrator.encode.row_program import RowProgram, before_images
from integrator.encode.row_writer import RowWriter
from integrator.encode.table import Encoded, TableEncoder
from integrator.expressions.parts import depends_on
from integrator.schema import Table
from integrator.transform.expression import RunClock


@dataclass(frozen=True, eq=False)
class TableProgram:
    """How the rows of a table, or of several that differ in their names only, are made into messages.

    recipe: by which all is computed; without a name where it is of several. shared: the program that needs less than
    that, where there is one.
    """

    recipe: TableRecipe
    shared: RowProgram | None


class Programs:
    """The programs of a channel's tables, made when they are needed; the same ones are one object."""

    def __init__(self, channel: Recipe) -> None:
        self._channel = channel
        self._of_table: dict[str, TableProgram] = {}
        self._unnamed: dict[TableRecipe, TableProgram] = {}
        self._shared: dict[TableRecipe, TableRecipe] = {}

    def of(self, name: str) -> TableProgram:
        """Return the program of a table."""
        if name not in self._of_table:
            table = self._channel.by_name[name]
            unnamed = _without_name(table)
            if unnamed is None:
                self._of_table[name] = TableProgram(table, None)
            elif unnamed in self._unnamed:
                self._of_table[name] = self._unnamed[unnamed]
            else:
                program = TableProgram(unnamed, self._row_program(table, unnamed))
                self._of_table[name] = self._unnamed[unnamed] = program
        return self._of_table[name]

    def _row_program(self, table: TableRecipe, unnamed: TableRecipe) -> RowProgram | None:
        program = row_program_of(table, unnamed, self._channel)
        if program is None:
            return None
        return replace(program, recipe=self._shared.setdefault(program.recipe, program.recipe))


def _without_name(table: TableRecipe) -> TableRecipe | None:
    """Return what a table's rows are made by, without its name; None where its name is in a counter or a capture."""
    capture = table.capture
    of_capture = [*(parts for _, parts in capture.expressions), capture.addresses, capture.conditions]
    named = any(depends_on(parts, "table") for parts in of_capture)
    if named or capture.coalesce or capture.trims or table.coercion.policy not in ("FATAL", "SILENT"):
        return None
    return replace(
        table,
        table=_unnamed(table.table),
        capture=replace(capture, table=capture.table and _unnamed(capture.table)),
        in_database=None,
        topic="",
        not_in_keys=(),
        value_id=None,
        key_id=None,
        value_record="",
        key_record="",
    )


def _unnamed(table: Table) -> Table:
    return Table("", "", None, table.columns, table.key)


@lru_cache(maxsize=8)
def encoders_of(recipe: Recipe) -> Encoders:
    """Return the encoders of a channel, which a process keeps from cycle to cycle."""
    return Encoders(recipe)


class Encoders:
    """The encoders of all tables, made when they are needed."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._framing = framing_of(recipe)
        self._programs = Programs(recipe)
        self._encoders: dict[int, TableEncoder] = {}

    def encode(self, batch: ChangeBatch, clock: RunClock, counters: CycleCounters) -> Iterator[Encoded]:
        """Yield fragments of a batch's change rows, and their order: of each table, or of some tables together."""
        if not len(batch):
            return
        batch, programs = self._by_program(batch)
        shared = self._shared_programs(batch, programs)
        alone = set(range(len(programs))) - shared.keys()
        for places in _groups(batch, {place: id(program.recipe) for place, program in shared.items()}):
            made = self._shared(batch.only(places), [shared[place] for place in places], clock, counters)
            if made is None:
                alone |= set(places)
            else:
                yield made
        for places in _groups(batch, {place: id(programs[place]) for place in sorted(alone)}):
            yield self._encoder(programs[places[0]]).encode(batch.only(places).merged(), clock, counters)

    def _shared_programs(self, batch: ChangeBatch, programs: Sequence[TableProgram]) -> dict[int, RowProgram]:
        """Return the programs that write segments with others, by their places; of those that can express the rows."""
        before, truncates = before_images(batch), np.asarray(batch.op) == TRUNCATE
        found = {}
        for place, (program, segment) in enumerate(zip(programs, batch.segments, strict=True)):
            rows, shared = slice(*batch.bounds[place : place + 2]), program.shared
            if shared is not None and shared.expresses(segment, before[rows], truncates[rows]):
                found[place] = shared
        return found

    def _by_program(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[TableProgram]]:
        """Return a batch in whose segments all tables have the same program, and these programs."""
        segments, programs = [], []
        for segment in batch.segments:
            if len(segment.tables) == 1:
                segments.append(segment)
                programs.append(self._programs.of(segment.tables[0]))
                continue
            of_tables = [self._programs.of(table) for table in segment.tables]
            starts = [at for at, one in enumerate(of_tables) if not at or one is not of_tables[at - 1]]
            programs += [of_tables[at] for at in starts]
            counts = np.diff([*starts, len(of_tables)]).tolist()
            segments += [segment] if len(starts) == 1 else list(segment.split(counts))
        return (batch if len(segments) == len(batch.segments) else replace(batch, segments=tuple(segments))), programs

    def _shared(
        self, rows: ChangeBatch, programs: Sequence[RowProgram], clock: RunClock, counters: CycleCounters
    ) -> Encoded | None:
        """Return fragments of rows whose programs share a recipe; None where one is above the maximum size.

        What is done to such a row needs all of its columns.
        """
        writer, counted = RowWriter(rows, programs), CycleCounters()
        encoder = TableEncoder(programs[0].recipe, self._recipe, self._framing, writer)
        changes = encoder.captured(writer.shared(), clock, counted)
        fragments, order = encoder.fragments(changes, clock, counted)
        if len(encoder.above(fragments)[0]):
            return None
        counters.add(counted)
        return fragments, order

    def _encoder(self, program: TableProgram) -> TableEncoder:
        recipe: TableRecipe = program.recipe
        if id(program) not in self._encoders:
            self._encoders[id(program)] = TableEncoder(recipe, self._recipe, self._framing)
        return self._encoders[id(program)]


def _groups(batch: ChangeBatch, keys: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield the places of segments with the same key, so many as have some 65,536 rows."""
    found: dict[int, list[int]] = {}
    for place, key in keys.items():
        found.setdefault(key, []).append(place)
    sizes = np.diff(batch.bounds).tolist()
    for places in found.values():
        yield from in_groups(places, [sizes[place] for place in places])
