"""Table definitions people already have, read into `schema.Table`: one file a notation.

A definition that cannot be read is a list of Problems, never an exception, so that `check` tells all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from integrator.errors import Problem
from integrator.schema import Table
from integrator.tables import avsc, ddl, yaml_table

Definition = tuple[list[Table], list[Problem]]

NOTATIONS: dict[str, Callable[[str, str, str], Definition]] = {
    ".sql": ddl.read,
    ".ddl": ddl.read,
    ".avsc": avsc.read,
    ".yaml": yaml_table.read,
    ".yml": yaml_table.read,
}


def read(path: str, sql_dialect: str) -> Definition:
    """Read the definitions in the file at `path`; `sql_dialect` is the database whose SQL a .sql file is in."""
    suffix = Path(path).suffix
    if suffix not in NOTATIONS:
        text = f"a table definition ends in one of {', '.join(NOTATIONS)}"
        return [], [Problem(path, 0, "", text)]
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [], [Problem(path, 0, "", f"the table definition cannot be read: {error}")]
    return NOTATIONS[suffix](path, text, sql_dialect)
