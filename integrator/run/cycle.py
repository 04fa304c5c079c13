"""The cycle: one micro-batch, one Spark job, one sync; and the sub-cycles that follow it, without a job for each."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame

from integrator.contracts.fragments import Checkpoint
from integrator.contracts.shards import Shards, Step
from integrator.deliver.kafka.sender_lock import Senders
from integrator.deliver.kafka.unacknowledged import Reasons
from integrator.durable import Damaged
from integrator.errors import DeliveryError
from integrator.plan import Plan
from integrator.run.gate import EndedError
from integrator.run.passes import transactions
from integrator.run.passes.first_pass import first_pass
from integrator.run.passes.second_pass import second_pass
from integrator.run.refused_messages import Refusals
from integrator.run.runs import OwnRuns, Runs, SparkRuns
from integrator.run.state import consistency
from integrator.run.state.directory import State
from integrator.run.state.shards import CycleShards
from integrator.run.state.spark_checkpoint import SparkCheckpoint
from integrator.run.state.sync import Cycle, check_acknowledged
from integrator.run.sub_cycles import SubCycle, SubCycles


def cycle(
    plan: Plan,
    state: State,
    tasks: Callable[[], int],
    shards: CycleShards | None,
    synced: Callable[[Cycle], None],
    following: SubCycles,
) -> Callable[[DataFrame, int], None]:
    """Return what Spark calls with each micro-batch of runs. It returns only when the cycle is synced.

    `tasks` returns how many can send at once; `shards` divides cycles that are sent in transactions; `synced` is called
    with each synced cycle, and sub-cycle. following: finds the sub-cycles. Raises IntegratorError.
    """
    return _Cycles(plan, state, tasks, shards, synced, following).integrate


class _Cycles:
    """The cycles of one stream, see `cycle`."""

    def __init__(
        self,
        plan: Plan,
        state: State,
        tasks: Callable[[], int],
        shards: CycleShards | None,
        synced: Callable[[Cycle], None],
        following: SubCycles,
    ) -> None:
        self._plan, self._state, self._tasks, self._shards = plan, state, tasks, shards
        self._synced, self._following = synced, following
        self._checkpoint = SparkCheckpoint(Path(state.spark_checkpoint))
        self._sender = _Sender(plan, state)

    def integrate(self, rows: DataFrame, number: int) -> None:
        """Send a cycle, and the sub-cycles that follow it. Raises IntegratorError."""
        started, state = time.monotonic(), self._state
        planned = consistency.check_cycle(state, number)
        if state.marks.has(number):  # by a process that died before Spark's commit: all of it is acknowledged
            return
        try:
            before = state.checkpoint(number, self._plan.recipe.fingerprint)
            moment = self._checkpoint.moment(number)
            left = self._following.left(before.ordinal)
        except Damaged as damaged:
            raise consistency.fault(state, str(damaged)) from damaged
        if left is not None:
            before = self._sub_cycle(left, before)  # which was begun, and not synced (I2)
            if self._following.is_ending:  # another plan may be due
                raise EndedError
        done = self._planned(rows, number, (before, moment), (planned, started))
        if done is None:
            return
        self._mark(done, lambda: state.mark(done, self._plan.recipe.fingerprint))
        before = done.checkpoint
        for one in self._following.each(before.ordinal):
            before = self._sub_cycle(one, before)

    def _planned(
        self, rows: DataFrame, number: int, begins: tuple[Checkpoint, datetime], to: tuple[int, float]
    ) -> Cycle | None:
        """Return the cycle that Spark has planned, all of which is acknowledged; None where another process has it.

        begins: where the cycle begins, and when that was. to: the number of its last slice, and when this try began.
        """
        (before, moment), (planned, started), state = begins, to, self._state
        if planned <= before.ordinal:  # all of it was sent by sub-cycles
            return dataclasses.replace(Cycle.of_nothing(number, before, time.monotonic() - started), planned=planned)
        in_one, cores = rows.rdd.getNumPartitions() == 1, self._tasks()
        few = self._following.planned(before.ordinal, planned)
        asked = 1 if in_one or few is not None else cores
        steps = (number, 0), state.marks.begun_before(number)
        shards, moment, count = self._begun(steps, planned, moment, asked)
        if state.marks.has(number):  # by a process that had the channel until it was taken over
            return None
        of_spark = SparkRuns(rows, self._plan.recipe, count, alone=in_one and count == 1)
        runs = of_spark if few is None or count > 1 else OwnRuns(few)
        done = self._sender.sent(number, runs, (before, moment), shards, started)
        _check_end(done, planned)
        return dataclasses.replace(done, planned=planned)

    def _begun(
        self, steps: tuple[Step, Step], end: int, moment: datetime, tasks: int
    ) -> tuple[Shards | None, datetime, int]:
        """Return how a step is sent, when it began, and by how many tasks: as in its first try, wherever that was.

        steps: it, and the one that was begun and synced last. end: the number of its last slice. What is sent without
        transactions is not at the brokers, and is as it is given.
        """
        if self._shards is None:
            return None, moment, tasks
        of_driver, digest = self._sender.of_driver, self._state.digest(end)
        shards, record = self._shards.begin(*steps, digest, moment, tasks + of_driver)
        return shards, record.began, record.count - of_driver

    def _sub_cycle(self, one: SubCycle, before: Checkpoint) -> Checkpoint:
        """Send a sub-cycle, and have the last mark say so; return where the next one begins."""
        started = time.monotonic()
        last = self._state.marks.read(self._state.marks.cycles()[-1])
        steps = (last.cycle, last.part + 1), self._state.marks.begun_before(last.cycle + 1)
        shards, moment, _ = self._begun(steps, one.end, one.moment, 1)
        done = self._sender.sent(last.cycle, OwnRuns(one.rows), (before, moment), shards, started)
        _check_end(done, one.end)
        self._mark(done, lambda: self._state.mark_more(done, self._plan.recipe.fingerprint))
        return done.checkpoint

    def _mark(self, done: Cycle, mark: Callable[[], None]) -> None:
        """Have what is acknowledged be marked (I1), and report it."""
        began = time.monotonic()
        if done.planned is None or not self._state.marks.has(done.cycle):  # else by another process meanwhile
            mark()
        self._synced(dataclasses.replace(done, steps=done.steps | {"mark": time.monotonic() - began}))


def _check_end(done: Cycle, end: int) -> None:
    if done.checkpoint.ordinal != end:
        raise RuntimeError(f"cycle {done.cycle}: ends with file {end}, and was read to {done.checkpoint.ordinal}")  # I4


class _Sender:
    """Sends runs by a channel's plan. of_driver: how many shards the driver has, of messages of transactions."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._plan, self._state, self.of_driver = plan, state, int(plan.recipe.counts_transactions)
        self._reasons = Reasons(plan.recipe.send.producer, plan.topics)
        self._refusals = Refusals(plan.recipe)

    def sent(
        self, number: int, runs: Runs, begins: tuple[Checkpoint, datetime], shards: Shards | None, started: float
    ) -> Cycle:
        """Return runs as a synced cycle, all of which is acknowledged. Raises IntegratorError.

        begins: where they begin, and when that was. started: when it was, by the monotonic clock.
        """
        (before, moment), recipe = begins, self._plan.recipe
        count = runs.count
        reader, senders = self._plan.changes.reader, Senders.now(self._state.path)
        first = first_pass(recipe, before, moment, reader, decode_ahead=runs.alone)
        second = second_pass(self._refusals.recipe, senders, count, shards)
        prepared = time.monotonic()
        reports, deferred = runs.sent(first, second)
        sent = time.monotonic()
        self._refusals.check(
            reports, f"cycle {number}", lambda seeking: runs.read(first_pass(seeking, before, moment, reader))
        )
        if self.of_driver and all(report.error is None for report in reports):
            held, report = transactions.sent(recipe, senders, shards, deferred)
            reports, deferred = [*reports, report], [held]
        try:
            done = check_acknowledged(number, reports, before, moment, sent - started, deferred)
        except DeliveryError as error:
            raise self._reasons.explained(error) from None
        self._reasons.forget()
        self._refusals.forget()
        return dataclasses.replace(done, steps={"prepare": prepared - started, "send": sent - prepared})
