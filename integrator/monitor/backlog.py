"""What is there and not synced: slices, bytes, and records by stream. Asked for by whoever scrapes, not by the cycle.

The journal and the directory are not read again before a second, nor before ten times as long as that took, has passed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from integrator.durable import Damaged
from integrator.errors import IntegratorError
from integrator.run.state.directory import State
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import SliceListing

_EVERY_S = 1.0
_REST = 10


@dataclass(frozen=True)
class Lag:
    """What is not synced: how many slices, and their bytes; of ranges how many offsets, by stream."""

    files: int = 0
    bytes: int = 0
    records: Mapping[str, int] = field(default_factory=dict)


class Backlog:
    """The backlog of one channel."""

    def __init__(self, state: Path, listing: Callable[[], SliceListing]) -> None:
        self._state, self._listing = State(str(state)), listing
        self._lock = threading.Lock()
        self._last, self._again = Lag(), 0.0

    def now(self) -> Lag:
        """Return what is not synced; where that cannot be read, what it was before."""
        with self._lock:
            began = time.monotonic()
            if began >= self._again:
                with contextlib.suppress(IntegratorError, Damaged, OSError):  # the channel itself fails with it
                    self._last = self._read()
                took = time.monotonic() - began
                self._again = began + max(_EVERY_S, took * _REST)
            return self._last

    def _read(self) -> Lag:
        synced = self._state.last_slice()
        journal = Journal(self._state.journal)
        left = [entry for _, entry in journal.between(synced, len(journal))]
        left += journal.untaken(self._listing().slices(journal.ends))
        records = Counter(dict.fromkeys(journal.ends, 0))
        for one in left:
            if one.stream:
                records[one.stream] += one.length
        return Lag(len(left), sum(one.size for one in left), dict(records))
