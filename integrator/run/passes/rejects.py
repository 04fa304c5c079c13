"""Rejected lines of a task: counted, and sent as they came to the dead letter topic (errors.tolerance: all; I4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import FRAGMENT, REJECTED, REJECTED_OP
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE
from integrator.contracts.outgoing import RECORD_OVERHEAD, header_size
from integrator.contracts.recipe import Recipe
from integrator.contracts.rejected import Rejected
from integrator.decode.contract import File
from integrator.decode.rejects import other_row, rejected_by, without_lines
from integrator.encode.batch import Encoders
from integrator.encode.table import Encoded
from integrator.engine.arrays import Mask
from integrator.errors import SHOWN, DataError, Fault, Place, TooManyRejected, shortened
from integrator.names.numbers import counted
from integrator.transform.expression import RunClock

_TRIES = 4
"""How often changes are encoded again before they are divided."""
_SMALL = 128
"""Rows that are not divided any more."""
_NAMED = 100
"""Rejected lines of a file that are named in the log."""
_SHORTEST_PART = 1024
_AT_ONCE = 1000
"""Rejected lines in a batch of fragments."""


class TooMany:
    """Notes which of consecutive lines were rejected, until there are more of them than the channel allows."""

    def __init__(self, most: Sequence[int]) -> None:
        self.most = tuple(most)
        self._places: deque[int] = deque(maxlen=most[0] + 1 if most else 0)
        self._before = 0

    def add(self, file: str, lines: Sequence[int], before: int = 0) -> None:
        """Note rejected lines of a file, in order. before: the number before its first line. Raises DataError."""
        for line in lines if self.most else ():
            self._places.append(self._before + line - before)
            failed, of = self.most
            if len(self._places) > failed and self._places[-1] - self._places[0] < of:
                many = f"more than {failed:,} of {counted(of, 'line')}"
                raise TooManyRejected(
                    Fault(
                        Place(file, int(line)),
                        f"{many} rejected up to here (errors.threshold); read the dead letters or the "
                        "log for the reasons, and mend the channel or its source",
                    )
                )

    def end(self, count: int) -> None:
        """Note that a file of so many lines ends."""
        self._before += count


class Rejects:
    """The rejected lines of the file that a task reads."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._tolerance = recipe, recipe.tolerance
        self._file = File("")
        self._found: list[Rejected] = []
        self._last = 0
        self._too_many = TooMany(recipe.tolerance.most)

    def begin(self, file: File) -> None:
        """Begin a file."""
        self._file, self._found, self._last = file, [], file.line_before

    def add(self, file: str, found: Sequence[Rejected], changes: ChangeBatch | None = None) -> None:
        """Note lines of a part of a file that were rejected, and the changes of the others. Raises DataError."""
        self._found += found
        self._too_many.add(file, sorted(one.line for one in found), self._file.line_before)
        last = 0 if changes is None else int(changes.line.max(initial=0))
        self._last = max(self._last, last, *(one.line for one in found))

    @property
    def found(self) -> bool:
        """Whether lines of the file are rejected."""
        return bool(self._found)

    def whole_updates(self, changes: ChangeBatch) -> ChangeBatch:
        """Return changes without before images alone, where lines are rejected: such would mean that a row is gone."""
        alone = _alone(changes)
        if not self._found or not alone.any():
            return changes
        text = "the before image of an update whose after image is missing, while lines are rejected"
        found = [Fault(Place(changes.file, line), text) for line in changes.line[alone].tolist()]
        self.add(changes.file, [Rejected(fault, "TRANSFORMATION") for fault in found])
        return changes.filter(~alone)

    def encoded(
        self, encoders: Encoders, changes: ChangeBatch, clock: RunClock, counters: CycleCounters
    ) -> list[Encoded]:
        """Return the fragments of changes without those of lines that cannot be encoded. Raises DataError."""
        encoded: list[Encoded] = []
        parts = [changes]
        while parts:
            part, tries = parts.pop(), 0
            while len(part):
                if tries >= _TRIES and (halves := _halves(part)):
                    parts += halves
                    break
                counted = CycleCounters()
                try:
                    encoded += list(encoders.encode(part, clock, counted))
                except DataError as error:
                    found = rejected_by(error, part.file, "TRANSFORMATION")
                    if not found or self._file.container != "json":
                        raise
                    part = self._without(part, found)
                    tries += 1
                else:
                    counters.add(counted)
                    break
        return encoded

    def _without(self, part: ChangeBatch, found: list[Rejected]) -> ChangeBatch:
        """Return changes without those of rejected lines, and without the other row of their updates."""
        left, others = without_lines(part, np.array([one.line for one in found]))
        if len(left) == len(part):
            raise DataError(found[0].fault)
        self.add(part.file, [*found, *(other_row(line, part.file, "TRANSFORMATION") for line in others.tolist())])
        return left

    def summary(self) -> dict[str, Any]:
        """Return what a FileSummary has of rejected lines; the file ends."""
        before = self._file.line_before
        self._too_many.end(self._last - before)
        found = sorted(self._found, key=lambda one: one.line)
        most = self._tolerance.most[0] + 1 if self._tolerance.most else 0
        lines = [one.line for one in found]
        ends = lines if len(lines) <= 2 * most else [*lines[:most], *lines[-most:]]
        with_reason = self._tolerance.logged == "messages"
        return {
            "rejected": len(found),
            "rejections": [
                {
                    "line": one.line,
                    "stage": one.stage,
                    **({"reason": shortened(str(one.fault), 5 * SHOWN)} if with_reason else {}),
                }
                for one in (found[:_NAMED] if self._tolerance.logged else found[:1])
            ],
            "rejected_at": [self._last - before, before, *ends] if most else [],
        }

    def dead_letters(self) -> Iterator[pa.RecordBatch]:
        """Yield the rejected lines of the file as fragments of the dead letter topic, if there is one."""
        found = sorted({one.line: one for one in reversed(self._found)}.values(), key=lambda one: one.line)
        if not self._tolerance.topic or not found:
            return
        rows: list[dict[str, Any]] = []
        lines = self._file.raw_lines(np.array([one.line for one in found]))
        for one, line in zip(found, lines, strict=True):
            rows += self._parts(one, line)
            if len(rows) >= _AT_ONCE:
                yield pa.RecordBatch.from_pylist(rows, schema=FRAGMENT)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=FRAGMENT)

    def _parts(self, one: Rejected, line: bytes) -> Iterator[dict[str, Any]]:
        """Yield a line as fragments: one, or as many as its size needs."""
        file, ordinal = self._file.path, self._file.number
        reason = shortened(one.fault.reason, 5 * SHOWN)
        texts = (self._recipe.messages.channel, one.stage, "DataError", reason, file, str(one.line))
        headers = [text.encode() for text in texts]
        beside = header_size([("_" * 40, text) for text in [*headers, b"0" * 8, b"0" * 8]]) + RECORD_OVERHEAD
        room = max(self._recipe.messages.limit_of(self._tolerance.topic) - beside, _SHORTEST_PART)
        count = max(1, -(-len(line) // room))
        for number in range(count):
            numbered = [*headers, str(number + 1).encode(), str(count).encode()]
            yield {
                "topic": self._tolerance.topic,
                "table": "",
                "op": REJECTED_OP,
                "integ_seq": f"!{ordinal:020}|{one.line:020}",
                "rank": number,
                "more": False,
                "shape": REJECTED,
                "headers": numbered if self._tolerance.headers else None,
                "payload": line[number * room : (number + 1) * room],
            }


def _alone(rows: ChangeBatch) -> Mask:
    """Return which rows are before images without an after image."""
    op = rows.op.to_numpy(zero_copy_only=False)
    return np.asarray(((op == BEFORE_UPDATE) | (op == BEFORE_KEY_UPDATE)) & ~rows.is_before_image, np.bool_)


def _halves(changes: ChangeBatch) -> list[ChangeBatch]:
    """Return changes as two parts, the later lines first, no update divided; nothing where they are few."""
    lines = changes.line
    if len(lines) <= _SMALL:
        return []
    at = int(np.median(lines))
    before = np.flatnonzero(changes.is_before_image)
    divided = (lines[before] < at) & (lines[np.minimum(before + 1, len(lines) - 1)] >= at)
    if divided.any():
        at = int(lines[before[divided]].min())
    halves = [changes.filter(lines >= at), changes.filter(lines < at)]
    return halves if all(map(len, halves)) else []
