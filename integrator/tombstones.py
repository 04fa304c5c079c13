"""Fragments that stand beside others: tombstones behind deletes, and the two rows of an update as one change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, mask
from integrator.fragments import FRAGMENT, Places, with_column
from integrator.recipe import BEFORE_KEY_UPDATE, BEFORE_UPDATE, TOMBSTONED, UPDATE


def tombstoned(op: pa.Array) -> Mask:
    """Say which rows' keys are gone behind them."""
    return mask(pc.is_in(op, pa.array(TOMBSTONED, pa.int8())))


def paired(op: pa.Array) -> Mask:
    """Say which rows are the old ones of updates whose new ones stand behind them."""
    old = mask(pc.is_in(op, pa.array((BEFORE_KEY_UPDATE, BEFORE_UPDATE), pa.int8())))
    new = mask(pc.equal(op, UPDATE))
    return np.asarray(old & np.append(new[1:], [False])[: len(old)], np.bool_)


def as_changes(fragments: pa.RecordBatch) -> pa.RecordBatch:
    """Return fragments in which the old row of an update has its new row's key, and says that the new one follows."""
    more = paired(fragments["op"])
    at = pa.array(np.arange(len(more)) + more)
    fragments = with_column(fragments, "key", fragments["key"].take(at))
    return with_column(fragments, "more", pa.array(more))


def followed(
    fragments: pa.RecordBatch, order: Places, stones: pa.RecordBatch, behind: Places
) -> tuple[pa.RecordBatch, Places]:
    """Return fragments, and their order, with `stones` behind those at the places `behind`."""
    together = pa.Table.from_batches([fragments, stones]).combine_chunks()
    places = np.concatenate([np.arange(fragments.num_rows) * 2, behind * 2 + 1])
    back = np.argsort(places, kind="stable")
    [batch] = together.take(pa.array(back)).to_batches()
    return batch, np.concatenate([order, order[behind]])[back]


def tombstones(fragments: pa.RecordBatch, deletes: Places) -> tuple[pa.RecordBatch, Places]:
    """Return the messages without value for the deletes at these places, and the places that they stand behind.

    The old row of an update is followed by its new one, and by the tombstone then.
    """
    behind = deletes + (np.asarray(fragments["more"], bool)[deletes] if len(deletes) else 0)
    stones = fragments.take(pa.array(deletes))
    size = len(deletes)
    stones = with_column(stones, "integ_seq", fragments["integ_seq"].take(pa.array(behind)))
    stones = with_column(stones, "rank", pa.repeat(pa.scalar(1, pa.int32()), size))
    stones = with_column(stones, "more", pa.repeat(pa.scalar(False), size))
    return with_column(stones, "payload", pa.nulls(size, FRAGMENT.field("payload").type)), behind
