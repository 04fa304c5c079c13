"""Columns that a Debezium connector leaves out, masks, cuts or takes for the key -> ColumnProperties.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-property-column-exclude-list.
What cannot be masked as it was is left out of the messages, or is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from integrator.imports import debezium_masks as masks
from integrator.imports.connect_file import Config
from integrator.imports.debezium_masks import Masked
from integrator.imports.debezium_patterns import expression, items
from integrator.imports.debezium_tables import Tables, needs_tables
from integrator.imports.draft import Draft
from integrator.schema import Table

_BETWEEN_KEYS = re.compile(";")
_KEYS = "message.key.columns"


def import_columns(config: Config, tables: Tables, draft: Draft) -> None:
    """Add the actions for columns, and report what has no counterpart. Raises ConfigurationError."""
    draft.keys = _keys(config.get(_KEYS), tables, draft)
    for key in ("column.exclude.list", "column.blacklist"):
        for table, column in _columns(config.get(key), key, tables, draft):
            absent(draft, table, column, key)
    for key in ("column.include.list", "column.whitelist"):
        _take_included(config.get(key), key, tables, draft)
    left_out = {(one["table"], one["Name"]) for one in draft.actions if one.get("Absent") and "Name" in one}
    masked: dict[tuple[str, str], str] = {}
    for rule in masks.rules(config.values):
        for table, column in _columns(config.get(rule.key), rule.shown, tables, draft):
            place = table.name, column
            before = masked.setdefault(place, rule.key)
            if place in left_out:
                draft.report.ignore(f"{rule.shown}: {table.full_name}.{column}", "the column is left out")
            elif before == rule.key:
                masks.import_mask(Masked(table, column, rule, of_key=column in key_of(table, draft)), draft)
            else:
                draft.report.ignore(f"{rule.shown}: {table.full_name}.{column}", f"{masks.shown(before)} masks it")


def key_of(table: Table, draft: Draft) -> tuple[str, ...]:
    """Return the columns that are a table's key: those that were taken for it, else its own."""
    return tuple(draft.keys.get(table.name, ())) or table.key


def absent(draft: Draft, table: Table, column: str, key: str) -> None:
    """Leave a column out of the messages; the key's columns stay."""
    if column in key_of(table, draft):
        draft.report.todo(
            f"of the key, and so in the messages too, where {key} left it in keys alone", f"{table.full_name}.{column}"
        )
    else:
        draft.add_action("ColumnProperties", group="KAFKA", table=table.name, Name=column, Absent=True)


def _columns(text: str, key: str, tables: Tables, draft: Draft) -> Iterator[tuple[Table, str]]:
    """Yield the columns that a list names, each once; report expressions that match none."""
    seen = set()
    for pattern in items(text):
        found = list(tables.columns(pattern, key))
        if not found:
            tables.report_unmatched(pattern, key, draft.report)
        for table, column in found:
            if (table.name, column) not in seen:
                seen.add((table.name, column))
                yield table, column


def _take_included(text: str, key: str, tables: Tables, draft: Draft) -> None:
    """Leave out the columns that a list does not name: as schema.table.column, which is all that lets one through."""
    if text and not tables.known:
        raise needs_tables(key, text)
    if not text:
        return
    unused = {one: expression(one, key) for one in items(text)}
    wanted = dict(unused)
    for table in tables.tables:
        for column in table.columns:
            matching = [one for one, matches in wanted.items() if matches(f"{table.full_name}.{column.name}")]
            for one in matching:
                unused.pop(one, None)
            if column.name not in key_of(table, draft) and not matching:
                absent(draft, table, column.name, key)
    for one in unused:
        tables.report_unmatched(one, key, draft.report)


def _keys(text: str, tables: Tables, draft: Draft) -> dict[str, list[str]]:
    """Return the key columns of tables by message.key.columns: expression:column,column;expression:column."""
    keys: dict[str, list[str]] = {}
    for entry in items(text, _BETWEEN_KEYS):
        pattern, colon, names = entry.rpartition(":")
        if not colon:
            draft.report.todo(f"{_KEYS}: {entry} names no columns, as table:column,column")
        for name in items(names) if colon else ():
            found = list(tables.columns(f"{pattern}.{name}", _KEYS))
            if not found:
                tables.report_unmatched(f"{pattern}.{name}", _KEYS, draft.report)
            for table, column in found:
                of_table = keys.setdefault(table.name, [])
                of_table += [] if column in of_table else [column]
    return keys
