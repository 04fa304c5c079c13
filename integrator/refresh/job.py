"""A refresh of tables: the daemon waits, slices are sent, each is marked when acknowledged, and changes continue."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import structlog
from pyspark.sql import DataFrame, SparkSession

from integrator import registration
from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report
from integrator.contracts.shards import Shards
from integrator.deliver.kafka import topics
from integrator.deliver.kafka.sender_lock import Senders
from integrator.deliver.kafka.topic_limits import fitting
from integrator.errors import ConfigurationError, Problem, ProcessLate, TopicsFound
from integrator.plan import Plan
from integrator.refresh import bars, moment
from integrator.refresh import ledger as ledgers
from integrator.refresh.bars import Bars
from integrator.refresh.delivery import deliver
from integrator.refresh.expected import expected
from integrator.refresh.ledger import Ledger, RefreshRun
from integrator.refresh.rows import BEGINNING, Rows
from integrator.refresh.slices import Slice, slices_of
from integrator.refresh.tables import frame, quoting
from integrator.run.replanning import with_topics
from integrator.run.restart import Restarts, run_with_restarts
from integrator.run.spark import session
from integrator.run.state import shards
from integrator.run.state.directory import State
from integrator.run.state.sync import summed
from integrator.transform.expression import NO_SLICE, SliceOfTable

REASON = "refresh"
_WAIT_S = 600.0


@dataclass(frozen=True)
class Options:
    """What the command was given. tables: all, where none is named. online: the rows stand at the source's moment."""

    tables: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    parallel: int = 1
    truncate_record: bool = False
    select_moment: str | None = None
    online: bool = False
    anew: bool = False

    def settings(self) -> dict[str, Any]:
        """Return what must be the same to continue with an unfinished run."""
        return {
            "tables": list(self.tables),
            "slices": list(self.slices),
            "truncate_record": self.truncate_record,
            "select_moment": self.select_moment,
            "online": self.online,
        }


def refresh(plan: Plan, options: Options) -> dict[str, int]:
    """Send whole tables; return how many rows of each. Raises IntegratorError.

    An interrupted run continues: completed slices are not sent again.
    """
    options = _checked(plan, options)
    spark = session.start(f"{plan.channel} refresh", plan.tables_at.location.jars)
    try:
        return send(plan, options, spark)
    finally:
        spark.stop()


def send(plan: Plan, options: Options, spark: SparkSession) -> dict[str, int]:
    """Refresh in an existing Spark session. Returns and raises as `refresh`."""
    options = _checked(plan, options)
    state = State(plan.state)
    state.make()
    state.check_finished()
    plan = registration.resolve(plan.of_state(state.identity()))
    topics.ensure(plan.recipe.send.producer, plan.topics, plan.create_topics, plan.dead_letter_topic)
    plan = dataclasses.replace(plan, recipe=fitting(plan.recipe, plan.topics))
    while True:
        try:
            return _Refresh(plan, options, state, spark).run()
        except TopicsFound as found:
            plan, options = with_topics(plan, found), dataclasses.replace(options, anew=False)


def _checked(plan: Plan, options: Options) -> Options:
    """Return the options with the names of tables in the channel."""
    known = {table.table.name: table for table in plan.recipe.tables}
    names, problems = plan.named(options.tables)
    if options.truncate_record:
        others = [name for name, table in known.items() if table.style != "TimeKey" and name in (names or known)]
        problems += [f"--truncate-record is for TimeKey tables; {name} is none" for name in others]
    if problems:
        raise ConfigurationError([Problem("refresh", 0, "", text) for text in problems])
    return dataclasses.replace(options, tables=tuple(names))


