"""Table definitions people already have, read into `schema.Table`: one file a notation.

In come a file and the database whose SQL it is in; out go tables, problems, and what was passed over. A new notation is
a file and a line in the dict. A definition that cannot be read is a list of Problems, never an exception, so that
`check` reports all of them at once.
"""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from integrator.errors import Problem
from integrator.schema import Table
from integrator.tables import airbyte_catalog, avsc, ddl, yaml_table
from integrator.tables.partitions import Partitions, group_by_table


@dataclass(frozen=True)
class Definition:
    """What a file defines. skipped: how many statements of it say nothing of tables, by kind."""

    tables: list[Table]
    problems: list[Problem]
    skipped: Counter[str] = field(default_factory=Counter)


Read = tuple[list[Table], list[Problem]] | tuple[list[Table], list[Problem], Counter[str]]

NOTATIONS: dict[str, Callable[[str, str, str], Read]] = {
    ".sql": ddl.read,
    ".ddl": ddl.read,
    ".avsc": avsc.read,
    ".yaml": yaml_table.read,
    ".yml": yaml_table.read,
    ".json": airbyte_catalog.read,
}


def is_sql(path: str) -> bool:
    """Return whether the definitions in the file at `path` are in the SQL of a database."""
    return NOTATIONS.get(Path(path).suffix) is ddl.read


def read(path: str, sql_dialect: str, partitions: Partitions = "root", *, declared: bool = False) -> Definition:
    """Read the definitions in the file at `path`; `sql_dialect` is the database whose SQL a .sql file is in.

    partitions: whether those of a partitioned table are that table, or each is one. declared: somebody named the SQL.
    """
    suffix = Path(path).suffix
    if suffix not in NOTATIONS:
        text = f"a table definition ends in one of {', '.join(NOTATIONS)}"
        return Definition([], [Problem(path, 0, "", text)])
    try:
        text = text_of(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        return Definition([], [Problem(path, 0, "", f"the table definition cannot be read: {error}; {_ENCODINGS}")])
    if is_sql(path):
        found = Definition(*ddl.read(path, text, sql_dialect, declared=declared))
    else:
        found = Definition(*NOTATIONS[suffix](path, text, sql_dialect))
    return replace(found, tables=group_by_table(found.tables, partitions))


_ENCODINGS = "write it in UTF-8, or in UTF-16 with a byte order mark"


def text_of(file: Path) -> str:
    """Return a file's text: UTF-16 if it begins with that byte order mark, as scripts of SQL Server do, or UTF-8.

    Raises OSError or UnicodeDecodeError.
    """
    data = file.read_bytes()
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return io.TextIOWrapper(io.BytesIO(data), "utf-16" if is_utf16 else "utf-8-sig").read()
