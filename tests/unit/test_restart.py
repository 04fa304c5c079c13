"""How the daemon continues after failures, and what its heartbeat says."""

import json
import threading

import pytest
from structlog.testing import capture_logs

from integrator.channel.model import Restart
from integrator.errors import DataError, DeliveryError, EnvironmentFault, ProcessLate
from integrator.run.gate import EndedError
from integrator.run.restart import Restarts, RetriedCycles, run_with_restarts
from integrator.run.seen.heartbeat import Heartbeat


class Job:
    """Fails as it is told: each step is an error, or the number of cycles that are synced before it."""

    def __init__(self, *steps):
        self.steps, self.runs, self.cycles, self.rests = list(steps), 0, 0, []

    def run(self):
        self.runs += 1
        step = self.steps.pop(0) if self.steps else None
        if isinstance(step, tuple):
            self.cycles += step[0]
            step = step[1]
        if step is not None:
            raise step

    def go(self, policy, stopping=None):
        end = stopping or threading.Event()
        failed = []
        restarts = Restarts(policy, lambda: self.cycles)
        run_with_restarts(self.run, restarts, end, self.rests.append, lambda *seen: failed.append(seen))
        return failed


AWAY = DeliveryError("away")
LATE = ProcessLate("late")


def test_it_starts_again_later_each_time():
    job = Job(*[AWAY] * 5)
    failed = job.go(Restart(first_seconds=2.0, most_seconds=10.0))
    assert job.runs == 6
    assert job.rests == [2.0, 4.0, 8.0, 10.0, 10.0]
    assert failed == [(AWAY, seconds) for seconds in job.rests]


def test_it_gives_up_after_so_many_failures_in_a_row():
    job = Job(*[AWAY] * 9)
    with pytest.raises(DeliveryError, match="away"):
        job.go(Restart(tries=3))
    assert job.runs == 4


def test_processes_that_are_late_do_not_count():
    job = Job(*[LATE, AWAY] * 3, *[LATE] * 7)
    assert len(job.go(Restart(tries=3, first_seconds=1.0))) == 13
    assert job.rests == [1.0, 1.0, 1.0, 2.0, 1.0, 4.0, *[1.0] * 7]


@pytest.mark.parametrize("policy", [Restart(tries=0, first_seconds=2.0), Restart(timeout_seconds=0, first_seconds=2.0)])
def test_a_process_that_is_late_is_no_failure_where_none_is_retried_either(policy):
    """`--once`, and with it the quickstart, ended with it."""
    job = Job(*[LATE] * 10, AWAY)
    with pytest.raises(DeliveryError):
        job.go(policy)
    assert job.rests == [2.0] * 10


def test_processes_that_are_late_again_and_again_are_a_failure():
    job = Job(*[LATE] * 20)
    with pytest.raises(ProcessLate):
        job.go(Restart(tries=3))
    assert job.runs == 14


def test_failures_between_which_cycles_are_synced_are_not_in_a_row():
    job = Job(*[AWAY, AWAY, (1, AWAY)] * 4)
    job.go(Restart(tries=3))
    assert job.runs == 13


@pytest.mark.parametrize("error", [DataError("bad"), EnvironmentFault("gone"), ValueError("a defect")])
def test_what_time_cannot_mend_ends_it(error):
    job = Job((1, error), None)
    with pytest.raises(type(error)):
        job.go(Restart())
    assert job.runs == 1


@pytest.mark.parametrize("step", [AWAY, (1, AWAY)])
def test_without_tries_it_ends(step):
    job = Job(step)
    with pytest.raises(DeliveryError):
        job.go(Restart(tries=0))
    assert job.runs == 1


def test_it_ends_when_it_is_asked_to():
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(DeliveryError):
        Job(AWAY, AWAY).go(Restart(), stopping)


def retried(job, policy, ending=lambda: False):
    """The job's steps as tries of one cycle; returns what was recorded of failures, and how often senders were awaited."""
    failed, awaited = [], []
    cycles = RetriedCycles(
        Restarts(policy, lambda: job.cycles), ending, lambda *seen: failed.append(seen), lambda: awaited.append(1)
    )
    cycles.around(lambda _batch, _number: job.run())(None, 7)
    assert not cycles.resting.is_set()
    return failed, len(awaited)


QUICK = Restart(tries=3, first_seconds=0.01, most_seconds=0.02)


def test_a_cycle_that_failed_is_sent_again_when_nothing_is_sending():
    assert retried(Job(AWAY, AWAY, AWAY), QUICK) == ([(AWAY, 0.01), (AWAY, 0.02), (AWAY, 0.02)], 3)


@pytest.mark.parametrize("steps", [[AWAY] * 4, [DataError("bad")], [ValueError("a defect")]])
def test_a_cycles_final_failure_is_raised(steps):
    job = Job(*steps)
    with pytest.raises(type(steps[0])):
        retried(job, QUICK)
    assert job.runs == len(steps)


def test_a_final_failure_of_a_cycle_is_not_retried_by_the_stream_either():
    restarts = Restarts(QUICK, lambda: 0)
    assert [restarts.after(AWAY) for _ in range(5)] == [0.01, 0.02, 0.02, None, None]


def test_a_cycle_that_is_synced_between_two_failures_resets_their_count():
    synced = iter([3, 3, 3, 4, 4])
    restarts = Restarts(QUICK, lambda: next(synced))
    assert [restarts.after(AWAY) for _ in range(5)] == [0.01, 0.02, 0.02, 0.01, 0.02]


@pytest.mark.parametrize(("timeout", "expected"), [(-1, 0.02), (0, None), (60, 0.02)])
def test_a_policy_of_seconds_counts_no_tries(timeout, expected):
    restarts = Restarts(Restart(tries=1, first_seconds=0.01, most_seconds=0.02, timeout_seconds=timeout), lambda: 0)
    assert [restarts.after(AWAY) for _ in range(99)][-1] == expected


def test_the_end_that_is_asked_for_between_two_tries_is_no_failure():
    job, asked = Job(AWAY), iter([False, True])
    with pytest.raises(EndedError):
        retried(job, Restart(first_seconds=60), lambda: next(asked))
    assert job.runs == 1


def test_the_heartbeat_says_what_is_done(tmp_path):
    heart, stopping = Heartbeat(tmp_path, "shop"), threading.Event()

    def said():
        return json.loads((tmp_path / "heartbeat.json").read_text())

    heart.beat("integrating")
    first = said()
    assert (first["channel"], first["doing"], first["last_synced_cycle"]) == ("shop", "integrating", None)
    assert first["time"] == first["since"]
    heart.synced(7)
    heart.beat("integrating")
    assert said() == first  # at most once a second
    assert not heart.rest(0.01, stopping, "waiting")
    assert (said()["doing"], said()["last_synced_cycle"]) == ("waiting", 7)
    heart.beat("suspended", "a new disk")
    assert (said()["doing"], said()["why"]) == ("suspended", "a new disk")
    heart.beat("suspended", "another disk")
    assert said()["why"] == "another disk"
    stopping.set()
    assert heart.rest(60, stopping, "resting")
    assert said()["why"] == ""
    assert not heart.rest(0, threading.Event(), "resting")


def test_what_is_integrated_does_not_depend_on_the_heartbeat(tmp_path):
    with capture_logs() as logs:
        Heartbeat(tmp_path / "gone", "shop").beat("integrating")
    assert [log["event"] for log in logs] == ["no heartbeat"]
