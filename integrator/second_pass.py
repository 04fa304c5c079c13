"""The second pass, on executors: ordered fragments -> framed messages -> acknowledged, and one Report a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.bundle import RowFraming
from integrator.errors import IntegratorError
from integrator.fragments import NOTE, Note
from integrator.produce.delivery import Delivery
from integrator.produce.producer import discard
from integrator.produce.report import Report
from integrator.produce.senders import sending
from integrator.recipe import Recipe

REPORT_DDL = "report string"
MAX_BATCH_ROWS = 2048
"""Rows framed at a time: with a kilobyte of schema text each, a few megabytes."""


def second_pass(recipe: Recipe, state: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the pass over batches of FRAGMENT rows, in the order to send, that gives one Report as JSON.

    `state` is the channel's state directory. A failed delivery is in the Report; other errors leave as wire text.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            with sending(state):
                try:
                    report = _deliver(batches, recipe)
                except BaseException:
                    discard(recipe.producer)  # nothing of a failed task is on its way when its lock is given back
                    raise
        except IntegratorError as error:
            raise RuntimeError(error.to_wire()) from None
        yield pa.RecordBatch.from_arrays([pa.array([report.to_json()])], names=["report"])

    return run


def _deliver(batches: Iterator[pa.RecordBatch], recipe: Recipe) -> Report:
    framing = RowFraming(recipe.tables, recipe)
    delivery = Delivery(recipe)
    notes: list[Note] = []
    operations: dict[str, int] = {}
    newest: int | None = None
    for batch in batches:
        is_note = pc.equal(batch["op"], NOTE)
        if pc.any(is_note).as_py():
            notes += [Note.of_json(text) for text in batch["payload"].filter(is_note).to_pylist()]
            fragments = batch.filter(pc.invert(is_note))
        else:
            fragments = batch
        if not fragments.num_rows:
            continue
        _count(fragments, operations)
        newest = max(newest or 0, pc.max(fragments["cap_tstamp"]).as_py() or 0) or None
        for start in range(0, fragments.num_rows, MAX_BATCH_ROWS):
            for messages in framing.messages(fragments.slice(start, MAX_BATCH_ROWS)):
                delivery.send(messages)
    return delivery.report(notes, operations, newest)


def _count(fragments: pa.RecordBatch, operations: dict[str, int]) -> None:
    """Count rows by topic and operation."""
    topics = fragments["topic"].dictionary_encode()
    codes = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64) * 8 + fragments["op"].to_numpy()
    for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
        name = f"{topics.dictionary[int(code) // 8].as_py()} {int(code) % 8}"
        operations[name] = operations.get(name, 0) + int(count)
