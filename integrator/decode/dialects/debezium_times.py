"""Debezium's dates, times and intervals that are numbers: of days, and of units that the schema or the modes say.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-temporal-types
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.durations import from_parts
from integrator.contracts.recipe import DebeziumModes
from integrator.decode.dialects.debezium_fields import NAME_IT, Field
from integrator.decode.text.refused import guarded
from integrator.schema import arrow_type, describe

_UNITS = {
    "io.debezium.time.Time": "ms",
    "io.debezium.time.MicroTime": "us",
    "io.debezium.time.NanoTime": "ns",
    "io.debezium.time.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
    "org.apache.kafka.connect.data.Time": "ms",
    "org.apache.kafka.connect.data.Timestamp": "ms",
}
_DATES = ("io.debezium.time.Date", "org.apache.kafka.connect.data.Date")
_UNIT_OF_MODE = {"CONNECT": "ms", "MICROSECONDS": "us", "NANOSECONDS": "ns"}
DAYS = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31, in days since 1970-01-01: years that text has four digits for."""
NANO_DURATION = "io.debezium.time.NanoDuration"
PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def days_of(values: pa.Array) -> pa.Array:
    """Return days since 1970 as dates. Raises ValueError for those that text cannot say: Debezium's infinity is one."""
    days = values.cast(pa.int64())
    _check_range(days, *DAYS, "days from 0001-01-01 to 9999-12-31")
    return days.cast(pa.int32()).cast(pa.date32())


def _check_range(numbers: pa.Array, least: int, most: int, what: str) -> None:
    found = pc.min_max(numbers)
    if found["min"].is_valid and not (least <= found["min"].as_py() and found["max"].as_py() <= most):
        raise ValueError(f"expected {what}")


def _check_moments(numbers: pa.Array, unit: str) -> None:
    if unit != "ns":
        least, most = (PER_SECOND[unit] * 86_400 * days for days in (DAYS[0], DAYS[1] + 1))
        _check_range(numbers, least, most - 1, f"{unit} of the years 0001 to 9999")


def duration_of(values: pa.Array, nanos: int) -> pa.Array:
    """Return numbers of so many nanoseconds as intervals; with days, of 24 hours, where these are too many."""
    units = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    a_day = 86_400 * PER_SECOND["ns"] // nanos
    long = np.abs(units.astype(np.float64)) * nanos >= 2**63
    floor = units // a_day
    days = np.where(long, floor + ((units < 0) & (floor * a_day != units)), 0)  # towards zero, as the rest
    return from_parts(np.zeros(len(units), np.int64), days, (units - days * a_day) * nanos, pc.is_valid(values))


def unit_of(kind: schema.Time | schema.Timestamp, field: Field, modes: DebeziumModes) -> str:
    """Return the unit of a number that is a time; nothing where it depends on which database wrote it."""
    if field.name in _UNITS:
        return _UNITS[field.name]
    mode = modes.time_precision_mode
    if isinstance(kind, schema.Time) and mode == "ADAPTIVE_TIME_MICROSECONDS":
        return "us"
    if isinstance(kind, schema.Time) and not mode and kind.unit == "ms":
        return ""
    declared = "ns" if isinstance(kind, schema.Time) and kind.finer else kind.unit
    return _UNIT_OF_MODE.get(mode, declared)  # adaptive: as finely as the column is declared


def moments_of(values: pa.Array, kind: schema.Time | schema.Timestamp, unit: str) -> pa.Array:
    """Return numbers of `unit`s as times of day or moments. Raises ValueRefused for what is no time, or finer."""

    def made(part: pa.Array) -> pa.Array:
        numbers = part.cast(pa.int64())
        if isinstance(kind, schema.Time):
            _check_range(numbers, 0, 86_400 * PER_SECOND[unit] - 1, f"{unit} of a day: at least 0, fewer than it has")
        else:
            _check_moments(numbers, unit)
        moments = numbers.cast(pa.timestamp(unit)).cast(pa.timestamp(kind.unit))
        zoned = isinstance(kind, schema.Timestamp) and kind.zoned
        return pc.assume_timezone(moments, "UTC") if zoned else moments.cast(arrow_type(kind))

    return guarded(values, made, describe(kind))


def is_temporal(field: Field) -> bool:
    """Return whether numbers are dates, times of day or moments, as their schema says."""
    return field.name in _UNITS or field.name in _DATES


def as_text(values: pa.Array, field: Field) -> pa.Array:
    """Return such numbers as text, as SQL writes them: of a column that is text. Raises ValueError.

    Times of day may be negative, or beyond a day, and as fine as they are.
    """
    if field.name in _DATES:
        return days_of(values).cast(pa.string())
    unit, numbers = _UNITS[field.name], values.cast(pa.int64())
    if field.name.endswith("Timestamp"):
        _check_moments(numbers, unit)
        return numbers.cast(pa.timestamp(unit)).cast(pa.string())
    size, units = PER_SECOND[unit], pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    seconds, fraction = np.divmod(np.abs(units), size)
    parts = [(seconds // 3600, 2), (seconds // 60 % 60, 2), (seconds % 60, 2), (fraction, len(str(size)) - 1)]
    signs = pc.if_else(pa.array(units < 0), "-", "")
    hours, minutes, rest, digits = (pc.utf8_lpad(pa.array(part).cast(pa.string()), width, "0") for part, width in parts)
    texts = pc.binary_join_element_wise(signs, hours, ":", minutes, ":", rest, ".", digits, "")
    return pc.if_else(pc.is_valid(values), texts, None)


def refuse_unit(values: pa.Array) -> pa.Array:
    """Raise ValueError, if there are values, for numbers whose unit depends on a database that is not named."""
    if values.null_count < len(values):
        raise ValueError(
            f"microseconds if MySQL wrote it, else milliseconds: {NAME_IT}, or set time_precision_mode at the source"
        )
    return values
