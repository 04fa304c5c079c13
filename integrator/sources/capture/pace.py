"""For how long the rows of tables are read at one position of the log, and when they are read at the next one.

While rows are read, changes wait: those at and after the position follow the rows. And what is read waits to be sent,
with the changes after it. So with changes that wait, rows are read in short pieces, and only while little waits to be
sent; where nothing else changes, in long ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable

POSITION_S, _MOST_S, _SHORT_S = 5.0, 50.0, 0.05
"""Rows are read at one position for POSITION_S, up to _MOST_S where a position takes long to have; while changes wait,
for _SHORT_S, or for as long as it took until the first row came."""
_TIMES_THE_POSITION = 20
"""For so many times as long as it takes to have a position rows are read at it, but no longer than _MOST_S."""
_MOST_BYTES, _QUIET_BYTES, _BUSY_BYTES = (many * 1024 * 1024 for many in (64, 32, 2))
"""No more is read at a position where more than _MOST_BYTES wait to be sent, and at the next one once no more than
_QUIET_BYTES do, or _BUSY_BYTES where changes have come within _BUSY_S; then no more than that is read at once. Where
more waits for POSITION_S, the next position comes nevertheless."""
_BUSY_S = 5.0
_ALIVE_S = 1.0


class Pace:
    """Says when to begin and when to end. `per_second`: the most rows in a second; None: as many as can be."""

    def __init__(self, per_second: int | None) -> None:
        """Begin without a position."""
        self._per_second, self._rate_until = per_second, 0.0
        self._took_s = self._not_before = 0.0
        self._began = self._until = self._soon = 0.0
        self._ended, self._changed, self._bytes = time.monotonic(), float("-inf"), 0
        self._is_free = True

    @property
    def is_put_off(self) -> bool:
        """Whether a position is not to be asked for yet."""
        return time.monotonic() < self._not_before

    def put_off(self, seconds: float) -> None:
        """Have no position be asked for within so many seconds."""
        self._not_before = time.monotonic() + seconds

    def note_cost(self, seconds: float) -> None:
        """Note how long it took to have a position."""
        self._took_s = seconds

    def is_next(self, waiting_bytes: int, *, has_changed: bool) -> bool:
        """Return whether rows that are left are read on now. has_changed: changes have come since they were read."""
        now = time.monotonic()
        self._changed = now if has_changed else self._changed
        is_busy = now < self._changed + _BUSY_S
        self._is_free = waiting_bytes <= (_BUSY_BYTES if is_busy else _QUIET_BYTES)
        return now >= max(self._not_before, self._rate_until) and (self._is_free or now >= self._ended + POSITION_S)

    def begin(self) -> None:
        """Begin at a position."""
        self._began = now = time.monotonic()
        self._until = now + max(POSITION_S, min(_TIMES_THE_POSITION * self._took_s, _MOST_S))
        self._soon, self._bytes = 0.0, 0

    def is_over(self, waiting_bytes: int, has_changes: Callable[[], bool]) -> bool:
        """Return whether enough is read at this position. has_changes: returns whether changes wait for the rows."""
        now = time.monotonic()
        if now >= self._until or now < self._rate_until:
            return True
        is_much = self._bytes >= _BUSY_BYTES and self._is_free
        if not self._soon or (now < self._soon and not is_much):
            return False
        if has_changes():
            self._changed = now
            return True
        return waiting_bytes > _MOST_BYTES

    def end(self) -> None:
        """Note that no more is read at this position."""
        self._ended, self._is_free = time.monotonic(), True

    def take(self, rows: int, size: int) -> None:
        """Note rows that were read, and how many bytes they have."""
        now = time.monotonic()
        self._bytes += size
        if not self._soon:
            self._soon = now + max(_SHORT_S, self._took_s + now - self._began)
        if self._per_second:
            self._rate_until = max(self._rate_until, now) + rows / self._per_second

    def keep_to_the_rate(self, rest: Callable[[], None]) -> None:
        """Wait at a position where too many rows were read: they cannot be continued at another. rest: waits, too."""
        while (left := self._rate_until - time.monotonic()) > 0:
            time.sleep(min(left, _ALIVE_S))
            rest()
