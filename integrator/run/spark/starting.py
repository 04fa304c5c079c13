"""Streams start one after another: each needs new Python processes, and Spark waits only ten seconds for one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from integrator.run.spark.failures import is_late

AT_ONCE, TRIES = 1, 5
"""Each start takes about two seconds of a core, and the channels that run already want the cores too. Spark's limit for
a worker to connect back cannot be set: with eleven starts at once on two cores, the last workers are late."""
_INITIALIZING = "Initializing"
_POLL_S = 0.1
_turns = threading.BoundedSemaphore(AT_ONCE)


def start(
    stream: Callable[[], StreamingQuery], ending: Callable[[], bool], beat: Callable[[], None]
) -> StreamingQuery | None:
    """Start a stream when fewer than AT_ONCE others are starting, and return it when its reader runs or has failed.

    Where a Python process was late, it is started again, some times: nothing has been read yet. None: the end was asked
    for while it waited for its turn. beat: is called while it waits.
    """
    while not _turns.acquire(timeout=_POLL_S):
        beat()
        if ending():
            return None
    try:
        for _ in range(TRIES - 1):
            try:
                query = _initialized(stream(), beat)
            except PySparkException as error:
                if not is_late(error):
                    raise
            else:
                if query.isActive or not is_late(query.exception()):
                    return query
            structlog.get_logger().warning("a Python process was late, starts again")
            if ending():
                return None
        return _initialized(stream(), beat)
    finally:
        _turns.release()


def _initialized(query: StreamingQuery, beat: Callable[[], None]) -> StreamingQuery:
    while query.isActive and str(query.status["message"]).startswith(_INITIALIZING):
        beat()
        time.sleep(_POLL_S)
    return query
