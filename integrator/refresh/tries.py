"""`check --refresh --connect`: a database tried, as a refresh would read it."""

from __future__ import annotations

from integrator.errors import EnvironmentFault
from integrator.plan import Plan
from integrator.sources.contract import Problems
from integrator.sources.tables import Database

_NOTHING = "1 = 0"
"""A condition that no row meets: the database plans the query, and sends nothing."""


def problems(plan: Plan) -> Problems:
    """Yield why tables of a database cannot be read; once, where the database does not answer at all."""
    source = plan.tables_at
    if not isinstance(source, Database):
        return
    from integrator.refresh.tables import answered, frame  # noqa: PLC0415 - needs Spark, and other checks do not
    from integrator.run.spark import session  # noqa: PLC0415 - as above

    spark = session.start(f"{plan.channel} check", source.location.jars)
    seen: set[str] = set()
    try:
        for recipe in plan.recipe.tables:
            try:
                with answered(f"table {recipe.in_source.name}"):
                    frame(spark, source, recipe, _NOTHING).collect()
            except EnvironmentFault as error:
                if str(error) not in seen:
                    yield "url", str(error)
                seen.add(str(error))
    finally:
        spark.stop()
