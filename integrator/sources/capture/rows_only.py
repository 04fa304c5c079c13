"""Reads the rows that tables have, where no changes are to follow them (`snapshot: only`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from integrator.channel.databases import DatabaseLocation
from integrator.errors import EnvironmentFault
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.frames import position_after
from integrator.sources.capture.points import Captured, Points
from integrator.sources.capture.record import ANEW, Record
from integrator.sources.capture.stream import NamedServer, SpoolingStream, SpoolTarget
from integrator.sources.capture.thread import Capture
from integrator.sources.spool import Spool


class _Captures(Protocol):
    @property
    def location(self) -> DatabaseLocation: ...

    @property
    def server(self) -> NamedServer: ...

    def into(self, spool: Spool) -> SpoolTarget: ...


Captures = TypeVar("Captures", bound=_Captures)


class RowsOnly(SpoolingStream, Generic[Captures]):
    """Ends when the rows are there. Another one, which `Capture` makes after a pause, reads tables that came since."""

    def __init__(self, capture: Capture, at: Captures, spool: Spool, *, until_now: bool) -> None:
        """Take a spool that is open."""
        super().__init__(capture, at.server, at.into(spool), until_now=until_now)
        self._at = at

    def capture(self) -> None:
        """Read the rows of tables that were not read yet. Raises IntegratorError, OSError."""
        record = self._recorded()
        if record is not None and not record.creating:
            raise EnvironmentFault(
                f"the channel has captured changes, and `snapshot: only` would leave out all that follow; {ANEW}"
            )
        try:
            tables = self._find(record)
            self._first_rows.make_due(tables)
            self._capture.connected()
            self.copy()
        finally:
            if self._rows is not None:
                self._rows.close()

    def _find(self, record: Record | None) -> Sequence[Captured]:
        """Return the tables that there are, and have `_rows` know which were read. Raises IntegratorError."""
        raise NotImplementedError

    def _next(self, position: int) -> int:
        """Return a position that is after all that was read: positions ascend, though a quiet server's log does not."""
        return max(position, position_after(self._intake.lsn))

    def _begin(self, points: Points, record: Record) -> FirstRows:
        """Return the rows that are due, at positions that `points` makes."""
        rows = self._rows = FirstRows(points, record, self._spool.path, self._intake, self._log, self._at.location)
        return rows
