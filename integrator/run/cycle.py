"""The cycle: one micro-batch, one Spark job, one sync."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from integrator.contracts.fragments import FRAGMENT_DDL
from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report
from integrator.deliver.kafka.sender_lock import Senders
from integrator.deliver.kafka.unacknowledged import Reasons
from integrator.durable import Damaged
from integrator.errors import DeliveryError
from integrator.plan import Plan
from integrator.prefetch import prefetch
from integrator.run.passes import transactions
from integrator.run.passes.first_pass import first_pass
from integrator.run.passes.second_pass import REPORT_DDL, second_pass
from integrator.run.refusals import Refusals
from integrator.run.spark.failures import classify
from integrator.run.state import consistency
from integrator.run.state.directory import State
from integrator.run.state.shards import CycleShards
from integrator.run.state.spark_checkpoint import SparkCheckpoint
from integrator.run.state.sync import Cycle, check_acknowledged


def cycle(
    plan: Plan,
    state: State,
    tasks: Callable[[], int],
    shards: CycleShards | None,
    synced: Callable[[Cycle], None],
) -> Callable[[DataFrame, int], None]:
    """Return what Spark calls with each micro-batch of runs. It returns only when the cycle is synced.

    `tasks` returns how many can send at once; `shards` divides cycles that are sent in transactions; `synced` is called
    with each synced cycle. Raises IntegratorError.
    """
    checkpoint = SparkCheckpoint(Path(state.spark_checkpoint))
    reasons, refusals = Reasons(plan.recipe.send.producer, plan.topics), Refusals(plan.recipe)
    of_driver = int(plan.recipe.counts_transactions)  # the shard of messages of transactions

    def integrate(runs: DataFrame, number: int) -> None:
        started = time.monotonic()
        last_slice = consistency.check_cycle(state, number)
        if state.marks.has(number):  # by a process that died before Spark's commit: all of it is acknowledged
            return
        try:
            before = state.checkpoint(number, plan.recipe.fingerprint)
            moment = checkpoint.moment(number)
        except Damaged as damaged:
            raise consistency.fault(state, str(damaged)) from damaged
        in_one, cores = runs.rdd.getNumPartitions() == 1, tasks()
        count, of_cycle = 1 if in_one else cores, None
        if shards is not None:
            of_cycle = shards.begin(number, state.digest(last_slice), moment, count + of_driver)
            if state.marks.has(number):  # by a process that had the channel until `begin` took it over
                return
        if of_cycle is not None and of_cycle.record is not None:  # as in the first try, wherever that was
            count, moment = of_cycle.record.count - of_driver, of_cycle.record.began
        alone = in_one and count == 1
        first = first_pass(plan.recipe, before, moment, plan.changes.reader, decode_ahead=alone)
        senders = Senders.now(state.path)
        second = second_pass(refusals.recipe, senders, count, of_cycle)
        if not alone:
            fragments = runs.mapInArrow(first, FRAGMENT_DDL)
            reported = in_order(fragments, count, plan.recipe).mapInArrow(second, REPORT_DDL)
        else:  # one ordered run: in order already, and both passes in one task
            reported = runs.mapInArrow(lambda batches: second(prefetch(first(batches))), REPORT_DDL)
        prepared = time.monotonic()
        reports, deferred = _collected(reported)
        sent = time.monotonic()
        refusals.check(
            reports,
            f"cycle {number}",
            lambda recipe: runs.mapInArrow(first_pass(recipe, before, moment, plan.changes.reader), FRAGMENT_DDL),
        )
        if of_driver and all(report.error is None for report in reports):
            held, report = transactions.sent(plan.recipe, senders, of_cycle, deferred)
            reports, deferred = [*reports, report], [held]
        try:
            done = check_acknowledged(number, reports, before, moment, time.monotonic() - started, deferred)
        except DeliveryError as error:
            raise reasons.explained(error) from None
        reasons.forget()
        refusals.forget()
        if done.checkpoint.ordinal != last_slice:
            raise RuntimeError(
                f"cycle {number}: ends with file {last_slice}, and was read to {done.checkpoint.ordinal}"
            )  # I4
        if not state.marks.has(number):  # else by another process, which had the channel while this one was paused
            state.mark(done, plan.recipe.fingerprint)  # I1
        steps = {"prepare": prepared - started, "send": sent - prepared, "mark": time.monotonic() - sent}
        synced(dataclasses.replace(done, steps=steps))

    return integrate


def _collected(reported: DataFrame) -> tuple[list[Report], list[bytes]]:
    """Run Spark's job; return the reports of its tasks, and what they defer."""
    try:
        rows = reported.collect()
    except PySparkException as error:
        raise classify(error) or error from None
    return [Report.of_json(row.report) for row in rows], [bytes(row.deferred) for row in rows]


def in_order(fragments: DataFrame, tasks: int, recipe: Recipe) -> DataFrame:
    """Bring all changes of a key, or of a topic whose messages have none, into one task, in source order (I3).

    Where messages have partitions of their own, all changes of a partition come into one task, whatever their keys.
    """
    by = [f.col("topic")]
    if recipe.by_partition:
        by += [f.col("partition"), f.when(f.col("partition").isNull(), f.col("key"))]
    elif not recipe.messages.layout.bundling.keyless:
        by.append(f.col("key"))
    return fragments.repartition(tasks, *by).sortWithinPartitions("integ_seq", "rank")
