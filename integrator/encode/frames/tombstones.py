"""Tombstones: messages without value after the rows that take a key away."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.fragments import FRAGMENT, with_column
from integrator.contracts.operations import TOMBSTONED
from integrator.engine.arrays import Ints, Mask


def tombstoned(op: pa.Array) -> Mask:
    """Return which rows take a key away."""
    return mask(pc.is_in(op, pa.array(TOMBSTONED, pa.int8())))


def followed(
    fragments: pa.RecordBatch, order: Ints, stones: pa.RecordBatch, followed_rows: Ints
) -> tuple[pa.RecordBatch, Ints]:
    """Return fragments, and their order, with each of `stones` after the row that `followed_rows` names."""
    if not stones.num_rows:
        return fragments, order
    together = pa.Table.from_batches([fragments, stones]).combine_chunks()
    places = np.concatenate([np.arange(fragments.num_rows) * 2, followed_rows * 2 + 1])
    back = np.argsort(places, kind="stable")
    [batch] = together.take(pa.array(back)).to_batches()
    return batch, np.concatenate([order, order[followed_rows]])[back]


def tombstones(
    fragments: pa.RecordBatch, gone: Ints, of_keys: tuple[pa.Array, pa.Array, pa.Array]
) -> tuple[pa.RecordBatch, Ints]:
    """Return the messages without value for the rows at the places `gone`, and the places that they are after.

    of_keys: of all rows, the keys that are gone, and their topics and partitions. Where a change is two rows, the
    tombstone is after the second.
    """
    followed_rows = gone + np.asarray(fragments["more"], bool)[gone]
    stones, size, at = fragments.take(pa.array(gone)), len(gone), pa.array(gone)
    for name, values in zip(("key", "topic", "partition"), of_keys, strict=True):
        stones = with_column(stones, name, values.take(at))
    stones = with_column(stones, "integ_seq", fragments["integ_seq"].take(pa.array(followed_rows)))
    stones = with_column(stones, "rank", pa.repeat(pa.scalar(1, pa.int32()), size))
    stones = with_column(stones, "more", pa.repeat(pa.scalar(False), size))
    return with_column(stones, "payload", pa.nulls(size, FRAGMENT.field("payload").type)), followed_rows
