"""How many rows tables may have, as a database's statistics have it: for the estimate alone, and without counting."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integrator.errors import IntegratorError
from integrator.refresh.tables import MARIADB, MYSQL, POSTGRES, query
from integrator.schema import Table
from integrator.sources.tables import Database, TableSource


def expected(spark: SparkSession, source: TableSource, tables: Iterable[Table]) -> dict[str, int]:
    """Return the rows of tables, by their names in the channel; without those that nothing is known of.

    https://www.postgresql.org/docs/current/catalog-pg-class.html (reltuples),
    https://mariadb.com/kb/en/information-schema-tables-table/ (TABLE_ROWS).
    """
    if not isinstance(source, Database):
        return {}
    texts = {POSTGRES: _of_postgres, MYSQL: _of_mysql, MARIADB: _of_mysql}
    text_of = texts.get(source.database)
    if text_of is None:
        return {}
    try:
        found = query(spark, source, " union all ".join(map(text_of, tables))).collect()
    except (IntegratorError, PySparkException):  # what is wrong with the tables, their slices report
        return {}
    return {str(row[0]): int(row[1]) for row in found if row[1] is not None and int(row[1]) > 0}


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _of_postgres(table: Table) -> str:
    """Return a query of a table's name and rows. A partitioned table has none itself."""
    parts = [part for part in (table.schema, table.base_name) if part]
    name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    return (
        f"select {_literal(table.name)} as name, cast(reltuples as bigint) as row_count from pg_class "  # noqa: S608
        f"where oid = to_regclass({_literal(name)})"
    )


def _of_mysql(table: Table) -> str:
    schema = _literal(table.schema) if table.schema else "database()"
    return (
        f"select {_literal(table.name)} as name, table_rows as row_count from information_schema.tables "  # noqa: S608
        f"where table_schema = {schema} and table_name = {_literal(table.base_name)}"
    )
