"""The continuous integrate job: one streaming query, ended by SIGTERM at the end of a cycle, never in one."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from integrator import progress, registry, session
from integrator.cycle import cycle
from integrator.errors import IntegratorError, from_wire
from integrator.heartbeat import Heart
from integrator.plan import Plan
from integrator.produce import topics
from integrator.restart import restarting
from integrator.sources import files
from integrator.sources.journal import Journal, Listing
from integrator.state import State
from integrator.sync import Cycle

SUCCESSOR_WAIT_S = 60.0
"""How long a successor waits for what a killed process left running."""
_POLL_S = 0.1


def integrate(plan: Plan, *, once: bool) -> None:
    """Integrate what is there (`once`), or go on until SIGTERM or SIGINT. Raises IntegratorError.

    Everything that can be known to be wrong is found before the first row is read.
    """
    log = structlog.get_logger().bind(channel=plan.channel)
    state = State(plan.state)
    listing_of(plan).files()
    state.lock(plan.channel, SUCCESSOR_WAIT_S)
    try:
        plan = registry.resolve(plan)
        created = topics.ensure(plan.recipe.producer, plan.topics, plan.create_topics)
        if created:
            log.info("topics created", topics=created)
        spark = session.start(plan.channel)
        try:
            session.lock_jvm(spark, state.path / "jvm", SUCCESSOR_WAIT_S)
            stopping = _on_signals(spark)
            log.info("integrating", state=str(state.path), topics=list(plan.topics), once=once)
            heart = Heart(state.path, plan.channel)
            if once:
                run(spark, plan, state, stopping, heart, once=True)
            else:
                starts = itertools.count()
                restarting(
                    lambda: _again(spark, plan, state, stopping, heart, after_failure=next(starts) > 0),
                    plan.restart,
                    state.last_file,
                    stopping,
                    lambda seconds: _rest(heart, seconds, stopping),
                    plan.channel,
                )
            heart.beat("ended")
            log.info("ended")
        finally:
            spark.stop()
    finally:
        state.unlock()


def _rest(heart: Heart, seconds: float, stopping: threading.Event) -> None:
    heart.rest(seconds, stopping, "resting")


def _again(
    spark: SparkSession, plan: Plan, state: State, stopping: threading.Event, heart: Heart, *, after_failure: bool
) -> None:
    """Integrate continuously or at the plan's times, when no task of a failed cycle is sending any more (I3)."""
    if stopping.is_set():
        return
    state.wait_for_senders(SUCCESSOR_WAIT_S)
    if plan.schedule.continuous:
        run(spark, plan, state, stopping, heart, once=False)
    else:
        run_scheduled(spark, plan, state, stopping, heart, at_once=after_failure or plan.schedule.on_start)


def _on_signals(spark: SparkSession) -> threading.Event:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    for name in ("TERM", "INT"):
        session.on_jvm_signal(spark, name, stopping.set)
    return stopping


def listing_of(plan: Plan) -> Listing:
    """Return where the change files of a plan are found."""
    return files.listing_of(plan.source, plan.delay)


def run_scheduled(
    spark: SparkSession, plan: Plan, state: State, stopping: threading.Event, heart: Heart, *, at_once: bool
) -> None:
    """Integrate what is there at the times of the plan's schedule, until `stopping` is set or no time is left.

    at_once: now, too, for it has just started, or what it should have done at its time failed.
    """
    log = structlog.get_logger().bind(channel=plan.channel)
    zone = ZoneInfo(plan.recipe.timezone)
    if at_once:
        run(spark, plan, state, stopping, heart, once=True)
    while not stopping.is_set():
        now = datetime.now(zone)
        at = plan.schedule.next(now)
        if at is None:
            return
        log.info("waiting", until=at.isoformat())
        left = at.timestamp() - now.timestamp()  # the difference of two readings of one zone's clock is another
        if not heart.rest(left, stopping, "waiting"):
            run(spark, plan, state, stopping, heart, once=True)


def run(spark: SparkSession, plan: Plan, state: State, stopping: threading.Event, heart: Heart, *, once: bool) -> None:
    """Run the stream of a locked channel until it is through (`once`), or until `stopping` is set.

    Raises IntegratorError, or what Spark itself failed with.
    """
    state.check_whole()
    journal = state.path / "files.jsonl"
    listing = listing_of(plan)
    mended = Journal(journal).renew(listing.files(), state.last_file())
    if mended:
        structlog.get_logger().info("change files mended", channel=plan.channel, files=mended)
    gate = _Gate(stopping)
    report = progress.reporter(plan.channel, plan.schedule.latency_s)

    def synced(done: Cycle) -> None:
        heart.synced(done.cycle)
        report(done)

    integrate_cycle = cycle(plan, state, spark.sparkContext.defaultParallelism, synced)
    runs = files.stream(spark, listing, journal, plan.cycle_bytes)
    writer = (
        runs.writeStream.queryName(plan.channel)
        .option("checkpointLocation", state.checkpoint)
        .foreachBatch(gate.around(integrate_cycle))
    )
    trigger = {"availableNow": True} if once else {"processingTime": f"{plan.source.poll_seconds} seconds"}
    query = writer.trigger(**trigger).start()
    while query.isActive and not stopping.is_set():
        heart.beat("integrating")
        time.sleep(_POLL_S)
    if stopping.is_set():
        gate.end_between_cycles(query, Path(state.checkpoint))
    _raise_failure(query, gate.error)


def _raise_failure(query: StreamingQuery, error: BaseException | None) -> None:
    failure = query.exception()
    if isinstance(error, _Ended):
        return
    if isinstance(error, IntegratorError):
        raise error
    if failure is not None:
        raise from_wire(str(failure)) or failure


class _Ended(Exception):
    """The end was asked for before this cycle began: Spark does not commit it, and the next start begins it."""


class _Gate:
    """Lets cycles through until the end is asked for; keeps the error that a cycle failed with."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._one = threading.Lock()
        self._last: int | None = None
        self.error: BaseException | None = None

    def around(self, integrate_cycle: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """Return `integrate_cycle`, behind the gate."""

        def integrate(batch: DataFrame, number: int) -> None:
            with self._one:
                if self._stopping.is_set():
                    self.error = _Ended()
                    raise self.error
                try:
                    integrate_cycle(batch, number)
                except BaseException as error:
                    self.error = error
                    raise
                self._last = number

        return integrate

    def end_between_cycles(self, query: StreamingQuery, checkpoint: Path) -> None:
        """Stop the query when the cycle that is being integrated, if any, is synced and committed."""
        with self._one:
            last = self._last
        while query.isActive and last is not None and not (checkpoint / "commits" / str(last)).exists():
            time.sleep(_POLL_S)
        query.stop()
