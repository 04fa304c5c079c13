"""The values of tests/cases.py in one neutral form, and what readers return brought into it."""

from __future__ import annotations

import datetime
import json
import math
import struct
from decimal import Context, Decimal
from typing import Any

from integrator import schema

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
EXACT = Context(prec=100)
UNITS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def given(kind: schema.Type, value: Any) -> Any:
    """A case's value: times are integers already; real is what 32 bits hold; an interval is its ISO text."""
    if value is None:
        return None
    match kind:
        case schema.Float(32):
            return struct.unpack("f", struct.pack("f", value))[0]
        case schema.Interval():
            return tuple(value)
        case schema.Array(item):
            return [given(item, part) for part in value]
        case schema.Struct(fields):
            return {field.name: given(field.type, value[field.name]) for field in fields}
        case _:
            return value


def read(kind: schema.Type, value: Any) -> Any:
    """What a reader gave for a value of `kind`: dates and times as Python has them become integers of their unit."""
    if value is None:
        return None
    match kind:
        case schema.String():
            return str(value)  # a uuid may be an object of its own
        case schema.Array(item):
            return [read(item, part) for part in value]
        case schema.Struct(fields):
            return {field.name: read(field.type, value[field.name]) for field in fields}
        case schema.Timestamp(unit, _) if isinstance(value, datetime.datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
            return (aware - EPOCH) // datetime.timedelta(microseconds=1) * UNITS[unit] // 1_000_000
        case schema.Date() if isinstance(value, datetime.date):
            return (value - EPOCH.date()).days
        case schema.Time(unit) if isinstance(value, datetime.time):
            micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
            return micros * UNITS[unit] // 1_000_000
        case _:
            return value


def from_plain_text(kind: schema.Type, text: str | None) -> Any:
    """What plain JSON, CSV and XML write, by Python's own parsers."""
    if text is None:
        return None
    match kind:
        case schema.Boolean():
            return {"true": True, "false": False}[text]
        case schema.Integer():
            return int(text)
        case schema.Float(bits):
            number = float(text.replace("INF", "inf"))
            return struct.unpack("f", struct.pack("f", number))[0] if bits == 32 else number
        case schema.Decimal():
            return Decimal(text)
        case schema.Date():
            return (datetime.date.fromisoformat(text) - EPOCH.date()).days
        case schema.Time(unit):
            return _clock(text) * UNITS[unit] // UNITS["ns"]
        case schema.Timestamp(unit, zoned):
            assert text.endswith("Z") == zoned
            day, clock = text.removesuffix("Z").replace("T", " ").split(" ")
            days = (datetime.date.fromisoformat(day) - EPOCH.date()).days
            return (days * 86_400 * UNITS["ns"] + _clock(clock)) * UNITS[unit] // UNITS["ns"]
        case schema.Interval():
            return from_iso(text)
        case schema.Array(item):
            return [plain_json(item, part) for part in json.loads(text, parse_float=Decimal)]
        case schema.Struct(fields):
            parsed = json.loads(text, parse_float=Decimal)
            return {field.name: plain_json(field.type, parsed[field.name]) for field in fields}
        case _:
            return text


def plain_json(kind: schema.Type, value: Any) -> Any:
    """A value of plain JSON, read with decimals exact."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(kind, schema.Bytes):
        import base64

        return base64.b64decode(value)
    if isinstance(kind, schema.Array):
        return [plain_json(kind.item, part) for part in value]
    if isinstance(kind, schema.Struct):
        return {field.name: plain_json(field.type, value[field.name]) for field in kind.fields}
    return from_plain_text(kind, str(value))


def _clock(text: str) -> int:
    clock, _, fraction = text.partition(".")
    hours, minutes, seconds = map(int, clock.split(":"))
    return ((hours * 60 + minutes) * 60 + seconds) * UNITS["ns"] + int(fraction.ljust(9, "0") or 0)


def from_iso(text: str) -> tuple[int, int, int]:
    """(months, days, nanoseconds) of P1Y2M3DT4H5M6.789S."""
    import re

    found = re.fullmatch(r"P(-?\d+)Y(-?\d+)M(-?\d+)DT(-?\d+)H(-?\d+)M(-?)(\d+)(?:\.(\d+))?S", text)
    assert found, text
    years, months, days, hours, minutes, sign, seconds, fraction = found.groups()
    nanos = int(seconds) * UNITS["ns"] + int((fraction or "").ljust(9, "0") or 0)
    clock = (int(hours) * 3600 + int(minutes) * 60) * UNITS["ns"] + (-nanos if sign else nanos)
    return int(years) * 12 + int(months), int(days), clock


def decimal(unscaled: int, scale: int) -> Decimal:
    """The decimal of an unscaled value, all of its digits kept."""
    return Decimal(unscaled).scaleb(-scale, context=EXACT)


def days(year: int, month: int, day: int) -> int:
    """Days since 1970."""
    return (datetime.date(year, month, day) - EPOCH.date()).days


def same(left: Any, right: Any) -> bool:
    """Equal, NaN and NaN too; decimals with the same digits."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right) and (not isinstance(left, Decimal) or left.as_tuple() == Decimal(right).as_tuple())
