"""Where records stand in their source: their transactions, and the positions of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.sequence import SEQUENCE_WIDTHS, EndedTransactions, OpenTransaction, hexadecimal
from integrator.decode.contract import File
from integrator.decode.fields import Where, bytes_of, digits, whole_numbers
from integrator.decode.lines.joined import ONE_STREAM, Streams
from integrator.decode.rows.records import Sequenced
from integrator.engine.arrays import Ints, Mask
from integrator.engine.numbers import parse_numbers_at_end


def ended(positions: Positions, placed: Sequenced, opened: Sequence[OpenTransaction]) -> EndedTransactions:
    """Return the transactions that end in records with these positions and places.

    One ends where the source marks its end, or with the next record of another one. opened: of each stream the
    transaction that was open before its first record.
    """
    if not len(positions.rows):
        closed = [one.tx for one in opened if positions.closed and one.tx is not None]
        return EndedTransactions(pa.array(closed, pa.string()))
    runs, first = positions.runs, positions.streams.begin
    last = np.append(first[1:], len(positions.rows)) - 1
    begin = pa.array(runs.begin)
    names = pc.binary_join_element_wise(placed.commit.take(begin), placed.segment.take(begin), "|")
    known = np.ones(len(names), bool)
    if positions.transaction is not None:
        known = mask(pc.is_valid(positions.transaction.take(begin)))
    ends = np.ones(len(names), bool)
    ends[runs.of_record[last]] = False
    if positions.ends is not None:
        ends |= np.bincount(runs.of_record, positions.ends) > 0
    if positions.given is not None:
        ends[runs.of_record[last]] |= positions.given.left[last] == 1
    before = [
        one.tx
        for one, name in zip(opened, names.take(pa.array(runs.of_record[first])).to_pylist(), strict=True)
        if one.tx is not None and (positions.closed or one.tx != name)
    ]
    together = pa.concat_arrays([pa.array(before, pa.string()), names.filter(pa.array(ends & known))])
    return EndedTransactions(together, names.filter(pa.array(~known)))


NO_COMMIT, NO_TRANSACTION = ("0" * width for width in SEQUENCE_WIDTHS[:2])
ENDED = OpenTransaction(since_start=False, continues=False)
"""The state after a transaction's end."""


@dataclass(frozen=True)
class Begins:
    """The records with which transactions begin, where only these say which transaction it is.

    Records before the first of them belong to the transaction that is open before. at: which records these are.
    cap_tstamp: of each of these its commit time. remedy: what to do where none is open.
    """

    at: Mask
    cap_tstamp: pa.Array
    remedy: str


@dataclass(frozen=True)
class Given:
    """Each record's place in its transaction, as the source gives it; each record makes one row.

    number: the number of its row in the transaction, -1 where it is to be counted. left: how many rows the transaction
    has left with it, 0 where that is not known.
    """

    number: Ints
    left: Ints


class Runs(NamedTuple):
    """Consecutive records of one transaction. begin: the first record of each; of_record: which each record is in."""

    begin: Ints
    of_record: Ints


