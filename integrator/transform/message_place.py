"""Where messages go, topic and partition, and their timestamps: of their tables, or by expressions of their rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.engine.arrays import Ints
from integrator.errors import TopicsFound, shown
from integrator.expressions.parts import ColumnValue, Part, Sql
from integrator.schema import Integer, String
from integrator.transform.cast import Refused, cast
from integrator.transform.expression import EvaluationContext, RunClock

TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
"""A name that Kafka accepts: org.apache.kafka.common.internals.Topic."""
ACCEPTED = "accepted are 1 to 249 of a-z A-Z 0-9 . _ -"
_MOST = (1 << 31) - 1
"""Partitions are numbers of 32 bits."""


@dataclass(frozen=True)
class MessagePlaces:
    """Where the messages of change rows go. I2: functions of the source's records alone.

    Each function takes the change row of each message, -1 for none, and computes nothing of other rows, whose values
    may be missing. They raise DataError.
    """

    changes: ChangeBatch
    recipe: TableRecipe
    channel: Recipe
    clock: RunClock

    def topics(self, rows: Ints) -> pa.Array:
        """Return the topic of each message. Raises TopicsFound for topics that nobody knows to be there."""
        if self.recipe.message_topic:
            return self._at(rows, "Topic", self.recipe.message_topic, _topics, pa.string())
        names, by_name = self.changes.tables, self.channel.by_name
        if len(names) == 1:
            return pa.repeat(by_name[names[0]].topic, len(rows))
        at = pa.array(self.changes.run_of_row[rows], mask=rows < 0)
        return pa.array([by_name[name].topic for name in names]).take(at)

    def partitions(self, rows: Ints, topics: pa.Array) -> pa.Array:
        """Return the partition of each message in its topic; null is that of its key."""
        parts = self.recipe.message_partition
        values = self._at(rows, "MessagePartition", parts, _partitions, pa.int64())
        if parts:
            self._check_partitions(values, rows, topics)
        return values.cast(pa.int32())

    def timestamps(self, rows: Ints) -> pa.Array:
        """Return the timestamps in milliseconds since 1970, null where messages have none of their own.

        It is the expression's value; where that is null, the commit's.
        """
        return self._at(rows, "MessageTimestamp", self.recipe.message_timestamp, _milliseconds, pa.int64())

    def _at(
        self,
        rows: Ints,
        parameter: str,
        parts: tuple[Part, ...],
        evaluate: Callable[[EvaluationContext, tuple[Part, ...]], pa.Array],
        kind: pa.DataType,
    ) -> pa.Array:
        none = rows < 0
        if not parts or none.all():
            return pa.nulls(len(rows), kind)
        used = np.zeros(len(self.changes), bool)
        used[rows[~none]] = True
        context = EvaluationContext(self.changes.filter(used), self.recipe, self.channel, self.clock)
        try:
            values = evaluate(context, parts)
        except Refused as error:
            raise context.error(parameter, error, parts) from None
        return values.take(pa.array(np.cumsum(used)[rows] - 1, mask=none))

    def _check_partitions(self, values: pa.Array, rows: Ints, topics: pa.Array) -> None:
        counts, coded = dict(self.channel.send.partitions), topics.dictionary_encode()
        of_topic = pa.array([counts.get(name, _MOST) for name in coded.dictionary.to_pylist()], pa.int64())
        beyond = pc.greater_equal(values, of_topic.take(coded.indices))
        at = first(mask(pc.fill_null(pc.or_(pc.less(values, 0), beyond), fill_value=False)))
        if at is None:
            return
        topic = topics[at].as_py()
        there = f"the topic {topic} has 0 to {counts[topic] - 1}" if topic in counts else "numbers are 0 and above"
        text = (
            f"{values[at].as_py()} is no partition: {there}; take a remainder, as in sql: {{region_no}} % 12, or, if "
        )
        refused = Refused(f"{text}the topic was given more partitions since the start, start again", int(rows[at]))
        context = EvaluationContext(self.changes, self.recipe, self.channel, self.clock)
        raise context.error("MessagePartition", refused, self.recipe.message_partition)


def _topics(context: EvaluationContext, parts: tuple[Part, ...]) -> pa.Array:
    for part in parts:
        if isinstance(part, ColumnValue | Sql):
            at = first(mask(pc.is_null(context.value(part))))
            if at is not None:
                named = f"{{{part.name}}} is null" if isinstance(part, ColumnValue) else "the result of SQL is null"
                raise Refused(f"{named}, which names no topic", at, valued=False)
    texts = cast(context.evaluate(parts), String(), context.channel.messages.timezone)
    distinct = texts.dictionary_encode()
    names, known = distinct.dictionary.to_pylist(), context.channel.send.topics
    for code, name in enumerate(names):
        if not TOPIC.fullmatch(name):
            at = first(mask(pc.equal(distinct.indices, code)))
            raise Refused(f"Kafka accepts no topic {shown(name)}; {ACCEPTED}", at)
    new = [] if known is None else sorted(set(names).difference(known))
    if new:
        raise TopicsFound(f"rows are for the topics {', '.join(new)}, which are not known yet", new)
    return texts


def _partitions(context: EvaluationContext, parts: tuple[Part, ...]) -> pa.Array:
    return cast(context.evaluate(parts), Integer(64), context.channel.messages.timezone)


def _milliseconds(context: EvaluationContext, parts: tuple[Part, ...]) -> pa.Array:
    values, commit = (
        given.cast(pa.timestamp("ms", given.type.tz), safe=False).cast(pa.int64())
        for given in (context.evaluate(parts), context.changes.cap_tstamp)
    )
    found = pc.coalesce(values, commit)
    if found.null_count:
        text = "the record has no commit time; leave the parameter out, or take a column that always has one"
        raise Refused(text, first(mask(pc.is_null(found))), valued=False)
    early = first(mask(pc.less_equal(found, 0)))
    if early is not None:  # 0 and below are no timestamp in Kafka's protocol
        shown_at = found[early].cast(pa.timestamp("ms")).as_py()
        raise Refused(f"{shown_at} is not after 1970-01-01, and Kafka has no such timestamps", early)
    return found
