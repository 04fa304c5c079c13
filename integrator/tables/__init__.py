"""Table definitions people already have, read into `schema.Table`: one file or folder a notation.

In come a file and the database whose SQL it is in; out go tables, problems, and what was passed over. A new notation is
a file and a line in the dict.
"""

from __future__ import annotations

import codecs
import io
from dataclasses import replace
from pathlib import Path

from integrator.errors import Problem
from integrator.tables import airbyte_catalog, avsc, sql, yaml_table
from integrator.tables.contract import Definition, Notation, Partitions, group_by_table

NOTATIONS: dict[str, Notation] = {
    ".sql": sql.NOTATION,
    ".ddl": sql.NOTATION,
    ".avsc": avsc.NOTATION,
    ".yaml": yaml_table.NOTATION,
    ".yml": yaml_table.NOTATION,
    ".json": airbyte_catalog.NOTATION,
}


def is_sql(path: str) -> bool:
    """Return whether the definitions in the file at `path` are in the SQL of a database."""
    notation = NOTATIONS.get(Path(path).suffix)
    return notation is not None and notation.databases is not None


def refusal_of(sql_dialect: str) -> str:
    """Return what is wrong with the name of a database's SQL; nothing where a notation knows it, or none is in SQL."""
    known = [one.databases for one in NOTATIONS.values() if one.databases is not None]
    return known[0].refusal_of(sql_dialect) if known else ""


def read_sql(name: str, text: str, sql_dialect: str) -> Definition:
    """Read the definitions in a text of SQL; `name` is what problems call it."""
    return Definition(*NOTATIONS[".sql"].read(name, text, sql_dialect, False))


def read(path: str, sql_dialect: str, partitions: Partitions = "root", *, declared: bool = False) -> Definition:
    """Read the definitions in the file at `path`; `sql_dialect` is the database whose SQL a .sql file is in.

    partitions: whether those of a partitioned table are that table, or each is one. declared: somebody named the SQL.
    """
    notation = NOTATIONS.get(Path(path).suffix)
    if notation is None:
        text = f"a table definition ends in one of {', '.join(NOTATIONS)}"
        return Definition([], [Problem(path, 0, "", text)])
    try:
        text = text_of(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        return Definition([], [Problem(path, 0, "", f"the table definition cannot be read: {error}; {_ENCODINGS}")])
    found = Definition(*notation.read(path, text, sql_dialect, declared))
    return replace(found, tables=group_by_table(found.tables, partitions))


_ENCODINGS = "write it in UTF-8, or in UTF-16 with a byte order mark"


def text_of(file: Path) -> str:
    """Return a file's text: UTF-16 if it begins with that byte order mark, as scripts of SQL Server do, or UTF-8.

    Raises OSError or UnicodeDecodeError.
    """
    data = file.read_bytes()
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return io.TextIOWrapper(io.BytesIO(data), "utf-16" if is_utf16 else "utf-8-sig").read()
