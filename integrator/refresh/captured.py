"""A refresh of tables of a captured database: the capture reads them again, beside their changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from integrator.errors import ConfigurationError, Problem
from integrator.names import meant
from integrator.plan import Plan
from integrator.sources.contract import Refreshable


def unknown(tables: Sequence[str], known: Collection[str]) -> list[str]:
    """Return what is wrong with names of tables: those that the channel does not have."""
    return [f"--table {name!r} is no table; {meant(name, known, 'known are')}" for name in tables if name not in known]


def ask(plan: Plan, tables: Sequence[str], where: str, *, truncate: bool) -> list[str]:
    """Ask for the rows of tables, of all where none is named; return their names. Raises IntegratorError.

    where: a condition in SQL. truncate: a truncate is before the rows of each.
    """
    source, known = plan.changes, [one.table.name for one in plan.recipe.tables]
    if not isinstance(source, Refreshable):
        raise TypeError("a source that refreshes nothing")
    problems = unknown(tables, known)
    if where and truncate:
        problems.append("--where reads some rows, and with --truncate-record consumers would have no others: give one")
    if where and len(tables) != 1:
        problems.append("--where is on the rows of one table: name it with --table")
    if problems:
        raise ConfigurationError([Problem("refresh", 0, "", text) for text in problems])
    for name in tables or known:
        source.refresh(name, where, truncate=truncate)
    return [*(tables or known)]
