"""The positions of a file's changes: unique, and ascending in the order of its records (I3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.contracts.changes import integ_seq
from integrator.contracts.streams import REMEDY, Span
from integrator.decode.fields import Where
from integrator.decode.records import Sequenced
from integrator.errors import DataError

Ints = npt.NDArray[np.int64]


class Ascending:
    """The first and the last position of a file's changes so far, as hvr_integ_seq; empty before the first.

    Equal positions would have no order in the shuffle; descending ones would be sent in another order than the file's.
    `checked` is False where the channel accepts that a source repeats changes.
    """

    def __init__(self, *, checked: bool) -> None:
        self.span = Span()
        self._checked, self._line = checked, 0

    def extend(self, placed: Sequenced, rows: Ints, where: Where) -> None:
        """Add records in source order, with the rows that each makes; those without a row have no position."""
        used = np.flatnonzero(rows > 0)
        if self._checked and len(used):
            keep, rank = pa.array(used), placed.rank[used]
            commit, segment = placed.commit.take(keep), placed.segment.take(keep)
            begins, ends = (integ_seq(commit, segment, number) for number in (rank, rank + rows[used] - 1))
            self.extend_with(begins, ends, where.take(used))

    def extend_with(self, begins: pa.Array, ends: pa.Array, where: Where) -> None:
        """Add the positions of the first and the last row of records, in source order. Raises DataError.

        The error names the first record that is not after the one before it.
        """
        if not self._checked:
            return
        before = pa.concat_arrays([pa.array([self.span.last]), ends.slice(0, len(ends) - 1)])
        at = first(mask(pc.less_equal(begins, before)))
        if at is not None:
            line = where.line[at - 1] if at else self._line
            raise DataError(
                f"{where.file}:{where.line[at]}: the change is at {begins[at].as_py()}, which is not after "
                f"{before[at].as_py()}, the position of line {line}: {REMEDY}"
            )
        self.span = Span("", self.span.first or begins[0].as_py(), ends[-1].as_py())
        self._line = int(where.line[-1])
