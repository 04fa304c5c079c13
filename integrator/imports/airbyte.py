"""`import airbyte`: a channel from a configuration of Airbyte's Kafka destination (destination-kafka 0.1.11).

https://docs.airbyte.com/integrations/destinations/kafka. What it names in Java's words becomes the words of a channel;
each key that has no counterpart is named, with the reason.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

from integrator import tables
from integrator.channel.created_topics import BROKER
from integrator.errors import ConfigurationError
from integrator.imports import draft as drafts
from integrator.imports import producer
from integrator.imports.draft import Draft

_KEYS = (
    "messages have Airbyte's envelope, and uuids as keys: changes of a row are in any partition, as with Airbyte; "
    "without Envelope, keys are of the primary key, and such changes are in order"
)
_SCHEMA = "{hvr_schema}"
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
    draft.tables.append({"file": definitions, "sql_dialect": sql_dialect})
    topic = draft.kafka.get("Kafka_Default_Topic", "")
    if _SCHEMA in topic and not all(table.schema for table in tables.read(str(definitions), sql_dialect).tables):
        draft.kafka["Kafka_Default_Topic"] = topic.replace(_SCHEMA, "")
        draft.report.todo(
            "{namespace} is empty in topics, because the definitions name no schema: write it there (create table "
            "public.…)"
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
    """Return a topic pattern as Kafka_Default_Topic, in the letters that Airbyte gives its topics."""
    parts = re.split(r"(\{namespace\}|\{stream\})", pattern)
    ours = {"{namespace}": _SCHEMA, "{stream}": "{hvr_tbl_base_name}"}
    return "".join(ours.get(part) or _letters(part) for part in parts)


def _letters(text: str) -> str:
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.category(one).startswith("M"))
    return re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"[ \t\n\x0b\f\r]+", "_", plain))
