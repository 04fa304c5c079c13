"""`check --refresh --connect`: a database tried, as a refresh would read it."""

from __future__ import annotations

from collections.abc import Iterator

from integrator.channel.sources import JdbcLocation
from integrator.errors import EnvironmentFault
from integrator.plan import Plan
from integrator.refresh.tables import frame
from integrator.run.spark import session

_NOTHING = "1 = 0"
"""A condition that no row meets: the database looks at the query, and sends nothing."""


def problems(plan: Plan, location: JdbcLocation) -> Iterator[str]:
    """Yield why tables of a database cannot be read; once, where the database does not answer at all."""
    spark = session.start(f"{plan.channel} check", location.jars)
    seen: set[str] = set()
    try:
        for recipe in plan.recipe.tables:
            try:
                frame(spark, location, recipe, _NOTHING).collect()
            except EnvironmentFault as error:
                if str(error) not in seen:
                    yield str(error)
                seen.add(str(error))
    finally:
        spark.stop()