class _Refresh:
    def __init__(self, plan: Plan, options: Options, state: State, spark: SparkSession) -> None:
        self._plan, self._options, self._state, self._spark, self._source = plan, options, state, spark, plan.tables_at
        self._log = structlog.get_logger().bind(channel=plan.channel)
        chosen = [table for table in plan.recipe.tables if table.table.name in (options.tables or {table.table.name})]
        self._tables = {table.table.name: table for table in chosen}
        self._in_source = [dataclasses.replace(table.in_source, name=name) for name, table in self._tables.items()]
        quote = quoting(self._source.database)
        self._slices = slices_of(self._in_source, options.slices, plan.conditions, quote)
        self._ledger = Ledger(state.path)
        self._progress = self._ledger.path / "rows"
        self._bars = Bars(self._slices, self._progress)
        in_transactions = plan.recipe.send.exactly_once or not session.is_local(spark)
        self._transactions = shards.known(state.path, plan.channel).name if in_transactions else None

    def run(self) -> dict[str, int]:
        """Send the slices that are not completed."""
        suspended, run = self._state.suspended, None
        if suspended is None:
            self._state.suspend(REASON)
        try:
            with self._state.integrating(_WAIT_S):
                self._hold_cycles()
                run = self._begin()
                try:
                    rows = self._integrate(run)
                except BaseException:
                    if not any(map(self._ledger.completed, self._slices)):
                        self._ledger.forget()
                    raise
        finally:
            self._continue(suspended, begun=run is not None)
        self._log.info("refreshed", rows=rows, moment=run.moment)
        return rows

    def _integrate(self, run: RefreshRun) -> dict[str, int]:
        """Send what is not completed, and write down that the run is ended; return how many rows each table has."""
        self._send(run)
        if run.online and run.moment is not None and self._options.truncate_record:
            # consumers start from an empty table; otherwise deletes before the moment would be lost
            self._state.mark_refreshed(dict.fromkeys(self._tables, run.moment))
        rows = dict.fromkeys(self._tables, 0)
        for part in self._slices:
            rows[part.table] += self._ledger.rows(part)
        self._ledger.end()
        return rows

    def _hold_cycles(self) -> None:
        """Have tasks of a killed process send nothing among the rows: where they send in transactions, no lock does."""
        if self._transactions is not None:
            cycles = shards.CycleShards(self._state.path, self._plan.recipe, self._plan.topics)
            try:
                cycles.hold()
            finally:
                cycles.close()

    def _continue(self, suspended: str | None, *, begun: bool) -> None:
        """Resume the daemon, unless somebody else suspended it or this run must be continued."""
        unfinished = begun and self._ledger.unfinished() is not None
        if unfinished:
            self._log.warning("not finished: run it again; until then the channel stays suspended")
        elif (suspended is None or (begun and suspended == REASON)) and self._state.suspended == REASON:
            self._state.resume()

    def _begin(self) -> RefreshRun:
        settings = self._options.settings()
        fingerprint = hashlib.sha256(
            repr((self._plan.recipe.fingerprint, self._source.location.model_dump(), self._slices)).encode()
        ).hexdigest()
        run = None if self._options.anew else self._ledger.unfinished()
        if run is not None:
            self._ledger.check(run, settings, fingerprint)
            done = sum(map(self._ledger.completed, self._slices))
            self._log.info("continues", started=run.started, completed=done, slices=len(self._slices))
            return run
        given = moment.given(self._options.select_moment) if self._options.select_moment else None
        if given is None and self._options.online:
            given = moment.of_database(self._spark, self._source)
        run = RefreshRun(settings, fingerprint, ledgers.now(), given, self._options.online)
        self._ledger.begin(run)
        return run

    def _send(self, run: RefreshRun) -> None:
        self._progress.mkdir(exist_ok=True)
        for path in self._progress.glob("*"):
            path.unlink()
        for part in filter(self._ledger.completed, self._slices):
            self._bars.complete(part, self._ledger.rows(part), earlier=True)
        if bars.are_seen():
            self._bars.expect(expected(self._spark, self._source, self._in_source))
        restarts = Restarts.of_command(self._plan.restart, lambda: sum(map(self._ledger.completed, self._slices)))
        with self._bars.shown():
            run_with_restarts(lambda: self._send_left(run), restarts, threading.Event(), time.sleep, self._again)

    def _again(self, error: BaseException, seconds: float) -> None:
        self._log.warning("a Python process was late, continues with what is left", error=str(error), seconds=seconds)

    def _send_left(self, run: RefreshRun) -> None:
        """Send the slices that are not completed, when no task of an earlier try is sending any more (I3).

        Raises ProcessLate where a process was late, when the slices that had begun have ended.
        """
        self._state.begin_turn(_WAIT_S)
        if self._options.truncate_record:
            self._truncate(run)
        stop, late = threading.Event(), list[ProcessLate]()
        left = [part for part in self._slices if not self._ledger.completed(part)]
        with ThreadPoolExecutor(self._options.parallel) as pool:
            futures = [pool.submit(self._slice, run, part, stop) for part in left]
            try:
                for future in as_completed(futures):
                    try:
                        future.result()
                    except ProcessLate as error:
                        stop.set()
                        late.append(error)
            except BaseException:  # SIGINT among them: no slice is begun any more
                stop.set()
                for future in futures:
                    future.cancel()
                self._spark.sparkContext.cancelAllJobs()
                raise
        if late:
            raise late[0]

    def _truncate(self, run: RefreshRun) -> None:
        """Send a truncate before the first rows of each table without a completed slice."""
        for name in self._tables:
            if not any(self._ledger.completed(part) for part in self._slices if part.table == name):
                self._deliver(self._spark.range(1).coalesce(1).toDF("id"), self._rows(run, name, 0))

    def _rows(self, run: RefreshRun, table: str, number: int, part: SliceOfTable = NO_SLICE) -> Rows:
        commit = run.moment or BEGINNING
        return Rows(_recipe(self._plan.recipe), table, number, commit, run.time, str(self._progress), part)

    def _slice(self, run: RefreshRun, part: Slice, stop: threading.Event) -> None:
        """Send a slice. A failure that ends the run stops the next one here: this thread is faster than who waits."""
        if stop.is_set():
            return
        try:
            self._send_slice(run, part)
        except ProcessLate:
            raise
        except BaseException:
            stop.set()
            raise

    def _send_slice(self, run: RefreshRun, part: Slice) -> None:
        started = time.monotonic()
        self._bars.begin(part)
        number = self._slices.index(part) + 1
        source = frame(self._spark, self._source, self._tables[part.table], part.condition)
        of_table = SliceOfTable(part.number, part.total, part.value)
        reports = self._deliver(source, self._rows(run, part.table, number, of_table))
        summaries = [summary for report in reports for summary in report.summaries]
        rows, messages = sum(summary.rows for summary in summaries), sum(report.messages for report in reports)
        seconds = time.monotonic() - started
        counted = {name: summed(getattr(summary, name) for summary in summaries) for name in ("not_sent", "warnings")}
        counts_given = {name: counts for name, counts in counted.items() if counts}
        self._ledger.mark(
            part, {"rows": rows, "messages": messages, "seconds": round(seconds, 3), **counts_given}
        )  # I1
        self._bars.complete(part, rows)
        rate = round(rows / seconds) if seconds else 0
        self._log.info(
            "slice sent", slice=part.name, rows=rows, messages=messages, rows_per_second=rate, **counts_given
        )

    def _deliver(self, source: DataFrame, rows: Rows) -> list[Report]:
        """Send rows; in transactions, where executors are on other machines or cycles are sent so, too."""
        name = f"{self._transactions}-refresh-{rows.table}-{rows.number}"
        of_slice = None if self._transactions is None else Shards(name)
        return deliver(source, rows, Senders.now(self._state.path), max(1, self._options.parallel), of_slice)


def _recipe(recipe: Recipe) -> Recipe:
    """Return how rows of a refresh are bundled: there are no transactions (HVR: TRANSACTION is as THRESHOLD)."""
    bundling = recipe.messages.layout.bundling
    if bundling.mode != "TRANSACTION":
        return recipe
    layout = dataclasses.replace(recipe.messages.layout, bundling=dataclasses.replace(bundling, mode="THRESHOLD"))
    return dataclasses.replace(recipe, messages=dataclasses.replace(recipe.messages, layout=layout))
