"""What `check` sees on this machine: a channel's source and its state directory; no broker and no Spark."""

from __future__ import annotations

from pathlib import Path

from integrator.errors import Problem
from integrator.plan import Plan
from integrator.run.state import mounts
from integrator.run.state.directory import State
from integrator.sources.tables import TableSource


def problems(plan: Plan) -> list[Problem]:
    """Return what is wrong with the source and the state directory of a plan, at the keys that say where they are."""
    if isinstance(plan.source, TableSource):
        found = plan.source.look([(table.table.name, table.in_source) for table in plan.recipe.tables])
    else:
        found = plan.source.look(plan.directory, is_free=State(plan.state).holder() is None)
    of_state = [plan.problem(("state",), text)] if (text := mounts.lock_problem(Path(plan.state))) else []
    return [*of_state, *(plan.problem(("locations", plan.recipe.messages.cap_loc, key), text) for key, text in found)]
