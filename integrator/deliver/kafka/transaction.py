"""The transaction of a shard: its messages, and the record of the cycle, are committed together or not at all (KIP-98).

A producer that takes over a transactional id fences those that had it before: what a task that was paused sends later
is refused by the broker (I3). Then it reads which cycle was begun last, for a task of an earlier one has come too late,
and which was committed last, so that a task that is run again sends nothing (I8).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping

from integrator.contracts.recipe import Send
from integrator.contracts.shards import CycleRecord, Shards, Step
from integrator.deliver.kafka.cycle_records import TIMEOUT_S, committed, metadata_of
from integrator.deliver.kafka.diagnosis import with_remedy
from integrator.deliver.kafka.older_state import older_state, too_late
from integrator.deliver.kafka.permanent import PERMANENT
from integrator.deliver.kafka.producer import KafkaProducer
from integrator.errors import DeliveryError, EnvironmentFault

_ABORT_S = 5.0
_RECORD_S = 8.0
"""For a cycle's record, which takes milliseconds: librdkafka may wait for ever (`ProducerClient`)."""
LONGEST_MS = 900_000
"""How long a transaction may last: the most that brokers allow by default (transaction.max.timeout.ms)."""


def _properties(send: Send, transactional_id: str) -> dict[str, str]:
    properties = {"transaction.timeout.ms": str(LONGEST_MS), **send.producer}
    limits = ("transaction.timeout.ms", "message.timeout.ms")
    longest = min(int(properties[name]) for name in limits if name in properties)
    return {**properties, "message.timeout.ms": str(longest), "transactional.id": transactional_id}


def _sent_once_s(properties: Mapping[str, str]) -> float:
    """Return in how many seconds the client sends no request again.

    librdkafka waits before each repetition: retry.backoff.ms, less 20 % at the most (rd_kafka_broker_buf_retry).
    """
    limits = {"retry.backoff.ms": "100", "retry.backoff.max.ms": "1000"}
    return 0.8 * min(int(properties.get(name, default)) for name, default in limits.items()) / 1000


class TransactionalProducer(KafkaProducer):
    """The producer of a shard, which it has taken over from all earlier ones.

    last: the stream and the step that it was last used in. committed: the record that was committed last.
    may_be_repeated: the client may have sent the end of a transaction twice. The brokers may take the second one for
    the end of the next transaction, if that has the same epoch (KAFKA-17754): nothing more may be sent with it.
    """

    def __init__(self, send: Send, transactional_id: str) -> None:
        """Fence earlier producers of the id. Raises DeliveryError, or EnvironmentFault where this is not allowed."""
        properties = _properties(send, transactional_id)
        super().__init__(properties)
        self.last: tuple[str, Step | None] = ("", None)
        self.committed: CycleRecord | None = None
        self.begun = self.may_be_repeated = False
        self._sent_once_s = _sent_once_s(properties)
        try:
            self._raise("cannot be used", self.client.init_transactions(TIMEOUT_S))
        except BaseException:
            self.client.close()
            raise

    def _raise(self, what: str, reason: str) -> None:
        """Raise DeliveryError if there is a reason, or EnvironmentFault where no retry helps."""
        if reason:
            heard = self.latch.transport
            last = f"; the client's last message: {heard}" if heard and reason not in heard else ""
            text = with_remedy(f"a transactional id of this channel {what}: {reason}{last}")
            raise EnvironmentFault(text) if self.client.code in PERMANENT else DeliveryError(text)

    def begin(self) -> None:
        """Begin a transaction, if that was not done. Raises DeliveryError."""
        if not self.begun:
            self._raise("cannot begin a transaction", self.client.begin_transaction())
            self.begun = True

    def commit(self, record: CycleRecord | None, group: str) -> None:
        """Commit what was sent, all of which is acknowledged, and the record. Raises DeliveryError."""
        if not self.begun:
            return
        if record is not None:
            with self._timed():
                reason = self.client.send_offset(group, record.topic, record.cycle, metadata_of(record), _RECORD_S)
            self._raise("cannot record the cycle", reason)
        with self._timed():
            reason = self.client.commit_transaction(TIMEOUT_S)
        self._raise("does not know whether its transaction is committed", reason)
        self.begun, self.committed = False, record

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        """Note where a call took so long that the client may have sent its request again."""
        began = time.monotonic()
        yield
        self.may_be_repeated |= time.monotonic() - began >= self._sent_once_s

    def abandon(self) -> None:
        """Abort the transaction, and end the producer."""
        try:
            if self.begun:
                self.client.purge()
                self.client.abort_transaction(_ABORT_S)  # else the next producer does it
        finally:
            super().abandon()


class Transaction:
    """A shard of one cycle. done: it was committed before, and nothing of it is sent again."""

    def __init__(self, send: Send, shards: Shards, shard: int) -> None:
        """Take over the shard.

        Raises DeliveryError, or EnvironmentFault where another cycle was begun since, or committed with other messages.
        """
        self._id, self._shards = shards.transactional_id(shard), shards
        self.producer = _acquire(send, self._id, shards)
        self.done = shards.exactly_once and _is_done(shards.record, self.producer.committed)

    def commit(self) -> None:
        """Commit what was sent, all of which is acknowledged; a shard without messages writes nothing."""
        self.producer.commit(self._shards.record if self._shards.exactly_once else None, self._id)
        if self._shards.step is None or self.producer.may_be_repeated:
            self.discard()

    def discard(self) -> None:
        """Give the producer up: another one takes over the shard."""
        if _PRODUCERS.pop(self._id, None) is not None:
            self.producer.abandon()


_PRODUCERS: dict[str, TransactionalProducer] = {}


def _acquire(send: Send, name: str, shards: Shards) -> TransactionalProducer:
    """Return this worker's producer for a shard: that of the step before, or one that takes the shard over."""
    before, now = (shards.stream, shards.before), (shards.stream, shards.step)
    for known, producer in list(_PRODUCERS.items()):
        if producer.last not in (before, now) or (known == name and producer.last == now):
            del _PRODUCERS[known]  # another worker may have taken its shard over since
            producer.abandon()
    if name not in _PRODUCERS:
        producer = TransactionalProducer(send, name)
        _PRODUCERS[name] = producer
        if shards.record is not None:
            # after the id was taken over: whoever begins another cycle fences this one after it is recorded
            begun = committed(send, shards.name, [shards.record.topic])
            if begun != shards.record:
                raise too_late(shards.record, begun)
            producer.committed = committed(send, name, [shards.record.topic])
    producer = _PRODUCERS[name]
    producer.last = now
    producer.renew_latch()
    return producer


def _is_done(record: CycleRecord | None, last: CycleRecord | None) -> bool:
    """Return whether a shard of the cycle was committed. Raises EnvironmentFault if that was with other messages."""
    if record is None or last is None or last.generation != record.generation or last.step < record.step:
        return False
    if last != record:
        raise older_state(record, last)
    return True
