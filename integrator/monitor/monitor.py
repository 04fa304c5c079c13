"""The observer of a process: what each channel does, its counts, its last failure; and all of it as JSON."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from integrator.backlog import Backlog, backlog_of
from integrator.errors import DATA, EnvironmentFault, command
from integrator.monitor.history import History
from integrator.monitor.metrics import Metrics, operations
from integrator.plan import Plan
from integrator.run.seen.failure import Failure
from integrator.run.seen.observer import Observer
from integrator.run.state import aside
from integrator.run.state.sync import Cycle

SILENT_S = 180.0
"""A channel that has not beaten for so long hangs: it waits for no lock and no start longer than that."""
COMPARED: dict[str, str] = {"compare": "integrator.compare.kept"}
"""What knows what `compare --follow` found, imported at first use."""
_READY = frozenset({"integrating", "waiting", "waiting for a refresh", "suspended", "ended"})


@dataclass
class ChannelStatus:
    """What was seen of one channel since the process started."""

    plan: Plan
    backlog: Backlog
    history: History = field(default_factory=History)
    doing: str = "starting"
    why: str = ""
    since: str = ""
    beat: float = field(default_factory=time.time)
    cycle: int | None = None
    synced_at: float | None = None
    rows_per_second: float = 0.0
    latency_s: float | None = None
    totals: Counter[str] = field(default_factory=Counter)
    by_topic: dict[str, Counter[str]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    coerced: Counter[str] = field(default_factory=Counter)
    failure: Failure | None = None


class Monitor(Observer):
    """Sees the channels of one process; its methods may be called by any thread."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self.metrics = Metrics()
        self._lock = threading.Lock()
        self.started = time.time()
        self.channels = {plan.channel: ChannelStatus(plan, backlog_of(plan)) for plan in plans}
        for name, seen in self.channels.items():
            self.metrics.begin(name, seen.backlog.now, partial(_count, seen.plan.state), partial(_compared, seen.plan))

    def beat(self, channel: str, doing: str, since: str, why: str = "") -> None:
        """See that a channel lives."""
        seen, now = self.channels[channel], time.time()
        with self._lock:
            seen.doing, seen.why, seen.since, seen.beat = doing, why, since, now
        self.metrics.beat(channel, doing, now)

    def continues_after(self, channel: str, cycle: int, at: datetime) -> None:
        """See the last cycle that was synced before this process."""
        seen, then = self.channels[channel], at.timestamp()
        with self._lock:
            seen.cycle, seen.synced_at = cycle, then
        self.metrics.continues_after(channel, then)

    def synced(self, channel: str, cycle: Cycle) -> None:
        """See a synced cycle."""
        seen, now = self.channels[channel], time.time()
        latency = None if cycle.newest is None else max(now - cycle.newest / 1e6, 0.0)
        with self._lock:
            seen.cycle, seen.synced_at, seen.latency_s = cycle.cycle, now, latency
            seen.rows_per_second = cycle.rows / cycle.seconds if cycle.seconds else 0.0
            for name in ("files", "rows", "messages", "bytes", "rejected"):
                seen.totals[name] += getattr(cycle, name)
            seen.totals["cycles"] += 1
            for (topic, operation), rows in operations(cycle).items():
                seen.by_topic.setdefault(topic, Counter())[operation] += rows
            seen.skipped.update(cycle.not_sent)
            seen.coerced.update(cycle.warnings)
            seen.history.add(now, cycle.seconds, cycle.rows, latency)
        self.metrics.synced(channel, cycle, latency, now)

    def timed(self, channel: str, steps: dict[str, float]) -> None:
        """See how long Spark's steps took."""
        self.metrics.timed(channel, steps)

    def failure(self, channel: str, failure: Failure, *, new: bool = True) -> None:
        """See a failure, or that the last one is mended."""
        with self._lock:
            self.channels[channel].failure = failure
            if failure.again_in is not None and new:
                self.channels[channel].totals["restarts"] += 1
        if new:
            self.metrics.failure(channel, failure)

    def problems(self, *, ready: bool) -> dict[str, str]:
        """Return why the process does not live, or (`ready`) does not integrate all of its channels, by channel."""
        found, now = {}, time.time()
        for name, seen in self.channels.items():
            over = seen.doing in {"failed", "ended"}
            if not over and now - seen.beat > SILENT_S:
                found[name] = f"no heartbeat for {now - seen.beat:.0f} s"
            elif ready and seen.doing not in _READY:
                found[name] = seen.doing
        return found

    def status(self) -> dict[str, Any]:
        """Return what all channels do and did, without secrets and values of rows."""
        with self._lock:
            channels = [_status(name, seen) for name, seen in self.channels.items()]
        for one in channels:
            lag = self.channels[one["channel"]].backlog.now()
            one["lag_files"], one["lag_bytes"], one["lag_records"] = lag.files, lag.bytes, dict(lag.records)
            one["server_log"] = None if lag.log is None else asdict(lag.log)
            try:
                one["compared"] = _compared(self.channels[one["channel"]].plan)
            except EnvironmentFault as fault:
                one["notes"].append(str(fault))
                one["compared"] = {}
        return {"time": stamp(time.time()), "started": stamp(self.started), "channels": channels}

    def plots(self, channel: str) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Return rows per second and latencies of the last hour, by how many seconds ago."""
        with self._lock:
            history, now = self.channels[channel].history, time.time()
            return history.rates(now), history.latencies(now)


def _status(name: str, seen: ChannelStatus) -> dict[str, Any]:
    tables: dict[str, list[str]] = {}
    for table in seen.plan.recipe.tables:
        tables.setdefault(table.topic, []).append(table.table.name)
    return {
        "channel": name,
        "doing": seen.doing,
        "why": seen.plan.secrets.mask(seen.why),
        "since": seen.since,
        "last_beat": stamp(seen.beat),
        "last_synced_cycle": seen.cycle,
        "last_synced": None if seen.synced_at is None else stamp(seen.synced_at),
        "rows_per_second": round(seen.rows_per_second),
        "latency_seconds": None if seen.latency_s is None else round(seen.latency_s, 3),
        "counts": dict(seen.totals),
        "topics": {
            topic: {"tables": tables.get(topic, []), "operations": dict(seen.by_topic.get(topic, {}))}
            for topic in dict.fromkeys([*seen.plan.topics, *seen.by_topic])
        },
        "skipped": dict(seen.skipped),
        "coerced": dict(seen.coerced),
        "notes": [*_set_aside(seen.plan), *(seen.plan.secrets.mask(note) for note in seen.plan.notes)],
        "failure": None if seen.failure is None else _failure(seen.failure),
    }


def _count(state: str) -> int:
    return len(aside.read(Path(state)))


def _compared(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return what came of comparing each table with its topic. Raises EnvironmentFault."""
    return {
        name: one for module in COMPARED.values() for name, one in import_module(module).kept(Path(plan.state)).items()
    }


def _set_aside(plan: Plan) -> list[str]:
    """Return which tables are set aside, and why: that changes while a process runs."""
    return [plan.secrets.mask(text) for text in aside.texts(Path(plan.state))]


def _failure(failure: Failure) -> dict[str, Any]:
    text = failure.error
    if failure.has_values:
        place = re.match(r"([^\s'\"]+:\d+): ", text)
        text = f"{place[1]}: what is wrong" if place and failure.kind == DATA.name else "its text"
        text += (
            f" may show values of rows, and is with its remedy in the log, and in `{command()} state --channel FILE`"
        )
    return {**failure.__dict__, "error": text}


def stamp(seconds: float) -> str:
    """Return a time as ISO 8601, in UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
