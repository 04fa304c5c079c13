"""Rows of a slice -> fragments, in Arrow, on executors: each row is an insert below all changes of the source."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import FILE_BITS, SEED_BITS, FileSummary
from integrator.contracts.operations import INSERT, TRUNCATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.segment import Segment
from integrator.contracts.sequence import MAX_ROWS_IN_TRANSACTION, hexadecimal, integ_seq
from integrator.decode.text.refused import ValueRefused, guarded
from integrator.decode.text.values import from_text
from integrator.encode.frames.framing import framing_of
from integrator.encode.table import TableEncoder
from integrator.errors import MASKED, DataError, to_wire_error
from integrator.schema import Column, arrow_type, describe, is_number
from integrator.transform.expression import NO_SLICE, RunClock, SliceOfTable

_SLICE_DIGITS, _PART_DIGITS = 6, 10
_PART_BITS = 12
_REPORT_S = 0.5
BEGINNING = "0" * 20
"""The commit of a refresh that stands at no moment: before all changes."""


@dataclass(frozen=True)
class Rows:
    """What the rows of a slice are: of which table; the slice's number in the run, from 1 (0 is a truncate's).

    part: what the slice is of the table. commit: the moment that they stand at, 20 hex digits. started: of the run.
    progress_directory: where each task says how many rows it has read so far, for the bars; what counts is in its
    FileSummary.
    """

    recipe: Recipe
    table: str
    number: int
    commit: str
    started: datetime
    progress_directory: str
    part: SliceOfTable = NO_SLICE


def fragments(rows: Rows, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield fragments of a slice's rows, whose columns are named as in the source. Errors leave as wire text."""
    try:
        yield from _Task(rows).fragments(batches)
    except Exception as error:  # noqa: BLE001 - those that nobody foresaw cross as defects
        raise to_wire_error(error, f"refresh of {rows.table}, slice {rows.number}", hidden=rows.recipe.masks) from None


class _Task:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        [self._table] = [table for table in rows.recipe.tables if table.table.name == rows.table]
        self._encoder = TableEncoder(self._table, rows.recipe, framing_of(rows.recipe))
        context = TaskContext.get()
        self._part = context.partitionId() if context is not None else 0
        self._count, self._counters, self._reported = 0, CycleCounters(), 0.0

    def fragments(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # apart from the keys of changes by the second bit; each part of a slice has numbers of its own
        part = (self._rows.number << _PART_BITS) + self._part
        seed = (1 << 62) + (int(self._rows.started.timestamp()) << SEED_BITS) + (part << FILE_BITS)
        for batch in batches:
            if batch.num_rows:
                clock = RunClock(self._rows.started, seed, part=self._rows.part)  # rows are numbered in it already
                yield self._encoder.encode(self._changes(batch), clock, self._counters)[0]
                self._count += batch.num_rows
                self._report()
        self._report(last=True)
        counters = self._counters
        note = FileSummary(self._part, self._count, {}, counters.not_sent, 0, counters.warnings, counters.details)
        yield note.to_fragment()

    def _report(self, *, last: bool = False) -> None:
        directory = Path(self._rows.progress_directory)
        if (not last and time.monotonic() - self._reported < _REPORT_S) or not directory.is_dir():  # another machine's
            return
        self._reported = time.monotonic()
        path = directory / f"{self._rows.number}.{self._part}"
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(str(self._count), encoding="ascii")
        temporary.replace(path)

    def _changes(self, batch: pa.RecordBatch) -> ChangeBatch:
        size, at = batch.num_rows, np.arange(self._count, self._count + batch.num_rows)
        truncate = self._rows.number == 0
        chunk = at // MAX_ROWS_IN_TRANSACTION
        parts = np.full(size, self._part << 20, np.uint64) + chunk.astype(np.uint64)
        number = f"{self._rows.number:0{_SLICE_DIGITS}X}"
        segment = pc.binary_join_element_wise(number, hexadecimal(parts, _PART_DIGITS), "")
        commit = pa.repeat(self._rows.commit, size)
        placed = self._rows.commit != BEGINNING
        columns = {column.name: self._typed(batch, column) for column in self._table.in_source.columns}
        return ChangeBatch(
            file=f"refresh of {self._rows.table}",
            segments=(Segment((self._rows.table,), (size,), columns),),
            op=pa.array(np.full(size, TRUNCATE if truncate else INSERT, np.int8)),
            integ_seq=integ_seq(commit, segment, at % MAX_ROWS_IN_TRANSACTION),
            tx_seq=commit if placed else pa.nulls(size, pa.string()),
            countdown=pa.nulls(size, pa.int32()),
            cap_tstamp=pa.repeat(pa.scalar(self._rows.started, pa.timestamp("us", "UTC")), size),
            cap_user=pa.nulls(size, pa.string()),
            record=pa.nulls(size),
            without_form=pa.nulls(size, pa.string()),
            line=at + 1,
            order=at,
        )

    def _typed(self, batch: pa.RecordBatch, column: Column) -> pa.Array:
        wanted = arrow_type(column.type)
        if self._rows.number == 0:
            return pa.nulls(batch.num_rows, wanted)
        values = batch.column(column.name)
        if self._rows.recipe.read.finite and is_number(column.type):
            values = _finite(values)
        try:
            if pa.types.is_string(values.type):
                return from_text(values, column.type)
            return guarded(values, lambda part: _cast(part, wanted), describe(column.type))
        except ValueRefused as error:
            row = self._count + error.index + 1
            text = f"{MASKED}; it is no {describe(column.type)}" if column.masked else str(error)
            raise DataError(
                f"refresh of {self._rows.table}, slice {self._rows.number}, part {self._part}, row {row}: column "
                f"{column.name}: {text}; mend the row or the table definition"
            ) from None


def _finite(values: pa.Array) -> pa.Array:
    """Return numbers, or the text of numbers, with null for those that are none, or without end."""
    if pa.types.is_string(values.type):
        return pc.if_else(pc.match_substring_regex(values, _NOT_FINITE), None, values)
    return pc.if_else(pc.is_finite(values), values, None) if pa.types.is_floating(values.type) else values


_NOT_FINITE = "(?i)^(nan|[+-]?inf(inity)?)$"


def _cast(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type) and pa.types.is_time(wanted):
        return values.cast(pa.timestamp("us")).cast(wanted)
    return values.cast(wanted)
