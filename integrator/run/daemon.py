"""The process: one Spark session, a job for each channel, and the end of all of them by SIGTERM or SIGINT."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence

import structlog
from pyspark.sql import SparkSession

from integrator.engine import cache
from integrator.errors import IntegratorError, as_integrator_error
from integrator.plan import Plan
from integrator.run.job import Job
from integrator.run.seen.observer import Observer
from integrator.run.spark import session

_POLL_S = 0.2


def integrate(
    plans: Sequence[Plan],
    *,
    once: bool,
    observer: Observer | None = None,
    stopping: threading.Event | None = None,
    spark: SparkSession | None = None,
) -> None:
    """Integrate existing changes (`once`), or continue until SIGTERM or SIGINT, which set `stopping`, as others may.

    spark: the process's own session, whose Spark is used and stays; without one, Spark is started, and stopped.
    Signals are taken in the main thread, and are as before afterwards.

    Everything that can be known to be wrong, of any channel, is found before the first row is read. After that the
    channels know nothing of each other: when one fails, the others continue, and it waits to be resumed; its error is
    raised when no other channel continues. Raises IntegratorError.
    """
    stopping = stopping or threading.Event()
    jobs = [Job(plan, stopping, observer) for plan in plans]
    if cache.is_empty():
        structlog.get_logger().info(
            "the first cycle compiles: a minute or two, once", remedy="integrator prepare, after an installation"
        )
    try:
        for job in jobs:
            job.prepare()
        with contextlib.ExitStack() as stack:
            if spark is not None:
                started = session.guest(spark)
            else:
                started = session.start(", ".join(plan.channel for plan in plans), of_files=True)
                stack.callback(session.stop, started)
                _on_jvm_signals(started, stopping)
            session.warm_up(started)
            stack.enter_context(_signals(stopping))
            if not session.has_secret(started):
                structlog.get_logger().warning(
                    "anyone who can reach Spark's ports can run code on the driver and the executors",
                    remedy="spark.authenticate=true, and a secret (see Spark's page on security)",
                )
            if not once:
                stack.enter_context(session.workers_kept(started, lambda: _last_synced(jobs)))
            _run(jobs, started, once=once)
    finally:
        for job in jobs:
            job.close()


def _last_synced(jobs: list[Job]) -> float:
    return max(job.heart.synced_at for job in jobs)


def _run(jobs: list[Job], spark: SparkSession, *, once: bool) -> None:
    errors: dict[str, IntegratorError] = {}
    ended = set[str]()

    def attempt(job: Job) -> IntegratorError | None:
        try:
            job.integrate(spark, once=once)
        except Exception as error:  # noqa: BLE001 - raised again when the others have ended
            return as_integrator_error(error, f"channel {job.plan.channel}")
        return None

    def run(job: Job) -> None:
        channel = job.plan.channel
        while (error := attempt(job)) is not None:
            job.failures.final(error)
            errors[channel] = error
            if once:
                job.heart.beat("failed")
                break
            if not job.waiting.after_failure(lambda: len(ended | set(errors)) == len(jobs)):
                break
            del errors[channel]
        ended.add(channel)

    threads = [threading.Thread(target=run, args=(job,), name=job.plan.channel) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # signals are handled between two waits
            thread.join(_POLL_S)
    if errors:
        raise next(iter(errors.values()))


@contextlib.contextmanager
def _signals(stopping: threading.Event) -> Iterator[None]:
    """Have signals ask for the end. Python lets the main thread alone take them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _on_jvm_signals(spark: SparkSession, stopping: threading.Event) -> None:
    for name in ("TERM", "INT"):
        session.on_jvm_signal(spark, name, stopping.set)
