"""Change rows -> the fields of the messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.counters import MAX_DETAILS, CycleCounters
from integrator.contracts.operations import DELETED, TRUNCATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import Field, TableRecipe
from integrator.engine.arrays import Mask
from integrator.errors import shortened, shown
from integrator.schema import Type
from integrator.transform.cast import Refused, as_text, cast, default_of, json_text
from integrator.transform.coerce import Coercer
from integrator.transform.expression import EvaluationContext, RunClock

NULL_REFUSED = "null, where the definition says not null; mend the record, or set Nullable: true"


@dataclass(frozen=True)
class Columns:
    """The fields' values, in the order of the recipe's fields; `missing` masks for those that have missing values.

    truncate: rows that stand for the whole table, in which every field that is not Extra is null.
    """

    values: dict[str, pa.Array]
    missing: dict[str, Mask]
    truncate: Mask


def to_columns(
    changes: ChangeBatch, recipe: TableRecipe, channel: Recipe, clock: RunClock, counters: CycleCounters
) -> Columns:
    """Return the fields of `changes`; what was coerced is counted. Raises DataError."""
    values: dict[str, pa.Array] = {}
    missing: dict[str, Mask] = {}
    context = EvaluationContext(changes, recipe, channel, clock)
    truncate, gaps = mask(pc.equal(changes.op, TRUNCATE)), changes.gaps
    for field in recipe.fields:
        coercer = _coercer(field, context, counters)
        try:
            made = _value(field, context, coercer, counters)
            encoding = channel.messages.layout.options.encoding
            values[field.name] = coercer.encodable(made, encoding) if coercer is not None else made
        except Refused as error:
            raise context.error(f"column {field.name}", error, field.expression) from None
        if truncate.any() and not field.extra:
            values[field.name] = pc.if_else(pa.array(truncate), None, values[field.name])
        if field.source is not None and field.source in gaps:
            gone = gaps[field.source] & ~truncate
            gone &= ~_inside(field, changes) if field.operations else True
            if gone.any():
                missing[field.name] = gone
                values[field.name] = pc.if_else(pa.array(gone), None, values[field.name])
        if not field.nullable:
            values[field.name] = _required(
                field, values[field.name], missing.get(field.name), truncate, context, coercer
            )
    return Columns(values, missing, truncate)


def _coercer(field: Field, context: EvaluationContext, counters: CycleCounters) -> Coercer | None:
    """Return what makes the values of a field fit, and counts it; None where a misfit is fatal."""
    coercion = context.recipe.coercion
    if coercion.policy == "FATAL":
        return None

    def count(how: str, wrong: Mask) -> None:
        if coercion.policy == "SILENT":
            return
        counters.coerced(f"{how} of {context.recipe.table.name}.{field.name}", int(wrong.sum()))
        if coercion.policy == "WARNING_FILE":
            for at in np.flatnonzero(wrong)[:MAX_DETAILS].tolist():
                counters.sample(_detail(how, field, context, at))

    return Coercer(coercion.types, count)


def _detail(how: str, field: Field, context: EvaluationContext, at: int) -> dict[str, str | int | None]:
    changes = context.changes
    source = changes.columns[field.source][at].as_py() if field.source else None
    place: dict[str, str | int | None] = {
        "file": changes.file,
        "line": int(changes.line[at]),
        "table": changes.table_of(at),
        "key": key_text(changes, at, context.recipe),
    }
    return {**place, "column": field.name, "misfit": how, "value": None if source is None else shortened(str(source))}


def key_text(changes: ChangeBatch, at: int, recipe: TableRecipe) -> str:
    """Return the key of a row as people write it, without the values of masked columns."""
    values = {name: changes.columns[name][at].as_py() for name in recipe.key if name not in recipe.masked}
    return ", ".join(f"{name}={shown(values[name]) if name in values else '(masked)'}" for name in recipe.key)


def _value(field: Field, context: EvaluationContext, coercer: Coercer | None, counters: CycleCounters) -> pa.Array:
    changes, timezone = context.changes, context.channel.messages.timezone
    if field.soft_delete:
        deleted = pc.is_in(changes.op, pa.array(DELETED, pa.int8()))
        return cast(deleted.cast(pa.int32()), field.type, timezone)
    if field.expression and not field.operations:
        return _computed(field, context, coercer)
    if not field.expression:
        return _own(field, context, coercer)
    return _scoped(field, context, counters)


def _scoped(field: Field, context: EvaluationContext, counters: CycleCounters) -> pa.Array:
    """Return the expression's values for the rows of its operations, and the column's own for the others."""
    inside = _inside(field, context.changes)
    parts, places = [], []
    for which, evaluate in ((inside, _computed), (~inside, _own)):
        rows = np.flatnonzero(which)
        part = EvaluationContext(context.changes.filter(which), context.recipe, context.channel, context.clock)
        try:
            parts.append(evaluate(field, part, _coercer(field, part, counters)))
        except Refused as error:
            raise error.at(None if error.index is None else int(rows[error.index])) from None
        places.append(rows)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def _inside(field: Field, changes: ChangeBatch) -> Mask:
    return mask(pc.is_in(changes.op, pa.array(field.operations, pa.int8())))


def _computed(field: Field, context: EvaluationContext, coercer: Coercer | None) -> pa.Array:
    return _fitted(context.evaluate(field.expression), field, context.channel.messages.timezone, coercer)


def _own(field: Field, context: EvaluationContext, coercer: Coercer | None) -> pa.Array:
    """Return the values of the column that a field stands for; what an Extra column has without an expression."""
    if field.source is None:
        return default_of(field.type, len(context.changes), nullable=field.nullable)
    column = context.recipe.table.column(field.source)
    moments = MomentFormat(context.channel.messages.timezone, context.recipe.midnight_is_date)
    return as_field(
        context.changes.columns[field.source], None if column is None else column.type, field, moments, coercer
    )


@dataclass(frozen=True)
class MomentFormat:
    """What the text of moments depends on. midnight_is_date: as in `TableRecipe`."""

    timezone: str
    midnight_is_date: bool


def as_field(
    values: pa.Array, kind: Type | None, field: Field, moments: MomentFormat, coercer: Coercer | None = None
) -> pa.Array:
    """Return the values of a column of type `kind` as those of a field. Raises Refused."""
    if kind == field.type:
        return values
    if isinstance(kind, schema.Array | schema.Struct) and isinstance(field.type, schema.String):
        text = json_text(values, kind, None if coercer else field.type.length)
        return coercer.cut(text, field.type.length) if coercer else text
    if moments.midnight_is_date and pa.types.is_timestamp(values.type) and isinstance(field.type, schema.String):
        values = _dates_at_midnight(values, moments.timezone)
    return _fitted(values, field, moments.timezone, coercer)


def _dates_at_midnight(values: pa.Array, timezone: str) -> pa.Array:
    """Return timestamps as text, those at 00:00:00 without their time: TrimTime MIDNIGHT."""
    days = pc.floor_temporal(values, unit="day")
    return pc.if_else(pc.equal(days, values), pc.strftime(days, format="%Y-%m-%d"), as_text(values, timezone))


def _fitted(values: pa.Array, field: Field, timezone: str, coercer: Coercer | None) -> pa.Array:
    if coercer is None:
        return cast(values, field.type, timezone)
    return coercer.cast(values, field.type, timezone, nullable=field.nullable, lossy=field.lossy)


def _required(
    field: Field,
    values: pa.Array,
    gone: Mask | None,
    truncate: Mask,
    context: EvaluationContext,
    coercer: Coercer | None,
) -> pa.Array:
    if not values.null_count:
        return values
    null = mask(pc.is_null(values)) & ~truncate
    if gone is not None:
        null &= ~gone
    at = first(null)
    if at is None:
        return values
    if coercer is not None and "NULLS" in coercer.types:
        return coercer.required(values, null, field.type)
    raise context.error(f"column {field.name}", Refused(NULL_REFUSED, at))
