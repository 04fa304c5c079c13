"""What a process lets others see of its channels: one observer, called at each cycle, beat and failure, never at a row.

A method returns at once and does not raise: it is called by the threads that integrate.
"""

from __future__ import annotations

from datetime import datetime

from integrator.run.seen.failure import Failure
from integrator.run.state.sync import Cycle


class Observer:
    """Sees nothing: what a process without a monitor has."""

    def beat(self, channel: str, doing: str, since: str, why: str = "") -> None:
        """Take note that a channel lives, what it does, and why it waits, as in heartbeat.json; since: ISO 8601."""

    def continues_after(self, channel: str, cycle: int, at: datetime) -> None:
        """Take note of the last cycle that was synced before this process."""

    def synced(self, channel: str, cycle: Cycle) -> None:
        """Take note of a synced cycle."""

    def timed(self, channel: str, steps: dict[str, float]) -> None:
        """Take note of how many seconds Spark took for its steps of a cycle, by step."""

    def failure(self, channel: str, failure: Failure, *, new: bool = True) -> None:
        """Take note of a failure; not `new`: one of an earlier process, or that the last one is mended."""
