"""The integrate job of one channel: one streaming query, ended at the end of a cycle, never in one."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from integrator.decode.dialects import DIALECTS
from integrator.errors import BegunOtherwise, DataError, EnvironmentFault, Found, IntegratorError, TooManyRejected
from integrator.plan import Plan
from integrator.run.after_cycle import AfterCycle
from integrator.run.beside import BESIDE, Beside
from integrator.run.cycle import cycle
from integrator.run.gate import CycleGate
from integrator.run.left_cycle import LeftCycle
from integrator.run.replanning import as_set_aside, keep, registered, replanned, resumed, without_table
from integrator.run.restart import Restarts, RetriedCycles, run_with_restarts
from integrator.run.resume import POLL_S, Waiting, forget_request
from integrator.run.seen import progress
from integrator.run.seen.cycle_log import CycleLog
from integrator.run.seen.failures import Failures
from integrator.run.seen.heartbeat import Heartbeat
from integrator.run.seen.observer import Observer
from integrator.run.spark import session, starting
from integrator.run.spark.failures import classify
from integrator.run.spark.steps import SparkSteps
from integrator.run.state import aside, consistency
from integrator.run.state.compaction import JournalCompaction
from integrator.run.state.directory import State
from integrator.run.state.marks import KEPT_CYCLES
from integrator.run.state.shards import CycleShards
from integrator.run.sub_cycles import Limits, SubCycles
from integrator.sources import stream as slices
from integrator.sources.contract import Feed, Opening
from integrator.sources.slices import Limit, SliceListing

SUCCESSOR_WAIT_S = 60.0
"""How long a successor waits for what a killed process left running."""
_POLL_S = 0.1


class Job:
    """Integrates one channel, whose lock it has from `prepare` to `close`."""

    def __init__(self, plan: Plan, stopping: threading.Event, observer: Observer | None = None) -> None:
        """Take a plan; `stopping` is set when the end is asked for."""
        self.plan, self._stopping, self._observer = plan, stopping, observer or Observer()
        self.state = State(plan.state)
        self.heart = Heartbeat(self.state.path, plan.channel, self._observer)
        self.failures = Failures(self.state.path, plan.channel, plan.secrets, self._observer)
        self.waiting = Waiting(self.state, self.heart, stopping, plan.channel)
        self._log = structlog.get_logger().bind(channel=plan.channel)
        self._feed = Feed()
        self._compaction = JournalCompaction(self.state, self._feed, plan.channel)
        self._restarts = Restarts(plan.restart, self.state.last_slice)
        self._jvms_lock: tuple[Any, Any] | None = None
        self._begun = self._receiving = False
        self._beside: list[Beside] = []
        self._left = LeftCycle(self.state)
        self._is_kept = self._is_resuming = False
        """Whether the state keeps what the plan's source knows, and whether tables are being resumed."""

    def prepare(self) -> None:
        """Take the channel's lock, and find what can be known to be wrong before the first row is read."""
        self.state.make()  # which says what is wrong with the directory; the source's own may be in it
        self.plan.changes.prepare(self.plan.recipe.read.path)
        self.state.lock(self.plan.channel, SUCCESSOR_WAIT_S)
        forget_request(self.state)
        self.plan = as_set_aside(self.plan, self.state)
        self._left.find(self.plan)
        self._open_feed()
        self.heart.continues_after(self.state.last_mark())
        self.plan = registered(self.plan, self.state)
        if not self._left.is_of_another_plan:
            self.keep()
        begun = (begin(self.state, lambda: self.plan, lambda: self._feed) for begin in BESIDE.values())
        self._beside = [*filter(None, begun)]
        for one in self._beside:
            one.start()

    def _open_feed(self) -> None:
        journal = consistency.check(self.state)
        there = self._listing().slices(journal.ends, Limit(most=1))
        opening = Opening(
            self.plan.channel, self.plan.recipe, journal, self.state.journal, there, KEPT_CYCLES, self.state.ends()
        )
        self._feed = self.plan.changes.open(opening)
        self._set_aside()
        self._compaction = JournalCompaction(self.state, self._feed, self.plan.channel)

    def close(self) -> None:
        """Give the channel back."""
        for one in self._beside:
            one.finish()
        self._feed.close()
        if self._jvms_lock is not None:
            session.unlock_jvm(self._jvms_lock)
            self._jvms_lock = None
        self.state.unlock()

    def integrate(self, spark: SparkSession, *, once: bool) -> None:
        """Integrate existing changes (`once`), or continue until the end is asked for; again after an error, too.

        Once, it continues after what is no failure yet: a Python process of Spark's that was late. Raises
        IntegratorError.
        """
        begun, self._begun = self._begun, True
        counting = Restarts.of_command if once else Restarts
        self._restarts = counting(self.plan.restart, self.state.last_slice)  # a resumed channel has all its tries
        if not begun:
            self._jvms_lock = session.lock_jvm(spark, self.state.path / "jvm", SUCCESSOR_WAIT_S)
        self._log.info("integrating", state=str(self.state.path), topics=list(self.plan.topics), once=once)
        if once and (reason := self.state.suspended) is not None:
            raise EnvironmentFault(f"channel {self.plan.channel} is suspended: {reason}; resume it first")
        if not once and not begun:
            self._receiving = True
            self._feed.start(self.state.last_slice())
        starts = itertools.count(int(begun))
        run_with_restarts(
            lambda: self._again(spark, once=once, after_failure=next(starts) > 0),
            self._restarts,
            self._stopping,
            lambda seconds: self.heart.rest(seconds, self._stopping, "resting"),
            self.failures.again,
        )
        self.heart.beat("ended")
        self._log.info("ended")

    def _again(self, spark: SparkSession, *, once: bool, after_failure: bool) -> None:
        """Integrate as was asked, or at the plan's times, when no task of a failed cycle is sending any more (I3)."""
        if self._stopping.is_set():
            return
        self.state.wait_for_senders(SUCCESSOR_WAIT_S)
        if once:
            self.run(spark, once=True)
        elif not self.plan.schedule.continuous:
            self.run_scheduled(spark, at_once=after_failure or self.plan.schedule.on_start)
        else:
            while not self._stopping.is_set():
                self.waiting.while_suspended()
                self.state.wait_for_senders(SUCCESSOR_WAIT_S)
                self.run(spark, once=False)

    def _listing(self) -> SliceListing:
        return self.plan.changes.listing(self.plan.recipe.read.path, 0 if self._is_resuming else self.plan.delay)

    def run_scheduled(self, spark: SparkSession, *, at_once: bool) -> None:
        """Integrate existing changes at the times of the plan's schedule, until the end, or until no time is left.

        at_once: now, too, for it has just started, or what it should have done at its time failed.
        """
        zone = ZoneInfo(self.plan.recipe.messages.timezone)
        if at_once:
            self.waiting.while_suspended()
            self.run(spark, once=True)
        while not self._stopping.is_set():
            now = datetime.now(zone)
            at = self.plan.schedule.next(now)
            if at is None:
                return
            self._log.info("waiting", until=at.isoformat())
            left = at.timestamp() - now.timestamp()  # the difference of two readings of one zone's clock is another
            if not self.heart.rest(left, self._stopping, "waiting", f"until {at.isoformat()}"):
                self.waiting.while_suspended()
                self.run(spark, once=True)

    def run(self, spark: SparkSession, *, once: bool) -> None:
        """Run the stream until all is integrated (`once`), until the end is asked for, or until it is suspended.

        Raises IntegratorError, or what Spark itself failed with.
        """
        if self._stopping.is_set():
            return
        adding = True
        while adding:
            with contextlib.ExitStack() as held:
                if not self._hold(held):
                    return
                self.state.begin_turn(SUCCESSOR_WAIT_S)
                try:
                    if self._resumes():
                        self._resume_tables(spark)
                    if once and not self._receiving:
                        self._feed.catch_up(self.state.last_slice())
                    self._run(spark, once=once)
                    adding = self._left.is_synced or (once and self._resumes())
                    if self._left.is_synced:
                        self.plan, self._is_kept = self._left.current(), False
                except BegunOtherwise:
                    plan = self._left.begun_by(self.plan)
                    if plan is None:
                        raise
                    self._send_by(plan)
                except (PySparkException, Py4JError, ConnectionError) as error:
                    raise classify(error) or consistency.of_checkpoint(self.state, error) or error from error

    def _resume_tables(self, spark: SparkSession) -> None:
        """Have tables be sent again that were set aside, where they can be now.

        First all is sent, without them, that was captured until now; then what is held of them; then what comes. So
        each has its changes in order (I3).
        """
        self._feed.synced(self.state.last_slice())
        made = resumed(self.plan, self.state)
        if self.plan.aside.keys() > made.aside.keys():
            self._feed.close()
            self._is_resuming = True
            try:
                self._run(spark, once=True)
                self._hand_back()
            finally:
                self._is_resuming = False
                self._open_feed()
                if self._receiving:
                    self._feed.start(self.state.last_slice())
            return
        for name in aside.requested(self.state.path):
            self._log.warning("a table is still set aside", table=name, why=made.aside.get(name, "it is not captured"))
        aside.forget_request(self.state.path)

    def _hand_back(self) -> None:
        """Have what is held of tables be sent next, where all that was captured is: else they are tried again."""
        journal = consistency.check(self.state)
        listing = self._listing()
        waiting = journal.untaken(listing.slices(journal.ends, Limit(most=1)), listing.number_of)
        if waiting or self.state.last_slice() < len(journal) or not self._feed.is_between:
            return
        made, kept = resumed(self.plan, self.state), aside.read(self.state.path)
        for name in [one for one in kept if one not in made.aside]:
            self._feed.hand_back(kept[name].held)
            self._log.info("a table is resumed", table=name)
        self.plan, self._is_kept = made, False
        aside.forget_request(self.state.path)

    def without_table(self, error: DataError) -> bool:
        """Have the table be set aside that a record of is wrong; return False where the channel stops instead."""
        is_of_one = error.place is not None and not isinstance(error, TooManyRejected)
        table = self.plan.changes.table_at(error.place) if error.place is not None and is_of_one else None
        plan = None if table is None else without_table(self.plan, self.state, table, str(error).splitlines()[0])
        if plan is not None:
            self.state.begin_turn(SUCCESSOR_WAIT_S)
            self.plan, self._is_kept = plan, False
        return plan is not None

    def _send_by(self, plan: Plan) -> None:
        """Have the left cycle sent by the plan that began it."""
        self.state.wait_for_senders(SUCCESSOR_WAIT_S)
        self._log.warning("the cycle is sent by the definitions with which it was begun", cycle=self.state.begun)
        self.plan = registered(plan, self.state)

    def learn(self, found: Found) -> None:
        """Have the plan know what records were found to have, when no task sends any more. Raises IntegratorError."""
        self.state.begin_turn(SUCCESSOR_WAIT_S)
        self.plan = replanned(self.plan, self.state, found)
        self._set_aside()

    def keep(self) -> None:
        """Keep what the source knows, once a cycle is begun by the plan: what was kept before is not needed then."""
        if not self._is_kept:
            keep(self.plan, self.state)
            self._set_aside()
            self._is_kept = True

    def _set_aside(self) -> None:
        """Have the feed hold the changes of the tables that the state has as set aside."""
        self._feed.set_aside([one.held for one in aside.read(self.state.path).values()])

    def _hold(self, held: contextlib.ExitStack) -> bool:
        """Hold what says that rows are sent, when no refresh does; return False if the end is asked for before."""
        reported = False
        while not self._stopping.is_set():
            try:
                held.enter_context(self.state.integrating(POLL_S))
            except EnvironmentFault as fault:
                if not reported:
                    self._log.info("waiting", reason=str(fault))
                reported = True
                self.heart.beat("waiting for a refresh")
            else:
                return True
        return False

    def _run(self, spark: SparkSession, *, once: bool) -> None:
        self._compaction.compact(self._listing().slices)
        self._note_refreshed()
        gate = CycleGate(self._ending)
        steps = SparkSteps(lambda seconds: self._observer.timed(self.plan.channel, seconds))
        synced = AfterCycle(self.plan, self.heart, self.failures, self._observer, self._feed, steps)

        def cores() -> int:
            found = int(spark.sparkContext.defaultParallelism)
            slices.note_cores(self.state.path, found)
            return found

        none = once or self.plan.delay or not session.is_local(spark)
        limits = Limits(0.0 if none else self.plan.origin.channel.latency.sub_cycles, self.plan.cycle_bytes)
        following = SubCycles(self.state, self._listing(), self._feed, limits, gate)

        def made(shards: CycleShards | None) -> Callable[[DataFrame, int], None]:
            return cycle(self.plan, self.state, cores, shards, synced, following)

        cycles = _Cycles(self, made, spark)
        retries = RetriedCycles(
            self._restarts,
            self._ending,
            self.failures.again,
            lambda: self.state.begin_turn(SUCCESSOR_WAIT_S),
        )
        integrate_cycle = retries.around(cycles.integrate)
        poll_s = 0.0 if following.are_possible else self.plan.changes.location.poll_seconds
        trigger = {"availableNow": True} if once else {"processingTime": f"{poll_s} seconds"}

        def stream() -> StreamingQuery:
            runs = slices.stream(spark, self._listing(), self.state.journal, self.plan.cycle_bytes)
            writer = runs.writeStream.queryName(self.plan.channel).option(
                "checkpointLocation", self.state.spark_checkpoint_uri
            )
            return writer.foreachBatch(gate.around(integrate_cycle)).trigger(**trigger).start()

        query = starting.start(stream, self._ending, lambda: self.heart.beat("starting"))
        try:
            if query is not None:
                self._watch(query, gate, retries, steps, synced.log, renewing=not once)
        finally:
            cycles.close()
            synced.log.close()

    def _watch(
        self,
        query: StreamingQuery,
        gate: CycleGate,
        retries: RetriedCycles,
        steps: SparkSteps,
        log: CycleLog,
        *,
        renewing: bool,
    ) -> None:
        """Wait for the query's end, or end it between two cycles when that is asked for, or the journal has grown.

        renewing: another stream follows, for which the journal is renewed. Raises what the query failed with.
        """
        ending, overdue = False, progress.Overdue(self.plan.channel)
        failed: IntegratorError | None = None
        while query.isActive and not (ending := self._ending() or (renewing and self._compaction.is_due())):
            failed = next(filter(None, (self._feed.failure(), *(one.failure for one in self._beside))), None)
            if failed is not None:
                ending = True
                break
            self.heart.beat("resting" if retries.resting.is_set() else "integrating", self._feed.away())
            overdue.check(gate.seconds)
            steps.report(query)
            log.write_due()
            time.sleep(_POLL_S)
        if ending:
            gate.end_between_cycles(query, Path(self.state.spark_checkpoint), lambda: self.heart.beat("integrating"))
        gate.raise_failure(query)
        steps.report(query)
        if failed is not None:
            raise failed

    def _note_refreshed(self) -> None:
        """Have the recipe know which tables were refreshed, and when, where positions order what comes after."""
        if DIALECTS[self.plan.recipe.read.dialect].commit_positions:
            read = dataclasses.replace(self.plan.recipe.read, refreshed=self.state.refreshed())
            self.plan = dataclasses.replace(self.plan, recipe=dataclasses.replace(self.plan.recipe, read=read))

    def shards(self, spark: SparkSession) -> CycleShards | None:
        """Return what divides cycles that are sent in transactions: exactly once, or by executors on other machines.

        There the senders' lock does not reach, and only the brokers can refuse what a task sends too late (I3).
        """
        if session.is_local(spark) and not self.plan.recipe.send.exactly_once:
            return None
        return CycleShards(self.state.path, self.plan.recipe, self.plan.topics, self.keep)

    def _ending(self) -> bool:
        is_asked = self.state.suspended is not None or self._resumes()
        return self._stopping.is_set() or is_asked or self._left.is_synced

    def _resumes(self) -> bool:
        """Whether tables are to be tried again now: not within a cycle, which is sent by the plan that began it (I10).

        Nor within a transaction, of which a part would be held, and the rest not.
        """
        is_asked = aside.is_requested(self.state.path) and not self._is_resuming and not self._stopping.is_set()
        return is_asked and self.state.suspended is None and not self.state.is_in_cycle and self._feed.is_between


