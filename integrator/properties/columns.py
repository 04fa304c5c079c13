"""Change rows -> the fields of the messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrays import Mask, first, mask
from integrator.changes import Changes
from integrator.errors import DataError
from integrator.properties.cast import Refused, cast, json_text
from integrator.properties.expression import evaluate
from integrator.recipe import DELETED, TRUNCATE, Field, Recipe, TableRecipe


@dataclass(frozen=True)
class Columns:
    """The fields' values, in the order of the recipe's fields; `missing` masks for those that have missing values.

    truncate: rows that stand for the whole table, in which every field that is not Extra is null.
    """

    values: dict[str, pa.Array]
    missing: dict[str, Mask]
    truncate: Mask


def to_columns(changes: Changes, recipe: TableRecipe, channel: Recipe, now: datetime) -> Columns:
    """Return the fields of `changes`. `now` is the integration's time stamp. Raises DataError."""
    values: dict[str, pa.Array] = {}
    missing: dict[str, Mask] = {}
    truncate = mask(pc.equal(changes.op, TRUNCATE))
    for field in recipe.fields:
        try:
            values[field.name] = _value(field, changes, recipe, channel, now)
        except Refused as error:
            line = f":{changes.line[error.index]}" if error.index is not None else ""
            where = f"{changes.file}{line}: table {changes.table}, column {field.name}"
            raise DataError(f"{where}: {error}") from None
        if truncate.any() and not field.extra:
            values[field.name] = pc.if_else(pa.array(truncate), None, values[field.name])
        if field.source in changes.missing:
            gone = changes.missing[field.source] & ~truncate
            if gone.any():
                missing[field.name] = gone
        if not field.nullable:
            _check_required(field, values[field.name], missing.get(field.name), truncate, changes)
    return Columns(values, missing, truncate)


def _value(field: Field, changes: Changes, recipe: TableRecipe, channel: Recipe, now: datetime) -> pa.Array:
    if field.soft_delete:
        deleted = pc.is_in(changes.op, pa.array(DELETED, pa.int8()))
        return cast(deleted.cast(pa.int32()), field.type, channel.timezone)
    if field.expression:
        return cast(evaluate(field.expression, changes, recipe, channel, now), field.type, channel.timezone)
    if field.source is None:
        return _default(field, len(changes))
    column = recipe.table.column(field.source)
    values = changes.columns[field.source]
    if column is not None and column.type == field.type:
        return values
    nested = column is not None and isinstance(column.type, schema.Array | schema.Struct)
    if column is not None and nested and isinstance(field.type, schema.String):
        return json_text(values, column.type, field.type.length)
    return cast(values, field.type, channel.timezone)


def _default(field: Field, size: int) -> pa.Array:
    """Return the value of an Extra column without an expression: null, else 0 or empty text, as HVR gives it."""
    kind = schema.arrow_type(field.type)
    if field.nullable:
        return pa.nulls(size, kind)
    if isinstance(field.type, schema.String):
        return pa.repeat("", size)
    return pa.repeat(pa.scalar(0).cast(kind), size)


def _check_required(field: Field, values: pa.Array, gone: Mask | None, truncate: Mask, changes: Changes) -> None:
    if not values.null_count:
        return
    null = mask(pc.is_null(values)) & ~truncate
    if gone is not None:
        null &= ~gone
    at = first(null)
    if at is not None:
        where = f"{changes.file}:{changes.line[at]}: table {changes.table}, column {field.name}"
        raise DataError(f"{where}: null, where the definition says not null; mend the record, or set Nullable: true")
