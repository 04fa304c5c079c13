"""Change rows of several tables, as dialects give them and encoders take them: see `Changes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.contracts.changes import Changes, together
from integrator.engine.arrays import Ints, Mask


@dataclass(frozen=True)
class TableColumns:
    """The columns of one table's rows, and which values are missing: see `Changes`."""

    columns: Mapping[str, pa.Array]
    missing: Mapping[str, Mask] = field(default_factory=dict)

    def where(self, keep: Mask) -> TableColumns:
        """Return the columns of the rows for which `keep` is True."""
        missing = {name: gone[keep] for name, gone in self.missing.items() if gone[keep].any()}
        if keep.all():
            return TableColumns(self.columns, missing)
        return TableColumns({name: each.filter(pa.array(keep)) for name, each in self.columns.items()}, missing)


@dataclass(frozen=True)
class MultiTableChanges:
    """Change rows of several tables, table after table, each in source order: see `Changes`.

    rows: all of them, as if of the first table; no update goes from one table into the next. sizes: rows of each table.
    own: the columns of each table, where they are not the same; then `rows` is without any.
    """

    rows: Changes
    tables: tuple[str, ...]
    sizes: tuple[int, ...]
    own: tuple[TableColumns, ...] = ()

    @staticmethod
    def of(
        rows: Changes, tables: Sequence[str], sizes: Sequence[int], own: Sequence[TableColumns] = ()
    ) -> MultiTableChanges:
        """Return rows of several tables; `sizes` are their numbers of rows."""
        is_before_image = rows.is_before_image.copy()
        is_before_image[np.cumsum(sizes) - 1] = False
        return MultiTableChanges(replace(rows, before_images=is_before_image), tuple(tables), tuple(sizes), tuple(own))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def order(self) -> Ints:
        """The places of the rows among all rows of the batch."""
        return self.rows.order

    def split_by_table(self) -> list[Changes]:
        """Return the rows of each table."""
        starts = np.cumsum((0, *self.sizes)).tolist()
        shares = zip(self.tables, starts[:-1], self.sizes, strict=True)
        apart = [self.rows.slice(table, start, size) for table, start, size in shares]
        if not self.own:
            return apart
        pairs = zip(apart, self.own, strict=True)
        return [replace(rows, columns=dict(own.columns), missing=dict(own.missing)) for rows, own in pairs]

    def where(self, mask: Mask) -> MultiTableChanges:
        """Return the rows for which `mask` is True; two rows that become neighbours by that are no update."""
        ends = np.cumsum(self.sizes)
        kept = [mask[end - size : end] for end, size in zip(ends.tolist(), self.sizes, strict=True)]
        left = [at for at, of_table in enumerate(kept) if of_table.any()]
        own = [self.own[at].where(kept[at]) for at in left if self.own]
        tables, sizes = [self.tables[at] for at in left], [int(kept[at].sum()) for at in left]
        return MultiTableChanges(self.rows.where(mask), tuple(tables), tuple(sizes), tuple(own))

    def only(self, places: Sequence[int]) -> MultiTableChanges:
        """Return the rows of some of the tables that have columns of their own."""
        if len(places) == len(self.tables):
            return self
        chosen = np.zeros(len(self.tables), bool)
        chosen[list(places)] = True
        rows = self.rows.where(np.repeat(chosen, self.sizes))
        at = sorted(places)
        names, sizes = tuple(self.tables[place] for place in at), tuple(self.sizes[place] for place in at)
        return MultiTableChanges(rows, names, sizes, tuple(self.own[place] for place in at))


AnyChanges: TypeAlias = "Changes | MultiTableChanges"


def concat_tables(parts: Sequence[Changes], tables: Sequence[str], sizes: Sequence[int]) -> MultiTableChanges:
    """Return parts of several tables, of so many rows each, as one."""
    rows = together(parts)
    if all(part.before_images is None for part in parts):
        return MultiTableChanges.of(rows, tables, sizes)
    return MultiTableChanges(
        replace(rows, before_images=np.concatenate([part.is_before_image for part in parts])),
        tuple(tables),
        tuple(sizes),
    )
