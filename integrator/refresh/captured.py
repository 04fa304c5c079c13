"""A refresh of tables of a captured database: the capture reads them again, beside their changes."""

from __future__ import annotations

from collections.abc import Sequence

from integrator.errors import ConfigurationError, Problem
from integrator.plan import Plan
from integrator.sources.contract import Refreshable


def ask(plan: Plan, tables: Sequence[str], where: str, *, truncate: bool) -> list[str]:
    """Ask for the rows of tables, of all where none is named; return their names. Raises IntegratorError.

    where: a condition in SQL. truncate: a truncate is before the rows of each.
    """
    source, (names, problems) = plan.changes, plan.named(tables)
    if not isinstance(source, Refreshable):
        raise TypeError("a source that refreshes nothing")
    if where and truncate:
        problems.append("--where reads some rows, and with --truncate-record consumers would have no others: give one")
    if where and len(tables) != 1:
        problems.append("--where is on the rows of one table: name it with --table")
    if problems:
        raise ConfigurationError([Problem("refresh", 0, "", text) for text in problems])
    names = names or [one.table.name for one in plan.recipe.tables]
    for name in names:
        source.refresh(name, where, truncate=truncate)
    return names
