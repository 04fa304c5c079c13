"""Scheduling -> when the daemon integrates, and how late it may be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cronsim import CronSim, CronSimError

from integrator.channel.actions import Scheduling
from integrator.channel.merge import whole_location
from integrator.channel.model import Channel
from integrator.channel.problems import Problems

_FIELDS = "write minute hour day month weekday, as in cron"


@dataclass(frozen=True)
class Schedule:
    """times: cron expressions at which the daemon integrates existing changes; none is continuously.

    on_start: it does so when it starts, too. latency_s: the latency above which a cycle is a warning; 0 is none.
    """

    times: tuple[str, ...] = ()
    on_start: bool = False
    latency_s: int = 0

    @property
    def continuous(self) -> bool:
        """Whether the daemon polls for changes all the time."""
        return not self.times and not self.on_start

    def next(self, now: datetime) -> datetime | None:
        """Return the next time after `now` (which has a zone) to integrate, or None for never."""
        # in the hour that comes twice, a reading of the clock that comes next may be of a moment that has been
        nexts = (next(at for at in CronSim(text, now) if at.timestamp() > now.timestamp()) for text in self.times)
        return min(nexts, key=datetime.timestamp, default=None)


def schedule_of(channel: Channel, kafka: str, problems: Problems) -> Schedule:
    """Return the schedule of the integrate job; what is wrong is added to `problems`."""
    given = whole_location(Scheduling, channel, kafka, problems)
    values = given.values
    times = tuple(part.strip() for part in (values.IntegrateStartTimes or "").split("|") if part.strip())
    for why in filter(None, map(_refusal, times)):
        problems.add(("actions", given.places["IntegrateStartTimes"], "IntegrateStartTimes"), why)
    return Schedule(times, values.IntegrateOnceOnStart, values.LatencySLA or 0)


def _refusal(text: str) -> str | None:
    try:
        next(CronSim(text, datetime(2000, 1, 1)))  # noqa: DTZ001 - any time will do
    except (CronSimError, StopIteration) as error:
        several = f"several times have | between: {text.replace(';', '|')}" if ";" in text else _FIELDS
        return f"{text!r} is no time: {error or 'it never comes'}; {several}"
    return None
