"""Both images of an update stay together: a before image that ends a batch is deferred to the next batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from integrator.contracts.changes import Changes, together
from integrator.contracts.multi_table_changes import AnyChanges, MultiTableChanges
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE
from integrator.errors import Fault, Place, PublicDataError

OLD = (BEFORE_KEY_UPDATE, BEFORE_UPDATE)


def last_place(batch: Sequence[AnyChanges]) -> int:
    """Return the place of a batch's last row, of whichever table; -1 for none."""
    return max((int(changes.order.max()) for changes in batch if len(changes)), default=-1)


class UpdatePairs:
    """Defers, for each table, the before image that a batch ends with, for messages that hold both images."""

    def __init__(self) -> None:
        self._held: dict[str, Changes] = {}

    @property
    def held(self) -> bool:
        """Whether a before image is deferred."""
        return bool(self._held)

    def are_whole(self, batch: Sequence[AnyChanges]) -> bool:
        """Return whether no before image is deferred, and the batch does not end with one."""
        rows = [part.rows if isinstance(part, MultiTableChanges) else part for part in batch if len(part)]
        if self._held or not rows:
            return not self._held
        latest = max(rows, key=lambda part: int(part.order.max()))
        return latest.op[int(np.argmax(latest.order))].as_py() not in OLD

    def whole(self, batch: list[Changes]) -> list[Changes]:
        """Return a batch's rows after the deferred before image, without a before image at their end."""
        last = last_place(batch)
        joint = [self._after_held(changes) for changes in batch]
        alone = [_before(changes) for changes in self._held.values()]  # what follows is of another table: no update
        self._held.clear()
        return alone + [self._without_end(changes, last) for changes in joint]

    def _after_held(self, changes: Changes) -> Changes:
        held = self._held.pop(changes.table, None)
        return changes if held is None else together([_before(held), changes])

    def _without_end(self, changes: Changes, last: int) -> Changes:
        if not len(changes) or changes.op[-1].as_py() not in OLD or changes.order[-1] != last:
            return changes
        at_end = np.arange(len(changes)) == len(changes) - 1
        self._held[changes.table] = changes.where(at_end)
        return changes.where(~at_end)

    def end(self) -> None:
        """Record that the file ends. Raises DataError for a before image that is still deferred."""
        for changes in self._held.values():
            raise PublicDataError(
                Fault(
                    Place(changes.file, int(changes.line[0])),
                    f"table {changes.table}: the file ends with the before image of an "
                    "update; write its after image into the same file, after it",
                )
            )


def _before(held: Changes) -> Changes:
    """Return a row that was held back: its place is before all of the next batch."""
    return dataclasses.replace(held, order=held.order - held.order.max() - 1)
