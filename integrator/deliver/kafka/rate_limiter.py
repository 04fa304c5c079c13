"""HVR_KAFKA_RATE_LIMIT: no more messages a second than the channel says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


class RateLimiter:
    """Lets so many messages pass a second, evenly; the first at once."""

    def __init__(
        self, rate: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._rate, self._clock, self._sleep = rate, clock, sleep
        self._next = clock()

    def parts(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield (start, size) of parts of `count` messages, each when its time has come (0.1 s of them, or one)."""
        size = max(1, int(self._rate / 10))
        for start in range(0, count, size):
            wait = self._next - self._clock()
            if wait > 0:
                self._sleep(wait)
            taken = min(size, count - start)
            self._next = max(self._next, self._clock()) + taken / self._rate
            yield start, taken
