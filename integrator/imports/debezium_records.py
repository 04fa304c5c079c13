"""The names of schemas and fields that a Debezium connector writes -> KeyRecordName, ValueRecordName and BaseName.

A schema is named after the topic, before transforms change that: TOPIC.Envelope, TOPIC.Value, TOPIC.Key. Names that
Avro does not have are adjusted, as schema.name.adjustment.mode and field.name.adjustment.mode ask for
(https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-property-schema-name-adjustment-mode).
"""

from __future__ import annotations

from collections.abc import Callable

from integrator.formats.keys import KEYS
from integrator.formats.record_names import record_refusal
from integrator.imports.connect_file import Config
from integrator.imports.debezium_tables import Tables
from integrator.imports.debezium_topics import Topics
from integrator.imports.debezium_transforms import Chain
from integrator.imports.draft import Draft

_BINARY = ("AVRO", "PROTOBUF")
_UNNAMED = (
    "records are not named as the connector names them: {} has no such name as {}: give them others, Integrate "
    "ValueRecordName and KeyRecordName"
)
_HEX = 0x100


def import_records(config: Config, topics: Topics, tables: Tables, draft: Draft, chain: Chain) -> None:
    """Name records as the connector does, and its transforms."""
    mode = _mode(config, "schema.name.adjustment.mode", "none", tables, draft)
    space, others = topics.spaces(tables, adjuster(mode))
    names = dict.fromkeys((table.name for table in tables.tables), space) | dict(others)
    kind = draft.kafka.get("Kafka_Schema_Registry_Format", "")
    wrong = next((one for one in [space, *names.values()] if kind in _BINARY and _refused(one)), None)
    if wrong is not None:
        draft.report.todo(_UNNAMED.format(kind.capitalize(), wrong))
        return
    keyed = {table: KEYS[_serializer(table, draft)].record is not None for table in [*names, ""]}
    if kind or any(one.get("JsonMode") == "SCHEMA_PAYLOAD" for one in draft.actions):
        value, given = "Value" if chain.flat else "Envelope", chain.names.get("SetSchemaMetadata$Value")
        draft.add_action("Integrate", ValueRecordName=given or f"{space}.{value}")
        for table, other in () if given else others:
            draft.add_action("Integrate", group="KAFKA", table=table, ValueRecordName=f"{other}.{value}")
    given = chain.names.get("SetSchemaMetadata$Key")
    if all(keyed.values()):
        draft.add_action("Integrate", KeyRecordName=given or f"{space}.Key")
    for table, own in names.items():
        if keyed[table] and ((own != space and not given) or not all(keyed.values())):
            draft.add_action("Integrate", group="KAFKA", table=table, KeyRecordName=given or f"{own}.Key")


def import_field_names(config: Config, tables: Tables, draft: Draft) -> None:
    """Name fields as the connector does, which transforms rename after it."""
    old = "avro" if config.on("sanitize.field.names", default=False) else "none"
    adjusted = adjuster(_mode(config, "field.name.adjustment.mode", old, tables, draft), dots=False)
    taken = {(one.get("table"), one.get("Name")) for one in draft.actions if one.keys() & {"BaseName", "Absent"}}
    for table in tables.tables:
        for column in table.columns:
            name = adjusted(column.name)
            if name != column.name and not taken & {(table.name, column.name), ("*", column.name)}:
                place = {"group": "KAFKA", "table": table.name}
                draft.add_action("ColumnProperties", **place, Name=column.name, BaseName=name)


def _mode(config: Config, key: str, default: str, tables: Tables, draft: Draft) -> str:
    """Return how names are adjusted; that it cannot be followed without knowing them is reported."""
    mode = config.get(key, default=default).lower()
    if mode != "none" and not tables.known:
        draft.report.todo(f"{key}={mode} is followed only with the tables' definitions: --tables FILE")
    return mode


def adjuster(mode: str, *, dots: bool = True) -> Callable[[str], str]:
    """Return how names are adjusted in a mode. dots: whether these may be in them."""
    if mode not in ("avro", "avro_unicode"):
        return lambda name: name

    def is_valid(at: int, letter: str) -> bool:
        first = letter.isascii() and (letter.isalpha() or (letter == "_" and mode == "avro"))
        return first or (at > 0 and ((letter.isascii() and letter.isdigit()) or (dots and letter == ".")))

    def adjusted(name: str) -> str:
        return "".join(one if is_valid(at, one) else _instead(at, one, mode) for at, one in enumerate(name))

    return adjusted


def _instead(at: int, letter: str, mode: str) -> str:
    """Return what stands for a letter that no name has; of those above 16 bits, for both halves, as Java has them."""
    data = letter.encode("utf-16-be")
    units = [int.from_bytes(data[start : start + 2], "big") for start in range(0, len(data), 2)]
    if mode == "avro_unicode":
        return "".join(f"_u{'00' if unit < _HEX else ''}{unit:x}" for unit in units)
    return "_" * len(units) + (letter if at == 0 and letter.isdigit() else "")


def _refused(template: str) -> bool:
    """Return whether names of a template cannot be; what is filled in is inspected when the channel is checked."""
    return record_refusal(template.replace("{", "").replace("}", "")) is not None


def _serializer(table: str, draft: Draft) -> str:
    """Return how the keys of a table are written; of all tables, where there is none."""
    given = [one for one in draft.actions if one["action"] == "Integrate" and "MessageKeySerializer" in one]
    return next(str(one["MessageKeySerializer"]) for one in reversed(given) if one.get("table", "") in ("", table))
