"""How each table is refreshed: conditions in the database's SQL."""

from __future__ import annotations

from dataclasses import dataclass

from integrator.channel.actions import Restrict
from integrator.plan.parameters import ChannelScope, effective
from integrator.schema import Table


@dataclass(frozen=True)
class Conditions:
    """Restrict's RefreshCondition, SliceCountCondition and SliceSeriesCondition of a table."""

    refresh: str | None = None
    count: str | None = None
    series: str | None = None


def conditions_of(scope: ChannelScope, table: Table) -> Conditions:
    """Return the conditions that hold for a table at its source."""
    values, _ = effective(scope, table, Restrict, "source")
    names = ("RefreshCondition", "SliceCountCondition", "SliceSeriesCondition")
    return Conditions(*(values.get(name) for name in names))
