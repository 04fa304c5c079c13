"""The integrate job continues after failures that time may mend, later each time, until too many come in a row.

A cycle that failed is sent again in the same stream: each start of a stream whose source is in Python leaves three
descriptors and a thread in Spark's JVM (4.3: PythonWorkerFactory does not close the selector that it accepts the
source's process with). Only a stream that has failed itself is started again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pyspark.sql import DataFrame

from integrator.channel.model import Restart
from integrator.errors import IntegratorError, ProcessLate
from integrator.run.gate import EndedError
from integrator.run.refused_messages import BatchRefused
from integrator.run.spark.failures import classify

_POLL_S = 0.1
_LATE = 10
"""How often in a row a Python process may be late, each ten seconds, until that counts as a failure."""


class Restarts:
    """Counts failures between which no cycle is synced. Python processes that are late do not count, up to a limit."""

    def __init__(self, policy: Restart, synced: Callable[[], int]) -> None:
        """Take a policy. synced: returns the last synced file."""
        self._policy, self._synced = policy, synced
        self._at: int | None = None
        self._failures, self._late, self._first = 0, 0, 0.0

    @classmethod
    def of_command(cls, policy: Restart, synced: Callable[[], int]) -> Restarts:
        """Return what counts for a command that ends by itself: its first failure is final; a late process is none."""
        return cls(policy.model_copy(update={"tries": 0, "timeout_seconds": None}), synced)

    def after(self, error: BaseException) -> float | None:
        """Return how many seconds after a failure the job continues; None if it does not: it is final."""
        synced = self._synced()
        if synced != self._at:
            self._at, self._failures, self._late = synced, 0, 0
        if isinstance(error, ProcessLate) and self._late < _LATE:
            self._late += 1
            return self._policy.first_seconds
        self._failures += 1
        now, policy = time.monotonic(), self._policy
        if self._failures == 1:
            self._first = now
        if not (isinstance(error, IntegratorError) and error.kind.retriable):
            return None
        limit = policy.timeout_seconds
        over = self._failures > policy.tries if limit is None else 0 <= limit <= now - self._first
        doublings = min(self._failures - 1, 64)
        return None if over else min(policy.most_seconds, policy.first_seconds * 2**doublings)


def run_with_restarts(
    run: Callable[[], None],
    restarts: Restarts,
    stopping: threading.Event,
    rest: Callable[[float], object],
    failed: Callable[[BaseException, float], None],
) -> None:
    """Run until it ends, again after each failure that is not final, or until `stopping` is set.

    rest: waits so many seconds. failed: is called with each failure and the seconds until the next start. Raises
    IntegratorError, the final failure.
    """
    while True:
        try:
            return run()
        except IntegratorError as error:
            seconds = None if stopping.is_set() else restarts.after(error)
            if seconds is None:
                raise
            failed(error, seconds)
        rest(seconds)


class RetriedCycles:
    """Sends a cycle again after each failure that is not final. `resting` is set between two tries."""

    def __init__(
        self,
        restarts: Restarts,
        ending: Callable[[], bool],
        failed: Callable[[BaseException, float], None],
        ready: Callable[[], None],
    ) -> None:
        """Take what `run_with_restarts` takes, `ending` (whether the end is asked for), and `ready`.

        ready: waits until no task of the failed cycle is sending (I3).
        """
        self._restarts, self._ending, self._failed, self._ready = restarts, ending, failed, ready
        self.resting = threading.Event()

    def around(self, integrate_cycle: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """Return `integrate_cycle`, retried. It raises the final failure, or EndedError."""

        def integrate(batch: DataFrame, number: int) -> None:
            while True:
                seconds: float | None = 0.0
                try:
                    return integrate_cycle(batch, number)
                except BatchRefused as refused:
                    self._failed(refused, 0.0)
                except Exception as error:
                    failure = classify(error) or error
                    seconds = None if self._ending() else self._restarts.after(failure)
                    if seconds is None and failure is error:
                        raise
                    if seconds is None:
                        raise failure from error
                    self._failed(failure, seconds)
                self._rest(seconds or 0.0)
                self._ready()

        return integrate

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self.resting.set()
        try:
            while (left := until - time.monotonic()) > 0:
                if self._ending():
                    raise EndedError
                time.sleep(min(left, _POLL_S))
        finally:
            self.resting.clear()
