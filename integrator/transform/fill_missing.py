"""Values that a row lacks: taken from an earlier image of it, or null where the column had not come yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.change_batch import ChangeBatch
from integrator.engine.arrays import Ints, Mask
from integrator.errors import ColumnsFound
from integrator.transform.without_form import having, together


def augmented(changes: ChangeBatch, which: Mask) -> ChangeBatch:
    """Return the change rows in which after images, of those in `which`, take missing values from before images."""
    if not changes.missing:
        return changes
    rows = np.arange(len(changes))
    second = np.concatenate([[False], changes.is_before_image[:-1]]) & which
    old_has = {name: np.concatenate([[False], ~gone[:-1]]) for name, gone in changes.missing.items()}
    return filled(changes, {name: np.where(second & has, rows - 1, -1) for name, has in old_has.items()})


def filled(changes: ChangeBatch, given: dict[str, Ints]) -> ChangeBatch:
    """Return the change rows in which missing values are those of the rows at the places `given`, where not -1."""
    columns, missing, without_form = dict(changes.columns), dict(changes.missing), changes.without_form
    for name, places in given.items():
        fill = changes.missing[name] & (places >= 0)
        if fill.any():
            columns[name] = columns[name].take(pa.array(np.where(fill, places, np.arange(len(changes)))))
            missing[name] = missing[name] & ~fill
            if without_form.null_count < len(changes):
                taken = having(changes.without_form.take(pa.array(places, mask=~fill)), name)
                without_form = together(without_form, taken)
    return replace(changes.with_columns(columns, missing), without_form=without_form)


def latest(chain: Ints, begins: Mask, gone: Mask) -> Ints:
    """Return for each row the last row before it, or itself, of its chain that has a value; -1 for none.

    begins: rows before which nothing of the chain is to be read.
    """
    order = np.argsort(chain, kind="stable")
    rows, of_chain = np.arange(len(chain)), chain[order]
    starts = np.concatenate([[True], of_chain[1:] != of_chain[:-1]]) | begins[order]
    start = np.maximum.accumulate(np.where(starts, rows, 0))
    found = np.maximum.accumulate(np.where(~gone[order], rows, -1))
    places = np.empty(len(chain), np.int64)
    places[order] = np.where(found >= start, order[np.maximum(found, 0)], -1)
    return places


def null_before(changes: ChangeBatch, added: Sequence[tuple[str, int, int]], ordinal: int) -> ChangeBatch:
    """Return a table's changes of the file `ordinal` in which added columns are null, not missing, before they came.

    added: columns, each with the number of the file and the line that has it first. Raises ColumnsFound where one comes
    earlier than that: tasks of a cycle read files in any order.
    """
    missing = dict(changes.missing)
    for name, file, line in added:
        before = np.full(len(changes), ordinal < file) | ((ordinal == file) & (changes.line < line))
        valued = before & mask(pc.is_valid(changes.columns[name]))
        if valued.any():
            first = int(changes.line[valued].min())
            table = changes.table_of(0)
            text = f"{changes.file}:{first}: table {table}: {name} is here before where it was found first"
            raise ColumnsFound(text, {table: {name: ("", first)}}, ordinal)
        if name in missing:
            missing[name] = missing[name] & ~before
    return changes.with_columns(changes.columns, {n: gone for n, gone in missing.items() if gone.any()})
