"""PostgreSQL's array literals (https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO), of one dimension."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import flat, mask
from integrator.engine import literals
from integrator.engine.grammar import COMMA
from integrator.schema import Type

_LETTERS, _BOOLEANS = pa.array(["t", "f"]), pa.array(["true", "false"])
_WRONG = {
    literals.NO_LITERAL: "expected an array literal {…} of one dimension",
    literals.NO_QUOTE: "expected a quote at the end of an item",
    literals.NESTED: "an array of several dimensions; declare the column as text",
    literals.NO_ITEM: 'expected an item between commas; an empty text is written as ""',
    literals.BARE_SIGN: "expected quotes around an item with a quote, a brace or a backslash",
    literals.NO_COMMA: "expected a comma between items",
}


def in_words(items: pa.Array, item: Type) -> pa.Array:
    """Return the items of array literals with booleans in words, which PostgreSQL writes as t and f there."""
    if not isinstance(item, schema.Boolean):
        return items
    return pc.coalesce(_BOOLEANS.take(pc.index_in(items, _LETTERS)), items)


def read_arrays(values: pa.Array) -> pa.ListArray:
    """Return array literals as lists of texts; null stays null. Raises ValueError for text that is none."""
    octets, offsets = flat(values)
    valid = mask(pc.is_valid(values))
    most = len(values) + int((octets == COMMA).sum())
    bounds, ends, null = np.zeros(len(values) + 1, np.int32), np.zeros(most + 1, np.int32), np.zeros(most, np.bool_)
    data = np.empty(len(octets), np.uint8)
    row, wrong = literals.read_lists(octets, offsets, valid, bounds, data, ends, null)
    if row < len(values):
        raise ValueError(_WRONG[wrong])
    count = int(bounds[-1])
    gone = pa.py_buffer(np.packbits(~null[:count], bitorder="little")) if null.any() else None
    buffers = [gone, pa.py_buffer(ends[: count + 1]), pa.py_buffer(data)]
    items = pa.Array.from_buffers(pa.string(), count, buffers)
    return pa.ListArray.from_arrays(pa.array(bounds), items, mask=pc.is_null(values))
