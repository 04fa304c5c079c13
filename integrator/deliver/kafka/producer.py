"""The Kafka client: one librdkafka producer a Python worker, reused over cycles, with a clean latch for each."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from confluent_kafka import KafkaError

from integrator.contracts.outgoing import MessageHeaders, Messages
from integrator.contracts.report import RefusedMessage, worse
from integrator.deliver.kafka.permanent import PERMANENT
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.deliver.kafka.topic_batcher import Batch
from integrator.engine.arrays import Ints
from integrator.librdkafka.properties import QUIET
from integrator.librdkafka.rdkafka_h import Records

_CHUNK = 2048
_HELD_BYTES = 128 * 1024 * 1024
"""Of values that librdkafka refers to: they are let go when all are acknowledged, for which it is waited then."""
_WAIT_S = 0.002
_FLUSH_SLICE_S, _PURGE_S = 0.1, 1.0
_SHORT_SLICE_S, _SHORT_SLICES = 0.001, 100
"""rd_kafka_flush checks each 10 ms whether all is acknowledged, for no acknowledgement wakes it: a small cycle waits
for that. In calls of 1 ms, at first, 10 messages take 1.1 ms instead of 10.1."""
_TIMEOUT = "message.timeout.ms"
_DEFAULT_TIMEOUT_MS = "300000"
"""librdkafka's."""


class Latch:
    """Counts a task's messages, and keeps the first failure."""

    def __init__(self) -> None:
        self.accepted = 0
        self.failed = 0
        self.error: str | None = None
        self.code = 0
        self.refused: RefusedMessage | None = None
        self.transport: str | None = None

    def fail(self, text: str, code: int, count: int = 1) -> None:
        """Note `count` failures; the first one's text and code stay."""
        self.failed += count
        if self.error is None:
            self.error, self.code = text, code


