"""A partition that is being fetched: messages that have come and were not taken stay for the next range."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Literal

import numpy as np

from integrator.librdkafka.client import Client
from integrator.librdkafka.rdkafka_h import Record

AT_ONCE = 4096
"""Messages that are taken from a queue at once."""
_EOF, _RESET, _OUT_OF_RANGE = -191, -140, 1
_UNKNOWN, _NOT_ALLOWED = (-190, -188, 3, 100), (29,)
"""rd_kafka_resp_err_t: _UNKNOWN_PARTITION, _UNKNOWN_TOPIC, UNKNOWN_TOPIC_OR_PART, UNKNOWN_TOPIC_ID;
TOPIC_AUTHORIZATION_FAILED."""
_WATERMARKS_MS = 5_000

Reason = Literal["overtaken", "cut", "unknown", "not allowed", "silent", "other"]


@dataclass(frozen=True)
class Range:
    """Offsets of a partition, from `begin` to before `end`."""

    topic: str
    partition: int
    begin: int
    end: int


@dataclass(unsafe_hash=True)  # not frozen: what it passes through sets its traceback
class ReadFault(Exception):
    """Why a range cannot be read on, as data.

    reason: overtaken (the records were deleted), cut (there are fewer records than there were), unknown (no such topic
    or partition), not allowed, silent (nothing came in time) or other. offset: of the record that was to come. low,
    high: the offsets that the partition has, -1 where they were not asked for. text: what the client says.
    """

    reason: Reason
    of: Range
    offset: int
    text: str
    low: int = -1
    high: int = -1


class Fetching:
    """A partition from an offset on, with a queue of its own."""

    def __init__(self, client: Client, of: Range) -> None:
        """Start to fetch. Raises ReadFault."""
        self._client, self.of, self.position, self.eof = client, of, of.begin, -1
        self.messages = np.zeros(AT_ONCE, np.int64)
        self.begin = self.end = 0
        self._topic = client.topic(of.topic)
        self._queue = client.library.rd_kafka_queue_new(client.handle)
        if client.library.rd_kafka_consume_start_queue(self._topic, of.partition, of.begin, self._queue):
            text = client.named(client.library.rd_kafka_last_error())
            client.library.rd_kafka_queue_destroy(self._queue)
            raise ReadFault("other", of, of.begin, text)

    def close(self) -> None:
        """Stop to fetch."""
        for at in range(self.begin, self.end):
            self._client.library.rd_kafka_message_destroy(int(self.messages[at]))
        self.begin = self.end = 0
        self._client.library.rd_kafka_consume_stop(self._topic, self.of.partition)
        self._client.library.rd_kafka_queue_destroy(self._queue)

    @property
    def is_empty(self) -> bool:
        """Whether no message is left of those that were taken from the queue."""
        return self.begin == self.end

    def take(self, timeout_ms: int) -> int:
        """Take messages from the queue, and return how many. None may be left of those before. Raises ReadFault.

        librdkafka waits until all that it is asked for are there: so the first is waited for, and others only taken.
        """
        batch, place = self._client.library.rd_kafka_consume_batch_queue, self.messages.ctypes.data
        self.begin, self.end = 0, batch(self._queue, 0, place, AT_ONCE)
        if self.end == 0:
            self.end = batch(self._queue, timeout_ms, place, 1)
            if self.end == 1:
                self.end += batch(self._queue, 0, place + self.messages.itemsize, AT_ONCE - 1)
        if self.end < 0:
            self.end = 0
            text = self._client.named(self._client.library.rd_kafka_last_error())
            raise ReadFault("other", self.of, self.position, text)
        return self.end

    def error(self, wanted: Range) -> None:
        """Take the next message, which is an error: the partition's end is noted, others are raised (ReadFault)."""
        library, place = self._client.library, int(self.messages[self.begin])
        message = Record.from_address(place)
        code, offset = message.err, message.offset
        text = ctypes.string_at(message.payload, message.len).decode(errors="replace") if message.payload else ""
        library.rd_kafka_message_destroy(place)
        self.begin += 1
        if code == _EOF:
            self.eof = max(self.eof, offset)
            return
        text = f"{text} [{self._client.named(code)}]"
        if code in (_RESET, _OUT_OF_RANGE):
            raise self._outside("other", wanted, text)
        reason: Reason = "unknown" if code in _UNKNOWN else "not allowed" if code in _NOT_ALLOWED else "other"
        raise ReadFault(reason, wanted, self.position, text)

    def late(self, wanted: Range, text: str) -> ReadFault:
        """Return the fault for a record that has not come in time."""
        return self._outside("silent", wanted, text)

    def _outside(self, otherwise: Reason, wanted: Range, text: str) -> ReadFault:
        """Return the fault for a record that the partition does not have, or `otherwise` where it has it."""
        low, high = self._watermarks()
        reason: Reason = "overtaken" if low > self.position else "cut" if -1 < high < wanted.end else otherwise
        return ReadFault(reason, wanted, self.position, text, low, high)

    def _watermarks(self) -> tuple[int, int]:
        """Return the first offset of the partition and the one after its last; -1 where they cannot be had."""
        low, high = ctypes.c_int64(-1), ctypes.c_int64(-1)
        named = self.of.topic.encode()
        self._client.library.rd_kafka_query_watermark_offsets(
            self._client.handle, named, self.of.partition, low, high, _WATERMARKS_MS
        )
        return low.value, high.value
