"""Debezium's decimals: unscaled numbers in base64, with the scale of the column or one of their own.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-decimal-types
"""

from __future__ import annotations

import json
from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask, plain_text, to_decimal
from integrator.decode.dialects.texts import from_base64, from_unscaled
from integrator.decode.text.refused import guarded
from integrator.engine.arrays import Mask
from integrator.schema import arrow_type

UNSIGNED = schema.Decimal(20, 0)
"""What a bigint unsigned is here."""
_MOST_DIGITS = 100_000
_EXACT = Context(prec=_MOST_DIGITS)
"""PostgreSQL's numeric has at most 131,072 digits before the point and 16,383 after it."""
_ARROWS_SCALE, _ARROWS_BYTES = 38, 31
"""Up to which Arrow's decimals hold every number: of 128 bits at least 38 digits, of 256 bits 76."""


def unscaled(values: pa.Array, scale: int) -> pa.Array:
    """Return decimals of base64 and a scale. Raises ValueError for what is no base64."""
    return from_unscaled(from_base64(values), scale)


def unsigned(values: pa.Array) -> pa.Array:
    """Return MySQL's bigint unsigned as a connector writes it in long mode: digits, negative from 2^63 on."""
    numbers = to_decimal(values, arrow_type(UNSIGNED))
    if pc.any(pc.less(numbers, pa.scalar(Decimal(-(1 << 63)), arrow_type(UNSIGNED)))).as_py():
        raise ValueError("it is smaller than a number of 64 bits can be")
    wrapped = pc.add(numbers, pa.scalar(Decimal(1 << 64), arrow_type(UNSIGNED))).cast(arrow_type(UNSIGNED))
    return pc.if_else(pc.less(numbers, pa.scalar(Decimal(0), arrow_type(UNSIGNED))), wrapped, numbers)


def exact(values: pa.Array, scale: int) -> pa.Array:
    """Return the text of unscaled numbers of any length, which come as bytes, with a scale."""
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if 0 <= scale <= _ARROWS_SCALE and longest <= _ARROWS_BYTES:
        return plain_text(from_unscaled(values, scale))
    return pa.array([None if one is None else _plain(one, scale) for one in values.to_pylist()], pa.string())


def _plain(number: bytes, scale: int) -> str:
    return f"{Decimal(int.from_bytes(number, 'big', signed=True)).scaleb(-scale, _EXACT):f}"


def is_struct(values: pa.Array) -> Mask:
    """Return which values are decimals that come with a scale of their own."""
    return mask(pc.starts_with(values, "{"))


def variable(values: pa.Array) -> pa.Array:
    """Return the text of decimals each of which has its own scale. Raises ValueRefused."""
    return guarded(values, _of_structs, "decimal with its scale")


def _of_structs(values: pa.Array) -> pa.Array:
    structs = [None if text is None else json.loads(text) for text in values.to_pylist()]
    if not all(one is None or (_is_scale(one.get("scale")) and isinstance(one.get("value"), str)) for one in structs):
        raise ValueError('expected {"scale":…,"value":"…"}')
    numbers = from_base64(pa.array([one and one["value"] for one in structs], pa.string())).to_pylist()
    texts = (
        None if one is None else _plain(number, one["scale"]) for number, one in zip(numbers, structs, strict=True)
    )
    return pa.array(texts, pa.string())


def _is_scale(scale: object) -> bool:
    return isinstance(scale, int) and not isinstance(scale, bool) and abs(scale) <= _MOST_DIGITS
