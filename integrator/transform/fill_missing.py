"""Values that a row lacks, taken from an earlier image of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from integrator.contracts.changes import Changes
from integrator.engine.arrays import Ints, Mask


def augmented(changes: Changes, which: Mask) -> Changes:
    """Return the change rows in which after images, of those in `which`, take missing values from before images."""
    if not changes.missing:
        return changes
    rows = np.arange(len(changes))
    second = np.concatenate([[False], changes.is_before_image[:-1]]) & which
    old_has = {name: np.concatenate([[False], ~gone[:-1]]) for name, gone in changes.missing.items()}
    return filled(changes, {name: np.where(second & has, rows - 1, -1) for name, has in old_has.items()})


def filled(changes: Changes, given: dict[str, Ints]) -> Changes:
    """Return the change rows in which missing values are those of the rows at the places `given`, where not -1."""
    columns, missing = dict(changes.columns), dict(changes.missing)
    for name, places in given.items():
        fill = changes.missing[name] & (places >= 0)
        if fill.any():
            columns[name] = columns[name].take(pa.array(np.where(fill, places, np.arange(len(changes)))))
            missing[name] = missing[name] & ~fill
    return dataclasses.replace(changes, columns=columns, missing=missing)


def latest(chain: Ints, begins: Mask, gone: Mask) -> Ints:
    """Return for each row the last row before it, or itself, of its chain that has a value; -1 for none.

    begins: rows before which nothing of the chain is to be looked at.
    """
    order = np.argsort(chain, kind="stable")
    rows, of_chain = np.arange(len(chain)), chain[order]
    starts = np.concatenate([[True], of_chain[1:] != of_chain[:-1]]) | begins[order]
    start = np.maximum.accumulate(np.where(starts, rows, 0))
    found = np.maximum.accumulate(np.where(~gone[order], rows, -1))
    places = np.empty(len(chain), np.int64)
    places[order] = np.where(found >= start, order[np.maximum(found, 0)], -1)
    return places
