"""`import airbyte`: a channel from a configuration of Airbyte's Kafka destination (destination-kafka 0.1.11).

https://docs.airbyte.com/integrations/destinations/kafka. What it names in Java's words becomes the words of a channel;
each key that has no counterpart is named, with the reason.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integrator import tables
from integrator.channel.created_topics import BROKER
from integrator.errors import ConfigurationError
from integrator.imports import draft as drafts
from integrator.imports import producer
from integrator.imports.captured_location import AGAIN, address_of
from integrator.imports.draft import Draft
from integrator.schema import Table

_KEYS = (
    "keys are the primary keys of streams, in JSON, so that the changes of a row are in one partition, in order; "
    "Airbyte's are a new uuid for each record, as those of streams without a primary key are here"
)
_UUID = "{hvr_row_uuid}"
_SCHEMA = "{hvr_schema}"
_SIGNS = str.maketrans(dict.fromkeys("{}<>':", "_"))
PREFIX = "AIRBYTE"
"""Of the environment variables that have what is secret: a channel has no passwords."""


_CAPTURED = ("postgres", "mysql", "mariadb")
_ADDRESS = {"host": "host", "port": "port", "user": "username", "database": "database"}


@dataclass(frozen=True)
class Options:
    """What the command was given. definitions: of the streams, in a dialect of SQL. source: a source's configuration.

    With a source, its database is captured, which is the dialect's.
    """

    definitions: Path
    sql_dialect: str
    source: Path | None
    channel: Path


def run(file: Path, options: Options, timezone: str) -> tuple[str, ConfigurationError | None]:
    """Write the channel; return what it has and what has no counterpart, and what the check finds.

    Raises ConfigurationError.
    """
    definitions, sql_dialect, channel = options.definitions, options.sql_dialect, options.channel
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
    if options.source is not None:
        _take_source(_configuration(options.source, "host", "a source for a database"), options, found, draft)
    draft.add_action("Integrate", MessageKeySerializer="JSON_ROW")
    for table in found:
        if not table.key:
            draft.add_action(
                "Integrate", group="KAFKA", table=table.name, MessageKeySerializer="STRING", MessageKey=_UUID
            )
    return drafts.write(draft, channel, timezone)


def read(file: Path) -> Draft:
    """Return what a configuration says. Raises ConfigurationError."""
    return draft_of(_configuration(file, "bootstrap_servers", "destination-kafka"))


def _configuration(file: Path, key: str, what: str) -> dict[str, Any]:
    """Return a configuration, which has a key. Raises ConfigurationError."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file}: is no JSON: {error}") from error
    if isinstance(found, dict) and isinstance(found.get("connectionConfiguration"), dict):
        found = found["connectionConfiguration"]
    if not isinstance(found, dict) or key not in found:
        raise ConfigurationError(f"{file}: is no configuration of {what}: it has no {key}")
    return found


def _take_source(given: Mapping[str, Any], options: Options, found: Sequence[Table], draft: Draft) -> None:
    """Have the database of a source be captured. Raises ConfigurationError."""
    kind = options.sql_dialect
    if kind not in _CAPTURED:
        raise ConfigurationError(
            f"--source: a database of {kind} is not captured; --sql-dialect says whose it is: {', '.join(_CAPTURED)}"
        )
    rest = dict(given)
    address = {ours: str(rest.pop(name)) for ours, name in _ADDRESS.items() if rest.get(name) is not None}
    if "password" in rest:
        address["password"] = str(rest.pop("password"))
    mode = _value(rest.pop("ssl_mode", None), "mode")
    tls = {"sslmode" if kind == "postgres" else "ssl_mode": mode} if mode else {}
    secret = "password of the source" if "password" in address else ""
    draft.remarks = []
    draft.source = {"class": kind, "address": address_of(kind, address, draft, secret, tls)}
    method = rest.pop("replication_method", None)
    if kind == "postgres" and (publication := _value(method, "publication")):
        draft.source["publication"] = publication
    if slot := _value(method, "replication_slot"):
        draft.report.todo(f"the source's slot {slot} keeps the server's log: drop it when the source is gone")
    schemas = rest.pop("schemas", None)
    alone = schemas[0] if isinstance(schemas, list) and len(schemas) == 1 else None
    default = alone if kind == "postgres" else address.get("database")
    places = [(one.schema or default, one.base_name) for one in found]
    draft.source["tables"] = [glob.escape(".".join(filter(None, one))) for one in places]
    draft.report.todo(AGAIN.format("Airbyte"))
    for key in rest:
        draft.report.ignore(f"{key} of the source", "the capture has no such setting")


def _value(given: object, key: str) -> str:
    """Return what an object has for a key, as text; empty where it has nothing."""
    return str(given.get(key) or "") if isinstance(given, Mapping) else ""


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
