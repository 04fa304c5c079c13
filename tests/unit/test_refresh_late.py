"""A refresh continues where a Python process of Spark's was late: that is no failure yet, as with `--once`."""

import threading
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.errors import PySparkException

from integrator.contracts.fragments import FileSummary
from integrator.contracts.report import Report
from integrator.errors import DataError, DeliveryError, IntegratorError, ProcessLate
from integrator.plan import build
from integrator.refresh import job
from integrator.run.state.directory import State

LATE = PySparkException("org.apache.spark.SparkException: Python worker failed to connect back.")
ROWS = 3
SUMMARY = FileSummary(1, ROWS, {}, {})
SENT = Report(messages=ROWS, acknowledged=ROWS, bytes=9, error=None, newest=None, summaries=(SUMMARY,))
UNSENT = Report(messages=ROWS, acknowledged=0, bytes=0, error="no broker answers", newest=None, summaries=(SUMMARY,))


class Frames:
    """What Spark does with the slices: each fails as often as it is told, and is sent then."""

    def __init__(self, failures):
        self.failures, self.tried = {key: list(steps) for key, steps in failures.items()}, []
        self.cancelled, self.begun = 0, threading.Event()

    def frame(self, _spark, _location, recipe, condition):
        def collect():
            self.tried.append(condition)
            step = next((steps.pop(0) for part, steps in self.failures.items() if steps and part in condition), SENT)
            if isinstance(step, Exception):
                raise step
            return [SimpleNamespace(report=step.to_json())]

        assert recipe.table.name == "t"
        return SimpleNamespace(mapInArrow=lambda *_: SimpleNamespace(collect=collect))

    def cancel(self):
        self.cancelled += 1


FIRST, SECOND = "1 and 1", ") = 1"
"""What the condition of each of the two slices has in it."""


@pytest.fixture
def refresh(tmp_path, monkeypatch):
    """Refresh a table in two slices, which fail as they are told."""
    (tmp_path / "tables.sql").write_text("create table t(id int primary key);")
    pyarrow.parquet.write_table(pa.table({"id": [1]}), tmp_path / "t.parquet")
    (tmp_path / "channel.yaml").write_text(f"""
channel: late
state: {tmp_path}/state
restart: {{first_seconds: 0.01, tries: 7, timeout_seconds: -1}}
locations:
  tab: {{class: snapshot, path: "{tmp_path}/{{hvr_tbl_name}}.parquet", format: parquet}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}
tables: [tables.sql]
actions: []
""")
    made = build(str(tmp_path / "channel.yaml"), "UTC", None, refreshing=True)
    monkeypatch.setattr(job.topics, "ensure", lambda *_: [])
    monkeypatch.setattr(job, "fitting", lambda recipe, _topics: recipe)

    def run(failures, parallel=1):
        frames = Frames(failures)
        monkeypatch.setattr(job, "frame", frames.frame)
        spark = SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]", cancelAllJobs=frames.cancel))
        options = job.Options(slices=("id%2",), parallel=parallel)
        try:
            rows = job.send(made, options, spark)["t"]
        except (IntegratorError, RuntimeError) as error:
            rows = error
        return rows, frames, State(made.state)

    return run


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("failures", [{FIRST: [LATE]}, {SECOND: [LATE] * 9}, {FIRST: [LATE] * 3, SECOND: [LATE] * 3}])
def test_a_refresh_sends_a_slice_again_for_which_a_process_was_late(failures, parallel, refresh):
    rows, frames, state = refresh(failures, parallel)
    assert rows == 2 * ROWS
    assert frames.cancelled == 0  # the other slice continues
    assert len(frames.tried) <= 2 + sum(map(len, failures.values()))
    assert state.suspended is None


def test_a_slice_that_is_completed_is_not_sent_again(refresh):
    _, frames, _ = refresh({SECOND: [LATE, LATE]})
    assert len(frames.tried) == 4
    assert sum(FIRST in condition for condition in frames.tried) == 1


def test_processes_that_are_late_again_and_again_end_a_refresh(refresh):
    """Ten times without a completed slice between, as the daemon has it."""
    error, frames, state = refresh({SECOND: [LATE] * 99})
    assert isinstance(error, ProcessLate)
    assert len(frames.tried) == 1 + 11
    assert state.suspended == job.REASON  # it is run again, for the slice that is left


@pytest.mark.parametrize(
    ("step", "expected"), [(UNSENT, DeliveryError), (RuntimeError(), RuntimeError), (DataError("bad"), DataError)]
)
def test_any_other_failure_ends_it_at_once(step, expected, refresh):
    error, frames, state = refresh({FIRST: [step]})
    assert isinstance(error, expected)
    assert (len(frames.tried), frames.cancelled) == (1, 1)
    assert state.suspended is None  # nothing was sent of it
