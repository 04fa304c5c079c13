"""The first pass, on executors: runs (files) -> change rows -> columns -> encoded fragments, all in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs

from integrator.arrays import mask
from integrator.bundle import RowFraming
from integrator.changes import Changes, OpenTransaction
from integrator.dialects import DIALECTS
from integrator.dialects.reading import Batch, Reading
from integrator.errors import DataError, EnvironmentFault, IntegratorError
from integrator.expression import Op
from integrator.formats.connect_json import Encoder, Unsayable, encoder
from integrator.fragments import FRAGMENT, Carry, Note, Places, Shape, shapes
from integrator.properties.columns import Columns, to_columns
from integrator.properties.key_hash import key_hash
from integrator.recipe import Recipe, TableRecipe

RUN = pa.schema([("ordinal", pa.int64()), ("path", pa.string()), ("size", pa.int64()), ("read", pa.bool_())])
RUN_DDL = "ordinal bigint, path string, size bigint, read boolean"
"""A run is a file. Rows with read = false are the files before a task's first: asked where they end, and not sent."""

Pass = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Run:
    """A file to read, or only to be asked where it ends."""

    ordinal: int
    path: str
    size: int
    read: bool


def first_pass(recipe: Recipe, carry: Carry, now: datetime) -> Pass:
    """Return the pass over batches of RUN rows that gives batches of FRAGMENT rows, and a Note for each file read.

    An IntegratorError leaves it as a RuntimeError with the error's wire text, which Spark hands to the driver.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from _Task(recipe, carry, now).fragments(batches)
        except IntegratorError as error:
            raise RuntimeError(error.to_wire()) from None

    return run


class _Task:
    """One Spark task: consecutive files, in order."""

    def __init__(self, recipe: Recipe, carry: Carry, now: datetime) -> None:
        self._recipe, self._carry, self._now = recipe, carry, now
        self._dialect = DIALECTS[recipe.dialect]
        self._reading = reading_of(recipe)
        self._tables = {table.table.name: _TableEncoder(table, recipe, now) for table in recipe.tables}
        self._before: list[Run] = []
        self._state: OpenTransaction | None = None

    def fragments(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():  # one row a file
                run = Run(**row)
                if run.read:
                    yield from self._read(run)
                else:
                    self._before.append(run)

    def _read(self, run: Run) -> Iterator[pa.RecordBatch]:
        _check_unchanged(run)
        rows = 0
        not_sent: dict[str, int] = {}
        for batch in self._records(run):
            parts = []
            for changes in batch.changes:
                rows += len(changes)
                fragment, order = self._tables[changes.table].encode(changes, not_sent)
                parts.append((fragment, order))
            for reason, count in batch.ignored.items():
                not_sent[reason] = not_sent.get(reason, 0) + count
            yield from _in_source_order(parts)
            self._state = batch.open
        self._before = [run]
        yield Note(run.ordinal, rows, self._open(), not_sent).to_fragment()

    def _records(self, run: Run) -> Iterator[Batch]:
        """Yield the file's batches; what Arrow says and no dialect has put in words is told with the file's name."""
        try:
            yield from self._dialect.read(run.path, self._open, self._reading)
        except pa.ArrowInvalid as error:
            raise DataError(f"{run.path}: a record cannot be read: {error}") from error
        except OSError as error:
            raise EnvironmentFault(f"{run.path}: the change file cannot be read: {error}") from error

    def _open(self) -> OpenTransaction:
        """Return the transaction that is open before the next record, looking back over files as far as needed."""
        if self._state is None:
            state = OpenTransaction()
            for run in reversed(self._before):
                state = self._dialect.tail(run.path, self._reading).after(state)
                if not state.since_start:
                    break
            else:
                state = state.after(self._carry.open)
            self._state = state
        return self._state


def reading_of(recipe: Recipe) -> Reading:
    """Return what a dialect needs to know of the recipe."""
    counted_down = any(
        isinstance(part, Op) and part.name == "hvr_tx_countdown"
        for table in recipe.tables
        for field in table.fields
        for part in field.expression
    )
    return Reading(
        tables=tuple(table.table for table in recipe.tables),
        default_table=recipe.default_table,
        ignore_unknown_tables=recipe.ignore_unknown_tables,
        whole_files=counted_down,
    )


def _check_unchanged(run: Run) -> None:
    filesystem, inside = pyarrow.fs.LocalFileSystem(), run.path
    if "://" in run.path:
        filesystem, inside = pyarrow.fs.FileSystem.from_uri(run.path)
    try:
        size = filesystem.get_file_info(inside).size
    except OSError as error:
        raise EnvironmentFault(f"{run.path}: the change file cannot be read: {error}") from error
    if size is None:
        raise EnvironmentFault(f"{run.path}: the change file is gone; put it back, it has not been sent yet")
    if size != run.size:
        raise EnvironmentFault(
            f"{run.path}: has {size} bytes and had {run.size} when it was taken: it was written on; write change files "
            "under a temporary name (.tmp) and rename them when they are whole"
        )


def _in_source_order(parts: list[tuple[pa.RecordBatch, Places]]) -> Iterator[pa.RecordBatch]:
    """Yield the fragments of a batch in the order of its records, so that a cycle of one run needs no sorting (I3)."""
    parts = [(fragment, order) for fragment, order in parts if fragment.num_rows]
    if len(parts) == 1:
        yield parts[0][0]
    elif parts:
        together = pa.Table.from_batches([fragment for fragment, _ in parts]).combine_chunks()
        order = np.argsort(np.concatenate([order for _, order in parts]), kind="stable")
        yield from together.take(pa.array(order)).to_batches()


class _TableEncoder:
    """Change rows of one table -> fragments; encoders are compiled once a shape."""

    def __init__(self, recipe: TableRecipe, channel: Recipe, now: datetime) -> None:
        self._recipe, self._channel, self._now = recipe, channel, now
        self._places = {field.name: place for place, field in enumerate(recipe.fields)}
        self._encoders: dict[Shape, Encoder] = {}
        self._framing = RowFraming((recipe,), channel)

    def encode(self, changes: Changes, not_sent: dict[str, int]) -> tuple[pa.RecordBatch, Places]:
        changes = self._sent(changes, not_sent)
        columns = to_columns(changes, self._recipe, self._channel, self._now)
        key = key_hash(changes, self._recipe)
        payload, shape = self._payloads(changes, columns)
        size = len(changes)
        self._check_size(changes, columns, key, payload, shape)
        stamps = changes.cap_tstamp.cast(pa.int64())
        topic, table = pa.repeat(self._recipe.topic, size), pa.repeat(self._recipe.table.name, size)
        arrays = [topic, key, table, changes.op, changes.integ_seq, stamps, shape, payload]
        return pa.RecordBatch.from_arrays(arrays, schema=FRAGMENT), changes.order

    def _sent(self, changes: Changes, not_sent: dict[str, int]) -> Changes:
        """Return the changes that the replication style sends; the others are counted (I4)."""
        sent = mask(pc.is_in(changes.op, pa.array(self._recipe.operations, pa.int8())))
        if not sent.all():
            for op, count in zip(
                *np.unique(changes.op.to_numpy(zero_copy_only=False)[~sent], return_counts=True), strict=True
            ):
                reason = f"op {op} in style {self._recipe.style}"
                not_sent[reason] = not_sent.get(reason, 0) + int(count)
        return changes.where(sent)

    def _payloads(self, changes: Changes, columns: Columns) -> tuple[pa.Array, pa.Array]:
        missing = {self._places[name]: gone for name, gone in columns.missing.items()}
        found = shapes(missing, columns.truncate)
        if len(found) == 1 and found[0][1] is None:
            shape = found[0][0]
            return self._encode(changes, shape, columns.values, None), pa.repeat(shape.to_text(), len(changes))
        payloads, texts, order = [], [], []
        for shape, places in found:
            rows = np.arange(len(changes)) if places is None else places
            at = pa.array(rows)
            values = {name: values.take(at) for name, values in columns.values.items()}
            payloads.append(self._encode(changes, shape, values, rows))
            texts.append(pa.repeat(shape.to_text(), len(rows)))
            order.append(rows)
        back = pa.array(np.argsort(np.concatenate(order)))
        return pa.concat_arrays(payloads).take(back), pa.concat_arrays(texts).take(back)

    def _encode(self, changes: Changes, shape: Shape, values: dict[str, pa.Array], rows: Places | None) -> pa.Array:
        if shape not in self._encoders:
            columns = shape.columns(self._recipe)
            self._encoders[shape] = encoder(columns, self._channel.decimals, self._channel.times)
        try:
            return self._encoders[shape](values)
        except Unsayable as error:
            line = changes.line[error.index if rows is None else rows[error.index]]
            where = f"{changes.file}:{line}: table {changes.table}, column {error.column}"
            raise DataError(f"{where}: {error}") from None

    def _check_size(
        self, changes: Changes, columns: Columns, key: pa.Array, payload: pa.Array, shape: pa.Array
    ) -> None:
        """I5: no message above the maximum size leaves the process; here nothing of its cycle does."""
        if not len(changes):
            return
        longest = pc.max(pc.binary_length(payload)).as_py() + pc.max(pc.binary_length(key)).as_py()
        frame = max(self._framing.frame_bytes(self._recipe.table.name, text) for text in pc.unique(shape).to_pylist())
        if longest + frame <= self._channel.max_bytes:
            return
        sizes = self._framing.sizes(pa.repeat(self._recipe.table.name, len(changes)), shape, key, payload)
        over = np.flatnonzero(sizes > self._channel.max_bytes)
        if len(over):
            at = int(over[0])
            raise DataError(
                f"{changes.file}:{changes.line[at]}: table {changes.table}, key {self._key_text(changes, at)}: the "
                f"message has {sizes[at]} bytes, and HVR_KAFKA_MSG_MAX_BYTES is {self._channel.max_bytes}; the largest "
                f"columns are {_largest(columns, at)}; leave one out (Absent: true), or raise the limit here, in the "
                "topic (max.message.bytes) and at the broker"
            )

    def _key_text(self, changes: Changes, at: int) -> str:
        return ", ".join(f"{name}={changes.columns[name][at].as_py()!r}" for name in self._recipe.key)


def _largest(columns: Columns, at: int) -> str:
    """Name the three largest columns of a row, with their bytes."""
    sizes = {
        name: len(values[at].as_buffer()) if values[at].is_valid else 0
        for name, values in columns.values.items()
        if pa.types.is_string(values.type) or pa.types.is_binary(values.type)
    }
    named = sorted(sizes.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{name} ({size} bytes)" for name, size in named) or "none of text or bytes"
