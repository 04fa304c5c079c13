"""Both images of an update stay together: a before image that ends a batch is deferred to the next batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from integrator.contracts.change_batch import ChangeBatch, joined
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE
from integrator.errors import Fault, Place, PublicDataError

OLD = (BEFORE_KEY_UPDATE, BEFORE_UPDATE)


def last_place(batch: ChangeBatch) -> int:
    """Return the place of a batch's last row, of whichever table; -1 for none."""
    return int(batch.order.max(initial=-1))


class UpdatePairs:
    """Defers, for each table, the before image that a batch ends with, for messages that hold both images."""

    def __init__(self) -> None:
        self._held: dict[str, ChangeBatch] = {}

    @property
    def held(self) -> bool:
        """Whether a before image is deferred."""
        return bool(self._held)

    def are_whole(self, batch: ChangeBatch) -> bool:
        """Return whether no before image is deferred, and the batch does not end with one."""
        if self._held or not len(batch):
            return not self._held
        return batch.op[int(np.argmax(batch.order))].as_py() not in OLD

    def whole(self, batch: ChangeBatch) -> ChangeBatch:
        """Return a batch's rows after the deferred before image, without a before image at their end."""
        last = last_place(batch)
        of_tables = [self._after_held(changes) for changes in batch.split_by_table()] if len(batch) else []
        alone = [_before(changes) for changes in self._held.values()]  # what follows is of another table: no update
        self._held.clear()
        return joined([*alone, *(self._without_end(changes, last) for changes in of_tables)])

    def _after_held(self, changes: ChangeBatch) -> ChangeBatch:
        held = self._held.pop(changes.tables[0], None)
        return changes if held is None else replace(joined([_before(held), changes]).merged(), before_images=None)

    def _without_end(self, changes: ChangeBatch, last: int) -> ChangeBatch:
        if not len(changes) or changes.op[-1].as_py() not in OLD or changes.order[-1] != last:
            return changes
        at_end = np.arange(len(changes)) == len(changes) - 1
        self._held[changes.tables[0]] = changes.filter(at_end)
        return changes.filter(~at_end)

    def end(self) -> None:
        """Record that the file ends. Raises DataError for a before image that is still deferred."""
        for changes in self._held.values():
            raise PublicDataError(
                Fault(
                    Place(changes.file, int(changes.line[0])),
                    f"table {changes.tables[0]}: the file ends with the before image of an "
                    "update; write its after image into the same file, after it",
                )
            )


def _before(held: ChangeBatch) -> ChangeBatch:
    """Return a row that was held back: its place is before all of the next batch."""
    return replace(held, order=held.order - held.order.max() - 1)
