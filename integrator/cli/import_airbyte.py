"""`import airbyte`: a channel from a configuration of Airbyte's Kafka destination (destination-kafka 0.1.11).

https://docs.airbyte.com/integrations/destinations/kafka. What it names in Java's words becomes the words of a channel;
each key that has no counterpart is named, with the reason.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integrator import plan, tables
from integrator.errors import ConfigurationError

_IDLE = {
    "sync_producer": "each cycle waits for all of its acknowledgements",
    "test_topic": "use check --connect --test-topic {value}",
    "max_block_ms": "a message that cannot be sent is reported after HVR_KAFKA_MSG_DELIVERY_TIMEOUT",
    "socket_connection_setup_timeout_max_ms": "librdkafka has no largest one",
    "enable_idempotence": "messages are sent idempotently with acks=all, so that none comes twice or out of order",
    "acks": "acks=all is the default here: with 1, a broker that is lost loses messages",
    "retries": "librdkafka tries again until HVR_KAFKA_MSG_DELIVERY_TIMEOUT is over",
    "transactional_id": "use delivery: exactly_once",
    "transaction_timeout_ms": "use delivery: exactly_once",
}
_PROPERTIES = (
    "client_id", "batch_size", "linger_ms", "max_in_flight_requests_per_connection", "client_dns_lookup",
    "buffer_memory", "socket_connection_setup_timeout_ms", "request_timeout_ms", "send_buffer_bytes",
    "receive_buffer_bytes",
)  # fmt: skip
"""Those that HVR_KAFKA_PROPERTY takes under their names."""
_LOOKUPS = {"default": "use_all_dns_ips"}
_KEYS = (
    "messages have Airbyte's envelope, and uuids as keys: changes of a row are in any partition, as with Airbyte; "
    "without Envelope, keys are of the primary key, and such changes are in order"
)
_SCHEMA = "{hvr_schema}"
JAAS = "AIRBYTE_JAAS"
"""The environment variable that is to have the JAAS text: a channel has no passwords."""


@dataclass
class Imported:
    """The Kafka location's properties, variables of the job, and what has no counterpart."""

    kafka: dict[str, Any] = field(default_factory=dict)
    properties: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def run(file: Path, definitions: Path, sql_dialect: str, channel: Path, timezone: str) -> str:
    """Write the channel; return what it has and what has no counterpart. Raises ConfigurationError."""
    if channel.exists():
        raise ConfigurationError(f"{channel}: is there already; give another --channel, or remove it")
    made = read(file)
    topic = made.kafka.get("Kafka_Default_Topic", "")
    if _SCHEMA in topic and not all(table.schema for table in tables.read(str(definitions), sql_dialect).tables):
        made.kafka["Kafka_Default_Topic"] = topic.replace(_SCHEMA, "")
        made.notes.append("{namespace} is empty in topics: the definitions name no schema (create table public.…)")
    channel.write_text("".join(_channel(made, definitions, sql_dialect)), encoding="utf-8")
    checked = plan.make(str(channel), timezone)
    lines = [f"{channel}: channel {checked.channel}, {len(checked.recipe.tables)} tables", *checked.notes, *made.notes]
    return "\n  ".join(lines) + f"\nNext: integrator check --channel {channel} --connect"


def read(file: Path) -> Imported:
    """Return what a configuration says. Raises ConfigurationError."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file}: is no JSON: {error}") from error
    if isinstance(found, dict) and isinstance(found.get("connectionConfiguration"), dict):
        found = found["connectionConfiguration"]
    if not isinstance(found, dict) or "bootstrap_servers" not in found:
        raise ConfigurationError(f"{file}: is no configuration of destination-kafka: it has no bootstrap_servers")
    made = Imported()
    given = found.get("protocol")
    protocol: dict[str, Any] = given if isinstance(given, dict) else {}
    for key, value in {**found, **protocol}.items():
        if key != "protocol" and value not in (None, ""):
            _take(key, str(value).lower() if isinstance(value, bool) else str(value), made)
    if str(protocol.get("security_protocol", "")).upper() == "SASL_SSL":
        made.kafka["Kafka_Tls"] = True
    made.notes.append(_KEYS)
    return made


def _take(key: str, value: str, made: Imported) -> None:
    """Put one key where it belongs."""
    match key:
        case "bootstrap_servers":
            made.kafka["Kafka_Brokers"] = [one.strip() for one in value.split(",") if one.strip()]
        case "topic_pattern":
            made.kafka["Kafka_Default_Topic"] = topic_of(value)
        case "compression_type":
            made.kafka["Kafka_Message_Compress"] = value.upper()
        case "max_request_size":
            made.variables["HVR_KAFKA_MSG_MAX_BYTES"] = value
        case "delivery_timeout_ms":
            made.variables["HVR_KAFKA_MSG_DELIVERY_TIMEOUT"] = str(-(-int(value) // 1000))
        case "sasl_mechanism":
            made.kafka["Kafka_Authentication_Method"] = "USER_PASS" if value == "PLAIN" else value
        case "sasl_jaas_config":
            made.kafka["Sasl_Jaas_Config"] = f"${{{JAAS}}}"
            made.notes.append(f"sasl_jaas_config is not written down: give its text in the environment as {JAAS}")
        case "security_protocol":
            pass
        case _ if key in _PROPERTIES:
            made.properties.append(f"{key.replace('_', '.')}={_LOOKUPS.get(value, value)}")
        case _:
            why = _IDLE.get(key, "no counterpart is known").replace("{value}", value)
            made.notes.append(f"{key}: has no effect here: {why}")


def topic_of(pattern: str) -> str:
    """Return a topic pattern as Kafka_Default_Topic, in the letters that Airbyte gives its topics."""
    parts = re.split(r"(\{namespace\}|\{stream\})", pattern)
    ours = {"{namespace}": _SCHEMA, "{stream}": "{hvr_tbl_base_name}"}
    return "".join(ours.get(part) or _letters(part) for part in parts)


def _letters(text: str) -> str:
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.category(one).startswith("M"))
    return re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"[ \t\n\x0b\f\r]+", "_", plain))


def _channel(made: Imported, definitions: Path, sql_dialect: str) -> Iterator[str]:
    yield "# Imported from a configuration of Airbyte's Kafka destination.\nchannel: airbyte\nlocations:\n"
    yield "  # The messages of a source connector (airbyte … read), a file for each run.\n"
    yield "  src: {class: files, path: changes, dialect: airbyte}\n  kaf:\n    class: kafka\n"
    yield from (f"    {name}: {json.dumps(value)}\n" for name, value in made.kafka.items())
    yield f"tables: [{{file: {json.dumps(str(definitions))}, sql_dialect: {sql_dialect}}}]\nactions:\n"
    yield "  - {action: FileFormat, Json: true, Envelope: AIRBYTE}\n"
    variables = made.variables | ({"HVR_KAFKA_PROPERTY": ";".join(made.properties)} if made.properties else {})
    for name, value in variables.items():
        yield f"  - {{action: Environment, Name: {name}, Value: {json.dumps(value)}}}\n"
