"""A file that says that the daemon lives, and what it does: for supervisors outside of it."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import structlog

from integrator.run.seen.observer import Observer
from integrator.run.state.marks import CycleMark

FILE = "heartbeat.json"
EVERY_S = 1.0


@dataclass(frozen=True)
class Beat:
    """What heartbeat.json says. Times are ISO 8601. why: the reason for which a channel waits, "" without one."""

    time: str
    doing: str
    since: str
    pid: int
    why: str

    @staticmethod
    def read(directory: Path) -> Beat | None:
        """Return what the file in a state directory says; None if there is none that can be read."""
        try:
            kept = json.loads((directory / FILE).read_text(encoding="utf-8"))
            time, doing, since, why = (str(kept[name]) for name in ("time", "doing", "since", "why"))
            return Beat(time, doing, since, int(kept["pid"]), why)
        except (OSError, ValueError, LookupError, TypeError):
            return None


class Heartbeat:
    """Writes the file, at most once a second, when the channel's thread calls."""

    def __init__(self, directory: Path, channel: str, observer: Observer | None = None) -> None:
        self._path, self._channel, self._observer = directory / FILE, channel, observer or Observer()
        self._doing, self._why, self._since, self._last = "", "", "", float("-inf")
        self._cycle: int | None = None
        self.synced_at = float("-inf")
        """When a cycle was synced last, by time.monotonic()."""

    def continues_after(self, mark: CycleMark | None) -> None:
        """Take note of the last cycle that was synced before this process, if any was."""
        if mark is not None:
            self.synced(mark.cycle)
            self._observer.continues_after(self._channel, mark.cycle, mark.at)

    def synced(self, cycle: int) -> None:
        """Take note of a synced cycle."""
        self._cycle, self.synced_at = cycle, time.monotonic()

    def beat(self, doing: str, why: str = "") -> None:
        """Write what the channel does: starting, integrating, waiting, resting after a failure, suspended, failed.

        why: the reason, where it waits for one.
        """
        if (doing, why) == (self._doing, self._why) and time.monotonic() - self._last < EVERY_S:
            return
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        if doing != self._doing:
            self._doing, self._since = doing, now
        self._why, self._last = why, time.monotonic()
        self._observer.beat(self._channel, doing, self._since, why)
        status = {
            "time": now,
            "channel": self._channel,
            "pid": os.getpid(),
            "doing": doing,
            "since": self._since,
            "why": why,
            "last_synced_cycle": self._cycle,
        }
        temporary = self._path.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps(status) + "\n", encoding="utf-8")
            temporary.replace(self._path)
        except OSError as error:  # what is integrated does not depend on it; its age shows that it is not written
            structlog.get_logger().warning("no heartbeat", channel=self._channel, error=str(error))

    def rest(self, seconds: float, stopping: threading.Event, doing: str, why: str = "") -> bool:
        """Wait, beating; return whether the end was asked for before the time was over."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.beat(doing, why)
            if stopping.wait(min(left, EVERY_S)):
                return True
        return stopping.is_set()
