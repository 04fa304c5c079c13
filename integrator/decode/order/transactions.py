"""Which transactions a block of records ends, for the messages about their ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.sequence import EndedTransactions, OpenTransaction
from integrator.decode.order.positions import Positions
from integrator.decode.rows.records import Sequenced


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
