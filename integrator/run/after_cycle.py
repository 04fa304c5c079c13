"""What follows each synced cycle: the log, the heartbeat, the status page and the source's feed record it."""

from __future__ import annotations

from integrator.plan import Plan
from integrator.run.passes.rejects import TooMany
from integrator.run.seen.cycle_log import CycleLog
from integrator.run.seen.failures import Failures
from integrator.run.seen.heartbeat import Heartbeat
from integrator.run.seen.observer import Observer
from integrator.run.spark.steps import SparkSteps
from integrator.run.state.sync import Cycle
from integrator.sources.contract import Feed


class AfterCycle:
    """Called with each synced cycle. Raises DataError where too many records were rejected. log: of the cycles."""

    def __init__(
        self,
        plan: Plan,
        heart: Heartbeat,
        failures: Failures,
        observer: Observer,
        feed: Feed,
        steps: SparkSteps,
    ) -> None:
        self._channel, self._heart, self._failures = plan.channel, heart, failures
        self._observer, self._feed, self._steps = observer, feed, steps
        tolerance = plan.recipe.tolerance
        self.log = CycleLog(plan.channel, plan.schedule.latency_s, each_rejected=bool(tolerance.logged))
        self._too_many = TooMany(tolerance.most)

    def __call__(self, done: Cycle) -> None:
        """Report a cycle that is synced."""
        self._heart.synced(done.cycle)
        self._feed.synced(done.checkpoint.ordinal, ends_cycle=done.planned is not None)
        self.log.synced(done)
        self._failures.synced(done.cycle)
        self._observer.synced(self._channel, done)
        self._steps.synced(done.cycle)
        for one in done.rejections:
            if one.places:
                count, before, *lines = one.places
                self._too_many.add(one.file, lines, before)
                self._too_many.end(count)
