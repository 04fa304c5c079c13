"""Debezium's lists of tables and columns, which are regular expressions, over the channel's table definitions.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-connector-properties: an
expression is matched, whatever the case, with the whole of schema.table or schema.table.column; in MySQL and MariaDB a
schema is a database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from integrator import tables as definitions
from integrator.cli.imports.connect_file import Config
from integrator.cli.imports.draft import Draft
from integrator.errors import ConfigurationError
from integrator.schema import Table

_BETWEEN = re.compile(r"(?<!\\),")
_LITERAL = re.compile(r"[\w$#-]+(?:\.[\w$#-]+)*")
UNDEFINED = "tables.sql"
"""The file of the definitions, where there are none yet."""
_LISTS = {
    "table.include.list": "table.whitelist",
    "table.exclude.list": "table.blacklist",
    "schema.include.list": "schema.whitelist",
    "schema.exclude.list": "schema.blacklist",
    "database.include.list": "database.whitelist",
    "database.exclude.list": "database.blacklist",
}
"""Lists, and what they were called before Debezium 1.4."""


@dataclass
class Tables:
    """The tables that are captured, with the schemas that records give them. known: whether there are definitions."""

    tables: list[Table] = field(default_factory=list)
    known: bool = False

    def matching(self, pattern: str, key: str) -> Iterator[Table]:
        """Yield the tables whose schema.table matches an expression; without definitions, the one that it names."""
        if self.known:
            matches = expression(pattern, key)
            yield from (table for table in self.tables if matches(full_name(table)))
            return
        named = literal(pattern)
        if named is not None and 1 < len(named) <= 3:
            yield Table(named[-1].lower(), named[-1], named[-2], (), ())

    def columns(self, pattern: str, key: str) -> Iterator[tuple[Table, str]]:
        """Yield the columns whose schema.table.column matches an expression. Raises ConfigurationError."""
        if self.known:
            matches = expression(pattern, key)
            for table in self.tables:
                yield from ((table, c.name) for c in table.columns if matches(f"{full_name(table)}.{c.name}"))
            return
        named = literal(pattern)
        if named is None or len(named) < 3:
            raise needs_tables(key, pattern)
        yield Table(named[-2].lower(), named[-2], named[-3], (), ()), named[-1]


def needs_tables(key: str, pattern: str) -> ConfigurationError:
    """Return the error of a list that cannot be followed without definitions: more would be sent than before."""
    return ConfigurationError(
        f"{key}: {pattern!r} can be followed only with the tables' definitions: give them, --tables FILE (pg_dump -s, "
        "mysqldump --no-data, … write them)"
    )


def take(config: Config, file: Path | None, sql_dialect: str, schema: str | None, draft: Draft) -> Tables:
    """Set the channel's tables, which are those that are captured, and their schemas; return them.

    file: their definitions, if there are some. schema: of tables for which neither these nor lists name one.
    Raises ConfigurationError.
    """
    entry: dict[str, Any] = {"file": file or UNDEFINED, "sql_dialect": sql_dialect}
    draft.tables.append(entry)
    if any(config.get(key, old) for key, old in _LISTS.items()):
        draft.source["unknown_tables"] = "ignore"
    if file is None:
        _take_names(config, entry, schema, draft)
        return Tables()
    found = definitions.read(str(file), sql_dialect)
    if found.problems:
        raise ConfigurationError(found.problems)
    chosen = captured(found.tables, config, schema, draft)
    if not chosen:
        raise ConfigurationError(f"{file}: defines no table that the connector captures")
    bare = {table.base_name for table in found.tables if not table.schema}
    if len(chosen) < len(found.tables):
        entry["only"] = [one.name if one.base_name in bare else full_name(one) for one in chosen]
    renamed = names(chosen)
    if renamed:
        entry["names"] = renamed
        chosen = [replace(one, name=renamed.get(full_name(one), one.name)) for one in chosen]
    schemas = {table.name: table.schema for table in chosen if table.base_name in bare and table.schema}
    if len(set(schemas.values())) == 1 and len(schemas) == len(chosen):
        draft.act("TableProperties", group="KAFKA", Schema=next(iter(schemas.values())))
    else:
        for name, one in schemas.items():
            draft.act("TableProperties", group="KAFKA", table=name, Schema=one)
    return Tables(chosen, known=True)


def _take_names(config: Config, entry: dict[str, Any], schema: str | None, draft: Draft) -> None:
    """Take what lists name, where there are no definitions."""
    for key in ("table.include.list", "table.exclude.list"):
        patterns = items(config.get(key, _LISTS[key]))
        for pattern in patterns:
            if "exclude" in key or literal(pattern) is None:
                raise needs_tables(key, pattern)
        if patterns:
            entry["only"] = [".".join(literal(one) or []) for one in patterns]
    for key in ("schema.include.list", "schema.exclude.list", "database.exclude.list"):
        if config.get(key, _LISTS[key]):
            draft.idle(key, f"{UNDEFINED} says which tables there are: have no others in it")
    databases = items(config.get("database.include.list", _LISTS["database.include.list"]))
    if schema is None and len(databases) == 1:
        draft.act("TableProperties", group="KAFKA", Schema=databases[0])
        if "only" in entry:  # MySQL's definitions name no database
            entry["only"] = [one.rpartition(".")[2].lower() for one in entry["only"]]


def full_name(table: Table) -> str:
    """Return schema.table."""
    return ".".join(filter(None, (table.schema, table.base_name)))


def items(text: str, between: re.Pattern[str] = _BETWEEN) -> list[str]:
    """Return the expressions of a list."""
    return [one.strip() for one in between.split(text) if one.strip()]


def literal(pattern: str) -> list[str] | None:
    """Return the names of an expression that has nothing but names with points between; else None."""
    plain = pattern.replace("\\.", ".").replace("[.]", ".")
    return plain.split(".") if _LITERAL.fullmatch(plain) else None


def expression(pattern: str, key: str) -> Matches:
    """Return what an expression of Java matches. Raises ConfigurationError."""
    try:
        compiled = re.compile(java(pattern), re.IGNORECASE)
    except re.error as error:
        raise ConfigurationError(f"{key}: {pattern!r} is no regular expression that can be read: {error}") from None
    return Matches(compiled)


@dataclass(frozen=True)
class Matches:
    """What an expression matches as a whole."""

    compiled: re.Pattern[str]

    def __call__(self, text: str) -> bool:
        """Return whether all of `text` matches."""
        return self.compiled.fullmatch(text) is not None


def java(pattern: str) -> str:
    """Return an expression of Java's as Python has it: the names of groups differ."""
    return re.sub(r"\(\?<([A-Za-z]\w*)>", r"(?P<\1>", pattern)


