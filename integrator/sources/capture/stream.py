"""What connections to databases' logs share: rows that are due, segments that are sealed, a full spool."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from integrator.errors import SourceAway
from integrator.sources.capture import record as records
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.frames import Standing, standing_in
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.marks import Mark, Unread, through
from integrator.sources.capture.points import Captured
from integrator.sources.capture.ranges import note_durable
from integrator.sources.capture.record import Record
from integrator.sources.capture.signals import Signals
from integrator.sources.capture.thread import Capture
from integrator.sources.spool import Spool

SEGMENT_BYTES, SEGMENT_S, BACKLOG_S = 16 * 1024 * 1024, 0.05, 1.0
SEAL_S = 0.005
"""Between two checks whether a segment can be sealed."""
_FULL_S, _ROWS_S = 0.2, 1.0


class NamedServer(Protocol):
    """A database as messages name it."""

    @property
    def shown(self) -> str:
        """Where it is; nothing secret."""


@dataclass(frozen=True)
class SpoolTarget:
    """Where a capture writes: an open spool. sender: its name there. bytes: how many may wait to be sent.

    position: returns a position as the database writes it. signals: the table that asks for refreshes.
    """

    spool: Spool
    sender: str
    bytes: int
    position: Callable[[int], str]
    signals: str | None = None


class SpoolingStream:
    """One connection to a database's log, from where the spool ends."""

    def __init__(self, capture: Capture, server: NamedServer, into: SpoolTarget, *, until_now: bool) -> None:
        """Begin where the spool ends. until_now: it ends when all is there that was committed at its start."""
        writer = into.spool.writer(into.sender)
        writer.seal()  # what a full disk kept from being handed over: changes after it are not to come before it
        durable = standing_in(into.spool.path) or Standing()
        self._capture, self._spool, self._in_snapshot = capture, into.spool, durable.in_snapshot
        signals = Signals(into.signals, into.spool.path.parent, capture.log)
        self._intake = Intake(writer, durable, server.shown, self._shown, signals)
        self._log, self._spool_bytes, self._until_now = capture.log, into.bytes, until_now
        self._as_written, self._unread = into.position, Unread()
        self._rows: FirstRows | None = None
        self.streamed = False

    def _shown(self, position: int) -> str:
        """Return a position as the database writes it."""
        return self._as_written(position)

    @property
    def _numbered_by(self) -> str:
        """The server whose positions are captured, where another one would number its own anew."""
        return ""

    def _recorded(self) -> Record | None:
        """Return what is kept of this capture, with the rows that are durable; None before the first start.

        Rows of a table that were interrupted are ended: the table is read on at another position. They are noted before
        that, for only the last segment is sure to be there: those before it are removed once they are synced.
        """
        record = records.read(self._spool.path)
        if record is not None and note_durable(self._spool.path, record.reading):
            record.write(self._spool.path)
        if self._in_snapshot:
            self._intake.end_rows(self._intake.end)
            self.seal()
            self._in_snapshot = False
        return record

    @property
    def _first_rows(self) -> FirstRows:
        if self._rows is None:
            raise RuntimeError("no record")
        return self._rows

    def seal_where_due(self) -> None:
        """Seal what is large, has waited, or could be sent at once, for nothing else waits.

        Where a whole segment waits already, it is sent late anyway: more are put together then, for a segment costs
        some milliseconds however little it has.
        """
        size, waited, ahead = self._intake.size, time.monotonic() - self._intake.sealed, self._spool.waiting_bytes
        wait_s = SEGMENT_S if ahead < SEGMENT_BYTES else BACKLOG_S
        if size and (size >= SEGMENT_BYTES or waited >= wait_s or not ahead):
            self.seal()

    def seal(self) -> None:
        """Make what was received durable, and hand it to the cycles."""
        self._intake.seal()
        self.streamed = True
        self._note()

    def _note(self, seen: int = 0) -> None:
        """Note up to where all of ours is in segments: nothing is held. seen: up to where the log was read."""
        if self._rows is not None:
            position, there, record = max(seen, self._intake.end), self._there, self._rows.record
            names, unread = self._unread.of(there, record)
            at = (position, self._shown(position), through(position, record), self._intake.committed)
            self._capture.marks.add(Mark(self._spool.last, *at, names, unread, self._numbered_by))

    @property
    def _there(self) -> Sequence[Captured]:
        """The tables that were captured when they were searched for last; none where no changes of them follow."""
        return ()

    def copy(self) -> None:
        """Write the rows that are due; their changes follow them."""
        self._first_rows.copy(self)

    @property
    def is_due(self) -> bool:
        """Whether rows that were written are to become durable."""
        return self._intake.size >= SEGMENT_BYTES or time.monotonic() - self._intake.sealed >= _ROWS_S

    @property
    def waiting_bytes(self) -> int:
        """How much waits to be sent, where anybody sends meanwhile."""
        return 0 if self._until_now else self._spool.waiting_bytes

    def rest(self) -> None:
        """Wait while the spool is full; answer the server."""
        self._wait_for_room()
        self._alive()

    def has_changes(self) -> bool:
        """Return whether the server has sent something that is not read yet."""
        return False

    def _is_next(self) -> bool:
        """Return whether rows that are left are read on now."""
        return self._first_rows.is_next(self.waiting_bytes)

    def _wait_for_room(self) -> None:
        """Wait until less of the spool waits to be sent; what the server keeps meanwhile is in the log."""
        began, reported = time.monotonic(), False
        while not self._until_now and self._spool.waiting_bytes > self._spool_bytes:
            if self._capture.ending:
                raise SourceAway("the capture ends while the spool is full")
            if not reported and time.monotonic() - began > 1.0:
                reported = True
                self._log.warning(
                    "the spool is full: nothing is read from the database",
                    waiting_bytes=self._spool.waiting_bytes,
                    spool_bytes=self._spool_bytes,
                    **self._kept(),
                )
            self._alive()
            time.sleep(_FULL_S)

    def _kept(self) -> Mapping[str, object]:
        """Return what the server keeps for us, for the log."""
        return {}

    def _alive(self) -> None:
        """Answer the server while nothing is read."""
