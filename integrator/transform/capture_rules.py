"""Change rows as they were read -> as the channel captures them: the first thing that is done to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask, scalar_of
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.counters import CycleCounters
from integrator.contracts.operations import TRUNCATE, UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import CaptureRecipe, TableRecipe
from integrator.engine.arrays import Mask
from integrator.expressions.parts import ColumnValue, Part, Sql
from integrator.expressions.substitutions import LITERAL
from integrator.schema import Table
from integrator.transform import sql
from integrator.transform.cast import Refused, cast, default_of
from integrator.transform.coalesce import coalesced
from integrator.transform.expression import EvaluationContext, RunClock
from integrator.transform.fill_missing import augmented
from integrator.transform.restrict import addressed, conditioned, reaching
from integrator.transform.text_rules import trimmed, with_rules
from integrator.transform.without_form import renamed

NOT_ADDRESSED = "rows for other locations"
NOT_MEANT = "rows outside the CaptureCondition"
IGNORED = "rows that are ignored (IgnoreCondition)"
COALESCED = "rows coalesced"


def captured(
    changes: ChangeBatch, recipe: TableRecipe, channel: Recipe, clock: RunClock, counters: CycleCounters
) -> ChangeBatch:
    """Return the change rows by the channel's names, captured as it says. Raises DataError."""
    rules = recipe.capture
    if rules == CaptureRecipe():
        return changes
    if rules.augment:
        changes = augmented(changes, np.ones(len(changes), bool))
    in_source = dataclasses.replace(recipe, table=recipe.in_source, key=recipe.in_source.key)
    context = EvaluationContext(changes, in_source, channel, clock)
    computed = {name: _computed(context, name, parts, recipe) for name, parts in rules.expressions}
    here = _here(context, rules, channel)
    kept = ~_ignored(context, rules)
    meant = _evaluated(context, "CaptureCondition", rules.condition) if rules.condition is not None else None
    changes = _texts(_named(changes, recipe, computed), rules, recipe.table.name, counters)
    if here is not None:
        counters.skipped(NOT_ADDRESSED, int((~here).sum()))
        changes = changes.filter(here)
        kept = kept[here]
        meant = None if meant is None else (meant[0][here], meant[1][here])
    if not kept.all():
        counters.skipped(IGNORED, int((~kept).sum()))
        changes = changes.filter(kept)
        meant = None if meant is None else (meant[0][kept], meant[1][kept])
    if meant is not None:
        true, known = meant
        rows = len(changes)
        changes = conditioned(changes, true, known)
        counters.skipped(NOT_MEANT, rows - len(changes))
    if rules.coalesce:
        changes, fewer = coalesced(changes, recipe.key)
        counters.skipped(COALESCED, fewer)
    return _represented(changes, rules)  # of what is still missing


def _computed(
    context: EvaluationContext, name: str, parts: tuple[Part, ...], recipe: TableRecipe
) -> tuple[pa.Array, Mask]:
    """Return the values of a CaptureExpression, and where there is none: a column that it asks for is missing there."""
    column = recipe.table.column(name)
    if column is None:
        raise KeyError(name)
    gone = np.zeros(len(context.changes), bool)
    for asked in _asked(parts, context.recipe.table):
        gone |= context.changes.missing.get(asked, np.zeros(len(gone), bool))
    gone &= ~mask(pc.equal(context.changes.op, TRUNCATE))
    known = EvaluationContext(context.changes.filter(~gone), context.recipe, context.channel, context.clock)
    try:
        values = cast(known.evaluate(parts), column.type, context.channel.messages.timezone)
    except Refused as error:
        raise known.error(f"column {name}: CaptureExpression", error, parts) from None
    return values.take(pa.array(np.cumsum(~gone) - 1, mask=gone)), gone


def _asked(parts: tuple[Part, ...], table: Table) -> Iterator[str]:
    """Yield the columns that an expression asks for, but those that may be missing."""
    for part in parts:
        if isinstance(part, ColumnValue) and not part.allow_missings:
            yield part.name
        elif isinstance(part, Sql):
            yield from (name for name in sql.names(part, table) if name not in part.allowed)


