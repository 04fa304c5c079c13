"""Streams start a few at a time: each needs new Python processes, and Spark waits only ten seconds for one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

AT_ONCE = 2
"""Each start takes about two seconds of a core. Spark's limit for a worker to connect back cannot be set: with eleven
starts at once on two cores, the last workers are late."""
_INITIALIZING = "Initializing"
_POLL_S = 0.1
_turns = threading.BoundedSemaphore(AT_ONCE)


def start(
    stream: Callable[[], StreamingQuery], ending: Callable[[], bool], beat: Callable[[], None]
) -> StreamingQuery | None:
    """Start a stream when fewer than AT_ONCE others are starting, and return it when its reader runs or has failed.

    None: the end was asked for while it waited for its turn. beat: is called while it waits.
    """
    while not _turns.acquire(timeout=_POLL_S):
        beat()
        if ending():
            return None
    try:
        query = stream()
        while query.isActive and str(query.status["message"]).startswith(_INITIALIZING):
            beat()
            time.sleep(_POLL_S)
        return query
    finally:
        _turns.release()
