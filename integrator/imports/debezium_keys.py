"""Converters of keys, and ExtractField$Key -> how message keys are written.

Where bytes of keys are others than the connector's, a key continues in another partition: the report says so.
"""

from __future__ import annotations

from typing import Any

from integrator.formats.keys import KEYS
from integrator.imports import debezium_converters as converters
from integrator.imports.connect_file import Config
from integrator.imports.debezium_columns import key_of
from integrator.imports.debezium_masks import AS_TEXT
from integrator.imports.debezium_tables import Tables
from integrator.imports.draft import Draft
from integrator.schema import Boolean, Column, Integer, String, Table

_CHANGE = "keys, and so partitions, differ from the connector's"
_MAY_CHANGE = "the key's schema may be another than the connector's: then its number, and so the partition, changes"
_NUMBERED = (
    "a key has the number of its schema: where the registry has one of the same columns and types under the subject, "
    "that is taken; where not, keys, and so partitions, differ: integrator check --connect reports which"
)
_PRINTED = (Boolean, Integer)
"""Types whose text is the same in Java, in JSON and here."""
_TEXTS = {"KAFKA_AVRO_SCHEMA": "KAFKA_AVRO", "KAFKA_JSON_SCHEMA": "KAFKA_JSON", "CONNECT_SCHEMA": "CONNECT"}
"""What writes a text as these write the text of one column."""


def import_message_keys(config: Config, field: str, kind: str, tables: Tables, draft: Draft) -> None:
    """Set how keys are written; tables without a key have none, as in Debezium. field: of ExtractField$Key."""
    registry = "Kafka_Schema_Registry" in draft.kafka
    integrate: dict[str, Any] = {}
    if kind in converters.REGISTRY and registry:
        serializer = converters.REGISTRY[kind][1]
        draft.report.differ(_NUMBERED)
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
    bare = [one.name for one in tables.tables if tables.known and not key_of(one, draft)]
    subject = {"KeySubjectStrategy": integrate.pop("KeySubjectStrategy", None)} if bare else {}
    draft.add_action("Integrate", **integrate)
    erases = any(one.get("OnDeleteSendTombstone") for one in draft.actions)
    for table in tables.tables:
        if table.name in bare:
            none = {"MessageKeySerializer": "NONE", "OnDeleteSendTombstone": False if erases else None}
            draft.add_action("Integrate", group="KAFKA", table=table.name, **none)
        elif subject.get("KeySubjectStrategy"):
            draft.add_action("Integrate", group="KAFKA", table=table.name, **subject)


def _strategy(config: Config, part: str) -> str:
    given = config.get(f"{part}.converter.{part}.subject.name.strategy").rpartition(".")[2]
    return given or "TopicNameStrategy"


def _take_field(field: str, kind: str, serializer: str, tables: Tables, draft: Draft) -> None:
    """Have the value of one column as the key, in the tables that have it, where it can be written alone."""
    lone = f"{serializer}_COLUMN"
    if not tables.known:
        draft.report.todo(f"ExtractField$Key is followed only with the tables' definitions: {_CHANGE}")
    for table in tables.tables:
        column, key = table.column(field), key_of(table, draft)
        if not key:
            continue  # as in Debezium, it has none
        if column is None:
            draft.report.todo(f"ExtractField$Key: table {table.name} has no column {field}: its key is its own")
            continue
        if kind == "StringConverter":
            if not isinstance(column.type, _PRINTED) and not _is_text(column):
                draft.report.todo(f"ExtractField$Key: table {table.name}: the text of {field} is not Java's; {_CHANGE}")
            _key_of(table, draft, MessageKey=f"{{{field}}}", MessageKeySerializer="STRING", tombstones=key == (field,))
        elif key == (field,) and lone in KEYS:
            _key_of(table, draft, MessageKeySerializer=lone, tombstones=True)
            exact = isinstance(column.type, _PRINTED) or _is_plain_text(column)
            if not exact or serializer == "KAFKA_JSON_SCHEMA":
                draft.report.differ(_MAY_CHANGE, f"ExtractField$Key: {table.name}.{field}")
        elif _is_plain_text(column) and serializer in _TEXTS:
            _key_of(table, draft, MessageKey=f"{{{field}}}", MessageKeySerializer=_TEXTS[serializer], tombstones=False)
        else:
            draft.report.todo(
                f"ExtractField$Key: table {table.name}: {field} alone cannot be a key with {kind}: keys are of the "
                f"columns {', '.join(key)}, with their names; {_CHANGE}"
            )


def _is_text(column: Column) -> bool:
    """Return whether the connector, too, has a column as text."""
    return isinstance(column.type, String) and column.type.role in AS_TEXT


def _is_plain_text(column: Column) -> bool:
    return isinstance(column.type, String) and not column.type.role


def _key_of(table: Table, draft: Draft, *, tombstones: bool, **written: str) -> None:
    """Say how a table's key is written; there are tombstones only where that is all of the key."""
    if not tombstones:
        draft.report.differ("there are no tombstones: the key is not of that column alone", f"table {table.name}")
    erases = None if tombstones else False
    draft.add_action("Integrate", group="KAFKA", table=table.name, **written, OnDeleteSendTombstone=erases)
