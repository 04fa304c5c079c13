"""What is logged of synced cycles: a line a minute with sums, or a line for each."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import structlog

from integrator.run.seen.progress import DEBUG
from integrator.run.state.sync import Cycle

EACH = "INTEGRATOR_LOG_CYCLES"
"""The environment variable that has a line for each cycle; --debug has it, too."""
_LINE_S = 60.0
"""A line for each cycle of 90 changes a second would be 80 to 200 MB a day."""
_SUMS = ("files", "rows", "messages", "bytes")
_ONLY_SOME = ("not_sent", "rejected", "split", "deferred", "warnings")
"""What a line has where it is not empty."""


class CycleLog:
    """Logs synced cycles: rows, messages, bytes, rows/s, and the latency of the newest change.

    The first one is logged at once, and those of a minute after it together: `cycle` is the last of them, `cycles` how
    many, `latency_seconds` the longest, and the others are sums. What an operator must see is logged at once: a latency
    above `latency_s` seconds (0: any), Scheduling LatencySLA; and rejected lines, counted for each file; each_rejected:
    the first hundred of a file one by one, too.
    """

    def __init__(self, channel: str, latency_s: int = 0, *, each_rejected: bool = False) -> None:
        self._log = structlog.get_logger().bind(channel=channel)
        self._latency_s, self._each_rejected = latency_s, each_rejected
        self._each = bool(os.environ.get(EACH) or os.environ.get(DEBUG))
        self._last = float("-inf")
        self._waiting: dict[str, Any] = {}
        self._lock = threading.Lock()  # cycles are synced in a thread of Spark's

    def synced(self, cycle: Cycle) -> None:
        """Take a cycle."""
        latency = None if cycle.newest is None else round(time.time() - cycle.newest / 1e6, 3)
        with self._lock:
            self._add(cycle, latency)
            if self._each or self._is_due:
                self._write()
        for one in cycle.rejections:
            if one.count:
                where = {"cycle": cycle.cycle, "file": one.file}
                self._log.warning("lines rejected", **where, count=one.count, first_line=one.lines[0]["line"])
                for line in one.lines if self._each_rejected else ():
                    self._log.warning("line rejected", **where, **line)
        if self._latency_s and latency is not None and latency > self._latency_s:
            sla = {"latency_seconds": latency, "sla_seconds": self._latency_s}
            self._log.warning("latency above LatencySLA", cycle=cycle.cycle, **sla)

    def _add(self, cycle: Cycle, latency: float | None) -> None:
        waiting = self._waiting
        waiting["cycle"], waiting["cycles"] = cycle.cycle, waiting.get("cycles", 0) + 1
        for name in _SUMS:
            waiting[name] = waiting.get(name, 0) + getattr(cycle, name)
        waiting["seconds"] = waiting.get("seconds", 0.0) + cycle.seconds
        waiting["latency_seconds"] = max(filter(None, (waiting.get("latency_seconds"), latency)), default=latency)
        for name in ("operations", *_ONLY_SOME):
            waiting[name] = _sum(waiting.get(name), getattr(cycle, name))

    def write_due(self) -> None:
        """Log what waits for a minute."""
        with self._lock:
            if self._is_due:
                self._write()

    def close(self) -> None:
        """Log what waits."""
        with self._lock:
            self._write()

    @property
    def _is_due(self) -> bool:
        return time.monotonic() - self._last >= _LINE_S

    def _write(self) -> None:
        found, self._waiting = self._waiting, {}
        if not found:
            return
        self._last = time.monotonic()
        seconds, cycles = found.pop("seconds"), found.pop("cycles")
        many = {"cycles": cycles} if cycles > 1 else {}
        some = {name: value for name in _ONLY_SOME if (value := found.pop(name))}
        operations, latency = found.pop("operations"), found.pop("latency_seconds")
        self._log.info(
            "cycle synced" if cycles == 1 else "cycles synced",
            **many,
            **found,
            seconds=round(seconds, 3),
            rows_per_second=round(found["rows"] / seconds),
            latency_seconds=latency,
            operations=operations,
            **some,
        )


def _sum(one: Any, other: Any) -> Any:
    """Return two numbers, or two sets of counts, together."""
    if isinstance(other, Mapping):
        return dict(Counter(one or {}) + Counter(other))
    return (one or 0) + other
