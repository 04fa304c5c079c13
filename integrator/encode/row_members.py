"""The members of tables with the same recipe, and what stands around their values: made once for the same ones.

A batch has most often the tables of the batch before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.contracts.fragments import PresentFields
from integrator.encode.column_writer import Writer
from integrator.encode.row_program import RowProgram
from integrator.engine.arrays import Ints, Mask
from integrator.formats.records import Beside, Pattern, around

BesideByNumber: TypeAlias = "tuple[tuple[int, Beside], ...]"
"""What stands beside values, by the number of their writer."""


@dataclass(frozen=True)
class Members:
    """The members of tables, one after another. computed: which are fields of the recipe; others are columns.

    writer: the number of what writes each column; by_number: these. required: which columns may not be null. fields: of
    the recipe, each once; field: which one each computed member is.
    """

    computed: Mask
    writer: Ints
    by_number: Mapping[int, Writer]
    required: Mask
    fields: Sequence[tuple[str, Writer]]
    field: Ints


@lru_cache(maxsize=8)
def members_of(programs: tuple[RowProgram, ...]) -> Members:
    """Return the members of tables with the same recipe: most often the same tables come together again."""
    every = [member for table in programs for member in table.members]
    computed = np.array([not member.source for member in every], np.bool_)
    fields = [(member.name, member.writer) for member in every if not member.source]
    places = {field: place for place, field in enumerate(dict.fromkeys(fields))}
    columns = [member for member in every if member.source]
    return Members(
        computed,
        np.array([member.writer.number for member in columns], np.int64),
        {member.writer.number: member.writer for member in columns},
        np.array([member.required for member in columns], np.bool_),
        list(places),
        np.array([places[field] for field in fields], np.int64),
    )


@lru_cache(maxsize=8)
def pattern_of(
    programs: tuple[RowProgram, ...],
    partial: tuple[tuple[int, PresentFields], ...],
    beside: BesideByNumber,
    of_fields: tuple[Beside, ...],
) -> Pattern:
    """Return what stands around the values of tables' whole rows, and of partial ones: of which table, which shape."""
    members, by_number = members_of(programs), dict(beside)
    of_field = iter(members.field.tolist())
    of_tables = [
        tuple(
            by_number[member.writer.number] if member.source else of_fields[next(of_field)] for member in table.members
        )
        for table in programs
    ]
    whole = [around(table.between(PresentFields()), each) for table, each in zip(programs, of_tables, strict=True)]
    others = [around(programs[table].between(shape), shape.present(of_tables[table])) for table, shape in partial]
    return Pattern.of([*whole, *others])


class WrittenColumns:
    """What was written, one array after the other."""

    def __init__(self) -> None:
        self.arrays: list[pa.Array] = []
        self._size = 0

    def add(self, writer: Writer, values: pa.Array) -> tuple[int, Beside]:
        """Write values; return where they begin, and what stands beside each."""
        written = writer.write(values)
        self.arrays.append(written.values)
        self._size += len(values)
        return self._size - len(values), written.beside
