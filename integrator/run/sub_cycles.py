"""Sub-cycles: what comes after a cycle is sent at once, for some seconds, without a Spark job for each of them.

A micro-batch of Spark takes a tenth of a second, however little it has. So a cycle continues when it is synced: slices
that have come are put into the journal, and their numbers and the moment into the state, both durable before a message
is sent (I2); they are sent by this process, and the cycle's mark says so when all is acknowledged (I1). A sub-cycle
that was interrupted is sent again first, with the same slices and the same moment. Spark plans these slices for its
next cycle, in which they are passed over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Protocol

import pyarrow as pa

from integrator.run.state import begun_sub_cycle
from integrator.run.state.begun_sub_cycle import BegunSubCycle
from integrator.run.state.directory import State
from integrator.sources.contract import Feed
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import SliceListing
from integrator.sources.stream import ONE_TASK_BYTES, own_rows

_WAIT_S = 0.05
"""Between two checks whether the end is asked for."""


class Gate(Protocol):
    """What cycles go through."""

    def rest(self) -> None:
        """Take note that a cycle waits for more."""

    def wake(self) -> None:
        """Take note that more has come, or that it waits no longer."""

    @property
    def is_ending(self) -> bool:
        """Whether the end is asked for."""


@dataclass(frozen=True)
class Limits:
    """How long a cycle continues in which something comes; 0: there are no sub-cycles. cycle_bytes: of one; 0: any."""

    seconds: float
    cycle_bytes: int = 0

    @property
    def most(self) -> int:
        """How many bytes a sub-cycle may have: with more, a Spark job is better."""
        return min(ONE_TASK_BYTES, self.cycle_bytes or ONE_TASK_BYTES)


@dataclass(frozen=True)
class SubCycle:
    """Slices that are sent together: rows of TASK_SLICES, the number of the last one, and when it was begun."""

    rows: pa.RecordBatch
    end: int
    moment: datetime


class SubCycles:
    """Finds the sub-cycles of a channel's cycles. Nothing else adds to the journal while a cycle is under way."""

    def __init__(self, state: State, listing: SliceListing, feed: Feed, limits: Limits, gate: Gate) -> None:
        """gate: it says when the end is asked for."""
        self._state, self._listing, self._feed = state, listing, feed
        self._limits, self._gate = limits, gate
        self._journal: Journal | None = None

    def left(self, synced: int) -> SubCycle | None:
        """Return the sub-cycle that was begun after slice number `synced`, and not synced. Raises Damaged."""
        begun = begun_sub_cycle.read(self._state.sub_cycle)
        if begun is None or begun.after != synced:
            return None
        return self._of(Journal(self._state.journal, begun.end), begun)

    @property
    def is_ending(self) -> bool:
        """Whether the end is asked for."""
        return self._gate.is_ending

    @property
    def are_possible(self) -> bool:
        """Whether there are any."""
        return self._limits.seconds > 0 and self._feed.waiting() is not None

    def each(self, synced: int) -> Iterator[SubCycle]:
        """Yield sub-cycles until the time is over, until the end is asked for, or until a Spark job is better.

        Each is synced before the next one is asked for. Where nothing comes, the time does not end. synced: the number
        of the last slice that is. Raises EnvironmentFault.
        """
        if self.are_possible:
            self._gate.rest()
            try:
                yield from self._each(synced)
            finally:
                self._gate.wake()

    def planned(self, synced: int, end: int) -> pa.RecordBatch | None:
        """Return the slices after `synced` of a cycle that Spark has planned; None where a job is better for them."""
        if not self.are_possible:
            return None
        entries = self._followed().between(synced, end)
        few = sum(one.size for _, one in entries) <= self._limits.most
        return own_rows(entries, self._listing.stream_of) if few else None

    def _followed(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._state.journal)
        self._journal.follow()
        return self._journal

    def _each(self, synced: int) -> Iterator[SubCycle]:
        until, begin, journal = time.monotonic() + self._limits.seconds, synced, self._followed()
        while (time.monotonic() < until or synced == begin) and not self._gate.is_ending:
            waiting = self._feed.waiting()
            if waiting is None or sum(one.size for one in waiting) > self._limits.most:
                return
            journal.take([*waiting], self._listing.number_of)
            if synced == len(journal):
                self._feed.wait(_WAIT_S)
                continue
            self._gate.wake()
            one = self._begun(journal, synced)
            yield one
            synced = one.end
            self._gate.rest()

    def _begun(self, journal: Journal, synced: int) -> SubCycle:
        """Begin a sub-cycle: what it has is durable."""
        paths = [one.path for _, one in journal.between(synced, len(journal))]
        begun = BegunSubCycle(synced, synced + self._listing.together(paths), datetime.now(timezone.utc))
        begun_sub_cycle.write(self._state.sub_cycle, begun)
        return self._of(journal, begun)

    def _of(self, journal: Journal, begun: BegunSubCycle) -> SubCycle:
        rows = own_rows(journal.between(begun.after, begun.end), self._listing.stream_of)
        return SubCycle(rows, begun.end, begun.moment)
