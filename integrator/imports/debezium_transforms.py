"""Transforms of Kafka Connect, in their order -> what they do here, and what has no counterpart.

https://kafka.apache.org/documentation/#connect_transforms;
https://debezium.io/documentation/reference/stable/transformations/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from integrator.errors import ConfigurationError
from integrator.imports import debezium_flat, debezium_outbox
from integrator.imports.connect_file import Config
from integrator.imports.debezium_columns import absent, key_of
from integrator.imports.debezium_masks import replaced
from integrator.imports.debezium_tables import Tables, needs_tables
from integrator.imports.debezium_topics import Router, router
from integrator.imports.draft import Draft
from integrator.schema import Decimal, Float, Integer, String, Table

_NONE = {
    "Filter": 'rows that it drops are sent, until {action: Restrict, CaptureCondition: "…"} says in SQL which are',
    "ContentBasedRouter": "Integrate Topic may have columns and SQL: write its rule there",
    "TimestampConverter": "a column is written otherwise by ColumnProperties Datatype, or IntegrateExpression in SQL",
    "TimezoneConverter": "a column is written otherwise by ColumnProperties IntegrateExpression, in SQL",
    "Cast": "a column is written otherwise by ColumnProperties Datatype",
    "ValueToKey": "the key is the table's, or of the columns that are SurrogateKey (ColumnProperties)",
    "InsertHeader": "headers are Integrate MessageHeaders: name=text",
    "HeaderFrom": 'headers are Integrate MessageHeaders: "name={column}"',
    "ExtractChangedRecordState": "FileFormat BeforeUpdateColumns sends values before an update beside those after it",
}
"""Why transforms have no counterpart, by the last part of their class."""
_UNKNOWN = "what it hides or drops is sent, until an action does the same"
_ENVELOPE = "it changes Debezium's envelope, which has all of its fields here; what it hid there is sent"
_TABLE_FIELD = "__dbz__physicalTableIdentifier"
_UNIQUE = (
    "keys have no field {} that keeps tables apart, which key.enforce.uniqueness adds: where rows of tables that share "
    "a topic have one key, write MessageKey: '{{hvr_tbl_name}}-{{{{hvr_key_names -}}}}', MessageKeySerializer: STRING"
)


@dataclass
class Chain:
    """What the transforms set for the whole channel. flat: rows without envelope.

    names: by transform, the field that alone is the key, or the value (ExtractField), and what the schema of keys, or
    of values, is called (SetSchemaMetadata). deletes: whether flattened rows are sent of deletes. is_outbox: rows are
    the events of an outbox; is_json: and what they have is JSON.
    """

    flat: bool
    routers: list[Router]
    names: dict[str, str] = field(default_factory=dict)
    deletes: bool = False
    is_outbox: bool = False
    is_json: bool = False


def import_transforms(
    config: Config, tables: Tables, draft: Draft, source: Mapping[str, str], *, tombstones: bool
) -> Chain:
    """Add the actions for transforms. source: what is the same in all events; tombstones: whether there are some."""
    chain = Chain(flat=False, routers=[])
    for name in filter(None, map(str.strip, config.get("transforms").split(","))):
        key, given = f"transforms.{name}", config.below(f"transforms.{name}.")
        kind = given.get("type", "").rpartition(".")[2]
        predicate = config.below(f"predicates.{given['predicate']}.") if "predicate" in given else {}
        predicate |= {"negate": given["negate"]} if predicate and "negate" in given else {}
        match kind:
            case "ExtractNewRecordState":
                chain.flat = True
                chain.deletes = debezium_flat.import_flattening(key, given, draft, source, tombstones=tombstones)
            case "RegexRouter" | "ByLogicalTableRouter":
                chain.routers.append(_router(kind, key, given, predicate, draft))
            case "ValueToKey" if chain.flat and tables.known:
                _take_key(key, _names(given.get("fields", "")), tables, draft)
            case "EventRouter":
                chain.flat, chain.is_outbox = True, True
                chain.names |= debezium_outbox.import_outbox(key, given, tables, draft)
                chain.is_json = given.get("table.expand.json.payload", "").lower() == "true"
            case "PartitionRouting":
                debezium_outbox.import_partitions(key, given, tables, draft)
            case "ExtractField$Key" | "ExtractField$Value" | "SetSchemaMetadata$Key" | "SetSchemaMetadata$Value":
                chain.names[kind] = given.get("field", given.get("schema.name", ""))
            case "ReplaceField$Value" | "MaskField$Value" | "InsertField$Value" if chain.flat:
                _take_fields(kind, key, given, tables, draft)
            case "ReplaceField$Value" | "MaskField$Value" | "InsertField$Value":
                draft.report.todo(f"{key} ({kind}) is not followed: {_ENVELOPE}")
            case "SchemaChangeEventFilter":
                draft.report.ignore(f"{key} ({kind})", "there are no events of schema changes")
            case _:
                short = kind.partition("$")[0]
                draft.report.todo(f"{key} ({kind}) is not followed: {_NONE.get(short, _UNKNOWN)}")
        if predicate and kind not in ("RegexRouter", "ByLogicalTableRouter"):
            draft.report.differ("the transform holds for all messages here, whatever its predicate", key)
    config.get("predicates")
    return chain


def _router(kind: str, key: str, given: Mapping[str, str], predicate: Mapping[str, str], draft: Draft) -> Router:
    """Return what calls topics otherwise."""
    if kind == "RegexRouter":
        return router(key, given.get("regex", ""), given.get("replacement", ""), predicate, draft)
    if given.get("key.enforce.uniqueness", "true").lower() == "true":
        draft.report.todo(f"{key}: {_UNIQUE.format(given.get('key.field.name', _TABLE_FIELD))}")
    made = router(key, given.get("topic.regex", ""), given.get("topic.replacement", ""), predicate, draft)
    return replace(made, logical=True)


def _take_fields(kind: str, key: str, given: Mapping[str, str], tables: Tables, draft: Draft) -> None:
    """Take a transform of the fields of flattened rows: those left out, renamed, masked and added."""
    excluded = _names(given.get("exclude", given.get("blacklist", "")))
    included = _names(given.get("include", given.get("whitelist", "")))
    if not tables.known and (excluded or included or kind == "MaskField$Value"):
        raise needs_tables(key, kind)
    for table in tables.tables:
        for column in table.columns:
            if column.name in excluded or (included and column.name not in included):
                absent(draft, table, column.name, key)
    for pair in _names(given.get("renames", "")):
        old, _, new = pair.partition(":")
        for name in _having(tables, old):
            draft.add_action("ColumnProperties", group="KAFKA", table=name, Name=old, BaseName=new)
    masked = _names(given.get("fields", "")) if kind == "MaskField$Value" else []
    for name in masked:
        _mask(name, given.get("replacement"), key, tables, draft)
    renamed = [pair.partition(":")[0] for pair in _names(given.get("renames", ""))]
    added = {one["Name"] for one in draft.actions if one.get("Extra")}
    for name in (*excluded, *included, *renamed, *masked):
        if tables.known and name not in added and not any(_has(table, name) for table in tables.tables):
            draft.report.todo(f"{key}: {name} is no column of the tables")
    for name, value in given.items():
        if name == "static.field":
            text = "'" + given.get("static.value", "").replace("'", "''") + "'"
            draft.add_action("ColumnProperties", Name=value, Extra=True, Datatype="varchar", IntegrateExpression=text)
        elif name in ("topic.field", "partition.field", "offset.field", "timestamp.field"):
            draft.report.differ("consumers find it in the message itself", f"{key}.{name}")


def _take_key(key: str, fields: list[str], tables: Tables, draft: Draft) -> None:
    """Have fields of flattened rows as the key, in the tables that have them all. Raises ConfigurationError."""
    for table in tables.tables:
        lacking = [name for name in fields if not _has(table, name)]
        if lacking:
            draft.report.todo(f"{key}: table {table.name} has no column {', '.join(lacking)}: its key is its own")
            continue
        draft.keys[table.name] = fields
        for name in fields:
            if any(
                "CaptureExpression" in one and (one["table"], one["Name"]) == (table.name, name)
                for one in draft.actions
            ):
                raise ConfigurationError(
                    f"{key}: {table.name}.{name} is masked, and cannot be the key: take it out of fields"
                )


def _mask(name: str, replacement: str | None, key: str, tables: Tables, draft: Draft) -> None:
    """Have the replacement, or nothing, in the place of a column's values; leave out what cannot be masked so."""
    for table in tables.tables:
        column = table.column(name)
        if column is None:
            continue
        if name in key_of(table, draft):
            raise ConfigurationError(
                f"{key}: {table.name}.{name} is of the key, and all rows would have one: let others be the key "
                "(message.key.columns), or take it out of fields"
            )
        if isinstance(column.type, String):
            replaced(draft, table, name, CaptureExpression="'" + (replacement or "").replace("'", "''") + "'")
        elif isinstance(column.type, Integer | Float | Decimal) and (replacement or "0").isdigit():
            replaced(draft, table, name, CaptureExpression=replacement or "0")
        else:
            draft.report.todo(f"{key}: {table.name}.{name} cannot be masked so: it is left out")
            absent(draft, table, name, key)


def _having(tables: Tables, column: str) -> Iterator[str]:
    """Yield the tables that have a column; * where there are no definitions."""
    if not tables.known:
        yield "*"
    yield from (table.name for table in tables.tables if _has(table, column))


def _has(table: Table, column: str) -> bool:
    return table.column(column) is not None


def _names(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]
