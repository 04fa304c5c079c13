"""The second pass, on executors: ordered fragments -> framed messages -> acknowledged, and one Report a task."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from integrator.contracts.fragments import (
    COUNTED,
    FILE_SUMMARY,
    REJECTED_OP,
    STREAM_END,
    FileSummary,
    StreamEnd,
    to_deferred,
)
from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report
from integrator.contracts.shards import Shards
from integrator.deliver.bundle import Bundler
from integrator.deliver.kafka.delivery import Delivery
from integrator.deliver.kafka.sender_lock import Senders
from integrator.deliver.kafka.transaction import Transaction
from integrator.errors import to_wire_error

REPORT_DDL = "report string, deferred binary"


def second_pass(
    recipe: Recipe, senders: Senders, tasks: int = 1, shards: Shards | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the pass over batches of FRAGMENT rows, in the order to send, that gives one Report as JSON.

    Beside it stand the rows that are deferred to the next cycle, and those of transactions. `senders` are the tasks of
    this try, and `tasks` how many send at once. shards: given where they send in transactions. A failed delivery is in
    the Report; other errors leave as wire text.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            # in transactions the brokers refuse what a task sends too late, on whichever machine it is (I3)
            with senders.sending() if shards is None else contextlib.nullcontext():
                transaction = None if shards is None else Transaction(recipe.send, shards, _shard())
                delivery = Delivery(recipe, tasks, transaction)
                try:
                    report, deferred = _deliver(batches, recipe, delivery)
                except BaseException:
                    delivery.discard()  # nothing of a failed task is on its way when its lock is given back
                    raise
        except Exception as error:  # noqa: BLE001 - those that nobody foresaw cross as defects
            raise to_wire_error(error, "the second pass") from None
        rows = [pa.array([report.to_json()]), pa.array([deferred], pa.binary())]
        yield pa.RecordBatch.from_arrays(rows, names=["report", "deferred"])

    return run


def _shard() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _deliver(batches: Iterator[pa.RecordBatch], recipe: Recipe, delivery: Delivery) -> tuple[Report, bytes]:
    bundler = Bundler(recipe)
    summaries: list[FileSummary] = []
    marks: list[bytes] = []
    of_transactions: list[pa.RecordBatch] = []
    operations: dict[str, int] = {}
    newest: int | None = None
    for batch in batches:
        fragments = batch
        if pc.any(pc.less(batch["op"], 0)).as_py():
            summaries += [
                FileSummary.of_json(text)
                for text in batch["payload"].filter(pc.equal(batch["op"], FILE_SUMMARY)).to_pylist()
            ]
            marks += batch["payload"].filter(pc.equal(batch["op"], STREAM_END)).to_pylist()
            of_transactions.append(batch.filter(pc.less_equal(batch["op"], COUNTED)))
            fragments = batch.filter(pc.greater_equal(batch["op"], 0))
        if not fragments.num_rows:
            continue
        _count(fragments, operations, 1)
        newest = max(newest or 0, pc.max(fragments["cap_tstamp"]).as_py() or 0) or None
        for messages in bundler.add(fragments):
            delivery.send(messages)
    for messages in bundler.end(StreamEnd.last(marks).unfinished):
        delivery.send(messages)
    for rows in bundler.deferred:
        _count(rows, operations, -1)
    deferred = sum(map(len, bundler.deferred))
    report = delivery.report(summaries, operations, newest)
    kept = [*bundler.deferred, *filter(len, of_transactions)]
    return replace(report, split=bundler.split, deferred=deferred), to_deferred(kept)


def _count(fragments: pa.RecordBatch, operations: dict[str, int], each: int) -> None:
    """Count rows by topic and operation."""
    topics = fragments["topic"].dictionary_encode()
    codes = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64) * 8 + fragments["op"].to_numpy()
    counts, names = np.bincount(codes), topics.dictionary.to_pylist()
    for code in np.flatnonzero(counts).tolist():
        if code % 8 != REJECTED_OP:
            name = f"{names[code // 8]} {code % 8}"
            operations[name] = operations.get(name, 0) + each * int(counts[code])