class _Cycles:
    """The cycles of one stream. What one of them finds is learned, and it is sent by the plan that knows it."""

    def __init__(
        self, job: Job, made: Callable[[CycleShards | None], Callable[[DataFrame, int], None]], spark: SparkSession
    ) -> None:
        """Take a job. made: returns what sends a cycle by the job's plan."""
        self._job, self._made, self._spark = job, made, spark
        self._begin()

    def _begin(self) -> None:
        self._shards = self._job.shards(self._spark)
        if self._shards is None:  # nothing is recorded at the brokers, with which another plan would disagree
            self._job.keep()
        self._integrate = self._made(self._shards)

    def integrate(self, batch: DataFrame, number: int) -> None:
        """Send a cycle, again after each thing that it finds. Raises IntegratorError."""
        wrong: DataError | None = None
        while True:
            try:
                return self._integrate(batch, number)
            except Found as found:
                self.close()
                self._job.learn(found)
                self._begin()
            except DataError as error:
                self.close()
                if not self._job.without_table(error):
                    raise
                wrong = error
                self._begin()
            except BegunOtherwise:
                if wrong is None:
                    raise
                raise wrong from None  # a part of the cycle is committed, by the plan that has the table

    def close(self) -> None:
        """Give up what is connected to the brokers."""
        if self._shards is not None:
            self._shards.close()
