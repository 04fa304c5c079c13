"""The positions of a file's changes: unique, and ascending in the order of its records (I3)."""

from __future__ import annotations

import bisect
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.contracts.sequence import integ_seq
from integrator.contracts.streams import REMEDY, PositionRange
from integrator.decode.fields import Where
from integrator.decode.lines.joined import ONE_STREAM, Streams
from integrator.decode.rows.records import Sequenced
from integrator.engine.arrays import Ints
from integrator.errors import Fault, Place, PublicDataError


class Ascending:
    """The first and the last position of a file's changes so far, of each of its streams; empty before the first.

    Equal positions would have no order in the shuffle; descending ones would be sent in another order than the file's.
    `checked` is False where the channel accepts that a source repeats changes.
    """

    def __init__(self, *, checked: bool) -> None:
        self._spans: dict[str, PositionRange] = {}
        self._checked, self._line = checked, 0

    def saved(self) -> Callable[[], None]:
        """Return what sets it back to what it is now."""
        spans, line = dict(self._spans), self._line

        def restore() -> None:
            self._spans, self._line = spans, line

        return restore

    def span(self, stream: str = "") -> PositionRange:
        """Return the first and the last position of a stream's changes, as hvr_integ_seq."""
        return self._spans.get(stream, PositionRange())

    def extend(self, placed: Sequenced, rows: Ints, where: Where, streams: Streams = ONE_STREAM) -> None:
        """Add records in source order, with the rows that each makes; those without a row have no position.

        Raises DataError, which names the first record that is not after the one before it in its stream.
        """
        if not self._checked:
            return
        begins = ends = placed.first
        if (rows > 1).any():
            ends = integ_seq(placed.commit, placed.segment, placed.rank + np.maximum(rows, 1) - 1)
        used = rows > 0
        if where.faults is not None and where.faults.found:
            used &= ~np.isin(where.line, where.faults.lines())
        if not used.all():
            at = np.flatnonzero(used)
            begins, ends, where = begins.take(pa.array(at)), ends.take(pa.array(at)), where.take(at)
            streams = streams.among(at)
        if not len(begins):
            return
        spans = [self.span(name) for name in streams.names]
        before = pa.concat_arrays([pa.array([spans[0].last]), ends.slice(0, len(ends) - 1)])
        if len(spans) > 1:
            is_first = np.zeros(len(begins), np.bool_)
            is_first[streams.begin] = True
            before = pc.replace_with_mask(before, pa.array(is_first), pa.array([span.last for span in spans]))
        if pc.any(pc.less_equal(begins, before)).as_py():
            self._refuse(begins, before, where)
        firsts = begins.take(pa.array(streams.begin)).to_pylist()
        lasts = ends.take(pa.array(np.append(streams.begin[1:], len(ends)) - 1)).to_pylist()
        for name, span, start, stop in zip(streams.names, spans, firsts, lasts, strict=True):
            self._spans[name] = PositionRange("", span.first or start, stop)
        self._line = int(where.line[-1])

    def _refuse(self, begins: pa.Array, before: pa.Array, where: Where) -> None:
        """Raise DataError for the first record that is not after the one before it; before: where that ends.

        All that are wrong so are as few as can be: one record with a position that is too high is one, and not all
        that come after it.
        """
        at = first(mask(pc.less_equal(begins, before))) or 0
        line = where.line[at - 1] if at else self._line

        def others() -> list[Fault]:
            ranks = pc.rank(pa.chunked_array([begins, before.slice(0, 1)]), tiebreaker="dense").to_numpy()
            out = np.ones(len(begins), bool)
            out[_longest_ascending(ranks[:-1].tolist(), int(ranks[-1]))] = False
            return [
                Fault(
                    Place(where.file, number),
                    f"the change is at {place}, out of the order of those around it: {REMEDY}",
                )
                for number, place in zip(
                    where.line[out].tolist(), begins.filter(pa.array(out)).to_pylist(), strict=True
                )
            ]

        raise PublicDataError(
            Fault(
                where.place(at),
                f"the change is at {begins[at].as_py()}, which is not after "
                f"{before[at].as_py()}, the position of line {line}: {REMEDY}",
            ),
            others,
        )


def _longest_ascending(numbers: list[int], above: int) -> list[int]:
    """Return the places of the longest part of numbers that ascends strictly, all `above` one (patience sorting)."""
    lasts: list[int] = []  # of ascending parts of each length: the least number that one ends with …
    places: list[int] = []  # … and its place
    previous = [-1] * len(numbers)
    for place, number in enumerate(numbers):
        if number > above:
            length = bisect.bisect_left(lasts, number)
            previous[place] = places[length - 1] if length else -1
            if length == len(lasts):
                lasts.append(number)
                places.append(place)
            else:
                lasts[length], places[length] = number, place
    found = []
    at = places[-1] if places else -1
    while at >= 0:
        found.append(at)
        at = previous[at]
    return found[::-1]
