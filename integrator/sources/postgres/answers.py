"""What is reported to the server: up to where it may forget the log (I9), and that we are there."""

from __future__ import annotations

import time
from pathlib import Path

from integrator.errors import SourceAway
from integrator.sources.capture.intake import Intake
from integrator.sources.capture.record import Record
from integrator.sources.postgres.replication import Replication
from integrator.sources.postgres.server import Session

_ALIVE_S, _SILENT_S, _NO_LIMIT_S = 5.0, 60.0, 3600.0
"""Between answers that nothing else calls for; how long a server that is asked may say nothing, at least; and where it
has no limit itself."""


def silence_of(session: Session) -> float:
    """Return for how many seconds a server may say nothing: as long as it lets us, for it decodes meanwhile.

    An older one sends nothing while it decodes a large transaction of tables that are not published.
    """
    [(limit_ms,)] = session.rows("select setting::int from pg_settings where name = 'wal_sender_timeout'")
    return max(_SILENT_S, limit_ms / 1000) if limit_ms else _NO_LIMIT_S


class Answers:
    """Confirms positions, each of which is recorded before: a slot that is past it was used by somebody else."""

    def __init__(
        self, replication: Replication, record: Record, spool: Path, intake: Intake, shown: str, silent_s: float
    ) -> None:
        """Take a stream that is started. shown: what the server is called. silent_s: as of `silence_of`."""
        self._silent_s = silent_s
        self._replication, self._record, self._spool, self._intake = replication, record, spool, intake
        self._shown, self._last, self._heard = shown, time.monotonic(), time.monotonic()
        self._received, self._asks = 0, False

    @property
    def seen(self) -> int:
        """Up to where the server has searched for changes."""
        return self._replication.seen

    @property
    def is_asked(self) -> bool:
        """Whether the server waits for an answer."""
        return self._replication.is_asked

    def confirm(self, lsn: int) -> None:
        """Confirm a position before which all changes are durable."""
        if lsn > max(self._intake.end, self._record.confirmed):
            self._record.confirmed = lsn
            self._record.write(self._spool)
        self._report(lsn)

    def ask(self) -> None:
        """Ask the server how far it has read its log."""
        if not self._asks:
            self._report(0, ask=True)

    def alive(self, *, reads: bool) -> None:
        """Answer the server where it asks, and now and then, so that it does not end the connection.

        reads: whether its messages are read meanwhile; then it is asked to answer, too. Raises SourceAway where it does
        not: a connection whose other end is gone without a word would stay quiet for hours (wal_sender_timeout).
        """
        now = time.monotonic()
        if not reads or self._replication.received != self._received:
            self._heard, self._received, self._asks = now, self._replication.received, False
        if self._replication.is_asked:
            self._report(0)
        elif now - self._last > _ALIVE_S:
            if now - self._heard > self._silent_s:
                raise SourceAway(
                    f"{self._shown}: the server says nothing for {self._silent_s:.0f} s; where it decodes a "
                    "transaction for longer, raise its wal_sender_timeout"
                )
            self._report(0, ask=reads)

    def _report(self, lsn: int, *, ask: bool = False) -> None:
        self._asks |= ask
        self._replication.report(lsn, ask=ask)
        self._last = time.monotonic()
