"""A batch of change rows as a Parquet file, written by one task; executors import this."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from integrator.contracts.sequence import MAX_ROWS_IN_TRANSACTION, SEQUENCE_WIDTHS, hexadecimal
from integrator.errors import DataError, to_wire_error

ROWS = "rows"
POSITION, LEFT = "hvr_integ_seq", "hvr_tx_countdown"

Write = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def writer_of(path: str, transaction: int | None, without: str) -> Write:
    """Return what writes all rows of a task to `path`, durably, and yields how many they were, in the column `ROWS`.

    transaction: the number of the one that the rows are; None: they have positions themselves. without: a column that
    is left out. A file that is there is replaced; without rows, there is none.
    """
    first = None if transaction is None else f"{transaction:0{SEQUENCE_WIDTHS[0]}X}"

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        count = 0
        with contextlib.ExitStack() as stack:
            file: pyarrow.parquet.ParquetWriter | None = None
            for batch, last in _with_last(one.drop_columns([without]) for one in batches if one.num_rows):
                rows = batch if first is None else _with_position(batch, first, count, last=last)
                count += batch.num_rows
                if first is not None and count > MAX_ROWS_IN_TRANSACTION:
                    text = f"a batch has more than {MAX_ROWS_IN_TRANSACTION:,} rows; limit those of its source"
                    raise to_wire_error(DataError(text), path)
                if file is None:
                    to = stack.enter_context(open(path, "wb", opener=_private))
                    stack.callback(os.fsync, to.fileno())
                    file = stack.enter_context(pyarrow.parquet.ParquetWriter(to, rows.schema))
                file.write_batch(rows)
        yield pa.RecordBatch.from_pydict({ROWS: pa.array([count], pa.int64())})

    return write


def _with_last(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Yield each with whether it is the last one."""
    held = None
    for batch in batches:
        if held is not None:
            yield held, False
        held = batch
    if held is not None:
        yield held, True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _with_position(batch: pa.RecordBatch, transaction: str, before: int, *, last: bool) -> pa.RecordBatch:
    """Return rows with their positions: the transaction, and how many rows are before each in it."""
    count = batch.num_rows
    numbers = hexadecimal(np.arange(before, before + count, dtype=np.uint64), SEQUENCE_WIDTHS[2])
    position = pc.binary_join_element_wise(transaction, "0" * SEQUENCE_WIDTHS[1], numbers, "|")
    left = pa.array([None] * (count - 1) + [1 if last else None], pa.int32())
    return batch.append_column(POSITION, position).append_column(LEFT, left)
