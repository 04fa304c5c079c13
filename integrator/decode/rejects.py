"""Blocks of lines, read without those that are wrong, where the channel declares errors.tolerance: all.

Most checks find all lines that are wrong at once. Where reading can continue with them, their rows are left out of what
was read; else the block is read again without them. Where lines are found one after another, the block is divided: a
smaller one costs less to read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from integrator.contracts.change_batch import ChangeBatch, no_changes
from integrator.contracts.rejected import Rejected, Stage
from integrator.contracts.sequence import OpenTransaction
from integrator.decode.contract import Batch, BlockState, File, PreviousEnd, Reading, nothing_before
from integrator.decode.lines.lines import Lines
from integrator.decode.refusal import Faults
from integrator.engine.arrays import Ints
from integrator.errors import DataError, Fault, Place

_TRIES = 4
"""How often a block is read again for one line, before it is divided."""
_SMALL = 128
"""Lines of a block that is not divided any more."""


def each_block(
    blocks: Iterable[Any],
    step: Callable[[Any], Batch],
    states: Sequence[BlockState],
    reading: Reading,
    *,
    joined: bool = False,
) -> Iterator[Batch]:
    """Yield what `step` makes of each block, in order.

    states: the objects that `step` changes, which are set back before a block is read again. joined: rows are made of
    several lines, so that a block with a wrong one is always read again. Raises DataError where nothing is tolerated,
    for what is not the fault of one line, and for rows of CSV and Parquet files, which have no line to reject.
    """
    for lines in blocks:
        if not (reading.tolerant and isinstance(lines, Lines)):
            yield step(lines)
            continue
        rejected = list(lines.rejected)
        parts = [lines]
        while parts:
            part = parts.pop()
            batch, rest = _attempts(part, step, states, rejected, divisible=not reading.whole_files, joined=joined)
            parts += rest
            if batch is not None or (rejected and not parts):
                yield replace(batch or Batch(no_changes(lines.file)), rejected=tuple(rejected))
                rejected = []


def _attempts(
    lines: Lines,
    step: Callable[[Lines], Batch],
    states: Sequence[BlockState],
    rejected: list[Rejected],
    *,
    divisible: bool,
    joined: bool,
) -> tuple[Batch | None, list[Lines]]:
    """Return the batch of lines, None where none is left; or the parts to read instead, the last one first."""
    tries = 0
    while len(lines):
        if tries >= _TRIES and divisible and len(lines) > _SMALL:
            half = len(lines) // 2
            return None, [lines.take(np.arange(half, len(lines))), lines.take(np.arange(half))]
        before = [state.saved() for state in states]
        batch, error, found = _collected(step, lines)
        counted = batch is not None and (batch.ignored or batch.unknown)  # wrong lines are not among what is counted
        if batch is not None and not (found and (joined or counted)):
            return _without(batch, lines.file, found, rejected), []
        for restore in before:
            restore()
        if not found:
            found = rejected_by(error, lines.file, "VALUE_CONVERTER") if isinstance(error, DataError) else []
            tries += len(found) == 1
        wrong = np.isin(lines.numbers, [one.line for one in found])
        if error is not None and not wrong.any():
            raise error
        rejected += {one.line: one for one in reversed(found)}.values()
        lines = lines.take(np.flatnonzero(~wrong))
    return None, []


def _without(batch: Batch, file: str, found: list[Rejected], rejected: list[Rejected]) -> Batch:
    """Return a batch that was read with wrong lines, without their rows; add these lines to `rejected`."""
    if not found:
        return batch
    wrong = {one.line: one for one in reversed(found)}
    changes, others = without_lines(batch.changes, np.array(list(wrong)))
    rejected += [*wrong.values(), *(other_row(line, file, "VALUE_CONVERTER") for line in others.tolist())]
    return replace(batch, changes=changes)


def other_row(line: int, file: str, stage: Stage) -> Rejected:
    """Return a line that is rejected because it has the one row of an update, and the other one is wrong."""
    return Rejected(Fault(Place(file, line), "the other row of this update is rejected"), stage)


def _collected(step: Callable[[Lines], Batch], lines: Lines) -> tuple[Batch | None, Exception | None, list[Rejected]]:
    """Return the batch of lines, or the error that ended the step; and the lines that it found to be wrong."""
    batch, error, faults = None, None, Faults()
    try:
        batch = step(replace(lines, faults=faults))
    except Exception as failure:  # noqa: BLE001 - after a wrong line anything may fail; without one it is raised
        error = failure
    return batch, error, [Rejected(fault, "VALUE_CONVERTER") for fault in faults.found]


def end_by_reading(
    read: Callable[[File, PreviousEnd, Reading], Iterator[Batch]],
    file: File,
    reading: Reading,
) -> OpenTransaction:
    """Return where a file, seen alone, ends, where lines may be rejected: such count for nothing, so all are read."""
    state = OpenTransaction()
    for batch in read(file, nothing_before, reading):
        for end in batch.ends.values():
            state = end.open
    return state


def rejected_by(error: DataError, file: str, stage: Stage) -> list[Rejected]:
    """Return the lines of a file that an error finds to be wrong; none where it names no line of it."""
    if error.others is not None:
        return [Rejected(fault, stage) for fault in error.others()]
    fault = error.fault
    return [Rejected(fault, stage)] if fault is not None and fault.place.file == file and fault.place.line >= 0 else []


def without_lines(changes: ChangeBatch, lines: Ints) -> tuple[ChangeBatch, Ints]:
    """Return changes without those of some lines, and without the other row of each update that one of them has.

    The second result has the other lines that are left out for that, in order.
    """
    asked, before = lines, changes.is_before_image
    while True:
        wrong = np.isin(changes.line, lines)
        other = np.zeros(len(changes), bool)
        other[1:] |= (before & wrong)[:-1]
        other[:-1] |= before[:-1] & wrong[1:]
        more = np.setdiff1d(changes.line[other], lines)
        if not len(more):
            return changes.filter(~wrong), np.setdiff1d(lines, asked)
        lines = np.append(lines, more)
