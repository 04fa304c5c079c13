"""Messages of a database -> frames of a segment: each change once, however often the server sends it (I9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from integrator.decode.encodings.pgoutput import Relation, message_at
from integrator.engine.arrays import Octets
from integrator.engine.pgoutput import (
    BEGIN,
    BEGUN_BEFORE,
    COMMIT,
    MESSAGE,
    NOT_OPEN,
    RELATION,
    TRUNCATE,
    Course,
    pass_changes,
)
from integrator.errors import EnvironmentFault
from integrator.sources.capture.frames import (
    CHANGES,
    LEFT,
    NOTE,
    ROWS,
    Segment,
    Standing,
    begin,
    commit,
    copied,
    deleted,
)
from integrator.sources.capture.record import ANEW
from integrator.sources.capture.signals import Signals
from integrator.sources.spool import Writer

OWN_PREFIX = "integrator"
"""Of logical messages that are written to know how far the log is now."""
_OWN_MESSAGE, _PREFIX_AT = OWN_PREFIX.encode() + b"\0", 10
TRUNCATED = bytes([TRUNCATE]) + (1).to_bytes(4, "big") + b"\0"
"""A TRUNCATE of the one table whose number follows."""
_NO_OIDS = np.empty(0, np.int64)
_ALL = 1 << 62
"""Skips all changes of a transaction."""


class Intake:
    """Takes messages from where the spool ends.

    lsn, changes, end: as in `Standing`. committed: when the last whole transaction that was taken was committed, in
    microseconds since 2000; 0: none was. read: the oids, as messages have them, of tables whose changes are
    written; those of others are in rows that are read later, or are none of ours. sealed: when a segment was sealed.
    note: what the product notes of the next transaction. history: returns what it keeps, as in `Standing`.
    """

    def __init__(
        self, writer: Writer, durable: Standing, shown: str, position: Callable[[int], str], signals: Signals
    ) -> None:
        """Take the writer of the spool, and where it ends. shown: what the server is called.

        position: returns a position as the server writes it. signals: takes the changes of the table of signals.
        """
        self.lsn, self.changes, self.end, self._begun = durable.lsn, durable.changes, durable.end, durable.begun
        self._comes_again = self.note = b""
        self.history: Callable[[], bytes] = lambda: durable.history
        self.committed = 0
        self.read: set[bytes] = set()
        self.sealed = time.monotonic()
        self._writer, self._shown, self._position, self._signals = writer, shown, position, signals
        self._segment = Segment(durable)
        self._skipped = 0
        self._known: set[bytes] = set()
        self._oids = _NO_OIDS

    def expect(self, last: bytes) -> None:
        """Refuse a log that does not have the last transaction, whose BEGIN is given, where it had it before.

        It is for a log of which the server sends that transaction again: another one may have others at its position,
        as after a disk is put back, and these would be taken for what is durable.
        """
        self._comes_again = last

    @property
    def begun(self) -> bytes:
        """The BEGIN of the last transaction, where its end is not there; else nothing."""
        return self._begun

    @property
    def is_open(self) -> bool:
        """Whether the end of the last transaction is not there."""
        return bool(self._begun)

    @property
    def is_repeated(self) -> bool:
        """Whether the changes that come now are durable, and come again."""
        return self._skipped > 0

    @property
    def size(self) -> int:
        """How many bytes are not durable yet."""
        return self._segment.size

    @property
    def is_held(self) -> bool:
        """Whether a transaction is not whole, or not durable."""
        return self.is_open or self._segment.size > 0

    def take_changes(self, frames: Octets, at: int, limit: int) -> int:
        """Write whole transactions, and rows whose relation is in the segment; return the first frame that is another.

        limit: transactions whose commit is there, or after it, are to be checked.
        """
        if self._skipped or self._comes_again:
            return at
        begun = BEGUN_BEFORE if self._begun else NOT_OPEN
        course = np.array(Course(self.lsn, self.changes, self.end, begun, self.committed), np.int64)
        stop = pass_changes(frames, at, self._oids, limit, course)
        if stop > at:
            self._segment.add_frames(frames[at:stop].tobytes())
            self.lsn, self.changes, self.end, begun, self.committed = course.tolist()
            if begun != BEGUN_BEFORE:
                self._begun = b"" if begun == NOT_OPEN else message_at(frames, begun)
        return stop

    def take(self, message: bytes) -> None:
        """Write a message; one that is durable already, for it comes again after a crash, is not written twice."""
        kind = message[0]
        if kind == RELATION:
            self._know(message)
        elif kind == BEGIN:
            self._begin(message)
        elif kind == COMMIT:
            self._commit(message)
        elif self._skipped:
            self._skipped -= kind in CHANGES
        elif kind in ROWS:
            self.changes += 1
            oid = message[1:5]
            if oid in self.read:
                self._segment.add_change(message, oid)
                if self._signals.are_of(oid):
                    self._signals.take(message)
                elif oid not in self._known:
                    self._know_oid(oid)
            else:
                self._segment.add(LEFT)
        elif kind == LEFT[0]:
            self.changes += 1
            self._segment.add(message)
        elif kind == TRUNCATE:
            self.changes += 1
            self._truncate(message)
        elif kind == MESSAGE:
            self.changes += 1
            self._segment.add(LEFT if message.startswith(_OWN_MESSAGE, _PREFIX_AT) else message)

    def knows(self, oid: bytes) -> bool:
        """Return whether a relation was announced."""
        return self._segment.knows(oid)

    def leave(self, oids: Iterable[int]) -> None:
        """Leave out changes of relations from now on."""
        self.read -= {oid.to_bytes(4, "big") for oid in oids}
        self._forget_oids()

    def _know_oid(self, oid: bytes) -> None:
        """Note that rows of a relation need no inspection in this segment."""
        number = int.from_bytes(oid, "big")
        self._known.add(oid)
        self._oids = np.insert(self._oids, np.searchsorted(self._oids, number), number)

    def _forget_oids(self) -> None:
        self._known.clear()
        self._oids = _NO_OIDS

    def _know(self, message: bytes) -> None:
        self._signals.know(message)
        if self._segment.know(message):  # a segment has a relation once, and one of each name (I11)
            self.seal()

    def _begin(self, message: bytes) -> None:
        lsn = int.from_bytes(message[1:9], "big")
        if self._comes_again and lsn >= self.lsn:
            if message != self._comes_again:
                raise EnvironmentFault(
                    f"{self._shown}: the log does not have the transaction at {self._position(self.lsn)} any more that "
                    f"was captured last: the database, or its disk, was put back to an earlier state; {ANEW}"
                )
            self._comes_again = b""
        if lsn < self.lsn or (lsn == self.lsn and not self.is_open):
            self._skipped = _ALL
        elif lsn == self.lsn:
            self._skipped = self.changes
        elif self.is_open:
            raise EnvironmentFault(
                f"{self._shown}: the rest of the transaction at {self._position(self.lsn)} does not come, and the one "
                f"at {self._position(lsn)} does: changes are gone; {ANEW}"
            )
        else:
            self.lsn, self.changes, self._begun = lsn, 0, message
            if self.note:
                self._segment.add(NOTE + self.note)
                self.note = b""
            self._segment.add(message)

    def _commit(self, message: bytes) -> None:
        if self._skipped:
            whole, self._skipped = self._skipped > _ALL >> 1, 0
            if whole:
                return
        self._begun, self.end = b"", int.from_bytes(message[10:18], "big")
        self.committed = int.from_bytes(message[18:26], "big")
        self._segment.add(message)

    def _truncate(self, message: bytes) -> None:
        """Write a TRUNCATE without the tables whose changes are not written."""
        left = [oid for oid in (message[at : at + 4] for at in range(6, len(message), 4)) if oid in self.read]
        if not left:
            self._segment.add(LEFT)
            return
        for oid in left:
            self._segment.announce(oid)
        self._segment.add(message[:1] + len(left).to_bytes(4, "big") + message[5:6] + b"".join(left))

    def begin_rows(self, relation: Relation, lsn: int, micros: int, number: int) -> None:
        """Begin the rows that a table has, as a transaction of this number at `lsn`."""
        self._know(relation.message())
        self.lsn, self.changes, self._begun = lsn, 0, begin(lsn, micros, number)
        self._segment.add(self._begun)

    def begin_anew(self, relation: Relation) -> None:
        """Write a TRUNCATE: the rows of a table that follow are all that it has, and consumers have others."""
        self.changes += 1
        number = relation.oid.to_bytes(4, "big")
        self._segment.announce(number)
        self._segment.add(TRUNCATED + number)

    def take_gone(self, relation: Relation, key: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a delete of each of some rows, given the values of their keys as text; others are not known."""
        number = relation.oid.to_bytes(4, "big")
        for row in rows:
            self.changes += 1
            self._segment.add_change(deleted(relation, dict(zip(key, row, strict=True))), number)

    def take_rows(self, relation: Relation, rows: bytes) -> None:
        """Write whole rows of COPY."""
        self._segment.add_change(copied(relation.oid, rows), relation.oid.to_bytes(4, "big"))

    def end_rows(self, end: int, micros: int = 0) -> None:
        """End the rows of a table. end: up to where the log may be forgotten now."""
        self.end, self.committed = max(self.end, end), micros or self.committed
        self._begun = b""
        self._segment.add(commit(self.lsn, self.end, micros))

    def seal(self) -> None:
        """Make what was taken durable, and hand it to the cycles. Raises OSError."""
        if self._segment.size:
            self._writer.write(b"".join(self._segment.pieces))
            self._writer.seal()
        self._segment.clear(Standing(self.lsn, self.changes, self.end, self._begun, history=self.history()))
        self._forget_oids()
        self.sealed = time.monotonic()
