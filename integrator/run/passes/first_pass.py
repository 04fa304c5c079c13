"""The first pass, on executors: runs (files) -> change rows -> columns -> encoded fragments, all in Arrow."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import FEW_ROWS, mask
from integrator.contracts.change_batch import ChangeBatch, joined
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import (
    DEAD,
    FILE_BITS,
    SEED_BITS,
    Checkpoint,
    FileSummary,
    StreamEnd,
    StreamSummary,
    seed_of,
)
from integrator.contracts.recipe import Recipe
from integrator.contracts.sequence import OpenTransaction
from integrator.contracts.streams import PositionRange, Source, check_ascends
from integrator.decode.contract import Batch, File
from integrator.decode.rejects import rejected_by
from integrator.decode.unknown_columns import Finds
from integrator.encode.batch import encoders_of
from integrator.encode.table import Encoded
from integrator.errors import DataError, IntegratorError, to_wire_error
from integrator.prefetch import prefetch
from integrator.run.passes.decoding import Decoding, JoinedFiles, Part
from integrator.run.passes.rejects import Rejects
from integrator.run.passes.transactions import TransactionCounts
from integrator.sources.contract import SliceReader
from integrator.sources.slices import TaskSlice
from integrator.transform.expression import RunClock
from integrator.transform.fill_missing import null_before
from integrator.transform.update_pairs import UpdatePairs, last_place

Pass = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def first_pass(
    recipe: Recipe, checkpoint: Checkpoint, now: datetime, reader: SliceReader, *, decode_ahead: bool = False
) -> Pass:
    """Return the pass from batches of TASK_SLICES rows to batches of FRAGMENT rows, and a FileSummary for each slice.

    Small slices that are read as one have one summary. decode_ahead: decoding has a thread of its own, for a task that
    has several cores. An IntegratorError leaves it as a RuntimeError with the error's wire text, which Spark hands to
    the driver.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = _Task(recipe, checkpoint, now, reader, decode_ahead=decode_ahead)
        try:
            yield from task.fragments(batches)
            freeze_modules()
        except Exception as error:  # noqa: BLE001 - those that nobody foresaw cross as defects
            place = task.file or "before the first file"
            raise to_wire_error(error, f"the first pass, {place}", hidden=recipe.masks) from None

    return run


@lru_cache(maxsize=1)
def freeze_modules() -> None:
    """Take the process's objects out of garbage collection after its first task: they are modules and what is kept.

    PySpark collects garbage after each task, which is 70 ms for them all, and the next cycle waits for it.
    """
    gc.freeze()


