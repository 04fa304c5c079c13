"""The channel's table definitions, read."""

from __future__ import annotations

from integrator import tables as definitions
from integrator.channel.load import Source
from integrator.channel.model import Channel, TableFile
from integrator.errors import Problem
from integrator.schema import Table


def read_tables(channel: Channel, source: Source, problems: list[Problem]) -> list[Table]:
    """Read the channel's table definitions; what is wrong is added to `problems`."""
    tables: dict[str, Table] = {}
    for index, entry in enumerate(channel.tables):
        item = TableFile(file=entry) if isinstance(entry, str) else entry
        definition = definitions.read(item.file, item.sql_dialect)
        read = definition.tables
        problems += definition.problems
        for name in item.only or []:
            if name not in {table.name for table in read}:
                problems.append(source.problem(("tables", index, "only"), f"{item.file} defines no table {name!r}"))
        for table in read:
            if item.only is not None and table.name not in item.only:
                continue
            if table.name in tables:
                problems.append(source.problem(("tables", index), f"table {table.name!r} is defined twice"))
            tables[table.name] = table
    return list(tables.values())