def _here(context: EvaluationContext, rules: CaptureRecipe, channel: Recipe) -> Mask | None:
    """Return which rows go to Kafka, or None for all."""
    if not rules.addresses:
        return None
    try:
        texts = cast(context.evaluate(rules.addresses), schema.String(), channel.messages.timezone)
    except Refused as error:
        raise context.error("AddressTo", error, rules.addresses) from None
    literal = isinstance(rules.addresses[0], ColumnValue) and LITERAL in rules.addresses[0].spec
    reaches = rules.subscribed.__contains__ if literal else reaching(rules.subscribed)
    return addressed(texts, reaches)


def _ignored(context: EvaluationContext, rules: CaptureRecipe) -> Mask:
    """Return which rows are ignored: both images of an update, as its after image is."""
    op = context.changes.op.to_numpy(zero_copy_only=False)
    old = context.changes.is_before_image
    ignored = np.zeros(len(op), bool)
    if rules.ignored is not None:
        ignored |= _evaluated(context, "IgnoreCondition", rules.ignored)[0]
    if rules.ignored_updates is not None:
        of_update = _evaluated(context, "IgnoreUpdateCondition", rules.ignored_updates)[0]
        ignored |= of_update & (op == UPDATE)
    return np.asarray(np.where(old, np.append(ignored[1:], False), ignored) & (op != TRUNCATE), np.bool_)


def _evaluated(context: EvaluationContext, parameter: str, condition: Sql) -> tuple[Mask, Mask]:
    """Return for which rows a condition is true, and for which that is known: nothing that it asks for is missing.

    A value that the after image of an update leaves out is unchanged, and so the before image's.
    """
    whole = augmented(context.changes, np.ones(len(context.changes), bool))
    context = EvaluationContext(whole, context.recipe, context.channel, context.clock)
    known = np.ones(len(context.changes), bool)
    for name in sql.names(condition, context.recipe.table):
        known &= ~context.changes.missing.get(name, np.zeros(len(known), bool))
    allowed = dataclasses.replace(condition, allowed=tuple(context.changes.columns))
    try:
        return mask(context.evaluate((allowed,)).cast(pa.bool_())) & known, known
    except Refused as error:
        raise context.error(parameter, error, (condition,)) from None


def _named(changes: ChangeBatch, recipe: TableRecipe, computed: dict[str, tuple[pa.Array, Mask]]) -> ChangeBatch:
    """Return the change rows by the channel's column names, with what was computed in its columns."""
    names = {source: name for name, source in recipe.capture.names}
    missing = {names.get(name, name): gone for name, gone in changes.missing.items()}
    given = {names.get(name, name): values for name, values in changes.columns.items()}
    columns = {}
    for column in recipe.table.columns:
        if column.name in computed:
            columns[column.name], gone = computed[column.name]
            missing.pop(column.name, None)
            missing |= {column.name: gone} if gone.any() else {}
        elif column.name in recipe.capture.absent:
            columns[column.name] = default_of(column.type, len(changes), nullable=column.nullable)
        else:
            columns[column.name] = given[column.name]

    def here(source: str) -> str | None:
        name = names.get(source, source)
        return None if name in computed else name

    without_form = renamed(changes.without_form, here)
    return dataclasses.replace(changes.with_columns(columns, missing), without_form=without_form)


def _texts(changes: ChangeBatch, rules: CaptureRecipe, table: str, counters: CycleCounters) -> ChangeBatch:
    columns = {name: with_rules(values, rules.text_rules(name)) for name, values in changes.columns.items()}
    for name, size in rules.trims:
        columns[name], cut = trimmed(columns[name], size)
        counters.coerced(f"TrimDatatype of {table}.{name}", cut)
    return changes.with_columns(columns, changes.missing)


def _represented(changes: ChangeBatch, rules: CaptureRecipe) -> ChangeBatch:
    """Return the change rows with MissingRepresentation's values for what is missing."""
    columns, missing = dict(changes.columns), dict(changes.missing)
    real = ~mask(pc.equal(changes.op, TRUNCATE))
    for name, text in rules.missing:
        gone = missing.pop(name, None)
        if gone is not None:
            value = scalar_of(text, columns[name].type)
            columns[name] = pc.if_else(pa.array(gone & real), value, columns[name])
    return changes.with_columns(columns, missing)
