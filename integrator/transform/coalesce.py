"""Capture Coalesce: the changes of a key within a transaction as one.

Each key's rows are read from first to last: was the row there before, and is it there after? Neither: nothing is
left. Only after: an insert with the last image. Only before: the delete. Both: an update with the first before image,
if there is one, and the last new one, in which values that it leaves out are those of the row before it. The changed
row has the position of the last. A key update ends the chain of the old key and begins that of the new one, as a delete
and an insert; a truncate ends all chains. https://fivetran.com/docs/hvr6/action-reference/capture (Coalesce).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.fragments import TRANSACTION_LENGTH
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, TRUNCATE, UPDATE
from integrator.engine.arrays import Ints, Mask
from integrator.transform.fill_missing import augmented, filled, latest
from integrator.transform.key_hash import canonical

Ops = npt.NDArray[np.int8]


def coalesced(changes: ChangeBatch, key: tuple[str, ...]) -> tuple[ChangeBatch, int]:
    """Return the change rows with one change for each key and transaction, and how many rows fewer they are."""
    rows = len(changes)
    given = changes.op.to_numpy(zero_copy_only=False)
    changes = changes.filter((given != BEFORE_UPDATE) | changes.is_before_image)  # a before image alone changes nothing
    op = changes.op.to_numpy(zero_copy_only=False).copy()
    key_updates = op == BEFORE_KEY_UPDATE
    op[np.flatnonzero(changes.is_before_image & key_updates) + 1] = INSERT
    op[key_updates] = DELETE
    chain = _chains(changes, key, op)
    first, last = _ends(chain)
    if not (first != last).any() and not key_updates.any():
        return changes, rows - len(changes)
    whole = _whole(changes, chain, op)
    keep, became, image = _outcome(op, first, last)
    at = pa.array(image)
    columns = {name: values.take(at) for name, values in whole.columns.items()}
    missing = {name: gone[image] for name, gone in whole.missing.items()}
    before_images = changes.is_before_image & (became == BEFORE_UPDATE)
    made = dataclasses.replace(
        whole.with_columns(columns, missing),
        op=pa.array(became),
        before_images=before_images,
        without_form=whole.without_form.take(at),
    ).filter(keep)
    return made, rows - len(made)


def _whole(changes: ChangeBatch, chain: Ints, op: Ops) -> ChangeBatch:
    """Return the change rows with what they leave out: an update's from its before image, any from the row before it.

    A key update hands on what the rows of the old key had, so both are done until nothing more is found.
    """
    every = np.ones(len(changes), bool)
    while True:
        gaps = sum(int(gone.sum()) for gone in changes.missing.values())
        changes = filled(changes, {name: latest(chain, op == INSERT, gone) for name, gone in changes.missing.items()})
        changes = augmented(changes, every)
        if sum(int(gone.sum()) for gone in changes.missing.values()) == gaps:
            return changes


def _chains(changes: ChangeBatch, key: tuple[str, ...], op: Ops) -> Ints:
    """Return for each row the number of its chain: of a transaction and a key, between truncates."""
    truncates = pa.array(np.cumsum(op == TRUNCATE) * 2 + (op == TRUNCATE)).cast(pa.string()).cast(pa.binary())
    transaction = pc.binary_slice(changes.integ_seq.cast(pa.binary()), 0, TRANSACTION_LENGTH)
    parts = [truncates, transaction, *(canonical(changes.columns[name]) for name in key)]
    return np.asarray(pc.binary_join_element_wise(*parts, b"|").dictionary_encode().indices, np.int64)


def _ends(chain: Ints) -> tuple[Ints, Ints]:
    """Return for each row the first and the last row of its chain."""
    size = int(chain.max()) + 1 if len(chain) else 0
    first, last = np.full(size, len(chain)), np.zeros(size, np.int64)
    rows = np.arange(len(chain))
    np.minimum.at(first, chain, rows)
    np.maximum.at(last, chain, rows)
    return first[chain], last[chain]


def _outcome(op: Ops, first: Ints, last: Ints) -> tuple[Mask, Ops, Ints]:
    """Return which rows are left, their operations, and which row has the image of each.

    The before image stands where that of the last update stood, next to its after image, with the values of the first.
    """
    rows = np.arange(len(op))
    there_before = op[first] != INSERT
    there_after = np.isin(op[last], (INSERT, UPDATE))
    single = first == last
    became = op.copy()
    at_end = rows == last
    became[at_end & there_after & there_before & ~single] = UPDATE
    became[at_end & there_after & ~there_before] = INSERT
    keep = at_end & (there_after | there_before)
    next_is_end = np.append(at_end[1:] & (op[1:] == UPDATE), [False])
    old = (op == BEFORE_UPDATE) & next_is_end & (op[first] == BEFORE_UPDATE) & (np.append(first[1:], [-1]) == first)
    image = np.where(old, first, rows)
    return keep | old | (op == TRUNCATE), became, image
