"""A topic to whose first partition a channel writes one message after another, none of them before an earlier one.

Who writes takes a transactional id over, and then reads the last message: what an earlier process still has on its way
is refused by the brokers, and what it has written is known. So nothing that is written later is less (I12), also for
consumers that read what is not committed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import pyarrow as pa
from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin._listoffsets import OffsetSpec

from integrator.contracts.outgoing import Messages
from integrator.contracts.recipe import Send
from integrator.deliver.kafka.diagnosis import with_remedy
from integrator.deliver.kafka.producer import KafkaProducer
from integrator.deliver.kafka.read_back import Begin, each_read_back
from integrator.deliver.kafka.topic_batcher import TopicBatcher
from integrator.deliver.kafka.topics import TIMEOUT_S, connected
from integrator.deliver.kafka.transaction import TransactionalProducer
from integrator.errors import DeliveryError, EnvironmentFault
from integrator.librdkafka.properties import client_properties

_MESSAGE_S = 10
"""For one message; then it is tried again, after the last one was read again."""
_LAST = 200
"""So many records are scanned for the last message of the channel, before all are."""


class ResolvedTopic:
    """Messages of a key. Used by one thread. last: the last message that is there, committed or not; None: none is."""

    def __init__(self, send: Send, topic: str, key: str, transactional_id: str | None) -> None:
        """Take the topic over, and read its last message. transactional_id: None where there can be no transactions.

        Raises DeliveryError, or EnvironmentFault where our user may not.
        """
        self._send, self._topic, self._key = send, topic, key.encode()
        own = {"linger.ms": "0", "message.timeout.ms": str(1000 * _MESSAGE_S)}
        own_send = Send(producer={**send.producer, **own})
        self._producer = (
            KafkaProducer(own_send.producer)
            if transactional_id is None
            else TransactionalProducer(own_send, transactional_id)
        )
        try:
            self.last = self._read()
        except BaseException:
            self.close()
            raise

    def _read(self) -> bytes | None:
        properties = {**client_properties(self._send.producer), "isolation.level": "read_uncommitted"}
        brokers = self._send.producer["bootstrap.servers"]
        try:
            for begin in (Begin(last=_LAST), Begin()):
                last, found = -1, None
                for one in each_read_back(brokers, [self._topic], begin, properties):
                    is_ours = one.partition == 0 and one.key == self._key and one.value is not None
                    if is_ours and one.offset > last:
                        last, found = one.offset, one.value
                if found is not None:
                    return found
        except KafkaException as error:
            raise DeliveryError(
                with_remedy(f"{self._topic}: the last message cannot be read (ACL Read): {error.args[0].str()}")
            ) from None
        return None

    def send(self, value: bytes) -> None:
        """Write a message, and wait until it is acknowledged, and committed. Raises DeliveryError, EnvironmentFault.

        After an error it is not known whether it is there: the topic must be taken over again.
        """
        producer, batches = self._producer, TopicBatcher()
        producer.renew_latch()
        if isinstance(producer, TransactionalProducer):
            producer.begin()
        keys, values = pa.array([self._key], pa.binary()), pa.array([value], pa.binary())
        for batch in [*batches.add(Messages.of([(self._topic, 1)], keys, values, partitions=0)), *batches.rest()]:
            producer.send(batch)
        if producer.flush() or producer.latch.error:
            raise DeliveryError(with_remedy(f"{self._topic}: not acknowledged: {producer.latch.error}"))
        if isinstance(producer, TransactionalProducer):
            producer.commit(None, "")

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be sent before the topic is taken over again (KAFKA-17754)."""
        return isinstance(self._producer, TransactionalProducer) and self._producer.may_be_repeated

    def ends(self, topics: Iterable[str]) -> dict[str, list[int]]:
        """Return of each topic where its partitions end, with what is not committed. Raises DeliveryError."""
        try:
            client, there = connected(self._send.producer)
        except EnvironmentFault as away:  # which ends no channel: cycles find out whether it is for long
            raise DeliveryError(str(away)) from None
        counts = {topic: len(there.topics[topic].partitions) for topic in topics if topic in there.topics}
        places = [(topic, at) for topic, count in counts.items() for at in range(count)]
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked, isolation = {TopicPartition(*one): latest for one in places}, IsolationLevel.READ_UNCOMMITTED
        try:
            found = client.list_offsets(asked, isolation_level=isolation, request_timeout=TIMEOUT_S)
            ends = {(one.topic, one.partition): int(future.result().offset) for one, future in found.items()}
        except KafkaException as error:
            raise DeliveryError(with_remedy(f"the ends of topics cannot be read: {error.args[0].str()}")) from None
        return {topic: [ends[topic, at] for at in range(count)] for topic, count in counts.items()}

    def close(self) -> None:
        """Give the topic up."""
        with contextlib.suppress(Exception):  # what was not committed is aborted by the next one that takes it over
            self._producer.abandon()
