"""Change rows -> events: the old and the new row of an update become one, for messages that hold both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from integrator.arrays import Mask
from integrator.recipe import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, UPDATE

Places = npt.NDArray[np.int64]
NONE = -1


@dataclass(frozen=True)
class Events:
    """Events among change rows: `row` is where each has its position, `before` and `after` where its images are.

    op: what happened, in the codes of change rows: an insert, an update, a delete or a truncate. -1 is no image.
    unpaired: old rows of updates that no new row stands behind, which are in no event.
    """

    row: Places
    op: npt.NDArray[np.int8]
    before: Places
    after: Places
    unpaired: int = 0

    def __len__(self) -> int:
        return len(self.row)

    @property
    def image(self) -> Places:
        """The newer image of each event; its own row where there is none."""
        known = np.where(self.after >= 0, self.after, self.before)
        return np.where(known >= 0, known, self.row)

    def where(self, keep: Mask) -> Events:
        """Return the events for which `keep` is True."""
        return Events(self.row[keep], self.op[keep], self.before[keep], self.after[keep])


def events(op: npt.NDArray[np.int8], *, split_key_updates: bool) -> Events:
    """Return the events of change rows with the operations `op`, of which old and new rows of an update are adjacent.

    split_key_updates: an update of the key is a delete of the old key and an insert of the new one.
    """
    rows = np.arange(len(op))
    previous = np.concatenate([[INSERT], op[:-1]]) if len(op) else op
    updated = op == UPDATE
    paired = updated & ((previous == BEFORE_UPDATE) | ((previous == BEFORE_KEY_UPDATE) & (not split_key_updates)))
    happened = op.copy()
    if split_key_updates:
        happened[op == BEFORE_KEY_UPDATE] = DELETE
        happened[updated & (previous == BEFORE_KEY_UPDATE)] = INSERT
    gone = happened == DELETE
    there = (op == INSERT) | updated
    before = np.where(gone, rows, np.where(paired, rows - 1, NONE))
    after = np.where(there, rows, NONE)
    keep = (op != BEFORE_UPDATE) & ((op != BEFORE_KEY_UPDATE) | split_key_updates)
    alone = int((~keep).sum() - paired.sum())
    return Events(rows[keep], happened[keep], before[keep], after[keep], alone)
