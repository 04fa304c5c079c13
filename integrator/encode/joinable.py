"""Which rows can be encoded with those of other tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from integrator.contracts.changes import Changes
from integrator.contracts.multi_table_changes import AnyChanges, MultiTableChanges
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, TRUNCATE
from integrator.encode.row_layout import RowLayout
from integrator.engine.arrays import Ints, Mask

_BEFORE = (DELETE, BEFORE_KEY_UPDATE, BEFORE_UPDATE)
_MOST_MISSING = 63
"""Columns with missing values that a part may have: each takes a bit of an int64."""


def is_joinable(part: AnyChanges, layouts: Sequence[RowLayout]) -> bool:
    """Return whether the rows can be encoded with those of other tables.

    They cannot where a row stands for a whole table, where values are left out that the record has, or where values are
    missing that a layout cannot express. layouts: of each of the tables that have columns of their own, or of all.
    """
    each = missing_by_segment(part)
    pairs = zip(each if part.own else each * len(layouts), layouts, strict=True)
    if not all(can_lack(layout, *of_segment) for of_segment, layout in pairs if of_segment[0]):
        return False
    return not (rows_of(part).left_out or len(truncates(part)))


def can_lack(layout: RowLayout, missing: Mapping[str, Mask], is_before: Mask) -> bool:
    """Return whether rows with missing values can be encoded with those of other tables: see `missing_by_segment`.

    Keys are made of values that are there.
    """
    if not layout.missing or not layout.keys.isdisjoint(missing) or len(missing) > _MOST_MISSING:
        return False
    if layout.missing != "null before":
        return True
    return all(name in layout.placeholders or not (gone & ~is_before).any() for name, gone in missing.items())


def missing_by_segment(part: AnyChanges) -> list[tuple[Mapping[str, Mask], Mask]]:
    """Return of each segment which values are missing, by column, and which rows are before images."""
    rows = rows_of(part)
    is_before = np.isin(rows.op.to_numpy(), _BEFORE)
    if not isinstance(part, MultiTableChanges) or not part.own:
        return [(rows.missing, is_before)]
    ends = np.cumsum(part.sizes).tolist()
    return [
        (own.missing, is_before[end - size : end]) for own, end, size in zip(part.own, ends, part.sizes, strict=True)
    ]


def truncates(part: AnyChanges) -> Ints:
    """Return the places of rows that stand for a whole table."""
    return np.flatnonzero(rows_of(part).op.to_numpy() == TRUNCATE)


def rows_of(part: AnyChanges) -> Changes:
    """Return the rows of a part, as if all were of its first table."""
    return part.rows if isinstance(part, MultiTableChanges) else part
