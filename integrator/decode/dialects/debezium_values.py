"""Debezium's values: dates as days, times in three units, decimals and bytes in base64, by schema or by the modes set.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import Mask, mask
from integrator.arrow.durations import from_parts
from integrator.contracts.recipe import DebeziumModes
from integrator.decode.dialects.debezium_decimals import UNSIGNED, exact, is_struct, unscaled, unsigned, variable
from integrator.decode.json.lists import from_json_list
from integrator.decode.text.binary import from_base64, from_hex
from integrator.decode.text.refused import each, guarded
from integrator.decode.text.values import from_text
from integrator.schema import Type, arrow_type, describe

Ints = npt.NDArray[np.int64]
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
_UNIT_OF_MODE = {"CONNECT": "ms", "MICROSECONDS": "us", "NANOSECONDS": "ns"}
BITS = "io.debezium.data.Bits"
DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE = "io.debezium.data.VariableScaleDecimal"
DAYS = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31, in days since 1970-01-01: years that text has four digits for."""
_NANO_DURATION = "io.debezium.time.NanoDuration"
PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class Field:
    """What an event's schema says of a column: Connect's type, the logical type's name, and a decimal's scale."""

    kind: str = ""
    name: str = ""
    scale: int | None = None
    length: int | None = None
    item: Field | None = None

    @staticmethod
    def of(field: dict[str, Any]) -> Field:
        """Read a field of a schema (https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/json/JsonSchema.html)."""
        parameters, items = field.get("parameters") or {}, field.get("items")
        return Field(
            kind=str(field.get("type", "")),
            name=str(field.get("name") or ""),
            scale=int(parameters["scale"]) if "scale" in parameters else None,
            length=int(parameters["length"]) if "length" in parameters else None,
            item=Field.of(items) if items else None,
        )


NO_FIELD = Field()
"""What is known of a column without a schema."""


def unsigned_bigint(values: pa.Array, quoted: Mask, field: Field, modes: DebeziumModes) -> pa.Array:
    """Return MySQL's bigint unsigned: numbers in the connector's long mode, base64 in its precise mode.

    Without a schema a decimal of 20 digits looks the same: as text (decimal.handling.mode string) it is digits, and a
    negative number (double) may be of either type. Raises ValueRefused.
    """
    what, wanted = describe(UNSIGNED), arrow_type(UNSIGNED)
    mode = "" if field.kind else modes.decimal_handling_mode
    negative = mask(pc.starts_with(values, "-")) & (mode == "DOUBLE")

    def precise(part: pa.Array) -> pa.Array:
        return guarded(part, lambda some: unscaled(some, 0).cast(wanted), what)

    def digits(part: pa.Array) -> pa.Array:
        return from_text(part, UNSIGNED)

    return each(
        values,
        [
            (negative, lambda part: guarded(part, _refuse_sign, what)),
            (quoted, digits if mode == "STRING" else precise),
            (None, lambda part: guarded(part, unsigned, what)),
        ],
    )


def _refuse_sign(values: pa.Array) -> pa.Array:
    if values.null_count < len(values):
        raise ValueError(
            "a decimal, or a bigint unsigned from 2^63 on, which only the event's schema shows: send it "
            "(value.converter.schemas.enable), or set decimal.handling.mode: precise at the connector"
        )
    return pa.nulls(len(values), arrow_type(UNSIGNED))


def convert(values: pa.Array, quoted: Mask, kind: Type, field: Field, modes: DebeziumModes) -> pa.Array:
    """Return the text of JSON values in the column's type; `quoted` are those that are strings in JSON.

    Each value is read by what it is itself: a number of days and a date as text may stand in one column. Raises
    ValueRefused.
    """
    what = describe(kind)
    number = mask(pc.match_substring_regex(values, r"^-?\d+$"))

    def text(part: pa.Array) -> pa.Array:
        return from_text(part, kind)

    pattern = r"^(.*)Z$" if isinstance(kind, schema.Date) else r"^(.*\d\d:\d\d.*)(?:Z|\+00:?00)$"

    def without_zone(part: pa.Array) -> pa.Array:
        return from_text(pc.replace_substring_regex(part, pattern, r"\1"), kind)

    match kind:
        case schema.Array(item):
            item_field = field.item or NO_FIELD
            return from_json_list(values, item, lambda items, is_text: convert(items, is_text, item, item_field, modes))
        case schema.Date():
            return each(values, [(number, lambda part: guarded(part, _days, what)), (None, without_zone)])
        case schema.Time() | schema.Timestamp():
            unit = unit_of(kind, field, modes)
            other = text if isinstance(kind, schema.Timestamp) and kind.zoned else without_zone
            return each(values, [(number, lambda part: _moments(part, kind, unit)), (None, other)])
        case schema.Interval():
            nanos = 1 if field.name == _NANO_DURATION else 1000

            def duration(part: pa.Array) -> pa.Array:
                return guarded(part, lambda numbers: _duration(numbers, nanos), what)

            return each(values, [(number, duration), (None, text)])
        case schema.Bytes():
            return guarded(values, lambda part: _bytes(part, field, modes), what)
        case schema.Decimal(_, scale):
            own = scale if field.scale is None else field.scale
            precise = quoted & is_precise(field, modes)
            return each(
                values,
                [
                    (is_struct(values), lambda part: text(variable(part))),
                    (precise, lambda part: guarded(part, lambda n: unscaled(n, own).cast(arrow_type(kind)), what)),
                    (None, text),
                ],
            )
        case schema.String(role=role) if field.name == VARIABLE or (not field.kind and role == "unconstrained"):
            lost = quoted & (modes.decimal_handling_mode == "PRECISE") & (field.name != VARIABLE)
            refused = (lost, lambda part: _refuse_scale(part, what))
            return each(values, [(is_struct(values), variable), refused, (None, text)])
        case schema.String():
            return guarded(values, lambda part: _text(part, kind, field, modes), what)
        case _:
            return text(values)


