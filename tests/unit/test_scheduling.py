"""When the daemon integrates, how late it may be, how fast it may send: Scheduling, Integrate Delay, HVR_KAFKA_RATE_LIMIT."""

import itertools
import os
import threading
import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from integrator import plan
from integrator.contracts.fragments import Checkpoint
from integrator.deliver.kafka.rate_limiter import RateLimiter
from integrator.errors import ConfigurationError
from integrator.plan.schedule import Schedule
from integrator.run.job import Job
from integrator.run.seen.cycle_log import CycleLog
from integrator.run.state.sync import Cycle
from integrator.sources.files.listing import Listing
from tests.parts import pure

BERLIN = ZoneInfo("Europe/Berlin")


def made(directory, action):
    pure.recipe(directory, "create table t(k int primary key);", f"  - {{{action}}}")
    return plan.build(str(directory / "channel.yaml"), "Europe/Berlin")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


TIMES = [
    # IntegrateStartTimes                  now                    next
    ("0 10-18 * * 1-5", "2026-11-20T17:30", "2026-11-20T18:00"),
    ("0 10-18 * * 1-5", "2026-11-20T18:00", "2026-11-23T10:00"),  # a Friday evening, and the Monday after
    ("0 10 * * *|30 9 * * *", "2026-11-20T09:00", "2026-11-20T09:30"),
    ("0 10 * * *|30 9 * * *", "2026-11-20T09:30", "2026-11-20T10:00"),
    ("0 0 1 1 *", "2026-11-20T09:30", "2027-01-01T00:00"),
    ("30 2 * * *", "2026-03-28T12:00", "2026-03-29T03:00"),  # 2:30 does not exist on the day that the clock continues
]


@pytest.mark.parametrize(("times", "now", "then"), TIMES)
def test_start_times(times, now, then, tmp_path):
    schedule = made(tmp_path, f"action: Scheduling, IntegrateStartTimes: '{times}'").schedule
    assert schedule.next(at(now)) == at(then)
    assert not schedule.continuous


def test_every_next_time_is_later_when_the_clock_goes_back():
    """2026-10-25 in Berlin: 02:00 to 03:00 comes twice."""
    schedule, now = Schedule(("0 * * * *",)), at("2026-10-25T00:30")
    moments = []
    for _ in range(6):
        now = schedule.next(now)
        moments.append(now.timestamp())
    assert [later - earlier for earlier, later in itertools.pairwise(moments)] == [3600.0] * 5
    late = at("2026-10-25T02:15")
    assert schedule.next(late).timestamp() > late.timestamp()


def test_without_start_times_the_daemon_is_continuous(tmp_path):
    assert made(tmp_path, "action: Scheduling, LatencySLA: 5").schedule == Schedule(latency_s=5)
    assert Schedule().continuous
    assert not Schedule(on_start=True).continuous
    assert Schedule(on_start=True).next(at("2026-11-20T00:00")) is None


PROBLEMS = [
    ("IntegrateStartTimes: 'every day'", "'every day' is no time: "),
    ("IntegrateStartTimes: '61 * * * *'", "write minute hour day month weekday, as in cron"),
    ("IntegrateStartTimes: '0 0 31 2 *'", "'0 0 31 2 *' is no time: "),
    ("LatencySLA: 0", "a number of 1 at least"),
    ("LatencySLA: 5, table: t", "table must be *"),
]


@pytest.mark.parametrize(("said", "told"), PROBLEMS)
def test_what_cannot_be_is_a_problem_of_the_channel(said, told, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        made(tmp_path, f"action: Scheduling, {said}")
    assert told in str(raised.value)


@pytest.mark.parametrize(("sla", "ago", "loud"), [(0, 60, False), (5, 1, False), (5, 60, True)])
def test_latency_above_the_sla_is_a_warning(sla, ago, loud):
    newest = int((time.time() - ago) * 1e6)
    cycle = Cycle(7, 1, 1, 1, 1, newest, {}, {}, Checkpoint(), seconds=1.0)
    with capture_logs() as logs:
        CycleLog("c", sla).synced(cycle)
    assert [log["event"] for log in logs] == ["cycle synced", *(["latency above LatencySLA"] if loud else [])]
    assert not loud or (logs[1]["log_level"], logs[1]["sla_seconds"]) == ("warning", 5)


def test_delay_waits_for_files_to_be_old_enough(tmp_path):
    now = time.time()
    for name, age in (("1", 100), ("2", 5), ("3", 100)):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (now - age, now - age))

    def ready(delay):
        return [Path(entry.path).name for entry in Listing(str(tmp_path), "*", (), "name", delay).slices()]

    assert ready(0) == ["1", "2", "3"]
    assert ready(60) == ["1"]  # 3 is behind 2: files are read in order
    assert ready(1000) == []


def test_delay_is_the_plans(tmp_path):
    assert made(tmp_path, "action: Integrate, Delay: 60").delay == 60


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 0.0

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.mark.parametrize("rate", [1, 10, 1000, 33.3])
@pytest.mark.parametrize("batches", [(1, 1, 1), (5000,), (7, 0, 4000, 1)])
def test_a_pace_lets_so_many_pass_a_second(rate, batches):
    virtual = Time()
    limiter = RateLimiter(rate, virtual.clock, virtual.sleep)
    passed = []
    for count in batches:
        parts = []
        for start, size in limiter.parts(count):
            parts.append((start, size))
            passed.append((virtual.now, size))
        assert [start for start, _ in parts] == [sum(size for _, size in parts[:n]) for n in range(len(parts))]
        assert sum(size for _, size in parts) == count
    before = 0
    for moment, size in passed:
        assert before <= rate * moment + 1e-6  # all that passed before this part is within the rate
        before += size
    assert virtual.now == pytest.approx((before - passed[-1][1]) / rate)


@pytest.mark.parametrize(("at_once", "runs"), [(False, 1), (True, 2)])
def test_what_failed_at_its_time_is_tried_again_at_once_and_not_at_the_next_time(at_once, runs, tmp_path, monkeypatch):
    plan_made = made(tmp_path, "action: Scheduling, IntegrateStartTimes: '* * * * * *'")
    stopping, waits = threading.Event(), []
    job = Job(plan_made, stopping)

    def run(_spark, *, once):
        assert once
        waits.append([log["event"] for log in logs].count("waiting"))
        if len(waits) == runs:
            stopping.set()

    monkeypatch.setattr(job, "run", run)
    with capture_logs() as logs:
        job.run_scheduled(None, at_once=at_once)
    assert waits == ([0, 1] if at_once else [1])


def test_the_rate_limit_is_the_recipes(tmp_path):
    said = "action: Environment, Name: HVR_KAFKA_RATE_LIMIT, Value: "
    assert made(tmp_path, said + "'100'").recipe.send.rate_limit == 100
    with pytest.raises(ConfigurationError) as raised:
        made(tmp_path, said + "'0'")
    assert "'0' is not accepted" in str(raised.value)
