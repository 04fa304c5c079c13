"""A database's catalogue -> one text of SQL with the definitions of its tables."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from integrator.catalogue.connection import Connection, Database, connected
from integrator.errors import ConfigurationError
from integrator.tables.sql import mysql_catalogue, postgres_catalogue

Name = tuple[str, str]
"""A table's schema, which is MySQL's database, and its name."""


@dataclass(frozen=True)
class _Kind:
    """How a kind of database is asked. names: all tables, by schema and name. current: the schema without one."""

    sql_dialect: str
    names: str
    definitions: Callable[[Connection, Sequence[Name]], Iterator[str]]
    current: str | None = None


KINDS: dict[str, _Kind] = {
    "postgresql": _Kind("postgres", postgres_catalogue.NAMES, postgres_catalogue.definitions),
    **dict.fromkeys(
        ("mariadb", "mysql"),
        _Kind("mysql", mysql_catalogue.NAMES, mysql_catalogue.definitions, mysql_catalogue.CURRENT),
    ),
}
"""The databases whose catalogues are read, by the second part of their JDBC URLs."""


@dataclass(frozen=True)
class Definitions:
    """The text, whose SQL it is in, and how many tables it defines."""

    text: str
    sql_dialect: str
    tables: int


def read(database: Database, schemas: Sequence[str] = (), tables: Sequence[str] = ()) -> Definitions:
    """Return the definitions of tables: of all, of those in `schemas`, or of those that are named (NAME, SCHEMA.NAME).

    Raises ConfigurationError for a database whose catalogue is not read, and for names that are not in it;
    EnvironmentFault for one that does not answer.
    """
    if database.kind not in KINDS:
        raise ConfigurationError(
            f"{database.shown}: catalogues are read of {', '.join(f'jdbc:{kind}://…' for kind in KINDS)}; of another "
            "database, give the script of its own tool, as SQL (docs/tables.md)"
        )
    kind = KINDS[database.kind]
    with connected(database) as connection:
        known = [(str(schema), str(name)) for schema, name in connection.rows(kind.names)]
        if kind.current is not None and not schemas and not any("." in name for name in tables):
            schemas = [name for [name] in connection.rows(kind.current) if name is not None]
            if not schemas:
                raise ConfigurationError(f"{database.shown}: names no database: add /NAME to it, or give --schema NAME")
        chosen = _chosen(known, schemas, tables)
        parts = list(kind.definitions(connection, chosen))
    heading = f"-- Read from the catalogue of {database.shown}.\n"
    return Definitions("\n".join((heading, *parts)), kind.sql_dialect, len(chosen))


def _chosen(known: Sequence[Name], schemas: Sequence[str], tables: Sequence[str]) -> list[Name]:
    """Return the tables that are wanted. Raises ConfigurationError for what is not there."""
    there = {schema for schema, _ in known}
    for schema in schemas:
        if schema not in there:
            raise ConfigurationError(
                f"there are no tables in the schema {schema!r} that this user may see; there are some in "
                f"{', '.join(sorted(there)) or 'none'}"
            )
    within = [one for one in known if not schemas or one[0] in schemas]
    chosen = [one for one in within if not tables or {one[1], ".".join(one)} & set(tables)]
    for name in tables:
        if not any(name in (one[1], ".".join(one)) for one in chosen):
            near = difflib.get_close_matches(name, [text for one in within for text in (one[1], ".".join(one))], 3)
            meant = f"; do you mean {' or '.join(near)}?" if near else ""
            raise ConfigurationError(f"there is no table {name!r} that this user may see{meant}")
    if not chosen:
        raise ConfigurationError("there are no tables that this user may see")
    return chosen