class _Task:
    """One Spark task: consecutive files, in order."""

    def __init__(
        self, recipe: Recipe, checkpoint: Checkpoint, now: datetime, reader: SliceReader, *, decode_ahead: bool
    ) -> None:
        self._recipe, self._checkpoint, self._decode_ahead = recipe, checkpoint, decode_ahead
        self._now, self._seed = now, seed_of(checkpoint, now) << SEED_BITS
        self._decoding = Decoding(recipe, checkpoint, reader)
        self._encoders = encoders_of(recipe)
        self._rejects = Rejects(recipe) if recipe.tolerance.rejects else None
        self._transactions = TransactionCounts(recipe)
        self._added = {table.in_source.name: table.added for table in recipe.tables if table.added}
        topics = {table.topic for table in recipe.tables if not table.message_topic or len(recipe.tables) == 1}
        one_each = len(topics) == len(recipe.tables) and not recipe.messages.oversized.dead_letters
        self._by_topic = recipe.messages.layout.bundling.mode == "ROW" and one_each
        """Rows of several topics have no order among each other, and those of a table are in order."""
        self._last: tuple[int, OpenTransaction] | None = None
        self._rows, self._place, self._resumed = 0, 0, 0
        self._counters = CycleCounters()
        self._file: File | None = None
        self._pairs: UpdatePairs | None = None
        self._of_run, self._sources = dict[str, PositionRange](), dict[str, Source]()
        """The positions of the file, or of those that are read as one, by stream."""
        self._spans = dict(checkpoint.spans)

    @property
    def file(self) -> str:
        """The file that is being decoded, or was decoded last."""
        return self._decoding.file

    def fragments(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decoded = self._decoding.each(batches)
        for run, part in prefetch(decoded) if self._decode_ahead else decoded:
            yield from self._of_part(run, part)
        if self._recipe.messages.layout.bundling.mode == "TRANSACTION" and self._last is not None:
            mark = StreamEnd(self._last[0], self._last[1].unfinished)
            yield mark.to_fragments(sorted({table.topic for table in self._recipe.tables}))

    def _of_part(self, run: TaskSlice, part: Part) -> Iterator[pa.RecordBatch]:
        match part:
            case File():
                yield from self._begun(run, part)
            case Batch():
                yield from self._of_batch(run, part)
            case OpenTransaction():
                yield from self._ended((run,), {run.stream: part})
            case JoinedFiles():
                fragments = self._of_joined(part)
                if fragments is not None:
                    yield from fragments
                else:
                    for one, of_one in part.divided():
                        yield from self._of_part(one, of_one)

    def _of_joined(self, files: JoinedFiles) -> list[pa.RecordBatch] | None:
        """Return the fragments of small files that were decoded as one, and their summary.

        None where an error, a log line or a dead letter has to name the file of a row: then they are decoded again,
        fewer of them at once.
        """
        if files.divides_updates:
            return None
        fragments = list(self._begun(files.runs[0], files.file))
        try:
            for batch in files.batches:
                fragments += self._of_batch(files.runs[0], batch, is_joined=True)
        except IntegratorError:
            return None  # raised again, with its file and line, where the files are decoded one by one
        dead = any(pc.any(pc.equal(batch["shape"], DEAD)).as_py() for batch in fragments)
        rejected = self._rejects is not None and self._rejects.found
        if dead or rejected or self._counters.details or (self._pairs and self._pairs.held):
            return None
        return [*fragments, *self._ended(files.runs, files.open)]

    def _begun(self, run: TaskSlice, file: File) -> Iterator[pa.RecordBatch]:
        """Begin a file; yield the rows that the cycle before deferred, before those of the first."""
        deferred = self._checkpoint.deferred_rows() if run.ordinal == self._checkpoint.ordinal + 1 else []
        yield from deferred
        self._rows, self._place, self._counters = 0, 0, CycleCounters()
        self._resumed = self._checkpoint.waiting if deferred else 0
        self._transactions.begin()
        self._file = file
        if self._rejects is not None:
            self._rejects.begin(file)
        self._of_run, self._sources = {}, {}
        self._pairs = UpdatePairs() if self._recipe.paired or self._rejects is not None else None

    def _of_batch(self, run: TaskSlice, batch: Batch, *, is_joined: bool = False) -> Iterator[pa.RecordBatch]:
        for name, end in batch.ends.items():
            stream, dialect = name or run.stream, end.span.dialect or self._recipe.read.dialect
            self._of_run[stream] = end.span._replace(dialect=dialect)
            self._followed(stream, run.path)  # I3: before its rows are sent
        clock = RunClock(self._now, self._seed + (run.ordinal - self._checkpoint.ordinal << FILE_BITS), self._place)
        self._rows += len(batch.changes)
        if self._rejects is not None:
            self._rejects.add(run.path, batch.rejected, batch.changes)
        changes = self._to_send(batch.changes, run.ordinal)
        if self._rejects is not None:
            changes = self._rejects.whole_updates(changes)
        tables = changes.tables
        encoded = self._encoded(changes, clock, tolerant=not is_joined)
        once = len(set(tables)) == len(tables)  # not by two names in one block
        fragments = _topic_by_topic(encoded) if self._by_topic and once else _in_source_order(encoded)
        yield from self._transactions.counted(fragments, batch.transactions)
        self._place += last_place(batch.changes) + 1
        self._sources = dict(batch.sources)
        for reason, count in batch.ignored.items():
            self._counters.skipped(reason, count)
        for reason, count in batch.unknown.items():
            self._counters.coerced(reason, count)

    def _encoded(self, changes: ChangeBatch, clock: RunClock, *, tolerant: bool) -> Iterable[Encoded]:
        if self._rejects is None or not tolerant:
            return self._encoders.encode(changes, clock, self._counters)
        return self._rejects.encoded(self._encoders, changes, clock, self._counters)

    def _followed(self, stream: str, path: str) -> PositionRange:
        """Return the positions of the stream after the file, which must be after those before. Raises DataError."""
        return check_ascends(self._spans.get(stream, PositionRange()), self._of_run.get(stream, PositionRange()), path)

    def _ended(self, runs: Sequence[TaskSlice], ends: Mapping[str, OpenTransaction]) -> Iterator[pa.RecordBatch]:
        """Yield the dead letters of a file, or of files that were read as one, and their summary."""
        rejected = yield from self._rejected(runs[-1])
        yield from self._transactions.rows()
        if self._file is not None and (lost := self._file.lost):
            self._counters.coerced("records lost: deleted before they were read", lost)
        self._last = (runs[-1].ordinal, ends[runs[-1].stream])
        streams = {}
        for run in runs:
            span = self._of_run.get(run.stream, PositionRange())
            streams[run.stream] = StreamSummary(run.ordinal, run.path, ends[run.stream], span)
        for stream, one in streams.items():
            self._spans[stream] = self._followed(stream, one.path)
        yield FileSummary(
            max(run.ordinal for run in runs),
            self._rows,
            streams,
            self._counters.not_sent,
            self._resumed,
            self._counters.warnings,
            self._counters.details,
            runs[0].path,
            self._sources,
            **rejected,
            files=len(runs),
        ).to_fragment()

    def _rejected(self, run: TaskSlice) -> Generator[pa.RecordBatch, None, dict[str, Any]]:
        """Yield the dead letters of a file, and return what its summary has of them."""
        try:
            if self._pairs:
                self._pairs.end()
        except DataError as error:
            if self._rejects is None:
                raise
            self._rejects.add(run.path, rejected_by(error, run.path, "TRANSFORMATION"))
        if self._rejects is None:
            return {}
        yield from self._rejects.dead_letters()
        return self._rejects.summary()

    def _to_send(self, changes: ChangeBatch, ordinal: int) -> ChangeBatch:
        """Return the changes of a file that are to be sent now, and as they are to be."""
        if self._added and len(changes):
            changes = self._with_added(changes, ordinal)
        if self._pairs is not None and not self._pairs.are_whole(changes):
            changes = self._pairs.whole(changes)
        if not (self._recipe.read.refreshed and len(changes)):
            return changes
        return joined([_after_refresh(part, self._recipe, self._counters) for part in changes.split_by_table()])

    def _with_added(self, changes: ChangeBatch, ordinal: int) -> ChangeBatch:
        """Return the changes of a file with null in added columns where these had not come yet."""
        finds, parts = Finds(), []
        for part in changes.split_by_table():
            with finds.noted():
                parts.append(null_before(part, self._added.get(part.tables[0], ()), ordinal))
        finds.report()
        return joined(parts)


def _after_refresh(changes: ChangeBatch, recipe: Recipe, counters: CycleCounters) -> ChangeBatch:
    """Leave out the changes that the table's rows had already when it was refreshed."""
    refreshed = dict(recipe.read.refreshed).get(changes.tables[0])
    if refreshed is None:
        return changes
    before = mask(pc.less_equal(changes.tx_seq, refreshed))
    if before.any():
        counters.skipped("changes before the refresh", int(before.sum()))
    return changes.filter(~before)


def _topic_by_topic(parts: Iterable[Encoded]) -> Iterator[pa.RecordBatch]:
    """Yield fragments of tables with topics of their own as they arrive, small ones together."""
    small: list[pa.RecordBatch] = []
    for fragments, _ in parts:
        if fragments.num_rows >= FEW_ROWS:
            yield fragments
        elif fragments.num_rows:
            small.append(fragments)
    if small:
        yield from pa.Table.from_batches(small).combine_chunks().to_batches()


def _in_source_order(parts: Iterable[Encoded]) -> Iterator[pa.RecordBatch]:
    """Yield the fragments of a batch in the order of its records, so that a cycle of one run needs no sorting (I3)."""
    parts = [(fragments, order) for fragments, order in parts if fragments.num_rows]
    if parts:
        order = np.concatenate([order for _, order in parts])
        together = pa.Table.from_batches([fragments for fragments, _ in parts])
        if (np.diff(order) < 0).any():
            together = together.combine_chunks().take(pa.array(np.argsort(order, kind="stable")))
        yield from together.to_batches()
