"""The last hour of a channel in buckets of ten seconds: what the status page plots."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

HOUR_S = 3600
BUCKET_S = 10


@dataclass
class Bucket:
    """Ten seconds: rows synced in them, and the highest latency in seconds, if a cycle had one."""

    start: int
    rows: int = 0
    latency_s: float | None = None


class History:
    """Buckets of the last hour, the earliest first; without cycles there is none."""

    def __init__(self) -> None:
        self._buckets: deque[Bucket] = deque(maxlen=HOUR_S // BUCKET_S)

    def add(self, now: float, seconds: float, rows: int, latency_s: float | None) -> None:
        """Add a cycle that was synced at `now` and took so many seconds, over which its rows are spread."""
        end = int(now // BUCKET_S) * BUCKET_S
        first = max(int((now - seconds) // BUCKET_S) * BUCKET_S, end - HOUR_S + BUCKET_S)
        starts = range(first, end + BUCKET_S, BUCKET_S)
        for place, start in enumerate(starts):
            part = rows * (place + 1) // len(starts) - rows * place // len(starts)
            bucket = self._at(start)
            if bucket is not None:
                bucket.rows += part
        last = self._at(end)
        if last is not None and latency_s is not None:
            last.latency_s = max(latency_s, last.latency_s or 0.0)

    def _at(self, start: int) -> Bucket | None:
        if not self._buckets or self._buckets[-1].start < start:
            self._buckets.append(Bucket(start))
            return self._buckets[-1]
        return next((one for one in reversed(self._buckets) if one.start <= start), None)

    def rates(self, now: float) -> list[tuple[float, float]]:
        """Return rows per second of each ten seconds, by how many seconds ago; 0 where none were synced."""
        found = {one.start: one.rows / BUCKET_S for one in list(self._buckets)}
        end = int(now // BUCKET_S) * BUCKET_S
        starts = range(end - HOUR_S + BUCKET_S, end + BUCKET_S, BUCKET_S)
        return [(now - start, found.get(start, 0.0)) for start in starts]

    def latencies(self, now: float) -> list[tuple[float, float]]:
        """Return the latencies in seconds, by how many seconds ago."""
        buckets = list(self._buckets)
        return [(now - one.start, one.latency_s) for one in buckets if one.latency_s is not None]
