"""Ordered fragments -> messages: which rows share one. ROW, CHANGE, TRANSACTION, THRESHOLD, within the maximum size.

A message of TRANSACTION or THRESHOLD is closed when its value has passed the threshold, so with the row that passes it;
at the end of its transaction (TRANSACTION); and at the end of the cycle. None passes the maximum: it is closed before.
Tables whose topics differ never share one. Where a message begins depends on the rows of its topic and their order
only, not on how they came in batches, so that a cycle which is sent again is the same (I2).
https://fivetran.com/docs/hvr6/property-reference/location-properties (Kafka_Message_Bundling).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.fragments import ASIDE, TRANSACTION_LENGTH
from integrator.contracts.outgoing import Messages
from integrator.contracts.recipe import Recipe
from integrator.encode.frames.framing import Framing, framing_of
from integrator.encode.frames.row_frames import RowFrames
from integrator.engine.arrays import Ints, Mask

ROWS_AT_ONCE = 2048
"""Rows framed at a time where each is a message: with a kilobyte of schema text each, a few megabytes."""
BYTES_AT_ONCE = 4 * 1024 * 1024
"""Bytes of rows that are gathered before they are folded into messages."""
MAX_HELD_BYTES = 16 * 1024 * 1024
"""Bytes of rows of a transaction that a task holds over the end of a cycle; more are sent, and counted."""
MAX_OPEN_BYTES = 256 * 1024 * 1024
"""Bytes of rows in open messages of all topics, after which they are closed before their time, and counted."""


class Bundler:
    """Folds the fragments of one task, which come in the order to send, into messages."""

    def __init__(self, recipe: Recipe) -> None:
        self._framing = framing_of(recipe)
        self._bundling = recipe.messages.layout.bundling
        self._messages = recipe.messages
        self._compressed = recipe.send.compression != "none"
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._cut: dict[str, str] = {}
        self.split: dict[str, int] = {}
        """What was not kept together: a count by reason."""

    def add(self, rows: pa.RecordBatch) -> Iterator[Messages]:
        """Take rows, and yield the messages that are closed."""
        if self._bundling.mode == "ROW":
            rows = _by_topic(rows)  # so that there are few parts of many rows, however many tables there are
            yield from self._in_parts(rows, np.arange(rows.num_rows), self._framing.kinds(rows))
            return
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= BYTES_AT_ONCE:
            yield from self._fold(final=False)

    def end(self, continuing: str = "") -> Iterator[Messages]:
        """Yield the open messages, but for those of the transaction `continuing`, whose end comes in a later cycle."""
        if self._waiting:
            yield from self._fold(final=True, continuing=continuing)

    @property
    def deferred(self) -> list[pa.RecordBatch]:
        """The rows that `end` left, for the cycle to come."""
        return self._waiting

    def _fold(self, *, final: bool, continuing: str = "") -> Iterator[Messages]:
        rows = _by_topic(pa.Table.from_batches(self._waiting).combine_chunks().to_batches()[0])
        kinds = self._framing.kinds(rows)
        topics = rows["topic"]
        new_topic = _changes(topics)
        group = self._groups(rows, new_topic)
        starts, passed = self._starts(rows, np.flatnonzero(group), kinds)
        self._count(rows, starts, group)
        last = np.append(new_topic[starts[1:]], True)  # the last message of each topic
        if final:
            left = last & ~passed & self._of(continuing, rows, starts)
            if self._kept_bytes(rows, starts, left) > MAX_HELD_BYTES:
                self._add("transactions split at the cycle's end, because too many bytes were held", int(left.sum()))
                left[:] = False
        else:
            left = last & ~passed & self._open(rows, starts)
            if self._kept_bytes(rows, starts, left) > MAX_OPEN_BYTES:
                self._add("messages closed early, because too many bytes were open", int(left.sum()))
                left[:] = False
        yield from self._closed(rows, starts, left, kinds)

    def _of(self, transaction: str, rows: pa.RecordBatch, starts: Ints) -> Mask:
        """Return which messages are of `transaction`; none, where that is empty."""
        if not transaction:
            return np.zeros(len(starts), bool)
        begins = pc.binary_slice(rows["integ_seq"].take(pa.array(starts)).cast(pa.binary()), 0, len(transaction))
        return np.asarray(pc.equal(begins, transaction.encode()), bool)

    def _open(self, rows: pa.RecordBatch, starts: Ints) -> Mask:
        """Return which messages rows to come may still belong to."""
        if self._bundling.mode != "CHANGE":
            return np.ones(len(starts), bool)
        return np.asarray(rows["more"].take(pa.array(np.append(starts[1:], len(rows)) - 1)), bool)

    def _kept_bytes(self, rows: pa.RecordBatch, starts: Ints, left: Mask) -> int:
        sizes = np.add.reduceat(np.asarray(pc.fill_null(pc.binary_length(rows["payload"]), 0), np.int64), starts)
        return int(sizes[left].sum())

    def _closed(self, rows: pa.RecordBatch, starts: Ints, left: Mask, kinds: RowFrames) -> Iterator[Messages]:
        """Yield the messages that are not `left`, whose rows then wait: they begin the next fold again."""
        self._waiting, self._bytes = [], 0
        count = np.diff(starts, append=len(rows))
        if left.any() and left[-1] and left.sum() == 1:  # as where all rows have one topic
            end = int(starts[-1])
            self._waiting = [rows.slice(end)]
            rows, starts, kinds = rows.slice(0, end), starts[:-1], kinds.slice(0, end)
        elif left.any():
            stays = np.repeat(left, count)
            self._waiting = [rows.filter(pa.array(stays))]
            closed = np.flatnonzero(~stays)
            rows, kinds = rows.take(pa.array(closed)), kinds.take(closed)
            starts = np.concatenate([[0], np.cumsum(count[~left])])[:-1]
        yield from self._in_parts(rows, starts, kinds)

    def _in_parts(self, rows: pa.RecordBatch, starts: Ints, kinds: RowFrames) -> Iterator[Messages]:
        """Yield messages, of so many rows at once that what stands around them takes little memory."""
        at = 0
        while at < len(starts):
            after = max(at + 1, int(np.searchsorted(starts, starts[at] + ROWS_AT_ONCE)))
            begin, end = int(starts[at]), int(starts[after]) if after < len(starts) else len(rows)
            part = rows.slice(begin, end - begin)
            yield self._message_batch(part, starts[at:after] - begin, kinds.slice(begin, end))
            at = after

    def _groups(self, rows: pa.RecordBatch, new_topic: Mask) -> Mask:
        """Return for each row whether it can share no message with the row before it."""
        group = new_topic.astype(bool)
        match self._bundling.mode:
            case "CHANGE":
                group |= np.concatenate([[True], ~np.asarray(rows["more"].slice(0, len(rows) - 1), bool)])
            case "TRANSACTION":
                group |= _changes(_transactions(rows))
        aside = pc.is_in(rows["shape"], pa.array(ASIDE))
        alone = np.asarray(pc.or_(aside, pc.is_null(rows["payload"])), bool)
        if alone.any():
            group |= alone | np.concatenate([[True], alone[:-1]])
        return group

    def _starts(self, rows: pa.RecordBatch, groups: Ints, kinds: RowFrames) -> tuple[Ints, Mask]:
        """Return where messages begin, in the groups that begin at `groups`; and which have passed the threshold."""
        sizes = _Sizes(rows, kinds, self._framing)
        limits = self._limits(rows["topic"].take(pa.array(groups)))
        threshold = self._bundling.threshold if self._bundling.keyless else self._messages.max_bytes
        ends = np.append(groups[1:], len(rows)) - 1
        every = np.arange(len(rows))
        begins = np.repeat(groups, np.diff(groups, append=len(rows)))
        largest = np.maximum.reduceat(sizes.message(begins, every), groups)  # of headers, a row before may have more
        whole = (sizes.value(groups, ends) <= threshold) & (largest <= limits)
        if whole.all():
            return groups, np.zeros(len(groups), bool)
        starts, passed = [], []
        parts = (groups.tolist(), ends.tolist(), whole.tolist(), limits.tolist())
        for begin, end, fits, limit in zip(*parts, strict=True):
            if fits:
                starts.append(begin)
                passed.append(False)
                continue
            while begin <= end:
                stop = sizes.stop(begin, end, threshold, limit)
                starts.append(begin)
                passed.append(stop < end or sizes.value_of(begin, stop) > threshold)
                begin = stop + 1  # noqa: PLW2901 - the loop goes over messages of a group
        return np.array(starts), np.array(passed)

    def _limits(self, topics: pa.Array) -> Ints:
        """Return how large the messages of each of `topics` may be: brokers compare what is compressed."""
        if self._compressed or not self._messages.limits:
            return np.full(len(topics), self._messages.max_bytes, np.int64)
        named = topics.dictionary_encode()
        of_topic = [self._messages.limit_of(topic) for topic in named.dictionary.to_pylist()]
        found: Ints = np.array(of_topic, np.int64)[np.asarray(named.indices)]
        return found

    def _message_batch(self, rows: pa.RecordBatch, starts: Ints, kinds: RowFrames) -> Messages:
        """Return the messages that begin at `starts`, topic after topic; all but values are those of the last row."""
        values = self._framing.values(rows, starts, kinds)
        last = rows
        if len(starts) < len(rows):
            at = np.append(starts[1:], len(rows)) - 1
            last, kinds = rows.take(pa.array(at)), kinds.take(at)
        keys, headers = self._framing.keys(last, kinds), self._framing.headers(last, kinds)
        begins = np.flatnonzero(_changes(last["topic"]))
        topics = last["topic"].take(pa.array(begins)).to_pylist()
        runs = tuple(zip(topics, np.diff(begins, append=len(last)).tolist(), strict=True))
        return Messages.of(
            runs, keys, values, headers, self._partitions(last["partition"]), _timestamps(last["timestamp"])
        )

    def _partitions(self, given: pa.Array) -> Ints | int:
        """Return where messages go, given what their rows have."""
        if self._bundling.keyless and self._bundling.one_partition:
            return 0
        return -1 if given.null_count == len(given) else np.asarray(pc.fill_null(given, -1), np.int64)

    def _count(self, rows: pa.RecordBatch, starts: Ints, group: Mask) -> None:
        """Count the changes and transactions that need several messages."""
        inside = starts[~group[starts]]
        if self._bundling.mode == "CHANGE":
            self._add("changes split by the maximum size", len(inside))
        elif self._bundling.mode == "TRANSACTION" and len(inside):
            at = pa.array(inside)
            for topic, name in zip(
                rows["topic"].take(at).to_pylist(), _transactions(rows).take(at).to_pylist(), strict=True
            ):
                if self._cut.get(topic) != name:
                    self._cut[topic] = name
                    self._add("transactions split by the threshold", 1)

    def _add(self, reason: str, count: int) -> None:
        if count:
            self.split[reason] = self.split.get(reason, 0) + count


class _Sizes:
    """What messages of consecutive rows cost, in bytes, by running sums."""

    def __init__(self, rows: pa.RecordBatch, kinds: RowFrames, framing: Framing) -> None:
        first, next_row, next_table, closing = framing.costs(kinds.frames)
        payload = np.asarray(pc.fill_null(pc.binary_length(rows["payload"]), 0), np.int64)
        same = np.concatenate([[False], kinds.runs[1:] == kinds.runs[:-1]])
        more = np.where(same, next_row[kinds.code], next_table[kinds.code])
        self._first = payload + first[kinds.code]
        self._sum = np.cumsum(payload + more)
        self._around, self._framing = framing.beside(rows, kinds) + closing[kinds.code], framing

    def value(self, begin: Ints, end: Ints) -> Ints:
        """Return the bytes of values with the rows from `begin` to `end`, before they are closed."""
        return self._first[begin] + self._sum[end] - self._sum[begin]

    def message(self, begin: Ints, end: Ints) -> Ints:
        """Return the bytes of messages, closed, with key, headers and overhead."""
        return self._framing.with_growth(self.value(begin, end)) + self._around[end]

    def value_of(self, begin: int, end: int) -> int:
        """Do as `value`, of one message."""
        return int(self._first[begin] + self._sum[end] - self._sum[begin])

    def stop(self, begin: int, end: int, threshold: int, limit: int) -> int:
        """Return the last row, up to `end`, of the message that begins at `begin`.

        That is the row before the first one with which the message is too large: a later one with smaller headers
        would come too late where the rows between come in a batch before (I2).
        """
        base = int(self._sum[begin] - self._first[begin])
        stop = min(end, int(np.searchsorted(self._sum, base + threshold, side="right")))
        last = np.arange(begin + 1, stop + 1)
        too_large = np.flatnonzero(self.message(np.full(len(last), begin), last) > limit)
        return int(last[too_large[0]]) - 1 if len(too_large) else stop


def _by_topic(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows topic by topic, each in its order; what a topic waits with stays before what came later."""
    topics = rows["topic"].dictionary_encode()
    if len(topics.dictionary) == 1:
        return rows
    codes = np.asarray(topics.indices)
    if (np.diff(codes) >= 0).all():  # codes are given in the order in which topics appear
        return rows
    return rows.take(pa.array(np.argsort(codes, kind="stable")))


def _changes(values: pa.Array) -> Mask:
    """Return for each value whether it is another than the one before it."""
    different = np.ones(len(values), bool)
    if len(values) > 1:
        different[1:] = np.asarray(pc.not_equal(values.slice(1), values.slice(0, len(values) - 1)), bool)
    return different


def _timestamps(given: pa.Array) -> Ints | None:
    """Return the timestamps of messages; None where none has its own."""
    return None if given.null_count == len(given) else np.asarray(pc.fill_null(given, 0), np.int64)


def _transactions(rows: pa.RecordBatch) -> pa.Array:
    return pc.binary_slice(rows["integ_seq"].cast(pa.binary()), 0, TRANSACTION_LENGTH)
