"""Old and new rows of updates are kept together: where a batch ends between them, the old one waits for the next."""

from __future__ import annotations

import numpy as np

from integrator.changes import Changes, joined
from integrator.errors import DataError
from integrator.recipe import BEFORE_KEY_UPDATE, BEFORE_UPDATE

OLD = (BEFORE_KEY_UPDATE, BEFORE_UPDATE)


class Pairs:
    """Holds back, table by table, the old row that a batch ends with, for messages that hold both images."""

    def __init__(self) -> None:
        self._held: dict[str, Changes] = {}

    def whole(self, changes: Changes, last: int) -> Changes:
        """Return the rows with the one that was held back before them, and without an old row that the batch ends with.

        last: the place of the batch's last row, of whichever table.
        """
        held = self._held.pop(changes.table, None)
        if held is not None:
            changes = joined(held, changes)
        if not len(changes) or changes.op[-1].as_py() not in OLD or changes.order[-1] != last:
            return changes
        at_end = np.arange(len(changes)) == len(changes) - 1
        self._held[changes.table] = changes.where(at_end)
        return changes.where(~at_end)

    def end(self) -> None:
        """Say that the file ends. Raises DataError for an old row that is still held back."""
        for changes in self._held.values():
            raise DataError(
                f"{changes.file}:{changes.line[0]}: table {changes.table}: the file ends with the old row of an "
                "update; write its new row into the same file, behind it"
            )
