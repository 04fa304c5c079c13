"""What `check` sees on this machine: a channel's source and its state directory; no broker and no Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from integrator.errors import Problem
from integrator.plan import Plan
from integrator.run.state import mounts
from integrator.run.state.directory import State
from integrator.sources.tables import TableSource


def problems(plan: Plan) -> list[Problem]:
    """Return what is wrong with the source and the state directory of a plan, at the keys that say where they are."""
    if isinstance(plan.source, TableSource):
        found = plan.source.inspect([(table.table.name, table.in_source) for table in plan.recipe.tables])
    else:
        found = plan.source.inspect(plan.directory, is_free=State(plan.state).holder() is None)
    wrong = [plan.problem(("state",), text) for text in of_state(Path(plan.state))]
    return [*wrong, *(plan.problem(("locations", plan.recipe.messages.cap_loc, key), text) for key, text in found)]


def of_state(state: Path) -> Iterator[str]:
    """Yield why a channel cannot have its state in a directory, which is made where it is not there."""
    there = next(one for one in (state, *state.parents) if os.path.lexists(one))
    if not there.is_dir():
        yield f"{there}: is no directory"
    elif not os.access(there, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        yield (
            f"{there}: our user may not write here, and the channel keeps its state in {state}: name another "
            "directory, or have it made for this user"
        )
    if reason := mounts.lock_problem(state):
        yield reason
