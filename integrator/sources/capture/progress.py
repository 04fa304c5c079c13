"""How far the rows that tables have are read: kept beside the segments, for the page, the metrics and `state`."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from integrator import durable

FILE = "snapshot.json"
_REPORT_S, _WRITE_S = 10.0, 1.0


@dataclass(frozen=True)
class Snapshot:
    """A table whose rows are being read: how many were, about how many it has, and the tables after it."""

    table: str
    rows: int
    about_rows: int
    seconds_left: float
    tables_left: int


class Progress:
    """Counts rows of a table; logs now and then how many there are, and about how long the rest takes."""

    def __init__(self, spool: Path, log: Any, table: str, about_rows: int, tables_left: int, rows: int = 0) -> None:
        """Begin a table, or continue after so many rows."""
        self._path, self._log, self._table = spool / FILE, log, table
        self._about, self._tables_left = about_rows, tables_left
        self._began = self._reported = time.monotonic()
        self._written = 0.0 if rows else self._began  # a small table is read before anyone sees it
        self._before, self.rows = rows, rows

    def add(self, rows: int) -> None:
        """Count rows. Raises OSError."""
        self.rows += rows
        now = time.monotonic()
        if now - self._written <= _WRITE_S:
            return
        self._written = now
        left = max(self._about - self.rows, 0) * (now - self._began) / max(self.rows - self._before, 1)
        one = Snapshot(self._table, self.rows, self._about, round(left, 1), self._tables_left)
        durable.replace(self._path, json.dumps(asdict(one)).encode())
        if now - self._reported > _REPORT_S:
            self._reported = now
            self._log.info("snapshot", table=self._table, rows=self.rows, about=self._about, seconds_left=round(left))

    def leave(self) -> None:
        """Note that the table is not being read."""
        self._path.unlink(missing_ok=True)

    def end(self) -> None:
        """Log that the table is read."""
        self.leave()
        seconds = round(time.monotonic() - self._began, 1)
        self._log.info(
            "snapshot of a table", table=self._table, rows=self.rows, seconds=seconds, tables_left=self._tables_left
        )


def read(spool: Path) -> Snapshot | None:
    """Return what is being read; None where nothing is, or nothing is written yet."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Snapshot(**json.loads((spool / FILE).read_bytes()))
    return None
