"""Debezium's lists of tables and columns over the channel's table definitions.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-connector-properties: lists of
what is captured are matched with schema.table and schema.table.column; what masks, cuts and keys are said of is matched
with the database before that, too. Here so is what is left out, for its author meant it to be. In MySQL and MariaDB a
schema is a database.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from integrator.errors import ConfigurationError
from integrator.imports.debezium_patterns import expression, literal
from integrator.imports.report import Report
from integrator.schema import Table

_PARTS = 3
"""Names in schema.table.column."""


@dataclass
class Tables:
    """The tables that are captured, with the schemas that records give them.

    others: tables that are defined and not captured. known: whether there are definitions. database: whose schemas
    these are, in small letters; empty where that is not known, and None where a schema is a database. may_share: where
    there are no definitions, whether two tables may have one name, so that a column's table is not known by its own.
    """

    tables: list[Table] = field(default_factory=list)
    others: list[Table] = field(default_factory=list)
    known: bool = False
    database: str | None = None
    may_share: bool = False

    def columns(self, pattern: str, key: str) -> Iterator[tuple[Table, str]]:
        """Yield the columns whose [database.]schema.table.column matches. Raises ConfigurationError."""
        if self.known:
            yield from self._columns(pattern, key, self.tables)
            return
        named = literal(pattern)
        if self.may_share or named is None or len(named) < _PARTS:
            raise needs_tables(key, pattern)
        if not self.database or len(named) == _PARTS or named[0].lower() == self.database:
            yield Table(named[-2].lower(), named[-2], named[-3], (), ()), named[-1]

    def report_unmatched(self, pattern: str, key: str, report: Report) -> None:
        """Report an expression that matches no column: why that is as it should be, or that it may be misspelt."""
        named = literal(pattern) or []
        if any(self._columns(pattern, key, self.others)):
            report.ignore(f"{key}: {pattern}", "its table is not captured")
        elif self.database and len(named) == _PARTS + 1 and named[0].lower() != self.database:
            report.ignore(f"{key}: {pattern}", f"the channel has changes of database {self.database} alone")
        else:
            form = f"{'database' if self.database is None else 'schema'}.table.column"
            report.todo(f"{key}: {pattern} matches no column of the definitions, as {form}")

    def _columns(self, pattern: str, key: str, tables: list[Table]) -> Iterator[tuple[Table, str]]:
        matches = expression(pattern, key)
        for table in tables:
            for column in table.columns:
                if any(matches(f"{name}.{column.name}") for name in self.names(table, pattern, _PARTS)):
                    yield table, column.name

    def names(self, table: Table, pattern: str, parts: int) -> list[str]:
        """Return schema.table, and that with its database before it; one that is not known is that of the pattern.

        parts: names in the pattern where it has no database.
        """
        name = table.full_name
        if self.database is None:
            return [name]
        named = literal(pattern) or []
        database = self.database or (named[0] if len(named) > parts else "")
        return [name, f"{database}.{name}"] if database else [name]


def needs_tables(key: str, pattern: str) -> ConfigurationError:
    """Return the error of a list that cannot be followed without definitions: more would be sent than before."""
    return ConfigurationError(
        f"{key}: {pattern!r} can be followed only with the tables' definitions: give them, --tables FILE (pg_dump -s, "
        "mysqldump --no-data, … write them)"
    )
