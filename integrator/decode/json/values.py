"""Slices -> values as JSON itself has them: numbers are numbers, and what JSON has no type for is text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from integrator import schema
from integrator.arrow.arrays import flat, unfit
from integrator.decode.json.columns import exact, is_number_text, json_type, typed
from integrator.decode.json.lists import from_json_list
from integrator.decode.json.moments import read_dates, read_moments
from integrator.decode.json.numbers import read_booleans, read_decimals, read_integers
from integrator.decode.json.slices import raw_of, texts_of
from integrator.decode.lines.lines import pieces
from integrator.decode.text.refused import ValueRefused
from integrator.decode.text.values import from_text
from integrator.engine.arrays import Mask, Octets
from integrator.engine.grammar import LIST
from integrator.engine.values import Slices
from integrator.schema import Type, arrow_type


def read_text(text: Octets, at: Slices) -> pa.Array:
    """Return the characters of texts. Raises ValueRefused for what is neither a text nor null."""
    _check(text, at, at.are_texts(text))
    return texts_of(text, at)


def read_json(text: Octets, at: Slices, kind: Type) -> pa.Array:
    """Return values of a type, null where there is none. Raises ValueRefused, and pa.ArrowInvalid."""
    if not at.end.any():
        return pa.nulls(len(at.end), arrow_type(kind))
    found: pa.Array | None = None
    match kind:
        case schema.String() if is_number_text(kind):
            return _exact_numbers(text, at, kind)
        case schema.String(role="bits" | "varbits"):
            return from_text(read_text(text, at), kind)
        case schema.String():
            return read_text(text, at)
        case schema.Integer():
            found = _integers(text, at, kind)
        case schema.Boolean():
            found = read_booleans(text, at)
        case schema.Float():
            return _floats(text, at, kind)
        case schema.Decimal():
            found = read_decimals(text, at, kind)
            return from_text(texts_of(text, at), kind) if found is None else found
        case schema.Date():
            found = read_dates(text, at)
        case schema.Timestamp():
            found = read_moments(text, at, kind, "own" if kind.zoned else "none")
        case schema.Array(schema.Decimal() as item):  # of which Arrow's parser does not take all that are written
            _check(text, at, at.first_bytes(text) == LIST)
            return from_json_list(raw_of(text, at), item, lambda items, _: from_text(items, item))
        case _:
            pass
    return typed(_others(text, at, json_type(kind)), kind) if found is None else found


def _integers(text: Octets, at: Slices, kind: schema.Integer) -> pa.Array | None:
    """Return integers; None where one is written otherwise than most. Raises ValueRefused."""
    found = read_integers(text, at, kind, quoted=False)
    if found is None and kind.one_digit:
        _check(text, at, ~at.are_texts(text))
        return from_text(texts_of(text, at), kind)
    if found is None:  # a check here costs less than a search with Arrow's parser
        _check(text, at, _are_numbers(text, at))
    return found


def _check(text: Octets, at: Slices, right: Mask) -> None:
    """Raise ValueRefused for the values that are neither `right` nor null."""
    wrong = [] if right.all() else np.flatnonzero(~right & ~at.nulls(text)).tolist()
    if wrong:
        raise ValueRefused(wrong[0], "", wrong)


def _exact_numbers(text: Octets, at: Slices, kind: Type) -> pa.Array:
    """Return numbers as the text that they are written in, and texts of numbers as theirs. Raises ValueRefused."""
    _check(text, at, at.are_texts(text) | _are_numbers(text, at))
    return from_text(texts_of(text, at), kind)


def _are_numbers(text: Octets, at: Slices) -> Mask:
    """Return which values begin as numbers do; that they are numbers was checked."""
    byte = at.first_bytes(text)
    found = (byte == ord("-")) | ((byte >= ord("0")) & (byte <= ord("9")))
    return np.asarray(found & (at.end > 0), np.bool_)


def _floats(text: Octets, at: Slices, kind: schema.Float) -> pa.Array:
    """Return floating-point numbers; a cast makes them of what JSON has as such, and also of +1, nan and 1e999."""
    _check(text, at, _are_numbers(text, at))
    numbers = raw_of(text, at).cast(arrow_type(kind))
    if pc.any(pc.is_inf(numbers)).as_py():
        raise unfit(f"it is larger than a number of {kind.bits} bits can be")
    return numbers


def _others(text: Octets, at: Slices, parsed: pa.DataType) -> pa.Array:
    """Return values as Arrow's parser reads them, of those that are there."""
    there = np.flatnonzero(at.end)
    try:
        found = _parsed(pieces(text, at.start[there], at.end[there]), parsed)
    except ValueRefused as error:
        raise error.at(int(there[error.index]), there[list(error.every)].tolist()) from None
    if len(there) == len(at.end):
        return found
    places = np.full(len(at.end), -1)
    places[there] = np.arange(len(there))
    return found.take(pa.array(places, mask=places < 0))


def _has_decimals(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_decimals(kind.field(place).type) for place in range(kind.num_fields))
    return bool(pa.types.is_decimal(kind))


def _parsed(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return JSON values as Arrow's parser reads them."""
    if not len(values):
        return pa.nulls(0, wanted)
    if _has_decimals(wanted) and pc.any(pc.match_substring_regex(values, r"\d[eE][+-]?\d\d")).as_py():
        raise unfit("decimals in it have an exponent of several digits")  # Arrow's parser makes 0 of 1e-77
    objects = pc.binary_join_element_wise('{"":', values, "}\n", "")
    octets, _ = flat(objects)
    read = pyarrow.json.ReadOptions(use_threads=False, block_size=len(octets) + 1)
    options = pyarrow.json.ParseOptions(explicit_schema=pa.schema([("", wanted)]), unexpected_field_behavior="error")
    table = pyarrow.json.read_json(pa.BufferReader(octets), read_options=read, parse_options=options)
    found = table[""].combine_chunks()
    if len(found) != len(values):
        raise unfit("not one value each")
    if pa.types.is_list(wanted) and pa.types.is_floating(wanted.value_type) and pc.any(pc.is_inf(found.values)).as_py():
        raise unfit(f"it has a number that is larger than one of {wanted.value_type.bit_width} bits can be")
    return exact(found)
