"""Change rows of many tables at once: which record each is of, and how they are handed on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import FEW_ROWS, in_groups
from integrator.contracts.segment import Segment
from integrator.decode.contract import Reading
from integrator.engine.arrays import Ints, Mask
from integrator.errors import Place
from integrator.schema import Table

_MOST_SHORT = 1 << 15
_JOINT_ROWS = 400
"""Rows of small tables with the same columns, from which on they are one part."""


@dataclass(frozen=True)
class TableRun:
    """Rows of one table, one after another, whose values mean the same. variant: by which their values are read."""

    table: Table
    variant: int
    size: int


@dataclass(frozen=True)
class Rows:
    """Change rows, part after part.

    parts: of each the shares: several only where these tables have the same columns. record: of each row its record.
    is_before: which are before images. after: the places of after images whose before image is the row before.
    file, line: where each record is. bare: rows that have no values, for they stand for a whole table.
    """

    parts: Sequence[Sequence[TableRun]]
    record: Ints
    is_before: Mask
    after: Ints
    file: str
    line: Ints
    bare: Mask

    @cached_property
    def shares(self) -> list[TableRun]:
        """The shares of all parts."""
        return [share for shares in self.parts for share in shares]

    @cached_property
    def bounds(self) -> Ints:
        """The first row of each part, and the number of all."""
        return np.cumsum([0, *(sum(share.size for share in shares) for shares in self.parts)])

    def segment(self, part: int, columns: Mapping[str, pa.Array], missing: Mapping[str, Mask]) -> Segment:
        """Return the rows of a part with their columns."""
        runs = self.parts[part]
        return Segment(tuple([run.table.name for run in runs]), tuple([run.size for run in runs]), columns, missing)

    def where(self, row: int) -> Place:
        """Return where the record of a row is."""
        return Place(self.file, int(self.line[self.record[row]]))

    def table_of(self, row: int) -> Table:
        """Return the table that a row is of."""
        sizes = [share.size for share in self.shares]
        return self.shares[int(np.searchsorted(np.cumsum(sizes), row, side="right"))].table


@dataclass(frozen=True)
class DecodedColumns:
    """The values of rows, a segment for each part. key_changed: for each place of `Rows.after`.

    unknown: values passed over, by reason. without_form: as in `ChangeBatch`; None where no row has such values.
    """

    segments: Sequence[Segment]
    key_changed: Mask
    unknown: Mapping[str, int] = field(default_factory=dict)
    without_form: pa.Array | None = None


@dataclass(frozen=True)
class Fill:
    """Which images of an update take values that only the other image has, and whether a row must have any value."""

    after: bool = True
    before: bool = False
    needs_values: bool = True


class Values(Protocol):
    """The values of records."""

    @property
    def joint(self) -> bool:
        """Whether small tables with the same columns can be one part."""
        ...

    def variants(self) -> Ints | None:
        """Return of each record a number by which its values are read; None where it is the same for all."""
        ...

    def columns(self, rows: Rows, reading: Reading, fill: Fill) -> DecodedColumns:
        """Return the columns of rows. Raises DataError, ColumnsFound."""
        ...


def group_by_table(
    tables: Sequence[Table], table: Ints, variant: Ints | None, counts: Ints, reading: Reading, joint: bool
) -> tuple[list[list[TableRun]], Ints]:
    """Return the parts of records, and the records in the order of these.

    table, variant, counts: of each record the place of its table, by what its values are read, and its rows. joint:
    whether small tables with the same columns may be one part.
    """
    variants = 1 if variant is None else int(variant.max()) + 2  # -1 is one, too
    key = table if variant is None else table * variants + variant + 1
    rows_of = np.bincount(key, counts).astype(np.int64)
    shares = {
        one: TableRun(tables[one // variants], 0 if variant is None else one % variants - 1, int(rows_of[one]))
        for one in np.flatnonzero(np.bincount(key)).tolist()
    }
    keys = list(shares)
    places = _parts(list(shares.values()), reading.kinds, joint=joint)
    parts = [[shares[keys[place]] for place in part] for part in places]
    if len(shares) == 1:
        return parts, np.arange(len(table))
    rank = np.zeros(len(rows_of), np.int16 if len(shares) < _MOST_SHORT else np.int64)  # numpy sorts these by radix
    rank[[keys[place] for part in places for place in part]] = np.arange(len(shares))
    return parts, np.argsort(rank[key], kind="stable")


def _parts(shares: Sequence[TableRun], kinds: Mapping[str, int], *, joint: bool) -> list[list[int]]:
    """Return shares, by their places, in parts: small ones of tables with the same columns together, if `joint`.

    kinds: of each table a number, the same for tables with the same columns.
    """
    small: dict[tuple[int, int], list[int]] = {}
    parts: list[list[int]] = []
    shares_of = Counter(share.table.name for share in shares)
    for place, share in enumerate(shares):
        if not joint or share.size >= FEW_ROWS or shares_of[share.table.name] > 1:
            parts.append([place])
        else:
            small.setdefault((kinds[share.table.name], share.variant), []).append(place)
    for places in small.values():
        sizes = [shares[place].size for place in places]
        if sum(sizes) < _JOINT_ROWS:
            parts += [[place] for place in places]
        else:
            parts += in_groups(places, sizes)
    return parts
