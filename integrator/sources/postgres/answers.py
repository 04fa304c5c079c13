"""What the server is told: up to where it may forget the log (I9), and that we are there."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from integrator.errors import IntegratorError, SourceAway
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.record import Record
from integrator.sources.postgres.server import END, Session

_ALIVE_S, _SILENT_S = 5.0, 60.0
"""Between answers that nothing else calls for, and how long a server that is asked may say nothing."""


class Answers:
    """Confirms positions, each of which is recorded before: a slot that is past it was used by somebody else.

    Where all that came is confirmed, psycopg2 confirms the position of a keep-alive by itself, at the next answer
    (pq_read_replication_message). No change of ours is before it that is not durable, so nothing is lost by that.
    """

    def __init__(self, cursor: Any, session: Session, record: Record, spool: Path, intake: Intake) -> None:
        """Take the cursor of a replication that is started, and a session beside it."""
        self._cursor, self._session, self._record, self._spool, self._intake = cursor, session, record, spool, intake
        self._last = self._heard = time.monotonic()
        self._told, self._sent = cursor.feedback_timestamp, None

    @property
    def seen(self) -> int:
        """Up to where the server has looked for changes."""
        return int(self._cursor.wal_end or 0)

    def confirm(self, lsn: int) -> None:
        """Confirm a position before which all changes are durable."""
        if not self._intake.is_held:
            self._note(self.seen)
        self._send(lsn)

    def ask(self) -> None:
        """Ask the server how far it has looked. Nothing of a transaction is to be held."""
        self._note(self.seen)
        self._send(0, reply=True)

    def alive(self, *, reads: bool) -> None:
        """Answer the server, now and then, so that it does not end the connection (wal_sender_timeout).

        reads: whether its messages are read meanwhile; then it is asked to answer, too. Raises SourceAway where it does
        not: a connection whose other end is gone without a word would stay quiet for hours.
        """
        now = time.monotonic()
        if not reads or self._cursor.io_timestamp != self._sent:
            self._heard = now
        if now - self._last > _ALIVE_S:
            if now - self._heard > _SILENT_S:
                raise SourceAway(f"{self._session.server.shown}: the server says nothing for {_SILENT_S:.0f} s")
            self._note_all()
            self._send(0, reply=reads)

    def note_sent(self) -> None:
        """Record what psycopg2 has answered by itself: the server may ask, when it stops or has not heard of us."""
        with suppress(IntegratorError), self._session.server.asked():  # the server may be gone
            if self._cursor.feedback_timestamp != self._told:
                self._told = self._cursor.feedback_timestamp
                self._note_all()

    def _send(self, lsn: int, *, reply: bool = False) -> None:
        with self._session.server.asked():
            self._cursor.send_feedback(write_lsn=lsn, flush_lsn=lsn, apply_lsn=lsn, reply=reply, force=True)
        self._last = time.monotonic()
        self._told, self._sent = self._cursor.feedback_timestamp, self._cursor.io_timestamp

    def _note_all(self) -> None:
        """Record whatever may be confirmed now: the keep-alive before a transaction that has begun is not known."""
        if self._intake.is_held:
            [(now,)] = self._session.rows(f"select ({END}) - '0/0'")
            self._note(int(now))
        else:
            self._note(self.seen)

    def _note(self, lsn: int) -> None:
        if lsn > max(self._intake.end, self._record.confirmed):
            self._record.confirmed = lsn
            self._record.write(self._spool)
