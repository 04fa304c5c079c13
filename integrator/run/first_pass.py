"""The first pass, on executors: runs (files) -> change rows -> columns -> encoded fragments, all in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import FEW_ROWS, mask
from integrator.contracts.changes import AnyChanges, Changes, OpenTransaction, null_before
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import FILE_BITS, SEED_BITS, Checkpoint, FileSummary, StreamEnd, seed_of
from integrator.contracts.recipe import Recipe
from integrator.contracts.streams import Source, Span, following
from integrator.decode.contract import Batch, Reading
from integrator.decode.dialects import DIALECTS
from integrator.decode.positions import ENDED
from integrator.decode.rejects import rejected_by
from integrator.decode.unknown_columns import Finds
from integrator.encode.batch import Encoded, encoders_of
from integrator.errors import ColumnsFound, DataError, EnvironmentFault, crossing
from integrator.expressions.parse import depends_on
from integrator.run.prefetch import prefetch
from integrator.run.rejects import Rejects
from integrator.sources.file_slices import FileSlice, check_unchanged
from integrator.transform.expression import RunClock
from integrator.transform.update_pairs import UpdatePairs, last_place

Pass = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def first_pass(recipe: Recipe, checkpoint: Checkpoint, now: datetime, *, decode_ahead: bool = False) -> Pass:
    """Return the pass from batches of FILE_SLICE rows to batches of FRAGMENT rows, and a FileSummary for each file.

    decode_ahead: decoding has a thread of its own, for a task that has several cores.
    An IntegratorError leaves it as a RuntimeError with the error's wire text, which Spark hands to the driver.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = _Task(recipe, checkpoint, now, decode_ahead=decode_ahead)
        try:
            yield from task.fragments(batches)
        except Exception as error:  # noqa: BLE001 - those that nobody foresaw cross as defects
            hidden = any(table.masked for table in recipe.tables)
            raise crossing(error, f"the first pass, {task.reading or 'before the first file'}", hidden=hidden) from None

    return run


