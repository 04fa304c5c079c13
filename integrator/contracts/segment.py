"""Segments of a batch of change rows: rows of tables that have the same columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from integrator.engine.arrays import Mask


@dataclass(frozen=True)
class Segment:
    """Rows of tables with the same columns, table after table.

    tables, sizes: the runs of rows: of which table, and how many. columns: typed values by the table's column names;
    null where the value is null or missing. missing: for columns that have any, True where the source record has no
    value (which is not null). left_out: as missing, for values that the source has and the message will not
    (Oversized_Rows: SKELETON).
    """

    tables: tuple[str, ...]
    sizes: tuple[int, ...]
    columns: Mapping[str, pa.Array]
    missing: Mapping[str, Mask] = field(default_factory=dict)
    left_out: Mapping[str, Mask] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(self.sizes)

    def split(self, counts: Sequence[int]) -> Iterator[Segment]:
        """Yield the segment in parts of so many tables each."""
        table = start = 0
        for count in counts:
            tables, sizes = self.tables[table : table + count], self.sizes[table : table + count]
            size = sum(sizes)
            rows = slice(start, start + size)
            yield Segment(
                tables,
                sizes,
                {name: column.slice(start, size) for name, column in self.columns.items()},
                {name: gone[rows] for name, gone in self.missing.items() if gone[rows].any()},
                {name: gone[rows] for name, gone in self.left_out.items() if gone[rows].any()},
            )
            table, start = table + count, start + size

    def filter(self, keep: Mask) -> Segment | None:
        """Return the rows for which `keep` is True; None for none."""
        if keep.all():
            return self
        sizes = np.bincount(np.repeat(np.arange(len(self.sizes)), self.sizes)[keep], minlength=len(self.sizes))
        left = np.flatnonzero(sizes)
        if not len(left):
            return None
        at = pa.array(keep)
        return Segment(
            tuple(self.tables[place] for place in left),
            tuple(sizes[left].tolist()),
            {name: column.filter(at) for name, column in self.columns.items()},
            {name: gone[keep] for name, gone in self.missing.items() if gone[keep].any()},
            {name: gone[keep] for name, gone in self.left_out.items() if gone[keep].any()},
        )
