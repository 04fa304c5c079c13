"""Ranges of partitions, read with librdkafka straight into arrays: no Python object a record.

The consumer is of no group: it needs no right on one, and nothing is rebalanced. Each partition has its own queue.
"""

from __future__ import annotations

import ctypes
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from integrator.engine.gather import ALL, ENDED, FAILED, Functions, Layout, gather, measure
from integrator.librdkafka.blocks import Block, Builder
from integrator.librdkafka.client import CONSUMER, Client
from integrator.librdkafka.fetching import Fetching, Range, ReadFault
from integrator.librdkafka.properties import CONSUMER_SETTINGS
from integrator.librdkafka.rdkafka_h import RECORD

FETCH_BYTES = 1 << 20
FIRST_ROOM = 256 << 10
"""Room for a block grows from the first one: most ranges are small, and many are kept at once."""
BLOCK_RECORDS, BLOCK_BYTES = 16 << 10, 16 << 20
"""A block ends at the one or the other. One is decoded while the next is read, so that a range has several; with fewer
records calls a block cost more than these, and records may have their schema with them, of several KB each."""
AHEAD = 32
"""Partitions that are fetched at once: each has a queue of some MiB, and one begun alone takes 20 ms to come."""
_POLL_MS = 100
_PLACES: Any = RECORD.fields
_LAYOUT = Layout(*(_PLACES[name][1] for name in ("err", "payload", "len", "key", "key_len", "offset")))
_NULL = np.frombuffer(b"null", np.uint8)
_KEPT_NOTICES = 3


class Consumer:
    """Reads ranges of partitions, committed records only. Used by one thread at a time."""

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        timeout_s: float = 60.0,
        block_bytes: int = BLOCK_BYTES,
        fetch_bytes: int = FETCH_BYTES,
    ) -> None:
        """Make a consumer with librdkafka's properties; EnvironmentFault describes what is wrong with them.

        timeout_s: a range fails when nothing has come for so long. block_bytes: how many bytes of values a block has,
        about. fetch_bytes: how many a broker sends of a partition at once, about.
        """
        settings = {**CONSUMER_SETTINGS, "fetch.message.max.bytes": str(fetch_bytes)}
        self._noticed: deque[str] = deque(maxlen=_KEPT_NOTICES)
        self._client = Client(CONSUMER, {**properties, **settings}, lambda text, _fatal: self._noticed.append(text))
        self._timeout_s, self._block_bytes = timeout_s, block_bytes
        self._open: dict[tuple[str, int], Fetching] = {}
        self._left: Counter[tuple[str, int]] = Counter()
        self._next: deque[Range] = deque()

        def address(name: str) -> int:
            return ctypes.cast(getattr(self._client.library, name), ctypes.c_void_p).value or 0

        self._functions = Functions(
            address("rd_kafka_message_destroy"),
            address("rd_kafka_message_timestamp"),
            address("rd_kafka_message_headers"),
            address("rd_kafka_header_get_all"),
        )
        self._wanted = self._functions
        self._scratch, self._size = np.zeros(8, np.int64), np.zeros(3, np.int64)

    def begin(self, ranges: Sequence[Range]) -> None:
        """Take note of the ranges that are read next, in order: some are fetched while others are read.

        Those of one partition follow each other. Raises ReadFault.
        """
        self._finish()
        wanted = [one for one in ranges if one.begin < one.end]
        self._left = Counter((one.topic, one.partition) for one in wanted)
        self._next = deque({(one.topic, one.partition): one for one in reversed(wanted)}.values())
        self._next.reverse()
        self._fetch_ahead()

    def close(self) -> None:
        """End the consumer."""
        self._finish()
        self._client.close()

    def read(self, wanted: Range, *, headers: bool = False) -> Iterator[Block]:
        """Yield the records of a range, in blocks; offsets that no committed record has are passed over.

        headers: whether they are read. Raises ReadFault.
        """
        self._wanted = self._functions if headers else self._functions._replace(fields=0, field=0)
        if wanted.begin >= wanted.end:
            return
        fetching, most = self._fetching(wanted), self._block_bytes
        builder, deadline = Builder(min(most, FIRST_ROOM), headers=headers), time.monotonic() + self._timeout_s
        how = ALL
        while how != ENDED:
            if fetching.is_empty:
                if fetching.eof >= wanted.end:
                    break
                if self._take(fetching, wanted, deadline):
                    deadline = time.monotonic() + self._timeout_s
                continue
            how = self._gather(fetching, builder, (wanted.end, most))
            if how == FAILED:
                self._error(fetching, wanted)
            if builder.count[0] >= BLOCK_RECORDS or builder.count[1] >= most:
                yield builder.block()
                builder = Builder(FIRST_ROOM, headers=headers, like=builder)
                deadline = time.monotonic() + self._timeout_s  # whoever took the block may have needed long
        fetching.position = wanted.end  # between the last record and the end there is none
        self._leave(fetching)
        if builder.count[0]:
            yield builder.block()

    def _finish(self) -> None:
        for one in list(self._open.values()):
            self._stop(one)

    def _fetch_ahead(self) -> None:
        while self._next and len(self._open) < AHEAD:
            self._fetching(self._next.popleft())

    def _leave(self, fetching: Fetching) -> None:
        """Stop to fetch a partition of which no more is read next: it would be asked for again and again."""
        key = fetching.of.topic, fetching.of.partition
        self._left[key] -= 1
        if self._left[key] <= 0:
            self._stop(fetching)
        self._fetch_ahead()

    def _fetching(self, wanted: Range) -> Fetching:
        key = wanted.topic, wanted.partition
        found = self._open.get(key)
        if found is not None and found.position != wanted.begin:
            self._stop(found)
            found = None
        if found is None:
            found = self._open[key] = Fetching(self._client, wanted)
        return found

    def _take(self, fetching: Fetching, wanted: Range, deadline: float) -> int:
        """Take messages that have come, and return how many. Raises ReadFault where none has come for too long."""
        try:
            taken = fetching.take(_POLL_MS)
        except ReadFault:
            self._stop(fetching)
            raise
        if not taken:
            self._client.poll(0)
            if time.monotonic() > deadline:
                fault = fetching.late(wanted, "; ".join(dict.fromkeys(self._noticed)))
                self._stop(fetching)
                raise fault
        return taken

    def _gather(self, fetching: Fetching, builder: Builder, most: tuple[int, int]) -> int:
        """Copy what has come into the block; return how it ends, see `engine.gather.measure`."""
        bounds = fetching.begin, fetching.end
        how = measure(fetching.messages, bounds, _LAYOUT, most, self._size)
        stop = fetching.begin + int(self._size[0])
        self._size[1] += self._size[0] * (len(_NULL) + 1)
        builder.need(self._size)
        while fetching.begin < stop:
            place = gather(
                fetching.messages,
                (fetching.begin, stop),
                _LAYOUT,
                builder.count,
                self._wanted,
                builder.room,
                _NULL,
                self._scratch,
            )
            if place < stop:
                builder.need(self._size, more_headers=True)
            fetching.begin = place
        if builder.count[0]:
            fetching.position = int(builder.room.numbers[builder.count[0] - 1]) + 1
        return how

    def _error(self, fetching: Fetching, wanted: Range) -> None:
        try:
            fetching.error(wanted)
        except ReadFault:
            self._stop(fetching)
            raise

    def _stop(self, fetching: Fetching) -> None:
        self._open.pop((fetching.of.topic, fetching.of.partition), None)
        fetching.close()
