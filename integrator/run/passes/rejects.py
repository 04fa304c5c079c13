"""Rejected lines of a task: counted, and sent as they came to the dead letter topic (errors.tolerance: all; I4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from integrator.contracts.changes import Changes
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import FRAGMENT, REJECTED, REJECTED_OP
from integrator.contracts.multi_table_changes import AnyChanges
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE
from integrator.contracts.outgoing import RECORD_OVERHEAD, header_size
from integrator.contracts.recipe import Recipe
from integrator.contracts.rejected import Rejected
from integrator.decode.contract import File
from integrator.decode.rejects import other_row, rejected_by, without_lines
from integrator.encode.batch import Encoded, Encoders
from integrator.engine.arrays import Mask
from integrator.errors import SHOWN, DataError, Fault, Place, PublicDataError, shortened
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

    def add(self, file: str, lines: Sequence[int]) -> None:
        """Note rejected lines of a file, in order. Raises DataError."""
        for line in lines if self.most else ():
            self._places.append(self._before + line)
            failed, of = self.most
            if len(self._places) > failed and self._places[-1] - self._places[0] < of:
                many = f"more than {failed:,} of {counted(of, 'line')}"
                raise PublicDataError(
                    Fault(
                        Place(file, int(line)),
                        f"{many} rejected up to here (errors.threshold); look at the dead letters or the "
                        "log for the reasons, and mend the channel or its source",
                    )
                )

    def end(self, last: int) -> None:
        """Note that a file ends with line `last`."""
        self._before += last


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
        self._file, self._found, self._last = file, [], 0

    def add(self, file: str, found: Sequence[Rejected], changes: Sequence[AnyChanges] = ()) -> None:
        """Note lines of a part of a file that were rejected, and the changes of the others. Raises DataError."""
        self._found += found
        self._too_many.add(file, sorted(one.line for one in found))
        lines = [int(part.rows.line.max() if not isinstance(part, Changes) else part.line.max()) for part in changes]
        self._last = max(self._last, *lines, *(one.line for one in found), 0)

    @property
    def found(self) -> bool:
        """Whether lines of the file are rejected."""
        return bool(self._found)

    def whole_updates(self, changes: Sequence[AnyChanges]) -> Sequence[AnyChanges]:
        """Return changes without before images alone, where lines are rejected: such would mean that a row is gone."""
        rows = [part if isinstance(part, Changes) else part.rows for part in changes]
        if not self._found or not any(_alone(part).any() for part in rows):
            return changes
        left = []
        for one in _apart(changes):
            alone = _alone(one)
            text = "the before image of an update whose after image is missing, while lines are rejected"
            lines = one.line[alone].tolist()
            found = [Rejected(Fault(Place(one.file, line), text), "TRANSFORMATION") for line in lines]
            self.add(one.file, found)
            left.append(one.where(~alone))
        return [*filter(len, left)]

    def encoded(
        self, encoders: Encoders, changes: Sequence[AnyChanges], clock: RunClock, counters: CycleCounters
    ) -> list[Encoded]:
        """Return the fragments of changes without those of lines that cannot be encoded. Raises DataError."""
        encoded: list[Encoded] = []
        parts: list[list[AnyChanges]] = [list(changes)]
        while parts:
            part, tries = parts.pop(), 0
            while sum(map(len, part)):
                if tries >= _TRIES and (halves := _halves(part)):
                    parts += halves
                    break
                counted = CycleCounters()
                try:
                    encoded += list(encoders.encode(part, clock, counted))
                except DataError as error:
                    file = _apart(part)[0].file
                    found = rejected_by(error, file, "TRANSFORMATION")
                    if not found or self._file.container != "json":
                        raise
                    part = self._without(part, found)
                    tries += 1
                else:
                    counters.add(counted)
                    break
        return encoded

    def _without(self, part: list[AnyChanges], found: list[Rejected]) -> list[AnyChanges]:
        """Return changes without those of rejected lines, and without the other row of their updates."""
        file = _apart(part)[0].file
        left, others = without_lines(part, np.array([one.line for one in found]))
        if sum(map(len, left)) == sum(map(len, part)):
            raise DataError(found[0].fault)
        self.add(file, [*found, *(other_row(line, file, "TRANSFORMATION") for line in others.tolist())])
        return left

    def summary(self) -> dict[str, Any]:
        """Return what a FileSummary has of rejected lines; the file ends."""
        self._too_many.end(self._last)
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
            "rejected_at": [self._last, *ends] if most else [],
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
        room = max(self._recipe.messages.max_bytes - beside, _SHORTEST_PART)
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


def _alone(rows: Changes) -> Mask:
    """Return which rows are before images without an after image."""
    op = rows.op.to_numpy(zero_copy_only=False)
    return np.asarray(((op == BEFORE_UPDATE) | (op == BEFORE_KEY_UPDATE)) & ~rows.is_before_image, np.bool_)


def _apart(parts: Sequence[AnyChanges]) -> list[Changes]:
    return [one for part in parts for one in part.split_by_table()]


def _halves(parts: list[AnyChanges]) -> list[list[AnyChanges]]:
    """Return changes as two parts, the later lines first, no update divided; nothing where they are few."""
    apart = _apart(parts)
    lines = np.concatenate([one.line for one in apart])
    if len(lines) <= _SMALL:
        return []
    at = int(np.median(lines))
    for one in apart:
        before = np.flatnonzero(one.is_before_image)
        divided = (one.line[before] < at) & (one.line[np.minimum(before + 1, len(one) - 1)] >= at)
        if divided.any():
            at = int(one.line[before[divided]].min())
    late = [one.where(one.line >= at) for one in apart]
    early = [one.where(one.line < at) for one in apart]
    halves: list[list[AnyChanges]] = [[one for one in half if len(one)] for half in (late, early)]
    return halves if all(halves) else []
