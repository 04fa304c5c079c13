"""What fills a spool, and the spool between it and the cycles."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from integrator.sources.contract import Feed
from integrator.sources.journal.journal import Journal
from integrator.sources.journal.lines import header_of
from integrator.sources.slices import Slice
from integrator.sources.spool import Spool, number_of

_MOST_SEGMENTS = 5_000
"""Of cycles that may be gone back to: a directory of more takes long to list."""


class Receiving(Protocol):
    """Fills a spool in a thread of its own."""

    def start(self) -> None:
        """Start. Raises EnvironmentFault."""

    def close(self) -> None:
        """End; what was received is durable, and sealed."""


@dataclass(frozen=True)
class Kept:
    """How long segments are kept that are in synced cycles, so that these may be gone back to.

    cycles: of how many. bytes: so many in all, with those that wait. ends: with which number each cycle ends that may
    be gone back to.
    """

    cycles: int
    bytes: int
    ends: Sequence[int] = ()


class Spooled(Feed):
    """Receives while the channel is integrated; segments are removed when they are not to be kept any more."""

    def __init__(self, spool: Spool, receiver: Receiving, journal: Path, kept: Kept) -> None:
        """Take an opened spool, and what fills it. journal: which segments were taken."""
        self.spool, self.receiver = spool, receiver
        self._journal, self._kept = journal, kept
        self._ends: deque[int] = deque(kept.ends)
        self._synced = self._followed = self._number = 0
        self._taken: deque[tuple[int, str]] = deque()
        self._follow()
        if self._taken:
            self.spool.continue_after(number_of(self._taken[-1][1]))

    def start(self, synced: int) -> None:
        """Start to receive; `synced` is the number of the last segment that is in a synced cycle."""
        self.synced(synced)
        self.receiver.start()

    def synced(self, last: int, *, ends_cycle: bool = True) -> None:
        """Take note of a synced cycle, which ends with segment number `last` of the journal."""
        self._follow()
        self.spool.synced([name for number, name in self._taken if self._synced < number <= last])
        self._synced = max(self._synced, last)
        if ends_cycle and (not self._ends or last > self._ends[-1]):
            self._ends.append(last)
        while len(self._ends) > self._kept.cycles or (
            len(self._ends) > 1 and (self.spool.sealed_bytes > self._kept.bytes or len(self._taken) > _MOST_SEGMENTS)
        ):
            self._remove(self._ends.popleft())  # and none of the last cycle, for which Spark may ask again

    def waiting(self) -> Sequence[Slice]:
        """Return the segments that are in no synced cycle, in order."""
        return self.spool.waiting()

    def wait(self, seconds: float) -> None:
        """Wait until another segment is sealed."""
        self.spool.wait(seconds)

    def _remove(self, last: int) -> None:
        """Remove the segments up to this number of the journal."""
        names = []
        while self._taken and self._taken[0][0] <= last:
            names.append(self._taken.popleft()[1])
        if names:
            self.spool.remove(names)

    def compact(self, journal: Journal, synced: int) -> None:
        """Compact the journal, see `Journal.compact`, when the segments that it forgets are removed. No stream runs."""
        entries = journal.compactable(synced)
        if not entries:
            return
        self._follow()
        self.spool.remove([Path(entry.path).name for entry in entries])
        journal.compact(synced)
        while self._taken and self._taken[0][0] <= journal.compacted:
            self._taken.popleft()
        self._followed = self._journal.stat().st_size

    def _follow(self) -> None:
        """Read on in the journal, which the stream's process writes."""
        if not self._journal.exists():
            return
        with self._journal.open("rb") as journal:
            journal.seek(self._followed)
            data = journal.read()
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not self._followed and lines and (header := header_of(lines[0])) is not None:
            self._number = int(header["compacted"])
            lines = lines[1:]
        self._followed += len(whole)
        for line in lines:
            self._number += 1
            self._taken.append((self._number, json.loads(line)["path"].rpartition("/")[2]))

    def close(self) -> None:
        """End to receive."""
        self.receiver.close()
        self.spool.close()
