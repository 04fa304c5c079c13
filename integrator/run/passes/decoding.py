"""The first half of the first pass: slices -> batches of change rows, one by one or small ones joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.fragments import Checkpoint
from integrator.contracts.recipe import Recipe
from integrator.contracts.sequence import OpenTransaction
from integrator.decode.contract import Batch, File, reading_of
from integrator.decode.dialects import DIALECTS
from integrator.decode.lines.joined import JoinedLines
from integrator.decode.order.positions import ENDED
from integrator.errors import ColumnsFound, EnvironmentFault, IntegratorError
from integrator.expressions.parts import depends_on
from integrator.sources.contract import SliceReader
from integrator.sources.slices import TaskSlice
from integrator.transform.update_pairs import OLD


@dataclass(frozen=True)
class JoinedFiles:
    """Small files that were decoded as one.

    Rows name the first of them, and lines are counted over all: right for all that needs neither. What does need them
    is to be decoded file by file, by `decoding`, whose state is that before the files.
    """

    runs: tuple[TaskSlice, ...]
    lines: JoinedLines
    batches: tuple[Batch, ...]
    open: OpenTransaction
    decoding: Decoding

    def one_by_one(self) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield the files' parts, file by file."""
        return self.decoding.parts(self.runs)

    @property
    def divides_updates(self) -> bool:
        """Whether a before image is not followed by its after image in the same file."""
        return any(self._divides(batch.changes) for batch in self.batches)

    def _divides(self, rows: ChangeBatch) -> bool:
        alone = np.isin(rows.op.to_numpy(zero_copy_only=False), OLD) & ~rows.is_before_image
        before = np.flatnonzero(rows.is_before_image)
        file, next_file = (self.lines.file_of(rows.line[at]) for at in (before, before + 1))
        return bool(alone.any() or (file != next_file).any())


Part: TypeAlias = "Batch | OpenTransaction | JoinedFiles | None"


class Decoding:
    """The decoding of consecutive files, in order."""

    def __init__(self, recipe: Recipe, checkpoint: Checkpoint, reader: SliceReader) -> None:
        self._recipe, self._checkpoint, self._reader = recipe, checkpoint, reader
        self._dialect = DIALECTS[recipe.read.dialect]
        self._reading = reading_of(recipe, tuple(checkpoint.sources.items()))
        self._before: list[TaskSlice] = []
        self._open: Mapping[str, OpenTransaction] = {}
        """The transaction that is open in each stream before its next record."""
        self._joins = not self._reading.whole_files and _joins(recipe)
        self.file = ""
        """The file that is being decoded."""

    def each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield of each run that is to be read None, its batches, and the transaction that is open at its end.

        Of small files that were decoded as one, all of that is in one `JoinedFiles`. batches: of TASK_SLICES rows.
        """
        for batch in batches:
            runs = [TaskSlice(**row) for row in batch.to_pylist()]  # one row a file
            self._reader.begin([run for run in runs if run.read])
            for _, group in groupby(runs, lambda run: run.ordinal if run.group is None else run.group):
                of_group = tuple(group)
                self._before += [run for run in of_group if not run.read]
                read = tuple(run for run in of_group if run.read)
                joined = self._join(read) if self._joins and len(read) > 1 else None
                if joined is not None:
                    yield read[0], joined
                else:
                    yield from self.parts(read)

    def parts(self, runs: Sequence[TaskSlice]) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield the parts of files, file by file, as `each`."""
        for run in runs:
            self._reader.check_unchanged(run)
            self.file = run.path
            yield run, None
            for part in self._records(run, self._reader.file(run)):
                yield run, part
            self._reader.check_unchanged(run)  # it may have been written again while it was read
            yield run, self._before_next(run.stream)

    def _join(self, runs: tuple[TaskSlice, ...]) -> JoinedFiles | None:
        """Return small files decoded as one; None where they are to be decoded file by file.

        That is where a line is wrong, as errors and dead letters name its file; and where records have no positions of
        their own but those of their lines.
        """
        before, opened, reading = copy(self), self._open, self._reading
        self.file = runs[0].path
        try:
            for run in runs:
                self._reader.check_unchanged(run)
            lines = self._reader.join(runs)
            batches = (
                None if lines is None else [*self._records(runs[0], replace(self._reader.file(runs[0]), joined=lines))]
            )
            for run in runs:
                self._reader.check_unchanged(run)
            if lines is not None and batches is not None and all(map(_is_whole, batches)):
                return JoinedFiles(runs, lines, tuple(batches), self._before_next(runs[0].stream), before)
        except IntegratorError:
            pass  # raised again, with its file and line, where the files are decoded one by one
        self.file, self._open, self._reading = before.file, opened, reading
        return None

    def _records(self, run: TaskSlice, file: File) -> Iterator[Batch]:
        """Yield the file's batches."""
        try:
            for part in self._dialect.read(file, lambda: self._before_next(run.stream), self._reading):
                if part.open is not None:
                    self._open = {**self._open, run.stream: part.open}
                if self._reading.tolerant:  # a record of another source's table is rejected in later files too
                    known = dict(self._reading.known_sources) | dict(part.sources)
                    self._reading = replace(self._reading, known_sources=tuple(known.items()))
                yield part
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
                self._reader.check_unchanged(run)
                state = state.after(self._dialect.tail(self._reader.file(run), self._reading))
                if not state.since_start:
                    break
            else:
                state = state.after(self._checkpoint.open_in(stream))
            self._open = {**self._open, stream: state}
        return self._open[stream]


def _is_whole(batch: Batch) -> bool:
    """Return whether no line of a batch is rejected, and its rows have positions that their records give."""
    return not batch.rejected and batch.open is not None and (not len(batch.changes) or bool(batch.span.last))


@lru_cache(maxsize=8)
def _joins(recipe: Recipe) -> bool:
    """Return whether small files may be read as one: what a row becomes does not depend on where its file ends.

    Where repeated positions are sent, it is not known whether records have positions.
    """
    of_file = any(
        table.added or any(depends_on(parts, "file") for parts in table.expressions) for table in recipe.tables
    )
    return not (of_file or recipe.read.sent_later or recipe.read.repeated_positions)
