"""JSON's scalars (RFC 8259), column by column: typed Arrow values -> the text of each."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, flat, plain_text
from integrator.formats.records import InvalidValue

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_CONTROLS = re.compile(r"[\x00-\x1f]")
_QUOTE, _BACKSLASH, _FIRST_PLAIN = ord('"'), ord("\\"), 0x20


def escaped(values: pa.Array) -> pa.Array:
    """Return text as it stands between the quotes of a JSON string; only the rows that need it are escaped."""
    data, offsets = flat(values)
    places = np.flatnonzero((data < _FIRST_PLAIN) | (data == _QUOTE) | (data == _BACKSLASH))
    if not len(places):
        return values
    needs = np.zeros(len(values), bool)
    needs[np.searchsorted(offsets, places, side="right") - 1] = True
    rows = pa.array(needs)
    return pc.replace_with_mask(values, rows, _escape(values.filter(rows), set(np.unique(data[places]).tolist())))


def _escape(values: pa.Array, found: set[int]) -> pa.Array:
    """Escape the characters that were `found`, the backslash first."""
    for plain, escape in _SHORT.items():
        if ord(plain) in found:
            values = pc.replace_substring(values, plain, escape)
            found.discard(ord(plain))
    if found:
        texts = [_CONTROLS.sub(lambda c: f"\\u{ord(c[0]):04x}", text) for text in values.to_pylist()]
        values = pa.array(texts, pa.string())
    return values


def numbers(values: pa.Array) -> pa.Array:
    """Return integers, decimals and booleans as JSON writes them."""
    return plain_text(values)


def floats(values: pa.Array) -> pa.Array:
    """Return floating point numbers as JSON writes them. Raises InvalidValue for NaN and the infinities."""
    wrong = first(pc.invert(pc.is_finite(values)))
    if wrong is not None:
        remedy = "send the column as text (Datatype: varchar; of a database, text_columns)"
        text = f"{values[wrong].as_py()} is no JSON number; {remedy}"
        raise InvalidValue(wrong, text)
    text = values.cast(pa.string())
    if pc.any(pc.equal(values, pa.scalar(0, values.type))).as_py():
        text = pc.if_else(pc.equal(text, "-0"), "-0.0", text)  # many readers take -0 for the integer 0
    return text
