"""Records -> their places in the order of changes, counted on over the parts of a file, and over files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.sequence import SEQUENCE_WIDTHS, OpenTransaction, hexadecimal
from integrator.decode.contract import PreviousEnd, TransactionCursor
from integrator.decode.fields import Where, bytes_of, digits, whole_numbers
from integrator.decode.order.ascending import Ascending
from integrator.decode.rows.records import Sequenced
from integrator.engine.arrays import Ints, Mask
from integrator.engine.numbers import parse_numbers_at_end

NO_TRANSACTION = "0" * SEQUENCE_WIDTHS[1]
ENDED = OpenTransaction(since_start=False, goes_on=False)
"""The state after a transaction's end."""


@dataclass(frozen=True)
class Positions:
    """Where records stand in their source, in source order; consecutive ones of the same `transaction` share it.

    transaction: what identifies it; null: the record is one for itself. commit: 20 hex digits, and segment: 16;
    those of its first record count for all. rows: how many change rows each makes. ends: whether its transaction ends
    with it; None where the source does not say. closed: the transaction that was open ends before the first.
    """

    transaction: pa.Array
    commit: pa.Array
    segment: pa.Array
    rows: Ints
    ends: Mask | None = None
    closed: bool = False


def number(text: pa.Array) -> pa.Array:
    """Return transaction numbers, given as text, as 16 hex digits: zeros for null, and for what is no number."""
    plain = whole_numbers(text)
    if plain is None or pc.any(pc.less(plain, 0)).as_py():
        is_number = pc.fill_null(pc.match_substring_regex(text, r"^\d{1,18}$"), fill_value=False)
        plain = pc.if_else(is_number, text, None)
    values = pc.fill_null(plain.cast(pa.uint64()), 0).to_numpy(zero_copy_only=False)
    return hexadecimal(values, SEQUENCE_WIDTHS[1])


def binlog(place: pa.Array, where: Where, name: str) -> pa.Array:
    """Return places in MySQL's binlog, `mysql-bin.000003:9911`, as 20 hex digits; null stays null. Raises DataError."""
    plain = bytes_of(place)
    numbers = np.zeros((2, len(place)), np.uint64)
    if plain is not None and parse_numbers_at_end(*plain, numbers):
        found = pc.binary_join_element_wise(hexadecimal(numbers[0], 8), hexadecimal(numbers[1], 12), "")
        return pc.if_else(pc.is_valid(place), found, None) if place.null_count else found
    parts = pc.extract_regex(place, r"\.(?P<file>\d+):(?P<at>\d+)$")
    where.check(place, mask(pc.is_null(parts)), name, "a place in the binlog such as mysql-bin.000003:9911")
    file, at = (pc.struct_field(parts, field) for field in ("file", "at"))
    return pc.binary_join_element_wise(digits(file, 8, where, f"file of {name}"), digits(at, 12, where, name), "")


def _starts(positions: Positions) -> Mask:
    """Return of each record whether a transaction begins with it."""
    names = positions.transaction
    starts = np.ones(len(names), bool)
    if len(names) > 1:
        starts[1:] = ~mask(pc.equal(names.slice(1), names.slice(0, len(names) - 1)))
        if positions.ends is not None:
            starts[1:] |= positions.ends[:-1]
    return starts


def trailing(positions: Positions) -> OpenTransaction:
    """Return where records, seen alone, end."""
    size = len(positions.commit)
    if not size:
        return ENDED if positions.closed else OpenTransaction()
    first = int(np.flatnonzero(_starts(positions))[-1])
    tx = f"{positions.commit[first].as_py()}|{positions.segment[first].as_py()}"
    goes_on = None if positions.ends is None else not positions.ends[-1]
    identity = positions.transaction[size - 1].as_py()
    if identity is None or goes_on is False:
        return ENDED
    since_start = first == 0 and not positions.closed
    return OpenTransaction(tx, int(positions.rows[first:].sum()), since_start, goes_on, identity)


class Sequencer(TransactionCursor):
    """Counts the rows of each transaction, on from where the file before ended."""

    def __init__(self, before: PreviousEnd, ascending: Ascending, first_row: int = 0) -> None:
        super().__init__(before, first_row)
        self.ascending = ascending

    def place(self, positions: Positions, where: Where) -> Sequenced:
        """Give each record its place, and go on to after them. Raises DataError for one that is not after the last."""
        size = len(positions.commit)
        if positions.closed:
            self.known = ENDED
        starts = np.flatnonzero(_starts(positions))
        index = np.zeros(size, np.int64)
        index[starts] = 1
        index = np.cumsum(index) - 1
        counted = np.concatenate([[0], np.cumsum(positions.rows)])
        rank = counted[:-1] - counted[starts][index] if size else counted[:-1]
        commit, segment = (column.take(pa.array(starts)) for column in (positions.commit, positions.segment))
        if size and positions.transaction[0].as_py() is not None:
            opened = self.open
            if opened.tx is not None and opened.identity == positions.transaction[0].as_py():
                rank = rank + np.where(index == 0, opened.rows, 0)
                first, second = opened.tx.split("|")
                commit = pa.concat_arrays([pa.array([first]), commit.slice(1)])
                segment = pa.concat_arrays([pa.array([second]), segment.slice(1)])
        if size:
            self.known = self._after(positions)
        placed = Sequenced(
            commit.take(pa.array(index)),
            segment.take(pa.array(index)),
            rank + self.first_row,
            self._left(positions, index),
        )
        self.ascending.extend(placed, positions.rows, where)
        return placed

    def _after(self, positions: Positions) -> OpenTransaction:
        part = trailing(positions)
        return part.after(self.open) if part.since_start else part

    @staticmethod
    def _left(positions: Positions, index: Ints) -> Ints:
        """Return how many rows each transaction has left with each record; 0 where its end is not known."""
        if not len(index):
            return index
        totals = np.bincount(index, positions.rows).astype(np.int64)
        ended = np.ones(len(totals), bool)
        ended[-1] = positions.ends is not None and bool(positions.ends[-1])
        done = np.concatenate([[0], np.cumsum(positions.rows)[:-1]])
        begin = np.concatenate([[0], np.cumsum(totals)[:-1]])
        left = totals[index] - (done - begin[index])
        return np.where(ended[index], left, 0)
