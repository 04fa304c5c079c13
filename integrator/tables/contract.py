"""What a notation of table definitions is, and what is read from a file in one; partitioned tables of PostgreSQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from integrator.errors import Problem
from integrator.schema import Table

Partitions = Literal["root", "leaf"]
Read = tuple[list[Table], list[Problem]] | tuple[list[Table], list[Problem], Counter[str]]
"""Tables, problems, and how many statements define no table, by kind."""


@dataclass(frozen=True)
class Definition:
    """What a file defines. skipped: how many statements of it say nothing of tables, by kind."""

    tables: list[Table]
    problems: list[Problem]
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Databases:
    """Of a notation in the SQL of databases: which these are.

    refusal_of: what is wrong with the name of one; nothing where it is known. candidates: from a script and the file's
    name, those whose SQL it may be in, and whether it has what only one of them has.
    """

    refusal_of: Callable[[str], str]
    candidates: Callable[[str, str], tuple[list[str], bool]]


@dataclass(frozen=True)
class Notation:
    """A kind of file with definitions.

    read: from the file's path and text, the database whose SQL it is in, and whether somebody named that. A definition
    that cannot be read is a list of Problems, never an exception. databases: None where it is in no SQL.
    """

    read: Callable[[str, str, str, bool], Read]
    databases: Databases | None = None


def group_by_table(tables: Sequence[Table], partitions: Partitions) -> list[Table]:
    """Return the tables of a file as the channel has them: partitions as their root, or each alone.

    In PostgreSQL rows are in partitions, and most captures name these. As their root, a table and all of its partitions
    are one table of the channel. As leaves, each partition without partitions of its own is one, and those that have
    some are none. https://www.postgresql.org/docs/current/ddl-partitioning.html
    """
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