class KafkaProducer:
    """Sends messages in order, never drops one unsaid, and says what became of them.

    Once a message has failed, none after it is sent (I3). librdkafka would drop one whose time is over, and send the
    next: so messages have no end there, and the time of the oldest is checked here.
    """

    def __init__(self, properties: dict[str, str]) -> None:
        """Make a producer of librdkafka's properties; message.timeout.ms is the time that a message has."""
        self.latch = Latch()
        self._taken: deque[tuple[float, int]] = deque()
        self._timeout_s = int(properties.get(_TIMEOUT, _DEFAULT_TIMEOUT_MS)) / 1000
        self._capacity = int(properties.get("queue.buffering.max.messages", "100000"))
        self.client = ProducerClient(
            {
                **QUIET,
                **properties,
                **_without_gaps(properties),
                # Memory is bounded by the number of messages in flight, see `send`; the queue refuses none by size.
                "queue.buffering.max.kbytes": "2147483647",
                # Success needs no callback: what is not reported failed, and is not left, was acknowledged.
                "delivery.report.only.error": "true",
            },
            self._failed,
            self._noticed,
        )
        self._budget = int(properties.get("queue.buffering.max.kbytes", "262144")) * 1024

    def send(self, batch: Batch) -> None:
        """Hand messages of one topic to librdkafka, waiting while as many as it may hold are on their way.

        Once one has failed no more are taken, for the cycle will be sent again.

        The queue is never asked to take more than it can hold: librdkafka would refuse one message of a batch and take
        the next one, which would break the order (I3).
        """
        if self.client.held_bytes > _HELD_BYTES:
            self._drain()
        self.client.hold([part.messages.values for part in batch.parts], batch.size)
        room = max(1, min(self._capacity, self._budget * len(batch) // max(batch.size, 1)))
        for records, beside in _together(batch):
            self._send(batch.topic, records, beside, room)
            if self.latch.error:
                return

    def _send(self, topic: str, records: Records, beside: _Beside | None, room: int) -> None:
        """Hand messages over in chunks, as there is room."""
        chunk = min(room, _CHUNK)
        for start in range(0, len(records), chunk):
            some = records[start : start + chunk]
            self._wait(room, len(some))
            if self.latch.error:
                return
            self.latch.accepted += len(some)
            self._taken.append((time.monotonic(), self.latch.accepted))
            if beside is None:
                taken, refusal = self.client.produce(topic, some)
            else:
                taken, refusal = self.client.produce_each(topic, some, *beside.slice(start, len(some)))
            if taken < len(some):
                # taken and still reported later are counted by the callback, so only refusals are counted here
                self.latch.fail(f"{topic}: {refusal}", self.client.code, len(some) - taken)
            self.client.poll(0)
            self._give_up_late()

    def _wait(self, room: int, more: int) -> None:
        while (on_their_way := len(self.client)) and on_their_way + more > room and not self.latch.error:
            self.client.poll(_WAIT_S)
            self._give_up_late()

    def _give_up_late(self) -> None:
        """Throw all away where a message is older than it may be."""
        done, now = self.latch.accepted - len(self.client), time.monotonic()
        while self._taken and self._taken[0][1] <= done:
            self._taken.popleft()
        if self._taken and now - self._taken[0][0] > self._timeout_s:
            self.client.purge()
            self.client.flush(_PURGE_S)

    def flush(self) -> int:
        """Wait until nothing is on its way; after a failure the rest is thrown away. Returns how many are left."""
        left = self._drain()
        if left and self.latch.error:
            self.client.purge()
            left = self.client.flush(_PURGE_S)
        return left

    def _drain(self) -> int:
        """Wait until nothing is on its way, or a message has failed; return how many are left."""
        slices = itertools.chain(itertools.repeat(_SHORT_SLICE_S, _SHORT_SLICES), itertools.repeat(_FLUSH_SLICE_S))
        while (left := len(self.client)) and not self.latch.error:
            self.client.flush(next(slices))
            self._give_up_late()
        return left

    def abandon(self) -> None:
        """Throw away what is on its way: the cycle has failed, and will be sent again as a whole."""
        try:
            self.client.purge()
            self.client.flush(_PURGE_S)
        finally:
            self.client.close()

    def renew_latch(self) -> None:
        """Begin to count anew."""
        self.latch = Latch()
        self._taken.clear()

    def _failed(self, text: str, code: int, refused: RefusedMessage | None) -> None:
        self.latch.fail(text, code)
        self.latch.refused = worse(self.latch.refused, refused)

    def _noticed(self, text: str, fatal: int) -> None:
        if fatal == KafkaError._GAPLESS_GUARANTEE:  # noqa: SLF001 - the message that failed is reported, with the reason
            return
        self.latch.transport = text
        if fatal:
            self.latch.fail(text, fatal, 0)
        if fatal in PERMANENT:
            self.latch.refused = worse(self.latch.refused, RefusedMessage(fatal, text))


def _without_gaps(properties: dict[str, str]) -> dict[str, str]:
    """Return the properties by which no message is sent after one that was not (I3); transactions have none."""
    if "transactional.id" in properties:
        return {}
    gapless = (
        {"enable.gapless.guarantee": "true"}
        if properties.get("enable.idempotence", "").strip().lower() == "true"
        else {}
    )
    return {_TIMEOUT: "0", **gapless}


class _Beside(NamedTuple):
    """What messages have beside key and value."""

    timestamps: Ints | None
    headers: MessageHeaders

    @staticmethod
    def of(messages: Messages) -> _Beside | None:
        """Return what messages have; None where none has anything."""
        if messages.headers is None and messages.timestamps is None:
            return None
        return _Beside(messages.timestamps, messages.headers or MessageHeaders.none(len(messages.values)))

    def slice(self, start: int, size: int) -> _Beside:
        """Return that of `size` messages, from `start` on."""
        timestamps = None if self.timestamps is None else self.timestamps[start : start + size]
        return _Beside(timestamps, self.headers.slice(start, size))


def _together(batch: Batch) -> Iterator[tuple[Records, _Beside | None]]:
    """Yield messages that can be handed over together, in order, and what they have beside key and value."""
    found = [_Beside.of(part.messages) for part in batch.parts]
    if not any(found):
        yield np.concatenate([part.records[part.begin : part.end] for part in batch.parts]), None
        return
    for part, beside in zip(batch.parts, found, strict=True):
        yield part.records[part.begin : part.end], None if beside is None else beside.slice(part.begin, len(part))


_PRODUCERS: dict[tuple[tuple[str, str], ...], KafkaProducer] = {}


def acquire(properties: dict[str, str]) -> KafkaProducer:
    """Return this worker's producer for `properties`, connected already where it was used before, its latch clean."""
    key = tuple(sorted(properties.items()))
    if key not in _PRODUCERS:
        _PRODUCERS[key] = KafkaProducer(properties)
    producer = _PRODUCERS[key]
    producer.renew_latch()
    return producer


def discard(properties: dict[str, str]) -> None:
    """Give up this worker's producer for `properties`: after a failure the next cycle begins with a new one."""
    producer = _PRODUCERS.pop(tuple(sorted(properties.items())), None)
    if producer is not None:
        producer.abandon()
