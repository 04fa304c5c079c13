"""Which tables a Debezium connector captures -> the channel's tables.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-property-table-include-list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from integrator import tables as definitions
from integrator.errors import ConfigurationError, Problem
from integrator.imports.connect_file import Config
from integrator.imports.debezium_masks import shown
from integrator.imports.debezium_patterns import expression, items, literal
from integrator.imports.debezium_tables import Tables, needs_tables
from integrator.imports.draft import Draft
from integrator.schema import Table

_PARTS = 2
"""Names in schema.table."""
UNDEFINED = "tables.sql"
"""The file of the definitions, where there are none yet."""
LISTS = {
    "table.include.list": "table.whitelist",
    "table.exclude.list": "table.blacklist",
    "schema.include.list": "schema.whitelist",
    "schema.exclude.list": "schema.blacklist",
    "database.include.list": "database.whitelist",
    "database.exclude.list": "database.blacklist",
}
"""Lists, and what they were called before Debezium 1.4."""
_OF_NAMES = (
    "column.", "table.exclude.", "table.blacklist", "schema.exclude.", "schema.blacklist", "database.exclude.",
    "database.blacklist",
)  # fmt: skip
"""How properties begin that keep something back, and find it by schema.table."""


@dataclass(frozen=True)
class Given:
    """What is known of the definitions: their file, if there is one, and whose SQL it has.

    schema: of tables for which neither definitions nor lists name one. database: as Tables has it.
    """

    file: Path | None
    sql_dialect: str
    schema: str | None
    database: str | None


def import_captured_tables(config: Config, given: Given, draft: Draft) -> Tables:
    """Set the channel's tables, which are those that are captured, and their schemas; return them.

    Raises ConfigurationError.
    """
    entry: dict[str, Any] = {"file": given.file or UNDEFINED, "sql_dialect": given.sql_dialect}
    draft.tables.append(entry)
    if any(config.get(key, old) for key, old in LISTS.items()):
        draft.source["unknown_tables"] = "ignore"
    if given.file is None:
        _take_names(config, entry, given, draft)
        return Tables(database=given.database)
    found = definitions.read(str(given.file), given.sql_dialect)
    if found.problems:
        raise ConfigurationError(found.problems)
    tables = captured(found.tables, config, given, draft)
    chosen = tables.tables
    bare = {table.base_name for table in found.tables if not table.schema}
    if len(chosen) < len(found.tables):
        entry["only"] = [one.name if one.base_name in bare else one.full_name for one in chosen]
    renamed = names(chosen)
    if renamed:
        entry["names"] = renamed
        tables.tables = chosen = [replace(one, name=renamed.get(one.full_name, one.name)) for one in chosen]
    schemas = {table.name: table.schema for table in chosen if table.base_name in bare and table.schema}
    if len(set(schemas.values())) == 1 and len(schemas) == len(chosen):
        draft.add_action("TableProperties", group="KAFKA", Schema=next(iter(schemas.values())))
    else:
        for name, one in schemas.items():
            draft.add_action("TableProperties", group="KAFKA", table=name, Schema=one)
    return tables


def _take_names(config: Config, entry: dict[str, Any], given: Given, draft: Draft) -> None:
    """Take what lists name, where there are no definitions."""
    for key in ("table.include.list", "table.exclude.list"):
        patterns = items(config.get(key, LISTS[key]))
        for pattern in patterns:
            named = literal(pattern)
            if "exclude" in key or named is None:
                raise needs_tables(key, pattern)
            if len(named) != _PARTS:
                raise ConfigurationError(
                    f"{key}: {pattern!r} is no schema.table, and the connector captures none by it"
                )
        if patterns:
            entry["only"] = [".".join(literal(one) or []) for one in patterns]
    for key in ("schema.include.list", "schema.exclude.list", "database.exclude.list"):
        if config.get(key, LISTS[key]):
            draft.report.todo(f"{key}: {UNDEFINED} says which tables there are: have no others in it")
    databases = items(config.get("database.include.list", LISTS["database.include.list"]))
    if given.database is None and len(databases) == 1:
        draft.add_action("TableProperties", group="KAFKA", Schema=databases[0])
        if "only" in entry:  # MySQL's definitions name no database
            entry["only"] = [one.rpartition(".")[2].lower() for one in entry["only"]]


def captured(defined: list[Table], config: Config, given: Given, draft: Draft) -> Tables:
    """Return the tables that the connector captures, and the others, each with a schema. Raises ConfigurationError."""
    default = given.schema
    named = [literal(one) or [] for one in items(config.get("table.include.list", LISTS["table.include.list"]))]
    schemas = {one[-1].lower(): one[-2] for one in named if len(one) > 1}
    placed = any(table.schema for table in defined)
    for key in ("schema.include.list", *(("database.include.list",) if given.database is None else ())):
        only = [literal(one) or [] for one in items(config.get(key, LISTS[key]))]
        default = only[0][-1] if len(only) == 1 and only[0] and not placed else default
    found = [replace(one, schema=one.schema or schemas.get(one.base_name.lower()) or default) for one in defined]
    for table in found:
        if not table.schema:
            _refuse_unplaced(table, config, given)
            draft.report.todo(f"table {table.name}: its schema is not known: write it in its definition")
    everything = Tables(found, known=True, database=given.database)
    lists = [_List(key, items(config.get(key, old)), everything) for key, old in LISTS.items() if config.get(key, old)]
    unmatched = [text for one in lists for text in one.unmatched()]
    for text in unmatched:
        draft.report.todo(text)
    chosen = [table for table in found if all(one.lets(table) for one in lists)]
    if not chosen:
        texts = ("defines no table that the connector captures", *unmatched)
        raise ConfigurationError([Problem(str(given.file), 0, "", text) for text in texts])
    others = [table for table in found if table not in chosen]
    return Tables(chosen, others, known=True, database=given.database)


def _refuse_unplaced(table: Table, config: Config, given: Given) -> None:
    """Raise ConfigurationError where something that a list keeps back may be of a table without a schema."""
    for key in config.values:
        if key.startswith(_OF_NAMES):
            raise ConfigurationError(
                f"{given.file}: the schema of table {table.name} is not known, and {shown(key)} names "
                "tables by it: write it in the definition, CREATE TABLE schema.table"
            )


@dataclass(frozen=True)
class _List:
    """A list of what is captured, or is not."""

    key: str
    patterns: list[str]
    tables: Tables

    def lets(self, table: Table) -> bool:
        """Return whether the list has the connector capture a table."""
        return any(self._matches(one, table) for one in self.patterns) == (".include." in self.key)

    def _matches(self, pattern: str, table: Table) -> bool:
        """Return whether an expression is of a table: with its database, where tables are left out."""
        matches, database = expression(pattern, self.key), self.tables.database
        if self.key.startswith("table.include."):
            return matches(table.full_name)
        if self.key.startswith("table."):
            return any(map(matches, self.tables.names(table, pattern, _PARTS)))
        return matches((table.schema if database is None or self.key.startswith("schema.") else database) or "")

    def unmatched(self) -> Iterator[str]:
        """Yield a text for each expression that matches nothing."""
        what = self.key.partition(".")[0]
        form = ", as schema.table" if what == "table" and self.tables.database is not None else ""
        for pattern in self.patterns:
            if not any(self._matches(pattern, table) for table in self.tables.tables):
                yield f"{self.key}: {pattern} matches no {what} of the definitions{form}"


def names(tables: Iterable[Table]) -> dict[str, str]:
    """Return names for tables whose names in the channel are not unique, by schema.table."""
    found: dict[str, list[Table]] = {}
    for table in tables:
        found.setdefault(table.name, []).append(table)
    return {
        table.full_name: re.sub(r"\W", "_", f"{table.schema}_{table.name}".lower())
        for same in found.values()
        if len(same) > 1
        for table in same
    }
