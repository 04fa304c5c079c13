"""How each table is refreshed: conditions in the database's SQL."""

from __future__ import annotations

from dataclasses import dataclass

from integrator.plan.parameters import TableScope


@dataclass(frozen=True)
class Conditions:
    """Restrict's RefreshCondition, SliceCountCondition and SliceSeriesCondition of a table."""

    refresh: str | None = None
    count: str | None = None
    series: str | None = None


def conditions_of(given: TableScope) -> Conditions:
    """Return the conditions that hold for a table at its source."""
    restrict = given.source.restrict.values
    return Conditions(restrict.RefreshCondition, restrict.SliceCountCondition, restrict.SliceSeriesCondition)
