"""The transaction of a shard: its messages, and the record of the cycle, are committed together or not at all (KIP-98).

A producer that takes over a transactional id fences those that had it before: what a task that was paused sends later
is refused by the broker (I3). Then it reads which cycle was committed last, so that a task that is run again sends
nothing (I8). The record is a consumer group's offset (KIP-447), for that alone can be read and written in the same
transaction without waiting for other transactions.
"""

from __future__ import annotations

import json
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from integrator.contracts.recipe import Send
from integrator.contracts.shards import CycleRecord, Shards
from integrator.deliver.kafka.aws_iam import client_settings
from integrator.deliver.kafka.diagnosis import with_remedy
from integrator.deliver.kafka.producer import KafkaProducer
from integrator.deliver.kafka.properties import QUIET, client_properties
from integrator.errors import DeliveryError, EnvironmentFault

TIMEOUT_S = 60.0
"""For each call of the transaction's coordinator: as librdkafka's socket.timeout.ms."""
_ABORT_S = 5.0
_AGAIN_S = 0.1


LONGEST_MS = 900_000
"""How long a transaction may last: the most that brokers allow by default (transaction.max.timeout.ms)."""


def _properties(send: Send, transactional_id: str) -> dict[str, str]:
    properties = {"transaction.timeout.ms": str(LONGEST_MS), **send.producer}
    limits = ("transaction.timeout.ms", "message.timeout.ms")
    longest = min(int(properties[name]) for name in limits if name in properties)
    return {**properties, "message.timeout.ms": str(longest), "transactional.id": transactional_id}


class TransactionalProducer(KafkaProducer):
    """The producer of a shard, which it has taken over from all earlier ones.

    last: the stream and the cycle that it was last used in. committed: the record that was committed last.
    """

    def __init__(self, send: Send, transactional_id: str) -> None:
        """Fence earlier producers of the id. Raises DeliveryError, or EnvironmentFault where this is not allowed."""
        super().__init__(_properties(send, transactional_id))
        self.last: tuple[str, int | None] = ("", None)
        self.committed: CycleRecord | None = None
        self.begun = False
        try:
            self._raise("cannot be used", self.client.init_transactions(TIMEOUT_S))
        except BaseException:
            self.client.close()
            raise

    def _raise(self, what: str, reason: str) -> None:
        if reason:
            heard = self.latch.transport
            last = f"; the client's last message: {heard}" if heard and reason not in heard else ""
            raise DeliveryError(with_remedy(f"a transactional id of this channel {what}: {reason}{last}"))

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
            text = json.dumps({"generation": record.generation, "journal": record.journal})
            reason = self.client.send_offset(group, record.topic, record.cycle, text, TIMEOUT_S)
            self._raise("cannot record the cycle", reason)
        self._raise("does not know whether its transaction is committed", self.client.commit_transaction(TIMEOUT_S))
        self.begun, self.committed = False, record

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
        """Take over the shard. Raises DeliveryError, or EnvironmentFault where other files were committed."""
        self._id, self._shards = shards.transactional_id(shard), shards
        self.producer = _acquire(send, self._id, shards)
        self.done = _is_done(shards.record, self.producer.committed)

    def commit(self) -> None:
        """Commit what was sent, all of which is acknowledged; a shard without messages writes nothing."""
        self.producer.commit(self._shards.record, self._id)
        if self._shards.cycle is None:
            self.discard()

    def discard(self) -> None:
        """Give the producer up: another one takes over the shard."""
        if _PRODUCERS.pop(self._id, None) is not None:
            self.producer.abandon()


def fence(send: Send, shards: Shards, count: int) -> None:
    """Have the brokers refuse what earlier producers of the first `count` shards send. Raises DeliveryError."""
    for shard in range(count):
        TransactionalProducer(send, shards.transactional_id(shard)).client.close()


_PRODUCERS: dict[str, TransactionalProducer] = {}


def _acquire(send: Send, name: str, shards: Shards) -> TransactionalProducer:
    """Return this worker's producer for a shard: that of the cycle before, or one that takes the shard over."""
    before = None if shards.cycle is None else (shards.stream, shards.cycle - 1)
    now = (shards.stream, shards.cycle)
    for known, producer in list(_PRODUCERS.items()):
        if producer.last not in (before, now) or (known == name and producer.last == now):
            del _PRODUCERS[known]  # another worker may have taken its shard over since
            producer.abandon()
    if name not in _PRODUCERS:
        producer = TransactionalProducer(send, name)
        _PRODUCERS[name] = producer
        if shards.record is not None:
            producer.committed = _committed(send, name, shards.record.topic)
    producer = _PRODUCERS[name]
    producer.last = now
    producer.renew_latch()
    return producer


def _is_done(record: CycleRecord | None, last: CycleRecord | None) -> bool:
    """Return whether a shard of the cycle was committed. Raises EnvironmentFault if that was with other files."""
    if record is None or last is None or last.generation != record.generation or last.cycle < record.cycle:
        return False
    if last.cycle > record.cycle or last.journal != record.journal:
        raise EnvironmentFault(
            f"cycle {record.cycle}: messages of cycle {last.cycle} with other change files are committed at the "
            "brokers: the state directory is of an earlier time than they are; use the newest one, or remove "
            "shards.json from this one: then the rows that came after it are sent again"
        )
    return True


def _committed(send: Send, group: str, topic: str) -> CycleRecord | None:
    """Return the last record of a shard. Raises DeliveryError.

    A consumer is asked, and not the admin client: librdkafka's ends the process with a null pointer where the group's
    coordinator has just been lost (2.16, rd_kafka_handle_OffsetFetch: an admin client has no consumer group).
    """
    properties = {**QUIET, **client_settings(client_properties(dict(send.producer))), "group.id": group}
    # read_committed: the coordinator may still be completing the transaction of a producer that was fenced just now
    consumer = Consumer({**properties, "enable.auto.commit": False, "isolation.level": "read_committed"})
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while True:
            try:
                [found] = consumer.committed(
                    [TopicPartition(topic, 0)], timeout=max(deadline - time.monotonic(), _AGAIN_S)
                )
                error = found.error
            except KafkaException as failure:
                error = failure.args[0]
            if error is None:
                return _record(found, topic)
            if error.code() not in _LATER or time.monotonic() > deadline:
                raise DeliveryError(with_remedy(f"which cycle was committed last cannot be read: {error.str()}"))
            time.sleep(_AGAIN_S)
    finally:
        consumer.close()


_LATER = {
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError._TRANSPORT,  # noqa: SLF001 - the name that the library documents
    KafkaError._TIMED_OUT,  # noqa: SLF001
}


def _record(found: Any, topic: str) -> CycleRecord | None:
    """Return what was committed as an offset; None where nothing was."""
    if found.offset < 0:
        return None
    text = json.loads(found.metadata)
    return CycleRecord(text["generation"], found.offset, text["journal"], topic)
