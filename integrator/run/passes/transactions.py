"""Rows of transactions counted on executors, and the messages of their begins and ends, which the driver sends.

It sends them when all rows of the cycle are acknowledged: who has read a transaction's end can read its rows. What is
open at the cycle's end is deferred to the next one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.fragments import (
    ASIDE,
    BEGUN,
    COUNTED,
    ENDED,
    FRAGMENT,
    TRANSACTION_LENGTH,
    Checkpoint,
    to_deferred,
)
from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report
from integrator.contracts.sequence import EndedTransactions
from integrator.contracts.shards import Shards
from integrator.deliver.bundle import Bundler
from integrator.deliver.kafka.delivery import Delivery
from integrator.deliver.kafka.sender_lock import Senders
from integrator.deliver.kafka.transaction import Transaction
from integrator.encode.transactions import Transactions, fragments_of, recipe_of
from integrator.errors import DataError

_GROUP = ["integ_seq", "table"]
_NONE = -1
"""No commit time."""
_SUMS = [("rank", "sum"), ("cap_tstamp", "max")]


class TransactionCounts:
    """Counts the rows that a task sends of each transaction, and notes which have ended; where the channel asks for it.

    What was counted before `begin`, and not taken by `rows`, is forgotten: it is read again.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._asked = recipe.counts_transactions
        self.begin()

    def begin(self) -> None:
        """Begin to count."""
        self._counted: list[pa.Table] = []
        self._ended: list[pa.Array] = []

    def counted(self, fragments: Iterable[pa.RecordBatch], found: EndedTransactions) -> Iterator[pa.RecordBatch]:
        """Yield fragments, whose rows are counted; `found` are the ends among them."""
        if not self._asked:
            yield from fragments
            return
        for rows in fragments:
            aside = pc.is_in(rows["shape"], pa.array(ASIDE))
            sent = rows.filter(pc.and_(pc.equal(rows["rank"], 0), pc.invert(aside)))
            place = pc.utf8_slice_codeunits(sent["integ_seq"], 0, TRANSACTION_LENGTH)
            one_each = pa.repeat(1, sent.num_rows)
            named = pa.table([place, sent["table"], one_each, sent["cap_tstamp"]], [*_GROUP, "rank", "cap_tstamp"])
            if len(found.without):
                named = named.filter(pc.invert(pc.is_in(named["integ_seq"], found.without)))
            self._counted.append(_summed(named))
            yield rows
        self._ended.append(found.ended)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield what was counted since the last call, as rows that come to the driver."""
        if self._counted:
            yield from _rows(COUNTED, **_columns(_summed(pa.concat_tables(self._counted))))
        if self._ended:
            yield from _rows(ENDED, integ_seq=pc.unique(pa.concat_arrays(self._ended)))
        self.begin()


def _summed(counts: pa.Table) -> pa.Table:
    """Return counts with one row for each transaction and table."""
    return counts.group_by(_GROUP).aggregate(_SUMS).rename_columns([*_GROUP, "rank", "cap_tstamp"])


def _columns(rows: pa.Table) -> dict[str, pa.Array]:
    return {name: rows[name] for name in rows.column_names}


def _rows(op: int, **columns: pa.Array) -> Iterator[pa.RecordBatch]:
    """Yield rows of transactions as fragments; they are of no topic, and any task takes them to the driver."""
    size = len(columns["integ_seq"])
    made = {
        "topic": pa.repeat("", size),
        "key": columns["integ_seq"],
        "op": pa.repeat(op, size),
        "rank": pa.repeat(0, size),
        "more": pa.repeat(pa.scalar(False), size),
        **columns,
    }
    arrays = [made[one.name].cast(one.type) if one.name in made else pa.nulls(size, one.type) for one in FRAGMENT]
    yield from pa.table(arrays, schema=FRAGMENT).combine_chunks().to_batches()


def sent(recipe: Recipe, senders: Senders, shards: Shards | None, parts: Sequence[bytes]) -> tuple[bytes, Report]:
    """Send the messages of transactions; return what is deferred to the next cycle, and the report of the delivery.

    parts: the deferred rows of the cycle's tasks, and those of transactions. All other rows are acknowledged. Raises
    DataError for a transaction without a commit time.
    """
    deferred, fragments = merged(recipe, parts)
    return deferred, _delivered(recipe_of(recipe), senders, shards, fragments)


def merged(recipe: Recipe, parts: Sequence[bytes]) -> tuple[bytes, pa.RecordBatch]:
    """Return what is deferred to the next cycle, and the messages, as fragments; see `sent`."""
    rows = pa.Table.from_batches(
        [batch for part in parts for batch in Checkpoint(deferred=part).deferred_rows()], FRAGMENT
    )
    found = _found(rows)
    opened = found.counts.filter(pc.is_in(found.counts["integ_seq"], found.place.filter(pa.array(~found.ends))))
    held = rows.filter(pc.greater_equal(rows["op"], 0)).combine_chunks().to_batches()
    if len(opened):
        held += _rows(COUNTED, **_columns(opened))
        held += _rows(BEGUN, integ_seq=pc.unique(opened["integ_seq"]))
    return to_deferred(held), fragments_of(recipe, found)


def _found(rows: pa.Table) -> Transactions:
    """Return the transactions of rows."""

    def of(op: int) -> pa.Table:
        return rows.filter(pc.equal(rows["op"], op))

    counts = _summed(of(COUNTED).select([*_GROUP, "rank", "cap_tstamp"])).sort_by(
        [(one, "ascending") for one in _GROUP]
    )
    coded = counts["integ_seq"].combine_chunks().dictionary_encode()  # in the order of places, as its values come
    place, first = coded.dictionary, np.flatnonzero(np.diff(np.asarray(coded.indices, np.int64), prepend=-1))
    known = np.asarray(pc.fill_null(counts["cap_tstamp"].combine_chunks(), _NONE), np.int64)
    latest = np.maximum.reduceat(known, first) if len(first) else known
    stamp = pa.array(latest, mask=latest == _NONE)
    begun, ended = (mask(pc.is_in(place, of(op)["integ_seq"].combine_chunks())) for op in (BEGUN, ENDED))
    found = Transactions(place, stamp, ~begun, ended, counts)
    lacking = place.filter(pc.is_null(stamp))
    if len(lacking):
        raise DataError(
            f"transaction {lacking[0].as_py()} has no commit time, which Transaction_Topic needs; have the source "
            "write it, or leave Transaction_Topic out"
        )
    return found


def _delivered(own: Recipe, senders: Senders, shards: Shards | None, fragments: pa.RecordBatch) -> Report:
    """Send fragments as one task, the last shard of the cycle."""
    if not fragments.num_rows:
        return Report(0, 0, 0, None, None)
    last = 0 if shards is None or shards.record is None else shards.record.count - 1
    with senders.sending() if shards is None else contextlib.nullcontext():
        delivery = Delivery(own, 1, None if shards is None else Transaction(own.send, shards, last))
        try:
            for messages in Bundler(own).add(fragments):
                delivery.send(messages)
            return delivery.report([], {}, None)
        except BaseException:
            delivery.discard()
            raise