def captured(defined: list[Table], config: Config, default: str | None, draft: Draft) -> list[Table]:
    """Return the tables that the connector captures, each with a schema. default: of a table that has none."""
    named = [literal(one) or [] for one in items(config.get("table.include.list", _LISTS["table.include.list"]))]
    schemas = {one[-1].lower(): one[-2] for one in named if len(one) > 1}
    placed = any(table.schema for table in defined)
    for key in ("schema.include.list", "database.include.list"):
        only = [literal(one) or [] for one in items(config.get(key, _LISTS[key]))]
        default = only[0][-1] if len(only) == 1 and only[0] and not placed else default
    lost = [table for table in defined if not (table.schema or schemas.get(table.base_name.lower()) or default)]
    for table in lost:
        draft.notes.append(f"table {table.name}: its schema is not known: write it in its definition")
    found = [replace(one, schema=one.schema or schemas.get(one.base_name.lower()) or default) for one in defined]
    return [table for table in found if _is_captured(table, config)]


def _is_captured(table: Table, config: Config) -> bool:
    for key, old in _LISTS.items():
        text = config.get(key, old)
        name = full_name(table) if key.startswith("table") else table.schema or ""
        found = any(expression(one, key)(name) for one in items(text))
        if text and found != (".include." in key):
            return False
    return True


def names(tables: Iterable[Table]) -> dict[str, str]:
    """Return names for tables whose names in the channel are not unique, by schema.table."""
    found: dict[str, list[Table]] = {}
    for table in tables:
        found.setdefault(table.name, []).append(table)
    return {
        full_name(table): re.sub(r"\W", "_", f"{table.schema}_{table.name}".lower())
        for same in found.values()
        if len(same) > 1
        for table in same
    }
