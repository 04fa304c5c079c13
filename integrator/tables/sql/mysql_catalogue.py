"""The catalogue of MySQL and MariaDB -> definitions: SHOW CREATE TABLE, which is what `mysqldump --no-data` prints.

https://mariadb.com/kb/en/show-create-table/, https://dev.mysql.com/doc/refman/8.4/en/show-create-table.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from integrator.tables.sql.postgres_catalogue import Asked

_SYSTEM = "('mysql', 'information_schema', 'performance_schema', 'sys')"
NAMES = (
    "select table_schema, table_name from information_schema.tables "  # noqa: S608 - the names of the system's schemas
    f"where table_type in ('BASE TABLE', 'SYSTEM VERSIONED') and table_schema not in {_SYSTEM} "
    "order by table_schema, table_name"
)
"""Tables, without views and sequences."""
CURRENT = "select database()"
_OPTIONS = re.compile(r"\n\).*", re.DOTALL)
"""What follows the columns and keys: engine, character set, partitions. No line before them begins so."""
_OVERLAPS = re.compile(r",\n  (?:PRIMARY KEY|UNIQUE KEY `(?:[^`]|``)*`) \([^\n]*` WITHOUT OVERLAPS\)[^\n,]*")
"""Keys with periods of MariaDB, which are no key of values: https://mariadb.com/kb/en/application-time-periods/."""


_SPATIAL = re.compile(
    r"^(  `(?:[^`]|``)*` )(?:geometry|point|linestring|polygon|multipoint|multilinestring|multipolygon|"
    r"geometrycollection|geomcollection|vector)\b(?:\(\d+\))?",
    re.MULTILINE,
)


def definitions(
    session: Asked, tables: Sequence[tuple[str, str]], *, qualified: bool | None = None, spatial_type: str = ""
) -> Iterator[str]:
    """Yield the statements that define tables, by database and name.

    qualified: whether names have the database's; None: they do unless all tables are of one. spatial_type: what columns
    of shapes and vectors are, if they are not what they are in the database.
    """
    session.run("set session sql_mode = '', session sql_quote_show_create = 1")
    if qualified is None:
        qualified = len({schema for schema, _ in tables}) > 1
    for schema, name in tables:
        [row] = session.rows(f"show create table {_quoted(schema)}.{_quoted(name)}")
        columns = str(row[1]).removeprefix(f"CREATE TABLE {_quoted(name)}")
        columns = _OVERLAPS.sub("", _OPTIONS.sub("", columns))
        if spatial_type:
            columns = _SPATIAL.sub(rf"\1{spatial_type}", columns)
        prefix = f"{_quoted(schema)}." if qualified else ""
        yield f"CREATE TABLE {prefix}{_quoted(name)}{columns}\n);\n"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
