"""Restrict: which rows are sent (https://fivetran.com/docs/hvr6/action-reference/restrict)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.operations import DELETE, INSERT, TRUNCATE, UPDATE
from integrator.engine.arrays import Mask
from integrator.transform.fill_missing import augmented

SEPARATORS = re.compile(r"[;:,]")


def conditioned(changes: ChangeBatch, true: Mask, known: Mask) -> ChangeBatch:
    """Return the rows for which a condition is `true`; truncates stay. `known`: whether it is known.

    Update conversion: an update out of the condition is a delete, one into it an insert. An after image for which
    the condition is unknown takes its before image's result, because a missing value is unchanged; unknown for both
    counts as true, so that no row is lost.
    """
    op = changes.op.to_numpy(zero_copy_only=False)
    old, new = changes.is_before_image, _of_previous(changes.is_before_image)
    counts = true | ~known
    counts = np.where(new & ~known, _of_previous(counts), counts)
    leaves = old & counts & ~_of_next(counts)
    enters = new & counts & ~_of_previous(counts)
    alone = (op == UPDATE) & ~new & ~counts  # it may have been inside before
    became = np.where(leaves | alone, DELETE, np.where(enters, INSERT, op)).astype(np.int8)
    stays = counts & ~(old & ~leaves & ~_of_next(counts)) | alone | (op == TRUNCATE)
    whole = augmented(changes, enters)
    return replace(whole, op=pa.array(became), before_images=changes.is_before_image & ~leaves).filter(stays)


def _of_previous(rows: Mask) -> Mask:
    """Return for each row the value of the one before it."""
    return np.concatenate([[False], rows[:-1]]) if len(rows) else rows


def _of_next(rows: Mask) -> Mask:
    """Return for each row the value of the one after it."""
    return np.append(rows[1:], [False]) if len(rows) else rows


def addressed(addresses: pa.Array, reaches: Callable[[str], bool]) -> Mask:
    """Return which rows have an address that reaches; each distinct one is inspected once."""
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
