"""The journal of change files is renewed before a stream starts; a stream begins again when the journal has grown.

The stream's process has all entries since then in memory, some 300 bytes each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import structlog

from integrator.run.state import consistency
from integrator.run.state.directory import State
from integrator.sources.contract import Feed
from integrator.sources.journal.journal import least_compacted
from integrator.sources.slices import Limit, Slice

MOST_ENTRIES = 200_000
"""Entries that could be compacted, of a stream that runs: half a day of a socket that always has something new."""
_INSPECT_S = 60.0


class JournalCompaction:
    """Keeps the journal of one channel short."""

    def __init__(self, state: State, feed: Feed, channel: str) -> None:
        """Take the channel's state, and the feed of its source."""
        self._state, self._feed = state, feed
        self._log = structlog.get_logger().bind(channel=channel)
        self._compacted, self._inspect_at = 0, 0.0

    def compact(self, listed: Callable[[Mapping[str, int], Limit], list[Slice]]) -> None:
        """Have the journal follow slices that were mended, and forget those that no cycle can need any more.

        listed: returns the slices that are there, see `SliceListing`. No stream runs. Raises EnvironmentFault.
        """
        journal = consistency.check(self._state)
        mended = journal.renew(listed(journal.ends, Limit(most=1)), self._state.last_slice())  # ranges are never mended
        if mended:
            self._log.warning("change files mended", files=mended)
        self._feed.compact(journal, self._state.compactable())
        self._compacted = journal.compacted
        self._inspect_at = time.monotonic() + _INSPECT_S

    def is_due(self) -> bool:
        """Return whether the stream is to end after its cycle, for the journal to be renewed."""
        now = time.monotonic()
        if now < self._inspect_at:
            return False
        self._inspect_at = now + _INSPECT_S
        most = max(MOST_ENTRIES, least_compacted(self._compacted))  # fewer would not be compacted
        return self._state.compactable() - self._compacted > most
