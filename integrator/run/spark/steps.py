"""How long Spark's steps of each cycle took, beside those of the integrator: from the stream's own progress reports."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

STEPS = {
    "latestOffset": "list",
    "getBatch": "list",
    "queryPlanning": "plan",
    "walCommit": "checkpoint",
    "commitOffsets": "checkpoint",
    "commitBatch": "checkpoint",
}
"""Spark's durations and our names. `addBatch` is the cycle itself, whose steps a `Cycle` has.

https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html (durationMs)
"""


class SparkSteps:
    """Asks the stream for its last progress once after each synced cycle, when Spark has committed that."""

    def __init__(self, timed: Callable[[dict[str, float]], None]) -> None:
        self._timed = timed
        self._synced, self._seen = -1, -1

    def synced(self, cycle: int) -> None:
        """Take note of a synced cycle."""
        self._synced = cycle

    def report(self, query: StreamingQuery) -> None:
        """Report the seconds of the last cycle, by step, if Spark has committed it and they are not reported yet."""
        if self._synced == self._seen:
            return
        progress = query.lastProgress
        if progress is None or int(progress["batchId"]) < self._synced:
            return
        self._seen = self._synced
        seconds: dict[str, float] = {}
        for name, milliseconds in progress["durationMs"].items():
            if name in STEPS:
                seconds[STEPS[name]] = seconds.get(STEPS[name], 0.0) + milliseconds / 1000
        self._timed(seconds)
