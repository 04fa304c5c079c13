"""Before images that have the key alone, though the other columns are in them: null, or empty."""

from __future__ import annotations

import numpy as np

from integrator.arrow.arrays import first
from integrator.decode.json.shapes import Layout
from integrator.decode.rows.runs import Rows
from integrator.engine.arrays import Octets
from integrator.engine.grid import Grid
from integrator.engine.pairs import KnownValues, are_known, clear_unchosen
from integrator.engine.values import Slices
from integrator.errors import Fault, PublicDataError


def clear(
    text: Octets, rows: Rows, places: tuple[Layout, Grid], values: Slices, given: tuple[str, KnownValues]
) -> None:
    """Take away what is beside the key in before images that have nothing but the key.

    given: whether these are all (KEY), or those of which all beside the key is null or a placeholder (AUTO). Raises
    DataError where a table has no key, and an image may be of one alone.
    """
    layout, grid = places
    mode, empty = given
    before = np.flatnonzero(rows.is_before)
    if not len(before):
        return
    for part, shape in enumerate(layout.shapes):
        if not shape.is_key.any():
            _check_whole(text, rows, layout, values, (part, mode, empty))
    clear_unchosen(text, grid, before, values, layout.flags("is_key"), mode == "KEY", empty)


def _check_whole(text: Octets, rows: Rows, layout: Layout, values: Slices, given: tuple[int, str, KnownValues]) -> None:
    """Raise DataError for a before image that may be of the columns of an index alone, which have no null.

    With REPLICA IDENTITY USING INDEX, PostgreSQL logs these alone; Debezium writes null, or an empty value, for the
    others. One column with null allowed that has a value shows that the image is whole.
    """
    part, mode, known = given
    start, stop = int(layout.rows[part]), int(layout.rows[part + 1])
    required = layout.shapes[part].is_required
    alone = rows.is_before[start:stop] & bool(required.any())
    empty = np.zeros(stop - start, bool)
    for slot in range(len(required)) if mode == "AUTO" and alone.any() else ():
        base = int(layout.base[layout.slots[part] + slot])
        own = values.part(base, base + stop - start)
        null = own.nulls(text)
        empty |= (null | are_known(text, own, known)) & (own.end > 0)
        alone &= null | bool(required[slot])
    wrong = first(alone & (empty | (mode == "KEY")))
    if wrong is not None:
        raise PublicDataError(
            Fault(
                rows.where(start + wrong),
                f"table {rows.parts[part][0].table.name}: the before image may be of columns "
                "of an index alone (REPLICA IDENTITY USING INDEX), and the definition has no key; define it (a primary "
                "key, or a unique index), or set old_images: FULL at the source location if before images are whole",
            )
        )
