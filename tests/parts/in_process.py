"""Commands in this process and a Spark session that is there: what they do, without the start of a process and of Spark."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import structlog
from pyspark.sql import SparkSession

from integrator import plan
from integrator.channel.model import Restart
from integrator.cli import main
from integrator.run.job import Job
from integrator.run.spark import session

_TAKEN = (signal.SIGINT, signal.SIGTERM)
"""What a command that integrates takes for itself."""
_OF_DRIVER = "spark.driver.extraJavaOptions"


def session_of(name: str, jars: Sequence[str] = ()) -> SparkSession:
    """Start a session of four cores, so that cycles are cut and shuffled."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session.DEFAULTS["spark.master"] = "local[4]"
    session.DEFAULTS[_OF_DRIVER] += " -XX:TieredStopAtLevel=1"  # few rows pass: a second compiler gains nothing
    return session.start(name, jars)


def integrate(spark: SparkSession, channel: Path, *, once: bool = True) -> None:
    """Integrate existing changes, by the channel in a file: `--once`, whose failures are not tried again.

    once: without it, changes that come are integrated, with sub-cycles, until that fails.
    """
    made = dataclasses.replace(plan.build(str(channel), "UTC"), restart=Restart(tries=0))
    job = Job(made, threading.Event())
    try:
        job.prepare()
        if once:
            job.run(spark, once=True)
        else:
            job.integrate(spark, once=False)
    finally:
        job.close()


class _Shared:
    """A session that commands cannot stop."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def stop(self) -> None:
        """Leave it as it is."""

    def __getattr__(self, name: str) -> object:
        return getattr(self._spark, name)


@contextmanager
def sharing(spark: SparkSession | None) -> Iterator[None]:
    """Have commands take this session; without one, none may ask for it. What a command has of its JVM for as long as that
    lives, its signals and a lock on a state directory, it has not; what it sets for its process is set back.
    """
    given = {"return_value": _Shared(spark)} if spark else {"side_effect": AssertionError("it starts Spark")}
    log, handlers = structlog.get_config(), {number: signal.getsignal(number) for number in _TAKEN}
    idle = {name: mock.Mock() for name in ("on_jvm_signal", "lock_jvm", "unlock_jvm")}
    with mock.patch.multiple(session, start=mock.Mock(**given), **idle), mock.patch.object(main, "_begin_spark"):
        try:
            yield
        finally:
            structlog.configure(**log)
            for number, handler in handlers.items():
                signal.signal(number, handler)


def command(*words: object, spark: SparkSession | None = None) -> int:
    """Run a command of `run.py`; return its exit code. What it logs and prints is on stderr and stdout."""
    with mock.patch.object(sys, "argv", ["run.py", *map(str, words)]), sharing(spark):
        return main.main()
