"""Values as people write them, for the formats without a schema: JSON, CSV and XML.

Dates and times as HVR's pages show them: 2026-11-20, and 2026-11-20 12:34:56 with a fraction where there is one
(https://fivetran.com/docs/hvr6/action-reference/fileformat); JSON has ISO 8601's T between, and Z after an instant.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import plain_text
from integrator.arrow.base64 import base64, binary_as, decimals
from integrator.arrow.durations import iso_text
from integrator.contracts.message_format import Options
from integrator.formats import json_text
from integrator.formats.connect import in_years
from integrator.formats.json_object import Leaf, Value, value_of
from integrator.schema import Type

Write = Callable[[pa.Array], pa.Array]


def timestamps(values: pa.Array, *, iso: bool) -> pa.Array:
    """Return timestamps as text: the fraction has the digits of the unit, and is left out where it is zero.

    Raises InvalidValue for years before 0 and after 9999.
    """
    in_years(values)
    plain = values.cast(pa.timestamp(values.type.unit)) if values.type.tz else values
    seconds = pc.floor_temporal(plain, unit="second")
    shown = seconds.cast(pa.timestamp("s"), safe=False).cast(pa.string())
    whole = pc.equal(seconds, plain)
    if not pc.all(whole).as_py():
        shown = pc.if_else(whole, shown, plain.cast(pa.string()))
    if iso:
        shown = pc.replace_substring(shown, " ", "T")
    return pc.binary_join_element_wise(shown, "Z", "") if values.type.tz else shown


def times(values: pa.Array) -> pa.Array:
    """Return times of day as text, their fraction where there is one."""
    text = values.cast(pa.string())
    return pc.replace_substring_regex(text, r"\.0+$", "")


def json_leaf(options: Options) -> Leaf:
    """Return how plain JSON writes values: decimals as exact numbers, unless they are asked for as text or base64."""

    def leaf(kind: Type) -> Value:
        match kind:
            case schema.String():
                return Value(json_text.escaped, quoted=True)
            case schema.Bytes():
                how = "BASE64" if options.binary == "COPY" else options.binary
                return Value(lambda values: binary_as(values, how), quoted=True)
            case schema.Decimal() if options.decimals == "BASE64":
                return Value(decimals, quoted=True)
            case schema.Decimal():
                return Value(json_text.numbers, quoted=options.decimals == "TEXT")
            case schema.Float():
                return Value(json_text.floats)
            case schema.Timestamp():
                return Value(lambda values: timestamps(values, iso=True), quoted=True)
            case schema.Date() | schema.Time() | schema.Interval():
                return Value(text_of(kind, options), quoted=True)
            case _:
                return Value(json_text.numbers)

    return leaf


def text_of(kind: Type, options: Options) -> Write:
    """Return how values of `kind` become text that stands alone, in CSV and XML; bytes are for those to write."""
    match kind:
        case schema.Date():
            return lambda values: values.cast(pa.string())
        case schema.Time():
            return times
        case schema.Timestamp():
            return lambda values: timestamps(values, iso=False)
        case schema.Interval():
            return iso_text
        case schema.Array() | schema.Struct():
            return value_of(kind, json_leaf(options)).encode
        case schema.Bytes():
            return base64
        case schema.String() | schema.Encoded():
            return lambda values: values
        case schema.Float():
            return _floats
        case _:
            return plain_text


def _floats(values: pa.Array) -> pa.Array:
    """Return floats as the shortest text that reads back the same; NaN, INF and -INF as XML Schema has them."""
    text = values.cast(pa.string())
    odd = np.flatnonzero(pc.fill_null(pc.invert(pc.is_finite(values)), fill_value=False).to_numpy(zero_copy_only=False))
    if not len(odd):
        return text
    for found, word in (("nan", "NaN"), ("inf", "INF"), ("-inf", "-INF")):
        text = pc.if_else(pc.equal(text, found), word, text)
    return text
