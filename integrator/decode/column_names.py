"""Which column of a table records mean by a name: the one of that name, or one whose name may be in other case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from integrator.schema import Column, Table

T = TypeVar("T")


def is_meant(column: Column, name: str) -> bool:
    """Return whether records mean this column by a name."""
    return name == column.name or (column.any_case and name.lower() == column.name.lower())


def meant(table: Table, name: str) -> Column | None:
    """Return the column that records mean by a name: the one that is called so exactly, or one in other case."""
    return table.column(name) or next((column for column in table.columns if is_meant(column, name)), None)


def in_other_case(table: Table, name: str) -> list[str]:
    """Return the columns whose names differ from a name in case alone."""
    return [column.name for column in table.columns if column.name != name and column.name.lower() == name.lower()]


def found(column: Column, by_name: Mapping[str, T]) -> T | None:
    """Return what is of a column, by the names that records have; None where there is nothing."""
    if column.name in by_name or not column.any_case:
        return by_name.get(column.name)
    return next((one for name, one in by_name.items() if is_meant(column, name)), None)
