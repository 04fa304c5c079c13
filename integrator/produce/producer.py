"""The Kafka client: one librdkafka producer a Python worker, reused over cycles, with a clean latch for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from integrator.outgoing import Messages

QUIET = {"log_level": "2"}
"""librdkafka says on stderr each time it cannot connect, many times a second; here its last word is in the error."""

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
        self._producer = Producer(
            {
                # Memory is bounded by the number of messages in flight, see `send`; the queue refuses none by size.
                "queue.buffering.max.kbytes": 2147483647,
                **QUIET,
                **{name: value for name, value in properties.items() if name != "queue.buffering.max.kbytes"},
                # Success needs no callback: what is not reported failed, and is not left, was acknowledged.
                "delivery.report.only.error": True,
                "on_delivery": self._failed,
                "error_cb": self._noticed,
            }
        )
        self._budget = int(properties.get("queue.buffering.max.kbytes", "262144")) * 1024

    def send(self, parts: Sequence[Messages]) -> None:
        """Hand messages of one topic to librdkafka, waiting while as many as it may hold are on their way.

        Once one has failed no more are taken, for the cycle will be sent again.

        The queue is never asked to take more than it can hold: librdkafka would refuse one message of a batch and take
        the next one, which would break the order (I3).
        """
        room = self._room(sum(len(part.values) for part in parts), sum(int(part.sizes.sum()) for part in parts))
        if any(part.headers for part in parts):
            for part in parts:
                self._send_with_headers(part, room)
            return
        topic, partition, chunk = parts[0].topic, parts[0].partition, min(room, _CHUNK)
        messages: Iterator[dict[str, object]] = (
            {"key": key, "value": value}
            for part in parts
            for key, value in zip(part.keys.to_pylist(), part.values.to_pylist(), strict=True)
        )
        while not self.latch.error and (taken := list(itertools.islice(messages, chunk))):
            self._send(topic, taken, room, partition)

    def _send_with_headers(self, messages: Messages, room: int) -> None:
        """Send message by message: librdkafka's batches drop headers without a word.

        https://github.com/confluentinc/confluent-kafka-python/issues/2320
        """
        topic, partition = messages.topic, messages.partition
        keys, values = messages.keys.to_pylist(), messages.values.to_pylist()
        for key, value, of_message in zip(keys, values, messages.headers or [()] * len(values), strict=True):
            if self.latch.error:
                return
            self._wait(room, 1)
            self.latch.accepted += 1
            try:
                self._producer.produce(topic, value=value, key=key, partition=partition, headers=list(of_message))
            except (KafkaException, BufferError) as error:
                self.latch.fail(f"{topic}: {error}")
        self._producer.poll(0)

    def _room(self, messages: int, size: int) -> int:
        """Return how many messages of this size may be on their way."""
        return max(1, min(self._capacity, self._budget * messages // max(size, 1)))

    def _wait(self, room: int, more: int) -> None:
        while len(self._producer) and len(self._producer) + more > room and not self.latch.failed:
            self._producer.poll(_WAIT_S)

    def _send(self, topic: str, chunk: list[dict[str, object]], room: int, partition: int) -> None:
        self._wait(room, len(chunk))
        try:
            taken = self._producer.produce_batch(topic, chunk, partition=partition)
        except (KafkaException, BufferError) as error:
            self.latch.fail(f"{topic}: {error}", len(chunk))
            self.latch.accepted += len(chunk)
            return
        self.latch.accepted += len(chunk)
        if taken < len(chunk):
            refused = [message["_error"] for message in chunk if "_error" in message]
            # taken and still reported later are counted by the callback, so only refusals are counted here
            self.latch.fail(f"{topic}: {refused[0] if refused else 'refused'}", len(chunk) - taken)
        self._producer.poll(0)

    def flush(self, timeout_s: float) -> int:
        """Wait until nothing is on its way, or `timeout_s` is over. Returns how many messages are left."""
        left = len(self._producer)
        waited = 0.0
        while left and waited < timeout_s + _GRACE_S:
            left = self._producer.flush(_FLUSH_SLICE_S)
            waited += _FLUSH_SLICE_S
        return left

    def abandon(self) -> None:
        """Throw away what is on its way: the cycle has failed, and will be sent again as a whole."""
        self._producer.purge()
        self._producer.flush(_FLUSH_SLICE_S)

    def _failed(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.latch.fail(f"{message.topic()} [{message.partition()}]: {error.str()} ({error.name()})")

    def _noticed(self, error: KafkaError) -> None:
        self.latch.transport = f"{error.str()} ({error.name()})"
        if error.fatal():
            self.latch.error = self.latch.error or self.latch.transport


_PRODUCERS: dict[tuple[tuple[str, str], ...], KafkaProducer] = {}


def acquire(properties: dict[str, str]) -> KafkaProducer:
    """Return this worker's producer for `properties`, connected already where it was used before, its latch clean."""
    key = tuple(sorted(properties.items()))
    if key not in _PRODUCERS:
        _PRODUCERS[key] = KafkaProducer(properties)
    producer = _PRODUCERS[key]
    producer.latch = Latch()
    return producer


def discard(properties: dict[str, str]) -> None:
    """Give up this worker's producer for `properties`: after a failure the next cycle begins with a new one."""
    producer = _PRODUCERS.pop(tuple(sorted(properties.items())), None)
    if producer is not None:
        producer.abandon()
