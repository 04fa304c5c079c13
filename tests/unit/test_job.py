"""What a job waits for: the gate before each cycle, and a refresh that sends rows."""

import contextlib
import threading
from types import SimpleNamespace

import pytest

from integrator.channel.model import Restart
from integrator.channel.secret import Secrets
from integrator.errors import EnvironmentFault, ProcessLate, ProcessLost
from integrator.run.gate import CycleGate, EndedError
from integrator.run.job import Job
from integrator.run.state.directory import State
from tests.parts.waiting import PATIENCE_S


class Query:
    """A query that has ended."""

    isActive = False

    def stop(self):
        self.stopped = True


def test_a_stream_that_is_being_ended_begins_no_cycle_though_the_reason_is_gone(tmp_path):
    """Suspended, and resumed before the cycle was through: the stop may not come in the middle of the next."""
    suspended, done = [True], []
    gate = CycleGate(lambda: suspended[0])
    integrate = gate.around(lambda _batch, number: done.append(number))
    gate.end_between_cycles(Query(), tmp_path, lambda: None)
    suspended[0] = False
    with pytest.raises(EndedError):
        integrate(None, 1)
    assert not done
    assert isinstance(gate.error, EndedError)


def test_the_heart_beats_while_the_last_cycle_is_integrated(tmp_path):
    """A cycle may wait minutes for a broker that is away: a supervisor must not take the daemon for dead."""
    begun, over, beats = threading.Event(), threading.Event(), []
    gate = CycleGate(lambda: False)
    integrate = gate.around(lambda *_: begun.set() or over.wait(PATIENCE_S))
    cycle = threading.Thread(target=integrate, args=(None, 1))
    cycle.start()
    begun.wait()

    def beat():
        beats.append(1)
        if len(beats) == 3:
            over.set()

    gate.end_between_cycles(Query(), tmp_path, beat)
    cycle.join()
    assert len(beats) >= 3


def test_a_job_waits_while_a_refresh_sends_rows_and_no_longer_than_to_its_end(tmp_path):
    """Resumed by hand in the middle of a refresh: that is no failure of the daemon."""
    state = State(str(tmp_path / "state"))
    state.make()
    stopping = threading.Event()
    job = Job(
        SimpleNamespace(state=str(tmp_path / "state"), channel="c", secrets=Secrets(), restart=Restart()), stopping
    )
    refresh = contextlib.ExitStack()
    refresh.enter_context(state.integrating())
    timer = threading.Timer(1.5, refresh.close)
    timer.start()
    with contextlib.ExitStack() as held:
        assert job._hold(held)
        assert not timer.is_alive()
        with (
            pytest.raises(EnvironmentFault, match="another process sends rows of this channel"),
            state.integrating(0.1),
        ):
            pass
    with state.integrating(0.1), contextlib.ExitStack() as held:
        threading.Timer(0.7, stopping.set).start()
        assert not job._hold(held)


LATE, LOST = ProcessLate("a Python process of Spark's did not begin"), ProcessLost("was lost")


@pytest.mark.parametrize(
    ("failures", "runs", "raised"), [([LATE, LATE], 3, None), ([LATE, LOST, LATE], 2, ProcessLost)]
)
def test_once_continues_after_processes_that_were_late_and_after_nothing_else(
    failures, runs, raised, tmp_path, monkeypatch
):
    """The quickstart on a busy machine ended with "a Python process did not begin", which a retry solves."""
    run = []

    def fail(_job, _spark, *, once):
        run.append(once)
        if len(run) <= len(failures):
            raise failures[len(run) - 1]

    monkeypatch.setattr(Job, "run", fail)
    policy = Restart(tries=5, first_seconds=0.01)
    plan = SimpleNamespace(
        state=str(tmp_path / "state"), channel="c", secrets=Secrets(), restart=policy, topics=(), schedule=None
    )
    job = Job(plan, threading.Event())
    job.state.make()
    job._begun = True  # in a session whose lock it has
    monkeypatch.setattr(job.heart, "rest", lambda *_: None)
    with pytest.raises(raised) if raised else contextlib.nullcontext():
        job.integrate(None, once=True)
    assert run == [True] * runs