@dataclass(frozen=True)
class Positions:
    """Where records stand in their source, in source order; consecutive ones of the same `transaction` share it.

    transaction: what identifies it; null where the record is a transaction of its own. The field is None where `begins`
    has where transactions begin.
    commit: 20 hex digits, null where the source gives no position, and segment: 16; those of its first record count for
    all, or are each record's own where numbers are `given`. rows: how many change rows each makes.
    ends: with which its transaction ends; None where the source does not say. closed: the transaction that was open
    ends before the first. marked: records that make no rows say what ends. form: in which form of the dialect the
    records are: a file has one. streams: which streams they are of. by_line: of each stream whether its positions are
    by file and line, and cannot be compared with others. follows: records without a position, whose place
    is right after the record before; of `numbered` ones those that have none before them in the block.
    """

    transaction: pa.Array | None
    commit: pa.Array
    segment: pa.Array
    rows: Ints
    ends: Mask | None = None
    closed: bool = False
    begins: Begins | None = None
    given: Given | None = None
    form: str = ""
    marked: bool = False
    streams: Streams = ONE_STREAM
    by_line: tuple[bool, ...] = (False,)
    follows: Mask | None = None

    @cached_property
    def runs(self) -> Runs:
        """The runs of records; the first record of a stream begins one, or continues with what is open there."""
        starts = np.ones(len(self.rows), bool)
        if self.begins is not None:
            starts[1:] = self.begins.at[1:]
        elif self.transaction is not None and len(starts) > 1:
            names = self.transaction
            starts[1:] = ~mask(pc.equal(names.slice(1), names.slice(0, len(names) - 1)))
            if self.ends is not None:
                starts[1:] |= self.ends[:-1]
        starts[self.streams.begin[1:]] = True
        return Runs(np.flatnonzero(starts), np.cumsum(starts) - 1)

    @property
    def counted(self) -> bool:
        """Whether the number of a row depends on how many of its transaction are before it."""
        return self.given is None or bool((self.given.number < 0).any())

    @staticmethod
    def none(rows: Ints) -> Positions:
        """Return those of records that have no positions, and are in no transactions."""
        nothing = pa.nulls(len(rows), pa.string())
        return Positions(nothing, nothing, pa.repeat(NO_TRANSACTION, len(rows)), rows)

    def numbered(self, file: File, line: Ints) -> Positions:
        """Return the same, with their streams, and positions by the file and the lines where the source gives none.

        Raises DataError for joined slices of several streams where a record says something of others.
        """
        if file.joint is not None and (self.closed or self.marked or self.begins is not None):
            file.joint.check_one_stream(file.path)
        streams = file.streams_of(line)
        if self.begins is not None or not self.commit.null_count:
            return replace(self, streams=streams, by_line=(False,) * len(streams.names)) if file.joint else self
        own = replace(self, streams=streams)
        if self.follows is not None:
            own = own.after_others(self.follows)
        commit, segment, segments = pc.coalesce(own.commit, file.places_of(line)), own.segment, file.segments_of(line)
        if segments is not None:
            segment = pc.if_else(pc.is_null(own.commit), segments, segment)
        first = np.minimum(streams.begin + own.leading, np.append(streams.begin[1:], len(line)) - 1)
        by_line = tuple(pc.is_null(own.commit.take(pa.array(first))).to_pylist())
        return replace(own, commit=commit, segment=segment, by_line=by_line)

    def among(self, own: Mask, rows: Ints) -> Positions:
        """Return positions of all records: those of `own` have these, and each other one follows the record before it.

        rows: how many change rows each of all makes.
        """
        at = pa.array(np.cumsum(own) - 1, mask=~own)
        ends = None
        if self.ends is not None:
            ends = np.zeros(len(own), np.bool_)
            ends[own] = self.ends
        transaction = None if self.transaction is None else self.transaction.take(at)
        commit, segment = self.commit.take(at), pc.fill_null(self.segment.take(at), NO_TRANSACTION)
        return replace(
            self, transaction=transaction, commit=commit, segment=segment, rows=rows, ends=ends, follows=~own
        )

    @property
    def leading(self) -> Ints:
        """How many records of each stream, from its first one on, follow one that is not in the block."""
        if self.follows is None:
            return np.zeros(len(self.streams.begin), np.int64)
        return np.add.reduceat(self.follows.astype(np.int64), self.streams.begin)

    def after_others(self, follows: Mask) -> Positions:
        """Return the same, where records that follow another one of the block are in the transaction of that."""
        at = np.arange(len(follows))
        begin = self.streams.begin[np.searchsorted(self.streams.begin, at, side="right") - 1]
        before = np.maximum.accumulate(np.where(follows, -1, at))
        leads = before < begin
        found = np.where(leads, at, before)
        ends = None if self.ends is None else self.ends[found] & np.append(np.diff(found) != 0, [True])
        index = pa.array(found)
        transaction = None if self.transaction is None else self.transaction.take(index)
        commit, segment = self.commit.take(index), self.segment.take(index)
        return replace(
            self,
            transaction=transaction,
            commit=commit,
            segment=segment,
            ends=ends,
            follows=leads if leads.any() else None,
        )


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
