"""What is there and not synced: files and bytes. Asked for by whoever scrapes, never by the cycle.

The journal and the directory are not read again before a second, nor before ten times as long as that took, has passed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from integrator.durable import Damaged
from integrator.errors import EnvironmentFault
from integrator.run.state.directory import State
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import SliceListing

_EVERY_S = 1.0
_REST = 10


class Backlog:
    """The backlog of one channel."""

    def __init__(self, state: Path, listing: Callable[[], SliceListing]) -> None:
        self._state, self._listing = State(str(state)), listing
        self._lock = threading.Lock()
        self._last, self._again = (0, 0), 0.0

    def now(self) -> tuple[int, int]:
        """Return how many files are not synced, and their bytes; where that cannot be read, what it was before."""
        with self._lock:
            began = time.monotonic()
            if began >= self._again:
                with contextlib.suppress(EnvironmentFault, Damaged, OSError):  # the channel itself fails with it
                    self._last = self._read()
                took = time.monotonic() - began
                self._again = began + max(_EVERY_S, took * _REST)
            return self._last

    def _read(self) -> tuple[int, int]:
        synced = self._state.last_slice()
        journal = Journal(self._state.journal)
        sizes = [entry.size for _, entry in journal.between(synced, len(journal))]
        sizes += [file.size for file in journal.untaken(self._listing().slices())]
        return len(sizes), sum(sizes)
