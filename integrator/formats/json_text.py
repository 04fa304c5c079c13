"""JSON's scalars (RFC 8259), column by column: typed Arrow values -> the text of each."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import first, flat, plain_text
from integrator.formats.contract import RefusedValue

_ESCAPE_PATTERN = r'["\\\x00-\x1f]'
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_CONTROLS = re.compile(r"[\x00-\x1f]")
_QUOTE, _BACKSLASH, _FIRST_PLAIN = ord('"'), ord("\\"), 0x20


def escaped(values: pa.Array) -> pa.Array:
    """Return text as it stands between the quotes of a JSON string; only the rows that need it are escaped."""
    data, _ = flat(values)
    if not ((data < _FIRST_PLAIN).any() or (data == _QUOTE).any() or (data == _BACKSLASH).any()):
        return values
    needs = pc.fill_null(pc.match_substring_regex(values, _ESCAPE_PATTERN), fill_value=False)
    return pc.replace_with_mask(values, needs, _escape(values.filter(needs)))


def _escape(values: pa.Array) -> pa.Array:
    for plain, escape in _SHORT.items():
        values = pc.replace_substring(values, plain, escape)
    rest = pc.match_substring_regex(values, r"[\x00-\x1f]")
    if pc.any(rest).as_py():
        texts = [_CONTROLS.sub(lambda c: f"\\u{ord(c[0]):04x}", text) for text in values.to_pylist()]
        values = pa.array(texts, pa.string())
    return values


def numbers(values: pa.Array) -> pa.Array:
    """Return integers, decimals and booleans as JSON writes them."""
    return plain_text(values)


def floats(values: pa.Array) -> pa.Array:
    """Return floating point numbers as JSON writes them. Raises RefusedValue for NaN and the infinities."""
    wrong = first(pc.invert(pc.is_finite(values)))
    if wrong is not None:
        text = f"{values[wrong].as_py()} is no JSON number; send the column as text (Datatype: varchar)"
        raise RefusedValue(wrong, text)
    return values.cast(pa.string())
