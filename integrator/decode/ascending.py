"""The positions of a file's changes: unique, and ascending in the order of its records (I3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.changes import integ_seq
from integrator.contracts.streams import REMEDY, Span
from integrator.decode.fields import Where
from integrator.decode.records import Sequenced

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
        if pc.any(pc.less_equal(begins, before)).as_py():
            self._refuse(begins, before, where)
        self.span = Span("", self.span.first or begins[0].as_py(), ends[-1].as_py())
        self._line = int(where.line[-1])

    def _refuse(self, begins: pa.Array, before: pa.Array, where: Where) -> None:
        """Raise DataError for records that are not after all before them; before: where the one before each ends."""
        ranks = pc.rank(pa.chunked_array([begins, before]), tiebreaker="dense").to_numpy().astype(np.int64)
        own, others = ranks[: len(begins)], ranks[len(begins) :]
        latest = np.maximum.accumulate(others)
        place = np.maximum.accumulate(np.where(others == latest, np.arange(len(others)), 0))

        def text(at: int) -> str:
            line = where.line[place[at] - 1] if place[at] else self._line
            return (
                f"the change is at {begins[at].as_py()}, which is not after {before[int(place[at])].as_py()}, the "
                f"position of line {line}: {REMEDY}"
            )

        where.refuse(own <= latest, text)
