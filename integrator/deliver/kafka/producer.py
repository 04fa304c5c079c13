"""The Kafka client: one librdkafka producer a Python worker, reused over cycles, with a clean latch for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from integrator.contracts.outgoing import MessageHeaders, Messages
from integrator.contracts.report import RefusedMessage, worse
from integrator.deliver.kafka.permanent import PERMANENT
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.deliver.kafka.topic_batcher import Batch
from integrator.engine.arrays import Ints
from integrator.librdkafka.properties import QUIET
from integrator.librdkafka.rdkafka_h import Records

_CHUNK = 2048
_WAIT_S = 0.002
_FLUSH_SLICE_S = 1.0
_GRACE_S = 10.0


class Latch:
    """Counts a task's messages, and keeps the first failure."""

    def __init__(self) -> None:
        self.accepted = 0
        self.failed = 0
        self.error: str | None = None
        self.refused: RefusedMessage | None = None
        self.transport: str | None = None

    def fail(self, text: str, count: int = 1) -> None:
        """Note `count` failures; the first one's text stays."""
        self.failed += count
        self.error = self.error or text


class KafkaProducer:
    """Sends messages in order, never drops one unsaid, and says what became of them."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.latch = Latch()
        self._capacity = int(properties.get("queue.buffering.max.messages", "100000"))
        self.client = ProducerClient(
            {
                **QUIET,
                **properties,
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
            if beside is None:
                taken, refusal = self.client.produce(topic, some)
            else:
                taken, refusal = self.client.produce_each(topic, some, *beside.slice(start, len(some)))
            if taken < len(some):
                # taken and still reported later are counted by the callback, so only refusals are counted here
                self.latch.fail(f"{topic}: {refusal}", len(some) - taken)
            self.client.poll(0)

    def _wait(self, room: int, more: int) -> None:
        while (on_their_way := len(self.client)) and on_their_way + more > room and not self.latch.failed:
            self.client.poll(_WAIT_S)

    def flush(self, timeout_s: float) -> int:
        """Wait until nothing is on its way, or `timeout_s` is over. Returns how many messages are left.

        After a refusal for good nothing is waited for: the rest of a transaction would stay until messages time out.
        """
        left = len(self.client)
        waited = 0.0
        while left and waited < timeout_s + _GRACE_S and self.latch.refused is None:
            left = self.client.flush(_FLUSH_SLICE_S)
            waited += _FLUSH_SLICE_S
        return left

    def abandon(self) -> None:
        """Throw away what is on its way: the cycle has failed, and will be sent again as a whole."""
        try:
            self.client.purge()
            self.client.flush(_FLUSH_SLICE_S)
        finally:
            self.client.close()

    def renew_latch(self) -> None:
        """Begin to count anew."""
        self.latch = Latch()

    def _failed(self, text: str, refused: RefusedMessage | None) -> None:
        self.latch.fail(text)
        self.latch.refused = worse(self.latch.refused, refused)

    def _noticed(self, text: str, fatal: int) -> None:
        self.latch.transport = text
        if fatal:
            self.latch.error = self.latch.error or text
        if fatal in PERMANENT:
            self.latch.refused = worse(self.latch.refused, RefusedMessage(fatal, text))


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
