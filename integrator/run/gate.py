"""Stopping a stream between two cycles: each cycle starts only while no stop is requested."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from integrator.run.spark.failures import classify

_POLL_S = 0.1


class EndedError(Exception):
    """The end was asked for before this cycle began: Spark does not commit it, and the next start begins it.

    Spark logs the name of this class. `spark.jvm_log` skips that line because the name ends in Error.
    """


class CycleGate:
    """Lets cycles through until the end is asked for; keeps the error that a cycle failed with."""

    def __init__(self, ending: Callable[[], bool]) -> None:
        self._ending = ending
        self._one = threading.Lock()
        self._last: int | None = None
        self._closed = False
        self._began: float | None = None
        self.error: BaseException | None = None

    @property
    def is_ending(self) -> bool:
        """Whether the cycle that is under way is the last one."""
        return self._closed or self._ending()

    @property
    def seconds(self) -> float:
        """How long the cycle that is under way has taken until now; 0 between two cycles, and while it rests."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    def rest(self) -> None:
        """Take note that the cycle that is under way is synced, and waits for more."""
        self._began = None

    def wake(self) -> None:
        """Take note that more has come, or that it waits no longer."""
        self._began = time.monotonic()

    def around(self, integrate_cycle: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """Return `integrate_cycle`, after the gate."""

        def integrate(batch: DataFrame, number: int) -> None:
            with self._one:
                if self._closed or self._ending():
                    self._closed = True
                    self.error = EndedError()
                    raise self.error
                self._began = time.monotonic()
                try:
                    integrate_cycle(batch, number)
                except BaseException as error:
                    self.error = error
                    raise
                finally:
                    self._began = None
                self._last = number

        return integrate

    def end_between_cycles(self, query: StreamingQuery, checkpoint: Path, beat: Callable[[], None]) -> None:
        """Stop the query when the cycle that is being integrated, if any, is synced and committed; meanwhile, beat."""
        self._closed = True
        while not self._one.acquire(timeout=_POLL_S):
            beat()
        last = self._last
        self._one.release()
        while query.isActive and last is not None and not (checkpoint / "commits" / str(last)).exists():
            beat()
            time.sleep(_POLL_S)
        query.stop()

    def raise_failure(self, query: StreamingQuery) -> None:
        """Raise what the stream failed with, if it did; the end that was asked for is no failure."""
        failure = query.exception()
        if isinstance(self.error, EndedError):
            return
        if self.error is not None and not isinstance(self.error, (PySparkException, Py4JError, OSError)):
            raise self.error  # of this process; the stream's failure has it as text only
        if failure is not None:
            raise classify(failure) or failure
