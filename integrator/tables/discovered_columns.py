"""Columns that were added to tables while the channel ran (HVR's AdaptDDL): kept in the channel's state directory."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from integrator import schema
from integrator.errors import ColumnsFound, EnvironmentFault
from integrator.schema import Column, Table

Added = dict[str, dict[str, tuple[str, int, int]]]
"""By table and column: its datatype, and the number of the file and the line that has it first."""


def read(state: str | Path) -> Added:
    """Return the columns that were added."""
    path = Path(state) / "added.json"
    if not path.exists():
        return {}
    known: Added = {}
    try:
        for table, columns in json.loads(path.read_text(encoding="utf-8")).items():
            for name, (datatype, file, line) in columns.items():
                schema.described(datatype)
                known.setdefault(table, {})[name] = (datatype, int(file), int(line))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it records the columns that were added while the channel ran; "
            "restore it, or remove it: then columns are added again when records have them"
        ) from error
    return known


def with_found(known: Added, found: ColumnsFound) -> Added:
    """Return the columns that were added, and those that were found now; of one that is known, the earlier place."""
    joint = {table: dict(columns) for table, columns in known.items()}
    for table, columns in found.tables.items():
        of_table = joint.setdefault(table, {})
        for name, (datatype, line) in columns.items():
            before = of_table.get(name, (datatype, found.ordinal, line))
            of_table[name] = (before[0], *min(before[1:], (found.ordinal, line)))
    return joint


def with_columns(table: Table, known: Added) -> Table:
    """Return the table with its added columns, which may be null, after those of its definition."""
    more = [
        Column(name, schema.described(datatype), nullable=True)
        for name, (datatype, _, _) in known.get(table.name, {}).items()
        if table.column(name) is None
    ]
    return dataclasses.replace(table, columns=(*table.columns, *more)) if more else table


def places(table: Table, known: Added) -> tuple[tuple[str, int, int], ...]:
    """Return a table's added columns, each with where it came first."""
    columns = known.get(table.name, {}).items()
    return tuple((name, file, line) for name, (_, file, line) in columns if table.column(name) is not None)