def _refuse_scale(values: pa.Array, what: str) -> pa.Array:
    """Raise ValueRefused, if there are values: the bytes of a decimal without its scale."""

    def refused(part: pa.Array) -> pa.Array:
        if part.null_count < len(part):
            raise ValueError(
                "the record does not have its scale: declare precision and scale of the column, or let the connector "
                "write its schema (schemas.enable) or text (decimal.handling.mode=string, set here too)"
            )
        return part

    return guarded(values, refused, what)


def _text(values: pa.Array, kind: schema.String, field: Field, modes: DebeziumModes) -> pa.Array:
    """Return the text of what has no other type here. Raises ValueError."""
    if kind.role == "varbits" and (field.name == BITS or not field.kind) and values.null_count < len(values):
        raise ValueError("Debezium does not write how many bits a varbit has: declare the column as blob (BYTEA)")
    if field.name == BITS or (kind.role == "bits" and not field.kind):
        return _bits(values, field.length or kind.length)
    if field.name == DECIMAL:
        return exact(from_base64(values), field.scale or 0)
    is_scale_lost = kind.role == "number" and not field.kind and modes.decimal_handling_mode == "PRECISE"
    if is_scale_lost and values.null_count < len(values):
        raise ValueError("the scale of so long a decimal is given by a schema only: let the connector write it")
    return values


def _days(values: pa.Array) -> pa.Array:
    """Return days since 1970 as dates. Raises ValueError for those that text cannot say: Debezium's infinity is one."""
    days = values.cast(pa.int64())
    _check_range(days, *DAYS, "days from 0001-01-01 to 9999-12-31")
    return days.cast(pa.int32()).cast(pa.date32())


def _check_range(numbers: pa.Array, least: int, most: int, what: str) -> None:
    found = pc.min_max(numbers)
    if found["min"].is_valid and not (least <= found["min"].as_py() and found["max"].as_py() <= most):
        raise ValueError(f"expected {what}")


def _duration(values: pa.Array, nanos: int) -> pa.Array:
    """Return numbers of so many nanoseconds as intervals; with days, of 24 hours, where these are too many."""
    units = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    a_day = 86_400 * PER_SECOND["ns"] // nanos
    long = np.abs(units.astype(np.float64)) * nanos >= 2**63
    floor = units // a_day
    days = np.where(long, floor + ((units < 0) & (floor * a_day != units)), 0)  # towards zero, as the rest
    return from_parts(np.zeros(len(units), np.int64), days, (units - days * a_day) * nanos, pc.is_valid(values))


def unit_of(kind: schema.Time | schema.Timestamp, field: Field, modes: DebeziumModes) -> str:
    """Return the unit of a number that is a time."""
    if field.name in _UNITS:
        return _UNITS[field.name]
    mode = modes.time_precision_mode
    if mode == "ADAPTIVE_TIME_MICROSECONDS" and isinstance(kind, schema.Time):
        return "us"
    return _UNIT_OF_MODE.get(mode, kind.unit)  # adaptive: as finely as the column is declared


def _moments(values: pa.Array, kind: schema.Time | schema.Timestamp, unit: str) -> pa.Array:
    """Return numbers of `unit`s as times of day or moments. Raises ValueRefused for what is no time, or finer."""

    def made(part: pa.Array) -> pa.Array:
        numbers = part.cast(pa.int64())
        if isinstance(kind, schema.Time):
            _check_range(numbers, 0, 86_400 * PER_SECOND[unit] - 1, f"{unit} of a day: at least 0, fewer than it has")
        elif unit != "ns":
            least, most = (PER_SECOND[unit] * 86_400 * days for days in (DAYS[0], DAYS[1] + 1))
            _check_range(numbers, least, most - 1, f"{unit} of the years 0001 to 9999")
        moments = numbers.cast(pa.timestamp(unit)).cast(pa.timestamp(kind.unit))
        zoned = isinstance(kind, schema.Timestamp) and kind.zoned
        return pc.assume_timezone(moments, "UTC") if zoned else moments.cast(arrow_type(kind))

    return guarded(values, made, describe(kind))


def _bytes(values: pa.Array, field: Field, modes: DebeziumModes) -> pa.Array:
    if field.kind == "string" and modes.binary_handling_mode == "BYTES" and values.null_count < len(values):
        raise ValueError("its schema says text: say at the source location which binary_handling_mode wrote it")
    return from_hex(values) if field.kind != "bytes" and modes.binary_handling_mode == "HEX" else from_base64(values)


def is_precise(field: Field, modes: DebeziumModes) -> bool:
    """Return whether decimals are unscaled numbers."""
    return field.name == DECIMAL or (not field.kind and modes.decimal_handling_mode == "PRECISE")


def _bits(values: pa.Array, length: int | None) -> pa.Array:
    """Return bits, whose bytes come the least one first, as text of zeros and ones."""
    texts = [
        None if one is None else f"{int.from_bytes(one, 'little'):0{length or 8 * len(one)}b}"
        for one in from_base64(values).to_pylist()
    ]
    if length and any(text is not None and len(text) > length for text in texts):
        raise ValueError(f"it has more than {length} bits")
    return pa.array(texts, pa.string())
