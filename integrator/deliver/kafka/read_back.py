"""A plain consumer that reads topics to their ends: for showing what arrived, and for dead letters."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from integrator.errors import DeliveryError
from integrator.librdkafka.aws_iam import client_settings
from integrator.names.numbers import counted

TIMEOUT_S = 60.0
"""Without any message."""
_NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


@dataclass(frozen=True)
class Received:
    """A message as a consumer gets it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = field(default=0, compare=False)
    """Milliseconds since 1970."""


@dataclass(frozen=True)
class Begin:
    """Where in each partition reading begins: at an offset, or at the first message of a time (ms since 1970).

    last: so many records before the end, or at the offset, where that is later; 0: at the offset.
    """

    offset: int = 0
    time: int | None = None
    last: int = 0


def read_back(
    brokers: str,
    topics: Sequence[str],
    begin: Begin = Begin(),
    properties: Mapping[str, str] = MappingProxyType({}),
) -> list[Received]:
    """Return the committed messages of `topics`, by topic, partition and offset.

    properties: of the client, such as those for access. Raises DeliveryError if none comes for too long.
    """
    received = each_read_back(brokers, topics, begin, properties)
    return sorted(received, key=lambda message: (message.topic, message.partition, message.offset))


def each_read_back(
    brokers: str, topics: Sequence[str], begin: Begin, properties: Mapping[str, str]
) -> Iterator[Received]:
    """Yield the messages that `read_back` returns, as they arrive: in order within each partition."""
    consumer = Consumer(
        {
            **client_settings(properties),
            "bootstrap.servers": brokers,
            "group.id": "integrator-read-back",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
            "enable.partition.eof": True,  # the last offsets may be those of transactions' markers
        }
    )
    try:
        left = _assign(consumer, topics, begin)
        deadline = time.monotonic() + TIMEOUT_S
        while left:
            if time.monotonic() > deadline:
                raise DeliveryError(
                    f"{brokers}: {counted(len(left), 'partition')} not read to the end; none came for {TIMEOUT_S:.0f} s"
                )
            for message in consumer.consume(10_000, timeout=0.2):
                failure = message.error()
                if failure is not None and failure.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    left.discard((str(message.topic()), message.partition() or 0))
                else:
                    yield _received(brokers, message)
                    deadline = time.monotonic() + TIMEOUT_S
    finally:
        consumer.close()


def _assign(consumer: Consumer, topics: Sequence[str], begin: Begin) -> set[tuple[str, int]]:
    """Have a consumer read topics from where it is to begin; return the partitions that have something to read."""
    known = consumer.list_topics(timeout=TIMEOUT_S).topics
    firsts = {}
    for topic in topics:
        for partition in known[topic].partitions:
            first, end = _bounds(consumer, TopicPartition(topic, partition), begin)
            if end > first:
                firsts[topic, partition] = first
    consumer.assign([TopicPartition(topic, partition, first) for (topic, partition), first in firsts.items()])
    return set(firsts)


def _bounds(consumer: Consumer, partition: TopicPartition, begin: Begin) -> tuple[int, int]:
    """Return the first offset to read and the one after the last; a leader may still be chosen for a new partition."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            low, high = consumer.get_watermark_offsets(partition, timeout=TIMEOUT_S)
            if begin.time is not None:
                partition.offset = begin.time
                [found] = consumer.offsets_for_times([partition], timeout=TIMEOUT_S)
                return (found.offset if found.offset >= 0 else high), high
        except KafkaException as error:
            if error.args[0].code() not in _NO_LEADER_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return max(low, begin.offset, high - begin.last if begin.last else 0), high


def _received(brokers: str, message: Message) -> Received:
    failure = message.error()
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    if failure is not None or topic is None or partition is None or offset is None:
        raise DeliveryError(f"{brokers}: {failure.str() if failure else 'a message without a place'}")
    headers = tuple((entry[0], _bytes(entry[1])) for entry in message.headers() or ())
    return Received(topic, partition, offset, message.key(), message.value(), headers, message.timestamp()[1])


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
