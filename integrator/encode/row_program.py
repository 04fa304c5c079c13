"""A table's row program: what of its messages is only written, column by column, and the recipe that computes the rest.

Tables whose programs share a recipe are encoded together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.fragments import PresentFields
from integrator.contracts.message_format import Options
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE
from integrator.contracts.segment import Segment
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.column_writer import Writer
from integrator.engine.arrays import Mask
from integrator.formats.records import Between, ByColumn
from integrator.schema import Column

ROW = "\0row"
"""The column of shared recipes that has each row's place; no name begins so."""
_MOST_MISSING = 62
"""Members with missing values that a segment may have: each takes a bit of an int64."""

MissingAs: TypeAlias = 'Literal["", "omit", "shape", "null", "null before"]'
"""What becomes of missing values: as in `Format`; or they are null, in all rows or in before images alone."""


@dataclass(frozen=True)
class Member:
    """A field of a message: a column that is only written, or, where `source` is empty, a field of the recipe.

    required: it may not be null.
    """

    name: str
    source: str
    required: bool
    writer: Writer


@dataclass(frozen=True, eq=False)
class RowProgram:
    """How the rows of a table are written. It is equal to itself only: many are soon compared.

    recipe: what is computed of the rows. given: its columns, each with the table's column that it is. columns, options:
    of the message. missing: what becomes of a missing value; empty where the program cannot express such. Formats that
    leave members out have them in the order of the table's fields, as shapes do. reads: the columns that the recipe and
    keys are made of. placeholders: what after images have for a missing value, by column; absent: what before images
    have for one that may not be null, None where there is nothing.
    """

    recipe: TableRecipe
    given: tuple[tuple[str, str], ...]
    members: tuple[Member, ...]
    columns: tuple[Column, ...]
    by_column: ByColumn
    options: Options
    missing: MissingAs
    reads: frozenset[str]
    placeholders: Mapping[str, pa.Scalar]
    absent: Mapping[str, pa.Scalar | None]

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The columns that are members."""
        return tuple(member.source for member in self.members if member.source)

    @cached_property
    def _unwritable(self) -> frozenset[str]:
        """The columns whose missing values before images have nothing for."""
        return frozenset(name for name, one in self.absent.items() if one is None)

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - programs are kept as long as the channel's recipe
    def between(self, shape: PresentFields) -> Between:
        """Return what is between the members of rows of a shape."""
        return self.by_column.between(shape.present(self.columns), self.options)

    def expresses(self, segment: Segment, before: Mask, truncates: Mask) -> bool:
        """Return whether rows, of which these are before images and truncates, can be written by the program.

        Nothing is computed of values that are missing; and there is a word for those in messages.
        """
        if segment.left_out or not segment.missing:
            return not segment.left_out
        gone = {name: missing & ~truncates for name, missing in segment.missing.items()}
        absent = [name for name, missing in gone.items() if missing.any()]
        if not absent:
            return True
        members = sum(map(self.sources.count, absent))
        if not self.missing or not self.reads.isdisjoint(absent) or members > _MOST_MISSING:
            return False
        if self.missing != "null before":
            return True
        if not self._unwritable.isdisjoint(absent):
            return False
        return all(name in self.placeholders or not (gone[name] & ~before).any() for name in absent)


def before_images(rows: ChangeBatch) -> Mask:
    """Return which rows are before images, those of deletes among them."""
    return np.isin(rows.op.to_numpy(zero_copy_only=False), (DELETE, BEFORE_KEY_UPDATE, BEFORE_UPDATE))
