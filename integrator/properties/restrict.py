"""Restrict: which rows are sent (https://fivetran.com/docs/hvr6/action-reference/restrict)."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, mask
from integrator.changes import Changes
from integrator.recipe import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, TRUNCATE, UPDATE

SEPARATORS = re.compile(r"[;:,]")


def conditioned(changes: Changes, true: Mask, known: Mask) -> Changes:
    """Return the rows for which a condition is `true`; truncates stay. `known`: it could be told.

    Update conversion: an update out of the condition is a delete, one into it an insert. Where it cannot be told of the
    old row, or there is none, the update stays one, and outside the condition is a delete all the same.
    """
    op = changes.op.to_numpy(zero_copy_only=False)
    old = (op == BEFORE_UPDATE) | (op == BEFORE_KEY_UPDATE)
    new = op == UPDATE
    has_new = old & np.append(new[1:], [False])
    has_old = np.concatenate([[False], has_new[:-1]])
    new_true = np.append(true[1:], [False])
    old_true = np.concatenate([[False], true[:-1]])
    old_known = np.concatenate([[False], known[:-1]])
    became, keep = op.copy(), true | (op == TRUNCATE)
    # the old row of a pair
    leaves = has_new & ~new_true
    became[leaves & (true | ~known)] = DELETE
    keep[leaves] = (true | ~known)[leaves]
    keep[has_new & new_true] = (true | ~known)[has_new & new_true]
    # the new row of a pair
    enters = has_old & true & old_known & ~old_true
    became[enters] = INSERT
    keep[has_old & ~true] = False
    # a new row without an old one
    lone = new & ~has_old & ~true
    became[lone] = DELETE
    keep[lone] = True
    return dataclasses.replace(changes, op=pa.array(became)).where(keep)


def addressed(addresses: pa.Array, reaches: Callable[[str], bool]) -> Mask:
    """Say which rows have an address that reaches; each distinct one is looked at once."""
    encoded = addresses.dictionary_encode()
    yes = np.array([reaches(text) for text in encoded.dictionary.to_pylist()] or [False], bool)
    codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    return np.asarray(yes[codes] & mask(pc.is_valid(addresses)), np.bool_)


def reaching(names: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a function that says whether one of the addresses in a text means one of `names`, which may be patterns.

    Addresses are separated by comma, semicolon or colon; * in one stands for any text.
    """

    def reaches(text: str) -> bool:
        parts = [part.strip() for part in SEPARATORS.split(text) if part.strip()]
        return any(
            fnmatch.fnmatchcase(name, part) or fnmatch.fnmatchcase(part, name) for part in parts for name in names
        )

    return reaches
