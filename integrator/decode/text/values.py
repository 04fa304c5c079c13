"""Text as databases print it -> typed Arrow values, exactly or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask, plain_text, to_decimal
from integrator.decode.text import moments
from integrator.decode.text.binary import bits, from_hex
from integrator.decode.text.intervals import intervals
from integrator.decode.text.literals import in_words, read_arrays
from integrator.decode.text.refused import guarded
from integrator.schema import Type, arrow_type, describe


def from_text(values: pa.Array, kind: Type) -> pa.Array:
    """Return text values (null stays null) as `arrow_type(kind)`. Raises ValueRefused for the first that is none."""
    return guarded(values, _converter(kind), describe(kind))


def _converter(kind: Type) -> Callable[[pa.Array], pa.Array]:  # noqa: PLR0912 - one case a type
    match kind:
        case schema.String(role="number" | "unconstrained"):
            return _number_text
        case schema.String(length, "bits" | "varbits" as role):
            return lambda values: bits(values, length, varying=role == "varbits")
        case schema.String():
            return lambda values: values
        case schema.Bytes():
            return from_hex
        case schema.Time():
            return lambda values: moments.time_of_day(values, kind)
        case schema.Interval():
            return intervals
        case schema.Decimal(role="money"):
            return _money
        case schema.Decimal():
            return lambda values: to_decimal(values, arrow_type(kind))
        case schema.Array(item):
            return lambda values: _array(values, item)
        case schema.Integer():
            return lambda values: _integer(values, kind)
        case schema.Float():
            return lambda values: _float(values, kind)
        case schema.Timestamp():
            return lambda values: moments.timestamp(values, kind)
        case schema.Date():
            return moments.date
        case _:
            return lambda values: pc.cast(values, arrow_type(kind))


def _money(values: pa.Array) -> pa.Array:
    """Return money that is written as a number. Raises ValueError for what lc_monetary makes of it: $1,234.50."""
    if pc.any(pc.match_substring_regex(values, r"[^0-9.eE+-]")).as_py():
        raise ValueError(
            "it is written in the format of lc_monetary, which only the database can read: " + MONEY_REMEDY
        )
    return to_decimal(values, pa.decimal128(19, 2))


MONEY_REMEDY = "declare the column as text in the table's definition, and have SQL or the consumer read it"
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^(?i:nan|[+-]?inf(inity)?)$"
"""A number as databases print it; PostgreSQL's numeric may be NaN or Infinity."""


def _number_text(values: pa.Array) -> pa.Array:
    """Return text that is a number, for which no exact type is wide enough. Raises ValueError."""
    if not pc.all(pc.match_substring_regex(values, _NUMBER)).as_py() and values.null_count < len(values):
        raise ValueError("expected a number")
    return values


_WORDS, _DIGITS = pa.array(["true", "false"]), pa.array(["1", "0"])


def _integer(values: pa.Array, kind: schema.Integer) -> pa.Array:
    """Return text as integers. Raises ValueError for text that is not digits alone, as 0x1F, which Arrow would take."""
    if kind.one_digit:
        values = pc.coalesce(_DIGITS.take(pc.index_in(values, _WORDS)), values)
    if not pc.all(pc.match_substring_regex(values, r"^[+-]?\d+$")).as_py() and values.null_count < len(values):
        raise ValueError("expected digits")
    return pc.cast(values, arrow_type(kind))


_ENDLESS = pa.array(["inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"])
"""Words of databases for numbers without end, in lower case."""


def _float(values: pa.Array, kind: schema.Float) -> pa.Array:
    """Return text as floating-point numbers. Raises ValueError for a number that is too large for its type."""
    numbers = pc.cast(values, arrow_type(kind))
    endless = mask(pc.is_inf(numbers))
    if endless.any():
        written = pc.utf8_lower(values.filter(pa.array(endless)))
        if not pc.all(pc.is_in(written, _ENDLESS)).as_py():
            raise ValueError(f"it is larger than a number of {kind.bits} bits can be")
    return numbers


def _array(values: pa.Array, item: Type) -> pa.Array:
    """Return PostgreSQL's array literals as lists (https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO)."""
    split = read_arrays(values)
    items = from_text(in_words(split.flatten(), item), item)
    return pa.ListArray.from_arrays(split.offsets, items, mask=pc.is_null(values))


def from_column(values: pa.Array, kind: Type) -> pa.Array:
    """Return a column of a file, text or of a type, as `arrow_type(kind)`. Raises ValueRefused."""
    if pa.types.is_string(values.type):
        return from_text(values, kind)
    if pa.types.is_decimal(values.type) and isinstance(kind, schema.String):
        return plain_text(values)
    return guarded(values, lambda part: _typed(part, arrow_type(kind)), describe(kind))


def _typed(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return values of a type as another. Raises ValueError for a year that text cannot say in four digits."""
    of_days = pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)
    if of_days and moments.beyond(values) is not None:
        raise ValueError("expected a year from 0001 to 9999")
    return values.cast(wanted)
