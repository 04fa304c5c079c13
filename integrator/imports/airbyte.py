"""`import airbyte`: a channel from a configuration of Airbyte's Kafka destination (destination-kafka 0.1.11).

https://docs.airbyte.com/integrations/destinations/kafka. What it names in Java's words becomes the words of a channel;
each key that has no counterpart is named, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from integrator import tables
from integrator.channel.created_topics import BROKER
from integrator.errors import ConfigurationError
from integrator.imports import draft as drafts
from integrator.imports import producer
from integrator.imports.draft import Draft

_KEYS = (
    "keys are the primary keys of streams, in JSON, so that the changes of a row are in one partition, in order; "
    "Airbyte's are a new uuid for each record, as those of streams without a primary key are here"
)
_UUID = "{hvr_row_uuid}"
_SCHEMA = "{hvr_schema}"
_SIGNS = str.maketrans(dict.fromkeys("{}<>':", "_"))
PREFIX = "AIRBYTE"
"""Of the environment variables that have what is secret: a channel has no passwords."""


def run(
    file: Path, definitions: Path, sql_dialect: str, channel: Path, timezone: str
) -> tuple[str, ConfigurationError | None]:
    """Write the channel; return what it has and what has no counterpart, and what the check finds.

    Raises ConfigurationError.
    """
    drafts.refuse_existing(channel)
    draft = read(file)
    draft.tables.append(
        {"file": definitions} | ({"sql_dialect": sql_dialect} if tables.is_sql(str(definitions)) else {})
    )
    found = tables.read(str(definitions), sql_dialect).tables
    topic = draft.kafka.get("Kafka_Default_Topic", "")
    if _SCHEMA in topic and not all(table.schema for table in found):
        draft.report.todo(
            "{namespace} is empty in topics of tables whose definitions name no schema: write it there (create table "
            "public.…)"
        )
    draft.add_action("Integrate", MessageKeySerializer="JSON_ROW")
    for table in found:
        if not table.key:
            draft.add_action(
                "Integrate", group="KAFKA", table=table.name, MessageKeySerializer="STRING", MessageKey=_UUID
            )
    return drafts.write(draft, channel, timezone)


def read(file: Path) -> Draft:
    """Return what a configuration says. Raises ConfigurationError."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file}: is no JSON: {error}") from error
    if isinstance(found, dict) and isinstance(found.get("connectionConfiguration"), dict):
        found = found["connectionConfiguration"]
    if not isinstance(found, dict) or "bootstrap_servers" not in found:
        raise ConfigurationError(f"{file}: is no configuration of destination-kafka: it has no bootstrap_servers")
    return draft_of(found)


def draft_of(options: Mapping[str, Any]) -> Draft:
    """Return what the options of a configuration mean for a channel."""
    found = dict(options)
    draft = Draft("airbyte", "a configuration of Airbyte's Kafka destination")
    draft.remarks.append("The messages of a source connector (airbyte … read), a file for each run.")
    draft.source = {"class": "files", "path": "changes", "dialect": "airbyte"}
    draft.add_action("FileFormat", Json=True, Envelope="AIRBYTE")
    given = found.pop("protocol", None)
    protocol: dict[str, Any] = given if isinstance(given, dict) else {}
    values = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in {**found, **protocol}.items()
        if value not in (None, "")
    }
    if "topic_pattern" in values:
        draft.kafka["Kafka_Default_Topic"] = topic_of(values.pop("topic_pattern"))
        draft.kafka["Topic_Names"] = "AIRBYTE"
    if "sync_producer" in values:
        draft.report.ignore("sync_producer", "each cycle waits for all of its acknowledgements")
    if "test_topic" in values:
        draft.report.ignore("test_topic", f"check --connect --test-topic {values['test_topic']} does the same")
    ours = {key.replace("_", "."): value for key, value in values.items() if key not in ("sync_producer", "test_topic")}
    producer.import_producer(ours, draft, PREFIX, lambda name: name.replace(".", "_"))
    draft.kafka["Create_Topics"] = BROKER
    draft.report.differ(_KEYS)
    return draft


def topic_of(pattern: str) -> str:
    """Return a topic pattern as Kafka_Default_Topic, in which signs of expressions are what Topic_Names makes them."""
    literal = pattern.replace("{namespace}", "\0").replace("{stream}", "\1").translate(_SIGNS)
    return literal.replace("\0", _SCHEMA).replace("\1", "{hvr_tbl_base_name}")
