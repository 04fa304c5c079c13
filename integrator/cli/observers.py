"""What watches channels while they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from integrator.monitor.server import serving
from integrator.plan import Plan
from integrator.run.seen.observer import Observer

Watch = Callable[[Sequence[Plan]], AbstractContextManager[Observer]]
OBSERVERS: dict[str, Watch] = {"monitor": serving}


def observed(plans: Sequence[Plan]) -> AbstractContextManager[Observer]:
    """Return the observer of channels, to be entered while they run. Raises as `monitor.server.serving`."""
    return OBSERVERS.get("monitor", _unobserved)(plans)


def _unobserved(_: Sequence[Plan]) -> AbstractContextManager[Observer]:
    return nullcontext(Observer())