class _Task:
    """One Spark task: consecutive files, in order."""

    def __init__(self, recipe: Recipe, checkpoint: Checkpoint, now: datetime, *, decode_ahead: bool) -> None:
        self._recipe, self._checkpoint, self._decode_ahead = recipe, checkpoint, decode_ahead
        self._now, self._seed = now, seed_of(checkpoint, now) << SEED_BITS
        self._dialect = DIALECTS[recipe.read.dialect]
        self._reading = reading_of(recipe, tuple(checkpoint.sources.items()))
        self._encoders = encoders_of(recipe)
        self._before: list[FileSlice] = []
        self._rejects = Rejects(recipe) if recipe.tolerance.rejects else None
        self._open: dict[str, OpenTransaction] = {}
        """The transaction that is open in each stream before its next record."""
        self._added = {table.in_source.name: table.added for table in recipe.tables if table.added}
        topics = {table.topic for table in recipe.tables}
        one_each = len(topics) == len(recipe.tables) and not recipe.messages.oversized.dead_letters
        self._by_topic = recipe.messages.layout.bundling.mode == "ROW" and one_each
        """Rows of several topics have no order among each other, and those of a table are in order."""
        self._last: tuple[int, OpenTransaction] | None = None
        self._rows, self._place, self._resumed = 0, 0, 0
        self._counters = CycleCounters()
        self._pairs: UpdatePairs | None = None
        self._span, self._sources = Span(), dict[str, Source]()
        self._spans = dict(checkpoint.spans)
        self.reading = ""
        """The file that is being read, or was encoded last."""

    def fragments(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decoded = self._decoded(batches)
        for run, batch in prefetch(decoded) if self._decode_ahead else decoded:
            if isinstance(batch, Batch):
                self._span = batch.span._replace(dialect=batch.span.dialect or self._recipe.read.dialect)
                following(self._spans.get(run.stream, Span()), self._span, run.path)  # I3: before its rows are sent
                clock = RunClock(
                    self._now, self._seed + (run.ordinal - self._checkpoint.ordinal << FILE_BITS), self._place
                )
                self._rows += sum(map(len, batch.changes))
                if self._rejects is not None:
                    self._rejects.add(run.path, batch.rejected, batch.changes)
                changes = self._to_send(batch.changes, run.ordinal)
                if self._rejects is not None:
                    changes = self._rejects.whole_updates(changes)
                tables = [table for part in changes for table in part.tables]
                encoded = self._encoded(changes, clock)
                once = len(set(tables)) == len(tables)  # not by two names in one block
                yield from _topic_by_topic(encoded) if self._by_topic and once else _in_source_order(encoded)
                self._place += last_place(batch.changes) + 1
                self._sources = dict(batch.sources)
                for reason, count in batch.ignored.items():
                    self._counters.leave_out(reason, count)
                for reason, count in batch.unknown.items():
                    self._counters.warn(reason, count)
            elif batch is None:
                deferred = self._checkpoint.deferred_rows() if run.ordinal == self._checkpoint.ordinal + 1 else []
                yield from deferred
                self._rows, self._place, self._resumed, self._counters = 0, 0, sum(map(len, deferred)), CycleCounters()
                if self._rejects is not None:
                    self._rejects.begin()
                self._span, self._sources = Span(), {}
                self._pairs = UpdatePairs() if self._recipe.paired or self._rejects is not None else None
            else:
                rejected = yield from self._at_end(run)
                self._last = (run.ordinal, batch)
                self._spans[run.stream] = following(self._spans.get(run.stream, Span()), self._span, run.path)
                counters = self._counters
                yield FileSummary(
                    run.ordinal,
                    self._rows,
                    batch,
                    counters.not_sent,
                    self._resumed,
                    counters.warnings,
                    counters.details,
                    run.stream,
                    run.path,
                    self._span,
                    self._sources,
                    **rejected,
                ).to_fragment()
        if self._recipe.messages.layout.bundling.mode == "TRANSACTION" and self._last is not None:
            mark = StreamEnd(self._last[0], self._last[1].unfinished)
            yield mark.to_fragments(sorted({table.topic for table in self._recipe.tables}))

    def _encoded(self, changes: Sequence[AnyChanges], clock: RunClock) -> Iterable[Encoded]:
        if self._rejects is None:
            return self._encoders.encode(changes, clock, self._counters)
        return self._rejects.encoded(self._encoders, changes, clock, self._counters)

    def _at_end(self, run: FileSlice) -> Generator[pa.RecordBatch, None, dict[str, Any]]:
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
        yield from self._rejects.dead_letters(run.path, run.ordinal)
        return self._rejects.summary()

    def _to_send(self, parts: Sequence[AnyChanges], ordinal: int) -> Sequence[AnyChanges]:
        """Return the changes of a file that are to be sent now, and as they are to be."""
        if not (self._added or self._recipe.read.refreshed) and (self._pairs is None or self._pairs.are_whole(parts)):
            return parts
        changes = self._with_added([one for part in parts for one in part.apart()], ordinal)
        whole = self._pairs.whole(changes) if self._pairs else changes
        return [_after_refresh(part, self._recipe, self._counters) for part in whole]

    def _with_added(self, parts: list[Changes], ordinal: int) -> list[Changes]:
        """Return the changes of a file with null in added columns where these had not come yet."""
        finds, changes = Finds(), []
        for part in parts:
            with finds.noted():
                changes.append(null_before(part, self._added.get(part.table, ()), ordinal))
        finds.report()
        return changes

    def _decoded(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[FileSlice, Batch | OpenTransaction | None]]:
        """Yield of each run that is to be read: None, its batches, and the transaction that is open at its end."""
        for batch in batches:
            for row in batch.to_pylist():  # one row a file
                run = FileSlice(**row)
                if not run.read:
                    self._before.append(run)
                    continue
                check_unchanged(run)
                self.reading = run.path
                yield run, None
                for part in self._records(run):
                    if part.open is not None:
                        self._open[run.stream] = part.open
                    if self._reading.tolerant:  # a record of another source's table is rejected in later files too
                        known = dict(self._reading.known_sources) | dict(part.sources)
                        self._reading = replace(self._reading, known_sources=tuple(known.items()))
                    yield run, part
                yield run, self._before_next(run.stream)

    def _records(self, run: FileSlice) -> Iterator[Batch]:
        """Yield the file's batches."""
        try:
            yield from self._dialect.read(run.file, lambda: self._before_next(run.stream), self._reading)
        except ColumnsFound as found:
            raise found.of_file(run.ordinal) from None
        except OSError as error:
            raise EnvironmentFault(f"{run.path}: the change file cannot be read: {error}") from error

    def _before_next(self, stream: str) -> OpenTransaction:
        """Return the transaction that is open before a stream's next record, looking back as far as needed."""
        if self._recipe.read.sent_later:
            return ENDED
        if stream not in self._open:
            state = OpenTransaction()
            for run in reversed([run for run in self._before if run.stream == stream]):
                state = state.after(self._dialect.tail(run.file, self._reading))
                if not state.since_start:
                    break
            else:
                state = state.after(self._checkpoint.open_in(stream))
            self._open[stream] = state
        return self._open[stream]


def _after_refresh(changes: Changes, recipe: Recipe, counters: CycleCounters) -> Changes:
    """Leave out the changes that the table's rows had already when it was refreshed."""
    refreshed = dict(recipe.read.refreshed).get(changes.table)
    if refreshed is None:
        return changes
    before = mask(pc.less_equal(changes.tx_seq, refreshed))
    if before.any():
        counters.leave_out("changes before the refresh", int(before.sum()))
    return changes.where(~before)


@lru_cache(maxsize=8)
def reading_of(recipe: Recipe, known_sources: tuple[tuple[str, Source], ...] = ()) -> Reading:
    """Return what a dialect needs to know of the recipe, which a process keeps from cycle to cycle."""
    counted_down = any(depends_on(parts, "transaction") for table in recipe.tables for parts in table.expressions)
    return Reading(
        tables=tuple(replace(one.in_source, key=()) if one.keyless else one.in_source for one in recipe.tables),
        absent=recipe.read.absent,
        default_table=recipe.read.default_table,
        ignore_unknown_tables=recipe.read.ignore_unknown_tables,
        unknown_columns=recipe.read.unknown_columns,
        whole_files=counted_down,
        debezium=recipe.read.debezium,
        time_zone=recipe.read.source_zone,
        timestamp_column=recipe.read.timestamp_column,
        repeated_positions=recipe.read.repeated_positions,
        sent_later=recipe.read.sent_later,
        tolerant=recipe.tolerance.rejects,
        known_sources=known_sources,
    )


def _topic_by_topic(parts: Iterable[Encoded]) -> Iterator[pa.RecordBatch]:
    """Yield fragments of tables with topics of their own as they come, small ones together."""
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
