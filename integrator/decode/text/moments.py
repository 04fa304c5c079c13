"""Dates, times of day and moments as databases print them -> Arrow, exactly, of the years 0001 to 9999."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow import zones
from integrator.arrow.arrays import first, mask
from integrator.schema import arrow_type

SECONDS = (-62_135_596_800, 253_402_300_799)
"""0001-01-01 00:00:00 and 9999-12-31 23:59:59, in seconds since 1970-01-01: years of four digits."""
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Of a fraction of a second, by unit."""
ZONE = r"(?:[Zz]|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)"
"""What is after a moment with a zone: Z, or the offset from UTC in hours, minutes and, of old dates, seconds."""
_ZONED = rf"^(?P<local>.*\d\d:\d\d.*?)(?P<zone>{ZONE})$"
_OFFSET = r"^(?:[Zz]|(?P<sign>[+-])(?P<h>[01]\d|2[0-3])(?::?(?P<m>[0-5]\d)(?::?(?P<s>[0-5]\d))?)?)$"
_YEARS = "expected a year from 0001 to 9999"


def date(values: pa.Array) -> pa.Array:
    """Return text as days. Raises ValueError."""
    _check(values)
    return pc.cast(values, pa.date32())


def time_of_day(values: pa.Array, kind: schema.Time) -> pa.Array:
    """Return text as times of day. Raises ValueError."""
    moments = _clock(pc.binary_join_element_wise("1970-01-01 ", values, ""), kind.unit)
    return moments.cast(arrow_type(kind))


def timestamp(values: pa.Array, kind: schema.Timestamp, zone: str | None = None) -> pa.Array:
    """Return text as moments; where the column has a zone, those without one are of `zone`. Raises ValueError."""
    if not kind.zoned:
        return _clock(values, kind.unit)
    parts = pc.extract_regex(values, _ZONED)
    bare = mask(pc.is_null(parts)) & mask(pc.is_valid(values))
    if zone is None and bare.any():
        raise ValueError("expected a zone after it, as an offset from UTC: YYYY-MM-DD HH:MM:SS+00")
    local = _clock(pc.if_else(pa.array(bare), None, pc.struct_field(parts, "local")), kind.unit)
    found = _checked(_in_utc(local, pc.struct_field(parts, "zone"), kind))
    if zone is None or not bare.any():
        return found
    shown = _clock(pc.if_else(pa.array(bare), values, None), kind.unit)
    return pc.coalesce(_checked(zones.instants(shown, zone)), found)


def _in_utc(local: pa.Array, zone: pa.Array, kind: schema.Timestamp) -> pa.Array:
    """Return what clocks show as moments, given the offset of each."""
    parts = pc.extract_regex(zone, _OFFSET)
    if parts.null_count > zone.null_count:
        raise ValueError("expected a zone as an offset from UTC: hours up to 23, minutes and seconds up to 59")
    hours, minutes, seconds = (_number(pc.struct_field(parts, name)) for name in "hms")
    behind = np.where(mask(pc.equal(pc.struct_field(parts, "sign"), "-")), 1, -1)
    shift = pa.array(behind * (hours * 3600 + minutes * 60 + seconds) * PER_SECOND[kind.unit])
    return pc.add_checked(local.cast(pa.int64()), shift).cast(arrow_type(kind))


def _number(digits: pa.Array) -> np.ndarray:
    """Return numbers of two digits; 0 where there are none."""
    empty = pc.or_(pc.is_null(digits), pc.equal(digits, ""))
    return np.asarray(pc.if_else(pc.fill_null(empty, fill_value=True), "0", digits).cast(pa.int64()))


def _clock(values: pa.Array, unit: str) -> pa.Array:
    """Return text as moments without a zone. Raises ValueError."""
    _check(values)
    return pc.cast(_without_zeros(values, unit), pa.timestamp(unit))


def _without_zeros(values: pa.Array, unit: str) -> pa.Array:
    """Return moments as text without zeros that are finer than a unit, which Arrow refuses."""
    digits = _DIGITS[unit]
    if digits == 9:
        return values
    kept = rf"(\.\d{{{digits}}})" if digits else r"()\."
    return pc.replace_substring_regex(values, rf"{kept}0{{1,{9 - digits}}}($|[^0-9])", r"\1\2")


def _check(values: pa.Array) -> None:
    """Raise ValueError for what Arrow would take for a moment: a date with hours alone; the year 0, which is 1 BC."""
    if pc.any(pc.match_substring_regex(values, r"^[^ T]*[ T]\d\d([^:]|$)")).as_py():
        raise ValueError("a time of day needs minutes: expected YYYY-MM-DD HH:MM:SS")
    if pc.any(pc.starts_with(values, "0000")).as_py():
        raise ValueError(_YEARS)


def _checked(moments: pa.Array) -> pa.Array:
    """Return moments of UTC. Raises ValueError for one that its offset moves out of the years 0001 to 9999."""
    if beyond(moments) is not None:
        raise ValueError(f"{_YEARS} in UTC")
    return moments


def beyond(moments: pa.Array) -> int | None:
    """Return the first date or moment that is not of the years 0001 to 9999, or None."""
    if pa.types.is_date(moments.type):
        moments = moments.cast(pa.timestamp("s"))
    per = PER_SECOND[moments.type.unit]
    counts = moments.cast(pa.int64())
    least, most = max(SECONDS[0] * per, -(1 << 63)), min((SECONDS[1] + 1) * per - 1, (1 << 63) - 1)
    return first(pc.or_(pc.less(counts, least), pc.greater(counts, most)))
