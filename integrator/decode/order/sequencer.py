"""Records -> their places in the order of changes, counted on over the parts of a file, and over files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.sequence import MAX_ROWS_IN_TRANSACTION, OpenTransaction
from integrator.contracts.streams import PositionRange
from integrator.decode.contract import End, PreviousEnd
from integrator.decode.fields import INSTANT, Where
from integrator.decode.lines.joined import Streams
from integrator.decode.order.ascending import Ascending
from integrator.decode.order.positions import ENDED, NO_COMMIT, NO_TRANSACTION, Positions
from integrator.decode.rows.records import Sequenced
from integrator.engine.arrays import Ints
from integrator.errors import DataError, Fault, Place, PublicDataError


def trailing(positions: Positions) -> list[OpenTransaction]:
    """Return where the records of each stream, seen alone, end."""
    ends, begins, given, leading = positions.ends, positions.begins, positions.given, positions.leading
    if not len(positions.rows):
        return [ENDED if positions.closed else OpenTransaction()]
    first = positions.streams.begin
    last = np.append(first[1:], len(positions.rows)) - 1
    begin = positions.runs.begin[positions.runs.of_record[last]]
    identities = [None] * len(last)
    if positions.transaction is not None:
        identities = positions.transaction.take(pa.array(last)).to_pylist()
    ended = np.zeros(len(last), np.bool_) if ends is None else _sums(ends.astype(np.int64), begin, last) > 0
    since_start = (begin == first + leading) & (not positions.closed)
    continues = [None if ends is None else True] * len(last)
    if given is not None:
        continues = (given.left[last] > 1).tolist()
    at = pa.array(begin if given is None else last)
    moment = None if begins is None else begins.cap_tstamp[-1].value if len(begins.cap_tstamp) else None
    found = zip(
        identities,
        ended.tolist(),
        _sums(positions.rows, begin, last).tolist(),
        since_start.tolist(),
        continues,
        positions.commit.take(at).to_pylist(),
        positions.segment.take(at).to_pylist(),
        strict=True,
    )
    states = [
        ENDED
        if is_ended or (begins is None and identity is None)
        else OpenTransaction(None, rows)
        if begins is not None and since
        else OpenTransaction(f"{commit}|{segment}", rows, since, more, identity, moment)
        for identity, is_ended, rows, since, more, commit, segment in found
    ]
    for at in np.flatnonzero(leading).tolist():
        begin_of, end = int(first[at]), int(first[at] + leading[at])
        rows = int(positions.rows[begin_of:end].sum())
        if end > last[at]:
            states[at] = OpenTransaction(None, rows)
        elif states[at].since_start:
            states[at] = replace(states[at], leading=rows)
    return states


def _sums(values: Ints, first: Ints, last: Ints) -> Ints:
    """Return the sums of values from each first place to each last one."""
    total = np.cumsum(values)
    return total[last] - total[first] + values[first]


class Sequencer:
    """Gives each record its place in the order of changes, on from where the file before ended.

    Each stream has an order of its own. The file before is asked only where a record needs it.
    """

    def __init__(self, before: PreviousEnd, ascending: Ascending, first_row: int = 0, *, alone: bool = False) -> None:
        """Take what returns where streams are before the file, and the number of the first row of each transaction.

        alone: the file is read without those before it: its first records may continue with any transaction.
        """
        self._before, self._first_row, self._alone = before, first_row, alone
        self._ascending = ascending
        self._known: dict[str, OpenTransaction] = {}
        self._form, self._by_line = "", frozenset[str]()

    def saved(self) -> Callable[[], None]:
        """Return what sets it back to what it is now."""
        saved = dict(self._known), self._form, self._by_line

        def restore() -> None:
            self._known, self._form, self._by_line = saved

        return restore

    def open(self, stream: str = "") -> OpenTransaction:
        """Return the transaction that is open before the next record of a stream."""
        if stream not in self._known:
            self._known[stream] = self._before(stream)
        return self._known[stream]

    def ends(self, streams: Streams) -> dict[str, End]:
        """Return where streams stand."""
        return {
            name: End(self.open(name), PositionRange() if name in self._by_line else self._ascending.span(name))
            for name in streams.names
        }

    def place(self, positions: Positions, where: Where) -> Sequenced:
        """Give each record its place, and continue to after them.

        Raises DataError for one that is not after the last, and for one whose transaction is not open.
        """
        streams = positions.streams
        if positions.closed:
            self._known[streams.names[0]] = ENDED
        given, known = positions, self._known
        if given.follows is not None:
            known = dict(known)
            positions = self._led(given)
        self._check_form(positions, where)
        if not len(positions.rows):
            return Sequenced(positions.commit, positions.segment, positions.rows, positions.rows)
        runs, opened = positions.runs, self._continued(positions, where)
        _check_ended(positions, where)
        before = np.cumsum(positions.rows) - positions.rows
        base = before[runs.begin]
        for run, one in opened.items():
            base[run] -= one.rows
        rank = before - base[runs.of_record] + self._first_row
        if positions.given is None:
            placed = _of_runs(positions, rank, opened)
        else:
            number = np.where(positions.given.number < 0, rank, positions.given.number)
            placed = Sequenced(positions.commit, positions.segment, number, positions.given.left)
        if int((placed.rank + positions.rows).max()) > MAX_ROWS_IN_TRANSACTION:
            raise DataError(Fault(Place(where.file), f"a transaction of more than {MAX_ROWS_IN_TRANSACTION} rows"))
        if self._alone and given.follows is not None:
            self._known, positions = known, given
        for name, part in zip(streams.names, trailing(positions), strict=True):
            self._known[name] = part.after(self.open(name)) if part.since_start and positions.counted else part
        self._ascending.extend(placed, positions.rows, where, streams)
        return placed

    def _led(self, positions: Positions) -> Positions:
        """Return the same, where the first records of streams that follow others are in the transaction of those.

        Before all others are those of a stream of which nothing is known. Where its positions are by line, they are so.
        """
        columns = [positions.transaction, positions.commit, positions.segment]
        by_line, bounds = list(positions.by_line), [*positions.streams.begin.tolist(), len(positions.rows)]
        for at, count in enumerate(positions.leading.tolist()):
            opened = self.open(positions.streams.names[at]) if count else ENDED
            if opened.tx is None and not opened.since_start:
                continue
            if opened.tx is None:
                opened = OpenTransaction(f"{NO_COMMIT}|{NO_TRANSACTION}", opened.rows, identity="")
                self._known[positions.streams.names[at]] = opened
            which = np.zeros(len(positions.rows), np.bool_)
            which[bounds[at] : bounds[at] + count] = True
            place = (opened.identity, *str(opened.tx).split("|"))
            columns = [pc.if_else(pa.array(which), one, of) for one, of in zip(place, columns, strict=True)]
            by_line[at] &= bounds[at] + count < bounds[at + 1]
        transaction, commit, segment = columns
        return replace(
            positions,
            transaction=transaction,
            commit=commit,
            segment=segment,
            by_line=tuple(by_line),
            follows=None,
        )

    def _check_form(self, positions: Positions, where: Where) -> None:
        """Raise DataError for records in another form than those before them."""
        if self._form not in ("", positions.form):
            text = f"is written as {positions.form}, and the lines before it as {self._form}"
            raise PublicDataError(Fault(Place(where.file, int(where.line[0]) if len(where.line) else 0), text))
        self._form = positions.form
        self._by_line |= {name for name, is_so in zip(positions.streams.names, positions.by_line, strict=True) if is_so}

    def _continued(self, positions: Positions, where: Where) -> dict[int, OpenTransaction]:
        """Return of each run that continues with the open transaction that; one of nothing if no row depends on it."""
        streams = positions.streams
        if positions.transaction is not None:
            if not positions.counted:
                return {}
            names = positions.transaction.take(pa.array(streams.begin)).to_pylist()
            runs = positions.runs.of_record[streams.begin].tolist()
            return {
                run: opened
                for run, name, stream in zip(runs, names, streams.names, strict=True)
                if name is not None and (opened := self.open(stream)).identity == name and opened.tx is not None
            }
        if positions.closed:
            return {}
        early = (positions.rows > 0) & (positions.runs.of_record == 0)
        if not early.any():
            return {0: OpenTransaction()}
        opened = self.open(streams.names[0])
        if opened.tx is None and not self._alone:
            remedy = positions.begins.remedy if positions.begins else ""
            where.refuse(early, lambda _: f"a change whose transaction began in no file before this one; {remedy}")
        return {0: opened}


def _check_ended(positions: Positions, where: Where) -> None:
    """Raise DataError for a change between the end of a transaction and the begin of the next one."""
    if positions.begins is not None and positions.ends is not None:
        runs = positions.runs
        ended: Ints = np.cumsum(positions.ends) - positions.ends
        late = (positions.rows > 0) & (ended > ended[runs.begin][runs.of_record])
        where.refuse(late, lambda _: "a change after its transaction's end; is a file missing?")


def _of_runs(positions: Positions, rank: Ints, opened: Mapping[int, OpenTransaction]) -> Sequenced:
    """Return the places of records, each transaction's being that of its first record, or of where it was opened."""
    commit, segment, stamp, runs = positions.commit, positions.segment, None, positions.runs
    index = pa.array(runs.of_record)
    if len(runs.begin) < len(index) or opened:
        begin = pa.array(runs.begin)
        commit, segment = commit.take(begin), segment.take(begin)
        if opened:
            continues = np.zeros(len(runs.begin), np.bool_)
            continues[list(opened)] = True
            where_opened = [(one.tx or f"{NO_COMMIT}|{NO_TRANSACTION}").split("|") for one in opened.values()]
            commit, segment = (
                pc.replace_with_mask(of_run, pa.array(continues), pa.array([one[at] for one in where_opened]))
                for at, of_run in enumerate((commit, segment))
            )
        commit, segment = commit.take(index), segment.take(index)
    if positions.begins is not None:
        before = [one.cap_tstamp for one in opened.values()]
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
