"""A cycle or sub-cycle that an earlier process began and did not sync, where tables have other definitions since."""

from __future__ import annotations

from integrator.plan import Plan
from integrator.run.replanning import as_begun
from integrator.run.state.directory import State


class LeftCycle:
    """Which plan sends the cycle: the current one, or, where a part of it is committed, the one that began it.

    A part that is committed cannot be taken back, and the rest must be of the same plan (I8).
    """

    def __init__(self, state: State) -> None:
        """Take the state of the channel; no cycle is left before `find`."""
        self._state, self._number, self._slices = state, -1, 0
        self._begun_by: Plan | None = None
        self._current: Plan | None = None

    def find(self, plan: Plan) -> None:
        """Find the cycle, while the channel is locked. plan: the current one, which is not registered yet."""
        self._number = self._state.begun
        self._slices = self._state.last_slice() + 1 if self._state.is_in_sub_cycle else 0
        self._begun_by = as_begun(plan) if self._state.is_in_cycle else None

    @property
    def is_of_another_plan(self) -> bool:
        """Whether the state keeps other definitions than the current ones; they may be needed to send the cycle."""
        return self._begun_by is not None

    def begun_by(self, current: Plan) -> Plan | None:
        """Return the plan that began the cycle, not registered yet, to send it by; None where none is known."""
        found, self._begun_by = self._begun_by, None
        if found is not None:
            self._current = current
        return found

    @property
    def is_synced(self) -> bool:
        """Whether the cycle is synced that was sent by the plan that began it: the current plan is due."""
        is_sent = self._current is not None and self._state.marks.has(self._number)
        return is_sent and self._state.last_slice() >= self._slices

    def current(self) -> Plan:
        """Return the current plan, which sends the cycles that follow. `is_synced` must hold."""
        if self._current is None:
            raise RuntimeError("the cycle was sent by the current plan")
        plan, self._current = self._current, None
        return plan
