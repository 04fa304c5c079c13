"""Options of the destination -> a channel, by the import of destination-kafka's configurations -> its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integrator import plan as planning
from integrator.airbyte.options import OWN
from integrator.channel.load import RunOptions
from integrator.channel.secret import Secrets
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError
from integrator.imports import airbyte as importing
from integrator.imports import draft as drafts
from integrator.imports.draft import Draft
from integrator.imports.registry_access import PREFIX
from integrator.plan import Plan
from integrator.schema import Table

SPOOL, CATALOG = "spool", "catalog.json"
_CHANNEL = "channel.yaml"
_POLL_S, _CYCLE_BYTES = 0.2, 64 * 1024 * 1024
_PLAIN = {"JSON": "ROW_FRAGMENTS", "CONNECT": "SCHEMA_PAYLOAD", "CONNECT_PAYLOAD": "PAYLOAD"}
_REGISTERED = {"AVRO": "AVRO", "JSON_SCHEMA": "JSON", "PROTOBUF": "PROTOBUF"}
_KEYS = {"AIRBYTE": "JSON_ROW", "JSON": "JSON_ROW", "CONNECT": "CONNECT_SCHEMA", "CONNECT_PAYLOAD": "CONNECT_PAYLOAD"}
_REGISTERED_KEYS = {"AVRO": "KAFKA_AVRO_SCHEMA", "JSON": "KAFKA_JSON_SCHEMA", "PROTOBUF": "KAFKA_PROTOBUF_SCHEMA"}
_ID = "_airbyte_ab_id"


@dataclass(frozen=True)
class Configured:
    """What options make: the plan of a channel in a directory, and what of them has no effect."""

    plan: Plan
    remarks: str


def configured(
    options: Mapping[str, Any], catalog: str, tables: list[Table], directory: Path, secrets: Secrets
) -> Configured:
    """Return the plan of a channel that is written into a directory, which has its spool and its state.

    catalog: the text that defines `tables`. Raises ConfigurationError.
    """
    own = {option.name: options.get(option.name, option.default) for option in OWN}
    rest = {name: value for name, value in options.items() if name not in own}
    draft = importing.draft_of(rest)
    draft.actions.clear()
    draft.source |= {"path": str(directory / SPOOL), "poll_seconds": _POLL_S, "unknown_columns": "add"}
    draft.more["state"] = str(directory / "state")
    draft.more["delivery"] = own["delivery"]
    draft.tables.append({"file": directory / CATALOG})
    draft.add_action("Integrate", CycleByteLimit=_CYCLE_BYTES)
    _add_format(own, draft)
    _add_keys(own, tables, draft)
    if str(own["create_topics"]).lower() == "true":
        draft.kafka["Create_Topics"] = {
            "Partitions": int(own["topic_partitions"]),
            "Replication_Factor": int(own["topic_replication_factor"]),
        }
    (directory / SPOOL).mkdir(exist_ok=True)
    (directory / CATALOG).write_text(catalog, encoding="utf-8")
    file = directory / _CHANNEL
    file.write_text(draft.text(file), encoding="utf-8")
    with drafts.environment(draft.secrets):
        made = planning.build(str(file), "UTC", RunOptions(secrets=secrets), client=refused)
    return Configured(made, draft.report.text("options of destination-kafka", made.notes))


def _add_format(own: Mapping[str, Any], draft: Draft) -> None:
    """Have messages in the format that is asked for. Raises ConfigurationError for a registry that is not named."""
    name, url = own["message_format"], own["schema_registry_url"]
    if name in _REGISTERED and not url:
        raise ConfigurationError(f"message_format {name} needs a schema registry: give schema_registry_url")
    if name not in _REGISTERED and url:
        raise ConfigurationError(
            f"schema_registry_url has no effect with message_format {name}; choose {', '.join(_REGISTERED)}, or leave "
            "it out"
        )
    if name == "AIRBYTE":
        draft.add_action("FileFormat", Json=True, Envelope="AIRBYTE")
        return
    # every record is sent, deletes among them
    given = {"Name": _ID, "Datatype": "uuid", "Extra": True, "TimeKey": True}
    draft.add_action("ColumnProperties", **given, IntegrateExpression="{hvr_row_uuid}")
    if name in _PLAIN:
        draft.add_action("FileFormat", Json=True, JsonMode=_PLAIN[name])
        return
    draft.kafka |= {"Kafka_Schema_Registry": url, "Kafka_Schema_Registry_Format": _REGISTERED[name]}
    if name != "JSON_SCHEMA":
        draft.kafka["Missing_Values"] = "NULL"
    if own["schema_registry_user"]:
        draft.kafka["Kafka_Schema_User"] = own["schema_registry_user"]
    if password := own["schema_registry_password"]:
        draft.kafka["Kafka_Schema_Registry_Password"] = draft.secret(
            "schema_registry_password", f"{PREFIX}_PASSWORD", password
        )


def _add_keys(own: Mapping[str, Any], tables: list[Table], draft: Draft) -> None:
    """Have keys of messages be uuids, or primary keys where streams have such."""
    name, registered = own["message_format"], _REGISTERED.get(own["message_format"])
    serializer = _KEYS[name] if registered is None else _REGISTERED_KEYS[registered]
    uuids = {"MessageKey": "{hvr_row_uuid}", "MessageKeySerializer": "STRING"}
    if own["message_key"] == "UUID":
        draft.add_action("Integrate", **uuids)
        return
    for table in tables:
        given = {"MessageKeySerializer": serializer} if table.key else uuids
        draft.add_action("Integrate", table=table.name, **given)
