"""Records -> their places in the order of changes, counted on over the parts of a file, and over files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from integrator.contracts.sequence import MAX_ROWS_IN_TRANSACTION, OpenTransaction
from integrator.decode.contract import PreviousEnd
from integrator.decode.fields import INSTANT, Where
from integrator.decode.order.ascending import Ascending
from integrator.decode.order.positions import ENDED, NO_COMMIT, NO_TRANSACTION, Positions
from integrator.decode.rows.records import Sequenced
from integrator.engine.arrays import Ints
from integrator.errors import DataError, Fault, Place, PublicDataError


def trailing(positions: Positions) -> OpenTransaction:
    """Return where records, seen alone, end."""
    size, ends, begins, given = len(positions.rows), positions.ends, positions.begins, positions.given
    if not size:
        return ENDED if positions.closed else OpenTransaction()
    begin = int(positions.runs.begin[-1])
    identity = None if positions.transaction is None else positions.transaction[size - 1].as_py()
    if (begins is None and identity is None) or (ends is not None and ends[begin:].any()):
        return ENDED
    rows, since_start = int(positions.rows[begin:].sum()), begin == 0 and not positions.closed
    if begins is not None and since_start:
        return OpenTransaction(None, rows)
    goes_on = (None if ends is None else True) if given is None else bool(given.left[-1] > 1)
    at = begin if given is None else size - 1
    tx = f"{positions.commit[at].as_py()}|{positions.segment[at].as_py()}"
    moment = None if begins is None else begins.cap_tstamp[-1].value
    return OpenTransaction(tx, rows, since_start, goes_on, identity, moment)


class Sequencer:
    """Gives each record its place in the order of changes, on from where the file before ended.

    The file before is asked only where a record needs it.
    """

    def __init__(self, before: PreviousEnd, ascending: Ascending, first_row: int = 0, *, alone: bool = False) -> None:
        """Take what returns where the file before ends, and the number of the first row of each transaction.

        alone: the file is read without those before it: its first records may go on with any transaction.
        """
        self._before, self._first_row, self._alone = before, first_row, alone
        self._ascending = ascending
        self._known: OpenTransaction | None = None
        self._form, self.by_line = "", False

    def saved(self) -> Callable[[], None]:
        """Return what sets it back to what it is now."""
        saved = self._known, self._form, self.by_line

        def restore() -> None:
            self._known, self._form, self.by_line = saved

        return restore

    @property
    def open(self) -> OpenTransaction:
        """The transaction that is open before the next record."""
        if self._known is None:
            self._known = self._before()
        return self._known

    def place(self, positions: Positions, where: Where) -> Sequenced:
        """Give each record its place, and go on to after them.

        Raises DataError for one that is not after the last, and for one whose transaction is not open.
        """
        if positions.closed:
            self._known = ENDED
        self._check_form(positions, where)
        if not len(positions.rows):
            return Sequenced(positions.commit, positions.segment, positions.rows, positions.rows)
        runs, opened = positions.runs, self._continued(positions, where)
        _check_ended(positions, where)
        before = np.cumsum(positions.rows) - positions.rows
        base = before[runs.begin]
        base[0] -= opened.rows if opened else 0
        rank = before - base[runs.of_record] + self._first_row
        if positions.given is None:
            placed = _of_runs(positions, rank, opened)
        else:
            number = np.where(positions.given.number < 0, rank, positions.given.number)
            placed = Sequenced(positions.commit, positions.segment, number, positions.given.left)
        if int((placed.rank + positions.rows).max()) > MAX_ROWS_IN_TRANSACTION:
            raise DataError(Fault(Place(where.file), f"a transaction of more than {MAX_ROWS_IN_TRANSACTION} rows"))
        part = trailing(positions)
        self._known = part.after(self.open) if part.since_start and positions.counted else part
        self._ascending.extend(placed, positions.rows, where)
        return placed

    def _check_form(self, positions: Positions, where: Where) -> None:
        """Raise DataError for records in another form than those before them."""
        if self._form not in ("", positions.form):
            text = f"is written as {positions.form}, and the lines before it as {self._form}"
            raise PublicDataError(Fault(Place(where.file, int(where.line[0]) if len(where.line) else 0), text))
        self._form, self.by_line = positions.form, self.by_line or positions.by_line

    def _continued(self, positions: Positions, where: Where) -> OpenTransaction | None:
        """Return the open transaction if the first records go on with it; one of nothing if no row depends on it."""
        if positions.transaction is not None:
            name = positions.transaction[0].as_py()
            goes_on = name is not None and positions.counted and self.open.identity == name
            return self.open if goes_on and self.open.tx is not None else None
        if positions.closed:
            return None
        early = (positions.rows > 0) & (positions.runs.of_record == 0)
        if not early.any():
            return OpenTransaction()
        if self.open.tx is None and not self._alone:
            remedy = positions.begins.remedy if positions.begins else ""
            where.refuse(early, lambda _: f"a change whose transaction began in no file before this one; {remedy}")
        return self.open


def _check_ended(positions: Positions, where: Where) -> None:
    """Raise DataError for a change between the end of a transaction and the begin of the next one."""
    if positions.begins is not None and positions.ends is not None:
        runs = positions.runs
        ended: Ints = np.cumsum(positions.ends) - positions.ends
        late = (positions.rows > 0) & (ended > ended[runs.begin][runs.of_record])
        where.refuse(late, lambda _: "a change after its transaction's end; is a file missing?")


def _of_runs(positions: Positions, rank: Ints, opened: OpenTransaction | None) -> Sequenced:
    """Return the places of records, each transaction's being that of its first record, or of where it was opened."""
    commit, segment, stamp, runs = positions.commit, positions.segment, None, positions.runs
    index = pa.array(runs.of_record)
    if len(runs.begin) < len(index) or opened is not None:
        begin = pa.array(runs.begin)
        commit, segment = commit.take(begin), segment.take(begin)
        if opened is not None:
            first, second = (opened.tx or f"{NO_COMMIT}|{NO_TRANSACTION}").split("|")
            commit = pa.concat_arrays([pa.array([first]), commit.slice(1)])
            segment = pa.concat_arrays([pa.array([second]), segment.slice(1)])
        commit, segment = commit.take(index), segment.take(index)
    if positions.begins is not None:
        before = [] if opened is None else [opened.cap_tstamp]
        stamp = pa.concat_arrays([pa.array(before, INSTANT), positions.begins.cap_tstamp]).take(index)
    return Sequenced(commit, segment, rank, _left(positions), stamp)


def _left(positions: Positions) -> Ints:
    """Return how many rows each transaction has left with each record; 0 where its end is not known."""
    runs = positions.runs
    totals = np.bincount(runs.of_record, positions.rows).astype(np.int64)
    ended = np.ones(len(totals), np.bool_)
    ended[-1] = positions.ends is not None and bool(positions.ends[runs.begin[-1] :].any())
    if positions.begins is not None and positions.ends is not None:
        ended = np.asarray(np.bincount(runs.of_record, positions.ends) > 0, np.bool_)
    done = np.cumsum(positions.rows) - positions.rows
    left = totals[runs.of_record] - (done - done[runs.begin][runs.of_record])
    return np.where(ended[runs.of_record], left, 0)
