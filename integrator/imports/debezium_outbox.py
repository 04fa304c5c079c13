"""EventRouter and PartitionRouting -> messages of an outbox, and the partition by columns.

https://debezium.io/documentation/reference/stable/transformations/outbox-event-router.html;
https://debezium.io/documentation/reference/stable/transformations/partition-routing.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from integrator.imports.debezium_tables import Tables
from integrator.imports.draft import Draft
from integrator.schema import Integer, Table

_ALL = re.compile(r"\(\?<(\w+)>\.[*+]\)|\(\.[*+]\)")
"""Expressions of route.topic.regex that a value matches as a whole."""
_GROUP = re.compile(r"\$\{\w+\}|\$[01]")
_BEHAVIOR = ("table.op.invalid.behavior", "debezium.op.invalid.behavior")
_KNOWN = (
    "type", "predicate", "negate", "table.field.event.id", "table.field.event.key", "table.field.event.type",
    "table.field.event.timestamp", "table.field.payload", "table.field.payload.id", "route.by.field",
    "route.topic.regex", "route.topic.replacement", "table.fields.additional.placement", "table.expand.json.payload",
    "route.tombstone.on.empty.payload", *_BEHAVIOR,
)  # fmt: skip
_OTHERS = {
    "table.field.event.schema.version": "schemas of events have no versions",
    "table.field.schema.version": "schemas of events have no versions",
    "table.fields.additional.error.on.missing": "a column that is not there is a problem that check reports",
    "table.json.payload.null.behavior": "the JSON is sent as it is, null too",
}
_TIME = "the timestamp is the time at which it is sent, where EventRouter has that at which Debezium processed it"
_NEGATIVE = "2147483647"
"""The bits of Java's hash that PartitionRouting takes; all of them are 0."""


def import_outbox(key: str, given: Mapping[str, str], tables: Tables, draft: Draft) -> dict[str, str]:
    """Add the actions for the events of an outbox; return what of them is key and value, as ExtractField would be."""
    columns = {
        "key": given.get("table.field.event.key", "aggregateid"),
        "value": given.get("table.field.payload", "payload"),
    }
    route, moment = given.get("route.by.field", "aggregatetype"), given.get("table.field.event.timestamp")
    headers, partition = _placed(key, given, draft)
    behavior = next((given[name].lower() for name in _BEHAVIOR if name in given), "warn")
    event: dict[str, Any] = {
        "Topic": _topic(key, given, route, draft),
        "Outbox": "FATAL" if behavior == "fatal" else "WARN",
        "MessageHeaders": ";".join([f"id={{{given.get('table.field.event.id', 'id')}}}", *headers]),
        "MessageTimestamp": f"{{{moment}}}" if moment else None,
        "MessagePartition": partition,
    }
    if not moment:
        draft.report.differ(_TIME, key)
    having, others = _having(tables, [*columns.values(), route])
    for table in having:
        draft.keys[table.name] = [columns["key"]]
        draft.add_action("Integrate", group="KAFKA", table=table.name, **event)
    if not tables.known:
        draft.add_action("Integrate", group="KAFKA", **event)
    for table in others:
        text = f"table {table.name} lacks columns of an outbox: leave it out, and give it a channel of its own"
        draft.report.todo(f"{key}: {text}")
    if given.get("table.expand.json.payload", "").lower() == "true":
        draft.report.differ("the JSON is sent as the column has it, white space and the forms of numbers too", key)
    if given.get("route.tombstone.on.empty.payload", "").lower() == "true":
        draft.report.differ("a payload of blanks alone is sent as it is; only null is a tombstone", key)
    for name in given:
        if name in _OTHERS or name.startswith("tracing."):
            draft.report.ignore(f"{key}.{name}", _OTHERS.get(name, "there is no tracing"))
        elif name not in _KNOWN:
            draft.report.todo(f"{key}.{name} is not followed: no counterpart is known")
    return {f"ExtractField${part.capitalize()}": column for part, column in columns.items()}


def _topic(key: str, given: Mapping[str, str], route: str, draft: Draft) -> str:
    """Return the template of topics; an expression that takes a part of a value is reported."""
    regex = given.get("route.topic.regex", "(?<routedByValue>.*)")
    replacement = given.get("route.topic.replacement", "outbox.event.${routedByValue}")
    if not _ALL.fullmatch(regex) and _GROUP.search(replacement):
        example = f"Topic: \"sql: regexp_replace({{{route}}}, '…', '…')\""
        draft.report.todo(
            f"{key}.route.topic.regex takes a part of {route}, and here it is taken whole: write {example}"
        )
    return _GROUP.sub(f"{{{route}}}", replacement)


def _placed(key: str, given: Mapping[str, str], draft: Draft) -> tuple[list[str], str | None]:
    """Return the headers that columns become, and the column that is the partition: COLUMN:PLACE:NAME, with commas."""
    headers, partition = [], None
    for item in filter(None, map(str.strip, given.get("table.fields.additional.placement", "").split(","))):
        column, place, *alias = [*(part.strip() for part in item.split(":")), ""][:3]
        match place.lower():
            case "header":
                headers.append(f"{alias[0] or column}={{{column}}}")
            case "partition":
                partition = f"{{{column}}}"
            case _:
                draft.report.todo(
                    f"{key}.table.fields.additional.placement: {item} is not followed: a message is the payload alone; "
                    f"have {column} as a header, or send rows, without FileFormat Text and Bytes"
                )
    return headers, partition


def _having(tables: Tables, names: Sequence[str]) -> tuple[list[Table], list[Table]]:
    """Return the tables that have all columns, and the others."""
    having = [table for table in tables.tables if all(table.column(name) for name in names)]
    return having, [table for table in tables.tables if table not in having] if tables.known else []


def import_partitions(key: str, given: Mapping[str, str], tables: Tables, draft: Draft) -> None:
    """Add the actions for partitions by columns, where Java's hash of these is their value."""
    fields, count = given.get("partition.payload.fields", ""), given.get("partition.topic.num", "")
    columns = [one.strip().rpartition(".")[2] for one in fields.split(",")]
    hashed = given.get("partition.hash.function", "java").lower()
    following = list(_hashed_as_they_are(tables, columns)) if hashed == "java" else []
    for table, is_long in following:
        total = " + ".join(f"{{{name}}}" for name in columns)
        bits = f"(({total}) & {_NEGATIVE})"
        expression = f"sql: case when {bits} = {_NEGATIVE} then 0 else {bits} % {count} end"
        draft.add_action("Integrate", group="KAFKA", table=table.name, MessagePartition=expression)
        if is_long:
            text = "Java's hash of a number below 0 or above 2147483647 is another, and so is its partition"
            draft.report.differ(text, f"table {table.name}")
    if not following:
        why = f"{hashed}'s hash of {fields} is not there" if tables.known else "it needs the tables' definitions"
        draft.report.todo(
            f"{key} (PartitionRouting) is not followed: {why}; Integrate MessagePartition gives a partition by a "
            f"number, such as sql: {{column}} % {count or 12}; without it, the key decides"
        )


def _hashed_as_they_are(tables: Tables, columns: Sequence[str]) -> Iterator[tuple[Table, bool]]:
    """Yield the tables whose columns of these names are whole numbers, and whether one has more than 32 bits."""
    for table in tables.tables:
        found = [table.column(name) for name in columns]
        kinds = [column.type for column in found if column is not None and isinstance(column.type, Integer)]
        if len(kinds) == len(columns):
            yield table, any(kind.bits == 64 for kind in kinds)
