"""Partitioned tables of PostgreSQL: in the database rows are in partitions, and most captures name these.

As their root, a table and all of its partitions are one table of the channel. As leaves, each partition without
partitions of its own is one, and those that have some are none.
https://www.postgresql.org/docs/current/ddl-partitioning.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from integrator.schema import Table

Partitions = Literal["root", "leaf"]


def group_by_table(tables: Sequence[Table], partitions: Partitions) -> list[Table]:
    """Return the tables of a file as the channel has them: partitions as their root, or each alone."""
    wholes = {name for table in tables for name in table.part_of}
    if not wholes:
        return list(tables)
    if partitions == "leaf":
        return [table for table in tables if table.full_name not in wholes]
    of_root: dict[str, list[str]] = {}
    for table in tables:
        if table.part_of:
            of_root.setdefault(table.part_of[-1], []).append(table.full_name)
    roots = [table for table in tables if not table.part_of]
    return [replace(table, partitions=tuple(of_root.get(table.full_name, ()))) for table in roots]
