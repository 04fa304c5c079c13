"""Debezium's values: dates as days, times in three units, decimals and bytes in base64, by schema or by the modes set.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask
from integrator.contracts.recipe import DebeziumModes
from integrator.decode.dialects.debezium_decimals import UNSIGNED, exact, is_struct, unscaled, unsigned, variable
from integrator.decode.dialects.debezium_fields import BITS, DECIMAL, NAME_IT, NO_FIELD, VARIABLE, Field
from integrator.decode.dialects.debezium_times import (
    NANO_DURATION,
    as_text,
    days_of,
    duration_of,
    is_temporal,
    moments_of,
    refuse_unit,
    unit_of,
)
from integrator.decode.dialects.texts import bits_of_bytes, from_base64
from integrator.decode.json.lists import from_json_list
from integrator.decode.text.binary import from_hex
from integrator.decode.text.refused import each, guarded
from integrator.decode.text.values import from_text
from integrator.engine.arrays import Mask
from integrator.schema import Type, arrow_type, describe


def unsigned_bigint(values: pa.Array, quoted: Mask, field: Field, modes: DebeziumModes, *, known: bool) -> pa.Array:
    """Return MySQL's bigint unsigned: numbers in the connector's long mode, base64 in its precise mode.

    Without a schema a decimal of 20 digits is written the same: as text (decimal.handling.mode string) it is digits,
    which are no base64 of what has no sign; a negative number (double) may be of either type, as may one where it is
    not `known` that the database is MySQL. Raises ValueRefused.
    """
    what, wanted = describe(UNSIGNED), arrow_type(UNSIGNED)
    mode = "" if field.kind else modes.decimal_handling_mode
    negative = mask(pc.starts_with(values, "-")) & ~quoted
    written = quoted & (mode == "STRING") & mask(pc.match_substring_regex(values, r"^-?[\d.]+$"))
    whole = mask(pc.match_substring_regex(values, r"^-?\d+$"))

    def precise(part: pa.Array) -> pa.Array:
        return guarded(part, lambda some: unscaled(some, 0).cast(wanted), what)

    def digits(part: pa.Array) -> pa.Array:
        return from_text(part, UNSIGNED)

    return each(
        values,
        [
            (negative & ((mode == "DOUBLE") | ~whole), lambda part: guarded(part, _refuse_sign, what)),
            (negative & (not known), lambda part: guarded(part, _refuse_nameless, what)),
            (written, digits),
            (quoted, precise),
            (whole, lambda part: guarded(part, unsigned, what)),
            (None, digits),
        ],
    )


def _refuse_sign(values: pa.Array) -> pa.Array:
    if values.null_count < len(values):
        raise ValueError(
            "a decimal, or a bigint unsigned from 2^63 on, which only the event's schema shows: send it "
            "(value.converter.schemas.enable), or set decimal.handling.mode: precise at the connector"
        )
    return pa.nulls(len(values), arrow_type(UNSIGNED))


def _refuse_nameless(values: pa.Array) -> pa.Array:
    if values.null_count < len(values):
        raise ValueError(f"a bigint unsigned from 2^63 on if MySQL wrote it, else a decimal: {NAME_IT}")
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
            return each(values, [(number, lambda part: guarded(part, days_of, what)), (None, without_zone)])
        case schema.Time() | schema.Timestamp():
            unit = unit_of(kind, field, modes)
            if not unit:
                return each(values, [(number, lambda part: guarded(part, refuse_unit, what)), (None, without_zone)])
            other = text if isinstance(kind, schema.Timestamp) and kind.zoned else without_zone
            return each(values, [(number, lambda part: moments_of(part, kind, unit)), (None, other)])
        case schema.Interval():
            nanos = 1 if field.name == NANO_DURATION else 1000

            def duration(part: pa.Array) -> pa.Array:
                return guarded(part, lambda numbers: duration_of(numbers, nanos), what)

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
        case schema.String() if is_temporal(field):
            return each(values, [(number, lambda part: guarded(part, lambda n: as_text(n, field), what)), (None, text)])
        case schema.String():
            unread = (~quoted & _is_encoded(kind, field), text)
            return each(
                values, [unread, (None, lambda part: guarded(part, lambda n: _text(n, kind, field, modes), what))]
            )
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
        raise ValueError(
            "Debezium does not write how many bits a varbit has: define the table, with bit(n) for what is none, and "
            "blob (BYTEA) for a varbit"
        )
    if field.name == DECIMAL:
        return exact(from_base64(values), field.scale or 0)
    if _is_encoded(kind, field):
        return bits_of_bytes(from_base64(values), field.length or kind.length)
    is_scale_lost = kind.role == "number" and not field.kind and modes.decimal_handling_mode == "PRECISE"
    if is_scale_lost and values.null_count < len(values):
        raise ValueError("the scale of so long a decimal is given by a schema only: let the connector write it")
    return from_text(values, kind)


def _is_encoded(kind: schema.String, field: Field) -> bool:
    """Return whether values are in base64: bits, and decimals that the schema says to be such."""
    return field.name in (BITS, DECIMAL) or (kind.role == "bits" and not field.kind)


def _bytes(values: pa.Array, field: Field, modes: DebeziumModes) -> pa.Array:
    if field.kind == "string" and modes.binary_handling_mode == "BYTES" and values.null_count < len(values):
        raise ValueError("its schema says text: say at the source location which binary_handling_mode wrote it")
    if field.kind == "bytes" or modes.binary_handling_mode != "HEX":
        return from_base64(values)
    if field.kind:
        return from_hex(values)
    return each(values, [(mask(pc.match_substring_regex(values, _HEX)), from_hex), (None, _bits_as_bytes)])


_HEX = "^([0-9a-f]{2})*$"
"""As Debezium writes bytes in hex: in small letters."""


def _bits_as_bytes(values: pa.Array) -> pa.Array:
    """Return the bytes of bits, which are in base64 in every mode. Raises ValueError."""
    try:
        return from_base64(values)
    except ValueError:
        raise ValueError("expected hex digits in small letters, or base64, as bits are written") from None


def is_precise(field: Field, modes: DebeziumModes) -> bool:
    """Return whether decimals are unscaled numbers."""
    return field.name == DECIMAL or (not field.kind and modes.decimal_handling_mode == "PRECISE")
