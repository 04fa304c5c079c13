"""Where a message goes in its topic, and its timestamp, where the channel has expressions for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.engine.arrays import Ints
from integrator.expressions.parts import Part
from integrator.schema import Integer
from integrator.transform.cast import Refused, cast
from integrator.transform.expression import EvaluationContext, RunClock

Evaluated = Callable[[EvaluationContext], pa.Array]


def timestamps(changes: ChangeBatch, rows: Ints, recipe: TableRecipe, channel: Recipe, clock: RunClock) -> pa.Array:
    """Return the timestamps of messages, in milliseconds since 1970, given the change row of each; null without any.

    It is the expression's value; where that is null, the commit's. I2: a function of the source's record only. Raises
    DataError.
    """
    return _at_rows(_moments, "MessageTimestamp", recipe.message_timestamp, changes, rows, (recipe, channel, clock))


def partitions(changes: ChangeBatch, rows: Ints, recipe: TableRecipe, channel: Recipe, clock: RunClock) -> pa.Array:
    """Return the partitions of messages, given the change row of each, -1 for none; null is that of its key.

    Raises DataError where the topic has no such partition.
    """
    return _at_rows(_numbers, "MessagePartition", recipe.message_partition, changes, rows, (recipe, channel, clock))


def _at_rows(
    evaluate: Callable[[EvaluationContext, tuple[Part, ...]], pa.Array],
    parameter: str,
    parts: tuple[Part, ...],
    changes: ChangeBatch,
    rows: Ints,
    of: tuple[TableRecipe, Recipe, RunClock],
) -> pa.Array:
    """Return the values of an expression at `rows`; those of no other rows are computed, for they may be missing."""
    none = rows < 0
    if not parts or none.all():
        return pa.nulls(len(rows), pa.int64())
    used = np.zeros(len(changes), bool)
    used[rows[~none]] = True
    context = EvaluationContext(changes.filter(used), *of)
    try:
        values = evaluate(context, parts)
    except Refused as error:
        raise context.error(parameter, error, parts) from None
    return values.take(pa.array(np.cumsum(used)[rows] - 1, mask=none))


def _moments(context: EvaluationContext, parts: tuple[Part, ...]) -> pa.Array:
    values = context.evaluate(parts)
    found = pc.coalesce(_milliseconds(values), _milliseconds(context.changes.cap_tstamp))
    if found.null_count:
        text = "the record has no commit time; leave the parameter out, or take a column that always has one"
        raise Refused(text, first(mask(pc.is_null(found))), valued=False)
    early = first(mask(pc.less_equal(found, 0)))
    if early is not None:  # 0 and below are no timestamp in Kafka's protocol
        raise Refused(f"{values[early].as_py()} is not after 1970-01-01, and Kafka has no such timestamps", early)
    return found


def _milliseconds(values: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("ms", values.type.tz), safe=False).cast(pa.int64())
    return values.cast(pa.int64())


def _numbers(context: EvaluationContext, parts: tuple[Part, ...]) -> pa.Array:
    changes, channel = context.changes, context.channel
    values = cast(context.evaluate(parts), Integer(64), channel.messages.timezone)
    counts, by_name = dict(channel.send.partitions), channel.by_name
    topics = [by_name[name].topic for name in changes.tables]
    of_row = pa.array([counts.get(topic) for topic in topics], pa.int64()).take(pa.array(changes.run_of_row))
    wrong = pc.or_kleene(pc.less(values, 0), pc.or_(pc.greater_equal(values, of_row), pc.greater(values, _MOST)))
    at = first(mask(pc.fill_null(wrong, fill_value=False)))
    if at is not None:
        topic, count = topics[int(changes.run_of_row[at])], of_row[at].as_py()
        there = "numbers are 0 and above" if count is None else f"the topic {topic} has 0 to {count - 1}"
        raise Refused(
            f"{values[at].as_py()} is no partition: {there}; take a remainder, as in sql: {{region_no}} % 12, or, if "
            "the topic was given more partitions since the start, start again",
            at,
        )
    return values


_MOST = (1 << 31) - 1
"""Partitions are numbers of 32 bits."""
