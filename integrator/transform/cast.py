"""Values into a declared type, exactly or not at all."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow import zones
from integrator.arrow.arrays import as_lists, first, first_refused, items_of, plain_text, reason, to_decimal, unfit
from integrator.arrow.durations import iso_text
from integrator.contracts.message_format import Options
from integrator.decode.text import moments
from integrator.engine.arrays import Ints
from integrator.errors import shortened, shown
from integrator.formats.json_object import value_of
from integrator.formats.plain import json_leaf
from integrator.formats.records import InvalidValue
from integrator.schema import Type, arrow_type, describe

DEFAULT_FORMAT = "%[localtime] %Y-%m-%d %H:%M:%S"
"""How a timestamp becomes text where no format is given (https://fivetran.com/docs/hvr6/action-reference/columnproperties)."""

_SUBSECONDS = "SSS"
_EMPTY = {"json": "null", "uuid": "00000000-0000-0000-0000-000000000000"}
"""What stands for empty text where that would be none of its kind."""


class Refused(ValueError):
    """A value that cannot be; `index` is its row, where it is known; valued: the text may have values of rows."""

    def __init__(self, text: str, index: int | None = None, *, valued: bool = True) -> None:
        self.index, self.valued = index, valued
        super().__init__(text)

    def in_row(self, rows: Ints) -> Refused:
        """Return the same for an item of a list, given the row of each item."""
        return self.at(None if self.index is None else int(rows[self.index]), "an item of the list: ")

    def at(self, index: int | None, what: str = "") -> Refused:
        """Return the same for another row; `what` comes before the text."""
        return Refused(f"{what}{self}", index, valued=self.valued)


def cast(values: pa.Array, kind: Type, timezone: str) -> pa.Array:
    """Return `values` as `kind`. Raises Refused for a value that would not survive it, or is too long."""
    wanted = arrow_type(kind)
    if isinstance(kind, schema.Array) and is_list(values.type):
        items, rows = items_of(values)
        try:
            return as_lists(cast(items, kind.item, timezone), values)
        except Refused as error:
            raise error.in_row(rows) from None
    if values.type == wanted and not isinstance(kind, schema.String):
        return values

    def accepts(start: int, stop: int) -> bool:
        try:
            _converted(values.slice(start, stop - start), kind, timezone)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
        return True

    try:
        converted = _converted(values, kind, timezone)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if not len(values):
            raise Refused(str(error)) from None
        index = first_refused(len(values), accepts)
        why = f": {shortened(found)}" if (found := reason(error)) else ""
        raise Refused(f"{shown_at(values, index)} cannot become {describe(kind)}{why}", index) from None
    if isinstance(kind, schema.String):
        _check_length(converted, kind.length)
    if isinstance(kind, schema.Float):
        _check_finite(values, converted, kind)
    return converted


def _converted(values: pa.Array, kind: Type, timezone: str) -> pa.Array:
    """Return `values` as `kind`. Raises pa.ArrowInvalid, and pa.ArrowNotImplementedError."""
    wanted, is_text = arrow_type(kind), pa.types.is_string(values.type)
    match kind:
        case schema.String():
            return as_text(values, timezone)
        case schema.Decimal() if is_text:
            return to_decimal(values, wanted)
        case schema.Integer() if is_text:
            _check_digits(values)
        case schema.Date() | schema.Time() | schema.Timestamp() if is_text:
            return _moments(values, kind)
        case schema.Date() | schema.Time() if pa.types.is_timestamp(values.type) and values.type.tz:
            values = zones.clock(values, values.type.tz)  # of SQL: AT TIME ZONE
        case _:
            pass
    return pc.cast(values, wanted)


def _moments(texts: pa.Array, kind: schema.Date | schema.Time | schema.Timestamp) -> pa.Array:
    """Return text as moments, as records are read. Raises pa.ArrowInvalid."""
    try:
        match kind:
            case schema.Date():
                return moments.date(texts)
            case schema.Time():
                return moments.time_of_day(texts, kind)
            case schema.Timestamp():
                return moments.timestamp(texts, kind)
    except ValueError as error:
        raise unfit(reason(error)) from None


def _check_digits(texts: pa.Array) -> None:
    """Raise pa.ArrowInvalid for text that is no digits alone, as 0x1F, which Arrow would take for 31."""
    if first(pc.invert(pc.match_substring_regex(texts, r"^-?\d+$"))) is not None:
        raise unfit("expected digits")


def _check_finite(values: pa.Array, converted: pa.Array, kind: Type) -> None:
    beyond = pc.is_inf(converted)
    if pa.types.is_string(values.type):
        beyond = pc.and_(beyond, pc.invert(pc.match_substring_regex(values, "(?i)inf")))
    elif pa.types.is_floating(values.type):
        beyond = pc.and_(beyond, pc.invert(pc.is_inf(values)))
    index = first(beyond)
    if index is not None:
        raise Refused(f"{shown_at(values, index)} cannot become {describe(kind)}: it is beyond its range", index)


def is_list(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def shown_at(values: pa.Array, index: int) -> str:
    """Return a value as messages show it."""
    try:
        return shown(values[index].as_py())
    except (OverflowError, ValueError):  # a moment that Python's datetime does not have
        return str(values.slice(index, 1).cast(pa.string())[0].as_py())


def default_of(kind: Type, size: int, *, nullable: bool) -> pa.Array:
    """Return what stands where there is no value: null, else 0 or empty text, as HVR gives it.

    Raises Refused where there is no such value.
    """
    wanted = arrow_type(kind)
    return pa.nulls(size, wanted) if nullable else pa.repeat(_zero(kind, wanted), size)


def _zero(kind: Type, wanted: pa.DataType) -> pa.Scalar:
    match kind:
        case schema.String(_, role):
            return pa.scalar(_EMPTY.get(role, ""), wanted)
        case schema.Bytes():
            return pa.scalar(b"", wanted)
        case schema.Decimal():
            return pa.scalar(Decimal(0), wanted)
        case schema.Interval():
            return pa.scalar(pa.MonthDayNano([0, 0, 0]), wanted)
        case schema.Array():
            return pa.scalar([], wanted)
        case schema.Date() | schema.Time() | schema.Timestamp():
            return pa.scalar(0, pa.int32() if wanted.bit_width == 32 else pa.int64()).cast(wanted)
        case schema.Struct():
            raise Refused(
                f"{describe(kind)} has no value that can replace null; make the column nullable", valued=False
            )
        case _:
            return pa.scalar(0).cast(wanted)


def as_text(values: pa.Array, timezone: str) -> pa.Array:
    """Return values as text that stands alone."""
    if pa.types.is_string(values.type):
        return values
    if pa.types.is_interval(values.type):
        return iso_text(values)
    if pa.types.is_timestamp(values.type):
        return format_timestamp(values, DEFAULT_FORMAT, timezone)
    return plain_text(values)


def json_text(values: pa.Array, kind: Type, length: int | None) -> pa.Array:
    """Return arrays or structs of `kind` as JSON. Raises Refused for what JSON has no word for, or is too long."""
    try:
        text = value_of(kind, json_leaf(Options(decimals="NUMERIC"))).encode(values)
    except InvalidValue as error:
        raise Refused(str(error), error.index) from None
    _check_length(text, length)
    return text


def _check_length(text: pa.Array, length: int | None) -> None:
    if length is None or not len(text):
        return
    longest = pc.max(pc.binary_length(text)).as_py()  # bytes: never fewer than characters
    if longest is None or longest <= length:
        return
    index = first(pc.greater(pc.utf8_length(text), length))
    if index is not None:
        raise Refused(f"{shown(text[index].as_py())} is longer than varchar({length})", index)


def format_timestamp(values: pa.Array, spec: str, timezone: str) -> pa.Array:
    """Return timestamps as text by HVR's format: strftime's letters, `%[utc]` or `%[localtime]` before them, `SSS`.

    Timestamps without zone are wall clock readings, and stay what they are.
    """
    pattern = spec.strip()
    zone = timezone if pattern.startswith("%[localtime]") else "UTC"
    pattern = pattern.removeprefix("%[localtime]").removeprefix("%[utc]").strip()
    unit = "ms" if _SUBSECONDS in pattern else "s"
    moments_of = pa.timestamp(unit, "UTC" if values.type.tz else None)
    cut = pc.floor_temporal(values, unit="millisecond" if unit == "ms" else "second").cast(moments_of, safe=False)
    cut = zones.clock(cut, zone) if values.type.tz else cut
    if unit == "ms":
        # Arrow's %S has the fraction after it: 05.123
        pattern = pattern.replace("%S[.SSS]", "%S").replace("%S.SSS", "%S").replace("%SSSS", "\x01%S")
    text = pc.strftime(cut, format=pattern)
    return pc.replace_substring_regex(text, "\x01([0-9]+)[.]", r"\1") if "\x01" in pattern else text
