"""Temporary files of Spark's: one directory a process; what a killed process left, the next start removes."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.conftest import ROOT
from tests.parts.waiting import PATIENCE_S

WITHOUT_SPARK = (
    "import sys; from integrator.run.spark import scratch; print(scratch.directory(), flush=True); sys.stdin.read()"
)
WITH_SPARK = """
import sys
from integrator.run.spark import session
spark = session.start("scratch")
spark.range(10, numPartitions=2).mapInArrow(session.import_steps, "id long").collect()
spark.sql("create table t using csv as select 1 id")
print("started", flush=True)
sys.stdin.read()
session.stop(spark)
"""


@pytest.fixture
def start(tmp_path):
    """What starts a process in a directory of its own, whose temporary files are in `tmp`, and waits until it prints."""
    started = []
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cwd").mkdir()

    def run(program):
        environment = {
            **os.environ,
            "TMPDIR": str(tmp_path / "tmp"),
            "PYTHONPATH": str(ROOT),
            "SPARK_MASTER": "local[1]",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=tmp_path / "cwd",
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout.readline().strip()
        return process

    yield run
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait(PATIENCE_S)


def kill(process):
    for one in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
        one.send_signal(signal.SIGKILL)
    process.wait(PATIENCE_S)


def end(process):
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0


def test_a_start_removes_what_killed_processes_left_and_nothing_else(start, tmp_path):
    place = tmp_path / "tmp"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (place / "integrator-spark-link").symlink_to(elsewhere)
    (place / "integrator-spark-unlocked").mkdir()  # by a process that is about to lock it
    (place / "spark-of-another-program").mkdir()
    others = set(place.iterdir())
    lives, killed = start(WITHOUT_SPARK), start(WITHOUT_SPARK)
    assert len(list(place.glob("integrator-spark-????????/lock"))) == 2
    kill(killed)
    assert len(list(place.glob("integrator-spark-????????/lock"))) == 2
    third = start(WITHOUT_SPARK)
    assert len(list(place.glob("integrator-spark-????????/lock"))) == 2
    end(third)
    end(lives)
    assert set(place.iterdir()) == others
    assert (elsewhere / "lock").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="who is not root cannot make another user's directory")
def test_a_directory_of_another_user_stays(start, tmp_path):
    theirs = tmp_path / "tmp" / "integrator-spark-theirs"
    theirs.mkdir()
    (theirs / "lock").touch()
    os.chown(theirs, 65534, 65534)
    end(start(WITHOUT_SPARK))
    assert list((tmp_path / "tmp").iterdir()) == [theirs]


@pytest.mark.spark
def test_all_that_spark_writes_is_in_it(start, tmp_path):
    """Before, each kill -9 left five directories and files in /tmp."""
    killed = start(WITH_SPARK)
    assert [path.name[:17] for path in (tmp_path / "tmp").iterdir()] == ["integrator-spark-"]
    kill(killed)
    end(start(WITH_SPARK))
    assert [list((tmp_path / name).iterdir()) for name in ("tmp", "cwd")] == [[], []]


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    program = f"import tempfile; tempfile.tempdir = '{tmp_path}/none'\n{WITHOUT_SPARK}"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "none: Spark's temporary files cannot be kept here: No such file or directory; make room" in ran.stderr
