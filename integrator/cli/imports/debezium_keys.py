"""Converters of keys, and ExtractField$Key -> how message keys are written.

Where bytes of keys are others than the connector's, a key goes on in another partition: the report says so.
"""

from __future__ import annotations

from typing import Any

from integrator.cli.imports import debezium_converters as converters
from integrator.cli.imports.connect_file import Config
from integrator.cli.imports.debezium_tables import Tables
from integrator.cli.imports.draft import Draft
from integrator.schema import Boolean, Column, Integer, String, Table

_CHANGE = "keys, and so partitions, are others than the connector's"
_PRINTED = (Boolean, Integer)
"""Types whose text is the same in Java, in JSON and here."""


def take(config: Config, field: str, kind: str, tables: Tables, draft: Draft) -> None:
    """Set how keys are written; tables without a key have none, as in Debezium. field: of ExtractField$Key."""
    registry = "Kafka_Schema_Registry" in draft.kafka
    integrate: dict[str, Any] = {}
    if kind in converters.REGISTRY and registry:
        serializer = converters.REGISTRY[kind][1]
        integrate["KeySubjectStrategy"] = _strategy(config, "key")
    elif kind in converters.REGISTRY:
        draft.report.todo(f"key.converter: {kind} needs a registry, and values have none: keys are JSON; {_CHANGE}")
        serializer = "CONNECT_PAYLOAD"
    elif kind == "StringConverter" and not field:
        draft.report.todo(
            f"key.converter: the text of Java's structs (Struct{{id=1}}) is not there: keys are JSON; {_CHANGE}"
        )
        serializer = "CONNECT_PAYLOAD"
    else:
        serializer = "CONNECT_SCHEMA" if converters.has_schemas(config, "key", kind) else "CONNECT_PAYLOAD"
    if registry:
        integrate["ValueSubjectStrategy"] = _strategy(config, "value")
    _take_keyed(integrate | {"MessageKeySerializer": serializer}, tables, draft)
    if field:
        _take_field(field, kind, serializer, tables, draft)


def _take_keyed(integrate: dict[str, Any], tables: Tables, draft: Draft) -> None:
    """Have keys in all tables but those without one, which have neither keys nor tombstones in Debezium."""
    surrogate = {one["table"] for one in draft.actions if one.get("SurrogateKey")}
    bare = [one.name for one in tables.tables if tables.known and not one.key and one.name not in surrogate]
    subject = {"KeySubjectStrategy": integrate.pop("KeySubjectStrategy", None)} if bare else {}
    draft.act("Integrate", **integrate)
    erases = any(one.get("OnDeleteSendTombstone") for one in draft.actions)
    for table in tables.tables:
        if table.name in bare:
            none = {"MessageKeySerializer": "NONE", "OnDeleteSendTombstone": False if erases else None}
            draft.act("Integrate", group="KAFKA", table=table.name, **none)
        elif subject.get("KeySubjectStrategy"):
            draft.act("Integrate", group="KAFKA", table=table.name, **subject)


def _strategy(config: Config, part: str) -> str:
    given = config.get(f"{part}.converter.{part}.subject.name.strategy").rpartition(".")[2]
    return given or "TopicNameStrategy"


def _take_field(field: str, kind: str, serializer: str, tables: Tables, draft: Draft) -> None:
    """Have the value of one column as the key, in the tables that have it, where it can be written alone."""
    for table in tables.tables:
        column = table.column(field)
        if column is None:
            draft.report.todo(f"ExtractField$Key: table {table.name} has no column {field}: its key is its own")
            continue
        text = _text_serializer(kind, serializer, column)
        if not text:
            draft.report.todo(
                f"ExtractField$Key: table {table.name}: {field} alone cannot be a key with {kind}: it has its name "
                f"beside it; {_CHANGE}"
            )
            continue
        if kind == "StringConverter" and not _is_printed_alike(column):
            draft.report.todo(f"ExtractField$Key: table {table.name}: the text of {field} is not Java's; {_CHANGE}")
        _key_of(table, field, text, draft)


def _text_serializer(kind: str, serializer: str, column: Column) -> str:
    """Return the serializer that writes a column's text as the converter writes its value; nothing for none."""
    is_text = isinstance(column.type, String) and not column.type.role
    match kind, serializer:
        case "StringConverter", _:
            return "STRING"
        case "AvroConverter", "KAFKA_AVRO_SCHEMA":
            return "KAFKA_AVRO" if is_text else ""
        case (("JsonSchemaConverter" | "ExtJsonConverter"), "KAFKA_JSON_SCHEMA"):
            return "KAFKA_JSON" if is_text else ""
        case _, "CONNECT_SCHEMA":
            return "CONNECT" if is_text else ""
        case "JsonConverter", "CONNECT_PAYLOAD":
            return "STRING" if isinstance(column.type, _PRINTED) else ""
    return ""


def _is_printed_alike(column: Column) -> bool:
    return isinstance(column.type, (*_PRINTED, String))


def _key_of(table: Table, field: str, serializer: str, draft: Draft) -> None:
    """Have the text of a column as a table's key; tombstones only where that is all of the key."""
    keyed = [one for one in draft.actions if one["action"] == "Integrate" and one.get("table") == table.name]
    for one in keyed:  # a table without a key of its own has this one
        if one.get("MessageKeySerializer") == "NONE":
            del one["MessageKeySerializer"]
            one.pop("OnDeleteSendTombstone", None)
    erases = None if table.key == (field,) else False
    if erases is False:
        draft.report.differ(f"there are no tombstones: the key is not {field} alone", f"table {table.name}")
    draft.act("Integrate", group="KAFKA", table=table.name, MessageKey=f"{{{field}}}",
              MessageKeySerializer=serializer, OnDeleteSendTombstone=erases)  # fmt: skip
