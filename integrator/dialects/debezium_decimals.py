"""Debezium's decimals: unscaled numbers in base64, with the scale of the column or one of their own.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-decimal-types
"""

from __future__ import annotations

import json
from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrays import plain_text
from integrator.dialects.values import from_base64, from_unscaled, guarded
from integrator.schema import arrow_type

UNSIGNED = schema.Decimal(20, 0)
"""What a bigint unsigned is here."""
_EXACT = Context(prec=100_000)
_ARROWS_SCALE, _ARROWS_BYTES = 38, 31
"""Up to which Arrow's decimals hold every number: of 128 bits at least 38 digits, of 256 bits 76."""


def all_match(values: pa.Array, pattern: str) -> bool:
    """Say whether there are values, and all of them are written so."""
    told = values.drop_null()
    return len(told) > 0 and bool(pc.all(pc.match_substring_regex(told, pattern)).as_py())


def unscaled(values: pa.Array, scale: int) -> pa.Array:
    """Return decimals of base64 and a scale. Raises ValueError for what is no base64."""
    return from_unscaled(from_base64(values), scale)


def unsigned(values: pa.Array) -> pa.Array:
    """Return MySQL's bigint unsigned: digits, of which those from 2^63 on are negative; in precise mode base64.

    A batch that has digits alone is taken for digits (bigint.unsigned.handling.mode is long by default).
    """
    if all_match(values, r"^-?\d+$"):
        numbers = values.cast(arrow_type(UNSIGNED))
        wrapped = pc.add(numbers, pa.scalar(Decimal(1 << 64), arrow_type(UNSIGNED))).cast(arrow_type(UNSIGNED))
        return pc.if_else(pc.less(numbers, pa.scalar(Decimal(0), arrow_type(UNSIGNED))), wrapped, numbers)
    return unscaled(values, 0).cast(arrow_type(UNSIGNED))


def exact(values: pa.Array, scale: int) -> pa.Array:
    """Return the text of unscaled numbers of any length, which come as bytes, with a scale."""
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if 0 <= scale <= _ARROWS_SCALE and longest <= _ARROWS_BYTES:
        return plain_text(from_unscaled(values, scale))
    return pa.array([None if one is None else _plain(one, scale) for one in values.to_pylist()], pa.string())


def _plain(number: bytes, scale: int) -> str:
    return f"{Decimal(int.from_bytes(number, 'big', signed=True)).scaleb(-scale, _EXACT):f}"


def has_structs(values: pa.Array) -> bool:
    """Say whether there are decimals that come with a scale of their own."""
    return bool(pc.any(pc.starts_with(values, "{")).as_py())


def variable(values: pa.Array) -> pa.Array:
    """Return the text of decimals each of which has its own scale; other text as it is. Raises ValueRefused."""

    def made(part: pa.Array) -> pa.Array:
        structs = pc.fill_null(pc.starts_with(part, "{"), fill_value=False)
        told = [json.loads(text) for text in part.filter(structs).to_pylist()]
        if not all(isinstance(one.get("scale"), int) and isinstance(one.get("value"), str) for one in told):
            raise ValueError('expected {"scale":…,"value":"…"}')
        numbers = from_base64(pa.array([one["value"] for one in told], pa.string())).to_pylist()
        texts = [_plain(number, one["scale"]) for number, one in zip(numbers, told, strict=True)]
        return pc.replace_with_mask(part, structs, pa.array(texts, pa.string()))

    return guarded(values, made, "decimal with its scale") if has_structs(values) else values
