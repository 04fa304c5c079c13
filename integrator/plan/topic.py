"""The topic of a table: Integrate Topic, or Kafka_Default_Topic."""

from __future__ import annotations

import re

from integrator.channel.reader import Path_
from integrator.expressions.parse import constant_text, parse
from integrator.expressions.substitutions import ExpressionError
from integrator.plan.parameters import ChannelScope
from integrator.schema import Table

TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic


def topic_of(scope: ChannelScope, table: Table, own: str | None, action: int | None) -> str:
    """Return the topic of `table`: its `own` template's, which stands at `action`, or the location's."""
    template = scope.location.Kafka_Default_Topic if own is None else own
    place: Path_ = ("locations", scope.kafka, "Kafka_Default_Topic")
    if action is not None:
        place = ("actions", action, "Topic")
    values: dict[str, str | None] = {
        "hvr_tbl_name": table.name,
        "hvr_tbl_base_name": table.base_name,
        "hvr_schema": table.schema,
        "hvr_cap_loc": scope.cap_loc,
        "hvr_chn_name": scope.channel.channel,
    }
    try:
        topic = constant_text(parse(template, table, "topic"), values)
    except ExpressionError as error:
        scope.problems.add(place, str(error), table.name)
        return ""
    if not TOPIC.fullmatch(topic) or topic in (".", ".."):
        written = re.sub(r"[^a-zA-Z0-9._-]+", "-", topic)
        text = f"Kafka accepts no such topic; it would be {topic!r}, and accepted are 1 to 249 of a-z A-Z 0-9 . _ -"
        text += f", such as {written}" if TOPIC.fullmatch(written) and written != topic else ""
        scope.problems.add(place, text, table.name)
    return topic
