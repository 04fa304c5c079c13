"""The topic of a table: Integrate Topic, or Kafka_Default_Topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from integrator.channel.locations import KafkaLocation
from integrator.channel.problems import named
from integrator.channel.reader import Path_
from integrator.contracts.table_recipe import TableRecipe
from integrator.errors import Reason
from integrator.expressions.parse import constant_text, parse
from integrator.expressions.substitutions import ExpressionError
from integrator.names import meant
from integrator.names.identifiers import standard_identifier
from integrator.plan.parameters import ChannelScope
from integrator.schema import Table

TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic


def names_of(scope: ChannelScope, table: Table) -> dict[str, str | None]:
    """Return what substitutions are in the templates of what all messages of `table` have in common."""
    return {
        "hvr_tbl_name": table.name,
        "hvr_tbl_base_name": table.base_name,
        "hvr_schema": table.schema,
        "hvr_cap_loc": scope.cap_loc,
        "hvr_chn_name": scope.channel.channel,
    }


def topic_of(scope: ChannelScope, table: Table, own: str | None, action: int | None) -> str:
    """Return the topic of `table`: its `own` template's, which stands at `action`, or the location's."""
    as_airbyte = scope.location.Topic_Names == "AIRBYTE"
    if as_airbyte:
        table = replace(table, schema=table.schema or "")
    template = scope.location.Kafka_Default_Topic if own is None else own
    place: Path_ = ("locations", scope.kafka, "Kafka_Default_Topic")
    if action is not None:
        place = ("actions", action, "Topic")
    try:
        topic = constant_text(parse(template, table, "topic"), names_of(scope, table))
    except ExpressionError as error:
        scope.problems.add(place, error.reason, table.name)
        return ""
    if as_airbyte:
        topic = standard_identifier(topic)
    if not TOPIC.fullmatch(topic) or topic in (".", ".."):
        written = re.sub(r"[^a-zA-Z0-9._-]+", "-", topic)
        text = f"Kafka accepts no such topic; it would be {topic!r}, and accepted are 1 to 249 of a-z A-Z 0-9 . _ -"
        text += f", such as {written}" if TOPIC.fullmatch(written) and written != topic else ""
        scope.problems.add(place, Reason(text, "no topic"), table.name)
    return topic


def notes_of_shared_topics(location: KafkaLocation, tables: Sequence[TableRecipe]) -> Iterator[str]:
    """Yield which tables have a topic together, where Airbyte's name transformer makes topics of their names."""
    sharing: dict[str, list[str]] = {}
    for one in tables if location.Topic_Names == "AIRBYTE" else ():
        sharing.setdefault(one.topic, []).append(one.table.name)
    for topic, same in sharing.items():
        if len(same) > 1:
            yield (
                f"{named(same, len(tables))}: their messages are in one topic, {topic}, whose name Airbyte's name "
                "transformer made; to have them apart, give one of them a topic of its own (Integrate Topic)"
            )


def check_partitions(scope: ChannelScope, topics: Iterable[str]) -> None:
    """Add a problem for each topic of Topic_Partitions that is no table's; `topics` are those of all tables."""
    creation, known = scope.location.Create_Topics, sorted(set(topics))
    for topic in creation.Topic_Partitions if creation is not None else ():
        if topic not in known:
            text = f"{topic!r} is no topic of the channel's tables; {meant(topic, known, 'those are')}"
            scope.problems.add(("locations", scope.kafka, "Create_Topics", "Topic_Partitions", topic), text)
