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
from integrator.decode.order.positions import ENDED
from integrator.errors import ColumnsFound, EnvironmentFault, IntegratorError, SchemasFound
from integrator.expressions.parts import depends_on
from integrator.sources.contract import SliceReader
from integrator.sources.slices import TaskSlice
from integrator.transform.update_pairs import OLD


@dataclass(frozen=True)
class JoinedFiles:
    """Small files that were decoded as one.

    Rows name the first of them, and lines are counted over all: right for all that needs neither. What does need them
    is to be decoded with fewer files at once, by `decoding`, whose state is that before the files. open: of each stream
    of theirs the transaction that is open at its end.
    """

    runs: Sequence[TaskSlice]
    file: File
    batches: tuple[Batch, ...]
    open: Mapping[str, OpenTransaction]
    decoding: Decoding

    def divided(self) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield the files' parts, of fewer of them at once."""
        return self.decoding.divided(self.runs, self.file)

    @property
    def divides_updates(self) -> bool:
        """Whether a before image is not followed by its after image in the same file."""
        return any(self._divides(batch.changes) for batch in self.batches)

    def _divides(self, rows: ChangeBatch) -> bool:
        alone = np.isin(rows.op.to_numpy(zero_copy_only=False), OLD) & ~rows.is_before_image
        before, joint = np.flatnonzero(rows.is_before_image), self.file.joint
        if joint is None or not len(before):
            return bool(alone.any())
        file, next_file = (joint.slice_of(rows.line[at]) for at in (before, before + 1))
        return bool(alone.any() or (file != next_file).any())


Part: TypeAlias = "File | Batch | OpenTransaction | JoinedFiles"


class Decoding:
    """The decoding of consecutive files, in order."""

    def __init__(self, recipe: Recipe, checkpoint: Checkpoint, reader: SliceReader) -> None:
        self._recipe, self._checkpoint, self._reader = recipe, checkpoint, reader
        self._dialect = DIALECTS[recipe.read.dialect]
        self._reading = reading_of(recipe, tuple(checkpoint.sources.items()))
        self._before: dict[str, list[TaskSlice]] = {}
        """The slices of each stream that other tasks read."""
        self._open: Mapping[str, OpenTransaction] = {}
        """The transaction that is open in each stream before its next record."""
        self._joins = not self._reading.whole_files and _joins(recipe)
        self.file = ""
        """The file that is being decoded."""

    def each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield of each run that is to be read its file, its batches, and the transaction that is open at its end.

        Of small files that were decoded as one, all of that is in one `JoinedFiles`. batches: of TASK_SLICES rows.
        """
        for batch in batches:
            found = (TaskSlice(**row) for row in batch.to_pylist())  # one row a file
            runs = [run for run in found if run.ordinal > self._checkpoint.ordinal]  # others were sent by sub-cycles
            self._reader.begin([run for run in runs if run.read])
            for _, group in groupby(runs, lambda run: run.ordinal if run.group is None else run.group):
                of_group = tuple(group)
                for run in of_group:
                    if not run.read:
                        self._before.setdefault(run.stream, []).append(run)
                yield from self._of_group([run for run in of_group if run.read])

    def _of_group(self, runs: Sequence[TaskSlice]) -> Iterator[tuple[TaskSlice, Part]]:
        joined = None
        if self._joins and len(runs) > 1:
            self.file = runs[0].path
            for run in runs:
                self._reader.check_unchanged(run)
            joined = self._reader.join(runs, records=self._reading.records)
        if joined is not None:
            yield from self._together(runs, joined)
            return
        for run in runs:
            yield from self._alone(run)

    def _alone(self, run: TaskSlice, file: File | None = None) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield the parts of a file, as `each`. file: where it was read already."""
        self._reader.check_unchanged(run)
        self.file = run.path
        read = file or self._reader.file(run)
        yield run, read
        for part in self._records(run, read):
            yield run, part
        self._reader.check_unchanged(run)  # it may have been written again while it was read
        yield run, self._before_next(run.stream)

    def _together(self, runs: Sequence[TaskSlice], file: File) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield small files decoded as one; or with fewer of them at once, where they cannot be."""
        joined = self._join(runs, file)
        if joined is not None:
            yield runs[0], joined
        else:
            yield from self.divided(runs, file)

    def _join(self, runs: Sequence[TaskSlice], file: File) -> JoinedFiles | None:
        """Return small files decoded as one; None where they cannot be.

        That is where a line is wrong, as errors and dead letters name its file; and where a record means something for
        those after it, and they are of another stream.
        """
        before, opened, reading = copy(self), self._open, self._reading
        self.file = runs[0].path
        try:
            batches = tuple(self._records(runs[0], file))
            for run in runs:
                self._reader.check_unchanged(run)
            if all(batch.ends and not batch.rejected for batch in batches):
                ends = {run.stream: self._before_next(run.stream) for run in runs}
                return JoinedFiles(runs, file, batches, ends, before)
        except SchemasFound:
            raise
        except IntegratorError:
            pass  # raised again, with its file and line, where the files are decoded one by one
        self.file, self._open, self._reading = before.file, opened, reading
        return None

    def divided(self, runs: Sequence[TaskSlice], file: File) -> Iterator[tuple[TaskSlice, Part]]:
        """Yield the parts of small files, of fewer of them at once than in `file`."""
        for fewer, of_fewer in self._reader.divide(runs, file):
            if len(fewer) > 1:
                yield from self._together(fewer, of_fewer)
            else:
                yield from self._alone(fewer[0], of_fewer)

    def _records(self, run: TaskSlice, file: File) -> Iterator[Batch]:
        """Yield the file's batches."""
        try:
            for part in self._dialect.read(file, lambda name: self._before_next(name or run.stream), self._reading):
                self._open = {**self._open, **{name or run.stream: end.open for name, end in part.ends.items()}}
                if self._reading.tolerant:  # a record of another source's table is rejected in later files too
                    known = dict(self._reading.known_sources) | dict(part.sources)
                    self._reading = replace(self._reading, known_sources=tuple(known.items()))
                yield replace(part, changes=replace(part.changes, location=file.location)) if file.location else part
        except ColumnsFound as found:
            raise found.of_file(run.ordinal) from None
        except OSError as error:
            raise EnvironmentFault(f"{run.path}: the change file cannot be read: {error}") from error

    def _before_next(self, stream: str) -> OpenTransaction:
        """Return the transaction that is open before a stream's next record, reading back as far as needed."""
        if self._recipe.read.sent_later:
            return ENDED
        if stream not in self._open:
            state = OpenTransaction()
            for run in reversed(self._before.get(stream, ())):
                self._reader.check_unchanged(run)
                state = state.after(self._dialect.tail(self._reader.file(run), self._reading))
                if not state.since_start:
                    break
            else:
                state = state.after(self._checkpoint.open_in(stream))
            self._open = {**self._open, stream: state}
        return self._open[stream]


@lru_cache(maxsize=8)
def _joins(recipe: Recipe) -> bool:
    """Return whether small files may be read as one: what a row becomes does not depend on where its file ends."""
    of_file = any(
        table.added or any(depends_on(parts, "file") for parts in table.expressions) for table in recipe.tables
    )
    return not (of_file or recipe.read.sent_later)
