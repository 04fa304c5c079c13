"""Values in the text of JSON lines, given where each begins and ends, in their type: a call for those of all tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, Octets, Raw, flat
from integrator.dialects.hvr_records import Places
from integrator.dialects.json_columns import exact, typed
from integrator.dialects.json_objects import pieces
from integrator.dialects.json_text import BACKSLASH, QUOTE, SPACE
from integrator.dialects.lines import Lines, arrow_json
from integrator.schema import Type

_NULL = np.frombuffer(b"null", np.uint8)
_MINUS, _ZERO, _NINE = b"-09"


def is_plain(lines: Lines) -> bool:
    """Say whether there is nothing that JSON has an escape for, but for quotes."""
    text = np.frombuffer(lines.data, np.uint8)
    return lines.data.find(b"\\") < 0 and np.count_nonzero(text < SPACE) == len(lines)


def values_of(
    data: Raw, start: Places, end: Places, parsed: pa.DataType, wanted: Type | None, *, is_plain: bool
) -> pa.Array:
    """Return JSON values in their type. Raises ValueRefused, and pa.ArrowInvalid, for what is not of it."""
    if pa.types.is_string(parsed):
        values = _strings(data, start, end, is_plain=is_plain)
    elif pa.types.is_integer(parsed):
        values = _integers(data, start, end, parsed)
    else:
        values = _parsed(pieces(data, start, end), parsed)
    return values if wanted is None else typed(values, wanted)


def _strings(data: Raw, start: Places, end: Places, *, is_plain: bool) -> pa.Array:
    text = np.frombuffer(data, np.uint8)
    null = _nulls(text, start, end)
    if not ((text[start] == QUOTE) & (text[end - 1] == QUOTE) & (end - start >= 2) | null).all():
        raise pa.ArrowInvalid("no string")
    plain = pieces(data, start + ~null, np.where(null, start, end - 1))
    if not is_plain:
        octets, offsets = flat(plain)
        special = np.flatnonzero((octets < SPACE) | (octets == QUOTE) | (octets == BACKSLASH))
        rows = np.unique(np.searchsorted(offsets, special, side="right") - 1)
        there = np.zeros(len(plain), bool)
        there[rows] = True
        plain = pc.replace_with_mask(plain, there, _parsed(pieces(data, start[rows], end[rows]), pa.string()))
    return pc.if_else(null, None, plain) if null.any() else plain


def _integers(data: Raw, start: Places, end: Places, parsed: pa.DataType) -> pa.Array:
    """Return integers; Arrow makes them of digits alone, but also of 01 and 0x1."""
    text = np.frombuffer(data, np.uint8)
    null = _nulls(text, start, end)
    digit = start + (text[start] == _MINUS)
    first = text[digit]
    if not ((first > _ZERO) & (first <= _NINE) | (first == _ZERO) & (end - digit == 1) | null).all():
        return _parsed(pieces(data, start, end), parsed)
    digits = pieces(data, start, np.where(null, start, end))
    return (pc.if_else(null, None, digits) if null.any() else digits).cast(parsed)


def _nulls(text: Octets, start: Places, end: Places) -> Mask:
    """Say which values are null."""
    null = text[start] == _NULL[0]
    at = np.flatnonzero(null)
    if len(at):
        null[at[(end[at] - start[at] != len(_NULL))]] = False
        at = np.flatnonzero(null)
        null[at] = (text[start[at][:, None] + np.arange(len(_NULL))] == _NULL).all(axis=1)
    return np.asarray(null, np.bool_)


def _parsed(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return JSON values as Arrow's parser reads them."""
    if not len(values):
        return pa.nulls(0, wanted)
    objects = pc.binary_join_element_wise('{"":', values, "}\n", "")
    octets, _ = flat(objects)
    found = arrow_json(pa.schema([("", wanted)]), "error")(octets.tobytes())[""].combine_chunks()
    if len(found) != len(values):
        raise pa.ArrowInvalid("not one value each")
    return exact(found)
