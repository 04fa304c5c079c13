"""The names that `init` gives to tables in the channel, where their names in the database cannot be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from integrator.channel import patterns
from integrator.schema import Table

_DEFAULT_SCHEMAS = (None, "public", "dbo")


def names_of(tables: Sequence[Table]) -> dict[str, str]:
    """Return other names, by schema.table: of tables of one name, and of those whose name no topic can have.

    Of tables of one name, that in the default schema keeps it; the others have their schema before it.
    """
    count = Counter(table.name for table in tables)
    kept = {name: _keeper([table for table in tables if table.name == name]) for name in count}
    is_kept = {id(table) for table in kept.values() if re.fullmatch(patterns.TABLE, table.name)}
    taken = {table.name for table in tables if id(table) in is_kept} | {table.base_name for table in tables}
    names: dict[str, str] = {}
    for table in tables:
        if id(table) not in is_kept:
            names[table.full_name] = _free(table, taken, with_schema=count[table.name] > 1)
            taken.add(names[table.full_name])
    return names


def _keeper(same: Sequence[Table]) -> Table:
    """Return which of some tables keeps their name: one in a default schema, and of the same name in the database."""
    return min(same, key=lambda one: (one.schema not in _DEFAULT_SCHEMAS, one.base_name != one.name))


def _free(table: Table, taken: set[str], *, with_schema: bool) -> str:
    parts = [table.schema] if with_schema and table.schema not in _DEFAULT_SCHEMAS else []
    letters = re.sub(r"[^a-z0-9_]+", "_", "_".join([*filter(None, parts), table.name]).lower()).strip("_")
    name = (letters if letters[:1].isalpha() else f"t_{letters}")[:_SIZE].rstrip("_")
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}_{number}"
    return free


_SIZE = 100
