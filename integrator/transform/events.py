"""Change rows -> events: the before and after image of an update become one, for messages that hold both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, UPDATE
from integrator.engine.arrays import Ints, Mask

NONE = -1


@dataclass(frozen=True)
class Events:
    """Events among change rows: `row` is where each has its position, `before` and `after` where its images are.

    op: what happened, in the codes of change rows: an insert, an update, a delete or a truncate. -1 is no image.
    retired: the change row whose key is gone with the event. unpaired: the number of before images
    without an after image, which are in no event.
    """

    row: Ints
    op: npt.NDArray[np.int8]
    before: Ints
    after: Ints
    retired: Ints
    unpaired: int = 0

    def __len__(self) -> int:
        return len(self.row)

    @property
    def image(self) -> Ints:
        """The newer image of each event; its own row where there is none."""
        known = np.where(self.after >= 0, self.after, self.before)
        return np.where(known >= 0, known, self.row)

    def filter(self, keep: Mask) -> Events:
        """Return the events for which `keep` is True."""
        return Events(self.row[keep], self.op[keep], self.before[keep], self.after[keep], self.retired[keep])

    def renumbered(self, places: Ints) -> Events:
        """Return the events among other change rows: of each of these its place there, -1 where it is not there."""

        def at(rows: Ints) -> Ints:
            return np.where(rows < 0, NONE, places[rows])

        return Events(at(self.row), self.op, at(self.before), at(self.after), at(self.retired), self.unpaired)


def events(op: npt.NDArray[np.int8], old: Mask, *, split_key_updates: bool) -> Events:
    """Return the events of change rows with the operations `op`.

    old: which rows are before images whose after image is the next row. split_key_updates: an update of the key is a
    delete of the old key and an insert of the new one.
    """
    rows = np.arange(len(op))
    second = np.concatenate([[False], old[:-1]]) if len(op) else old
    moved = second & (np.concatenate([[INSERT], op[:-1]]) == BEFORE_KEY_UPDATE) if len(op) else second
    updated = op == UPDATE
    is_before_image = second & ~moved if split_key_updates else second
    happened = op.copy()
    if split_key_updates:
        happened[op == BEFORE_KEY_UPDATE] = DELETE
        happened[moved] = INSERT
    gone = happened == DELETE
    there = (op == INSERT) | updated
    before = np.where(gone, rows, np.where(is_before_image, rows - 1, NONE))
    after = np.where(there, rows, NONE)
    retired = np.where(gone, rows, np.where(is_before_image & moved, rows - 1, NONE))
    keep = (op != BEFORE_UPDATE) & ((op != BEFORE_KEY_UPDATE) | split_key_updates)
    alone = int((~keep).sum() - is_before_image.sum())
    return Events(rows[keep], happened[keep], before[keep], after[keep], retired[keep], alone)
