"""Resolved messages for consumers: each as it comes, or the first one that is at a position or after it.

    from integrator import resolved

    with resolved.reader("broker:9092", "shop.resolved", channel="shop") as messages:
        message = messages.wait_for("0/1A2B3C8", tables=["orders"], timeout_s=30)

A channel sends them with `resolved: {topic: shop.resolved}`; docs/howto/resolved.md has what they say.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from typing_extensions import Self

from integrator.contracts.log_positions import order_of
from integrator.librdkafka.aws_iam import client_settings
from integrator.resolved.messages import Point, Resolved, TablePoint

__all__ = ["Point", "Reader", "Resolved", "TablePoint", "is_at", "reader"]

_POLL_S, _BOUNDS_S = 0.2, 30.0
_PASSING = (KafkaError._ALL_BROKERS_DOWN, KafkaError._PARTITION_EOF)  # noqa: SLF001 - their public names


def is_at(message: Resolved, position: str, tables: Sequence[str] = (), server: str = "") -> bool:
    """Return whether all that was committed at or before a position is in the topics, by a message.

    position: as the database writes it (PostgreSQL's 0/1A2B3C8, as of pg_current_wal_insert_lsn(); binlog.000003:1234
    of MySQL and MariaDB, as of SHOW BINARY LOG STATUS), or a {hvr_integ_seq}. tables: those that are asked for, by
    their names in the channel; none: all of the channel. server: of a binary log, whose position it is (`select
    @@server_uuid`, of MariaDB `@@server_id`), where another server may take its place; empty: any. Raises ValueError
    for another position, such as one of another kind of database.
    """
    points = message.points_of(tables)
    if "|" in position:
        return all(point is not None and point.integ_seq >= position for point in points)
    wanted = order_of(position)
    if others := [one.position for one in points if one is not None and ("/" in one.position) != ("/" in position)]:
        raise ValueError(f"{position!r} is no position of this channel, whose are such as {others[0]}")
    return all(
        point is not None and server in ("", point.server) and order_of(point.position) >= wanted for point in points
    )


class Reader:
    """Reads resolved messages of one channel, in order; used by one thread. Closed by `close`, or at the end of `with`.

    last: the message that was read last; None before the first.
    """

    def __init__(self, consumer: Consumer, topic: str, channel: str) -> None:
        """Take a consumer that has the first partition of the topic."""
        self._consumer, self._topic, self._channel = consumer, topic, channel
        self.last: Resolved | None = None

    def __iter__(self) -> Iterator[Resolved]:
        """Yield messages, for ever. Raises as `next`."""
        while True:
            if (message := self.next(_POLL_S)) is not None:
                yield message

    def next(self, timeout_s: float) -> Resolved | None:
        """Return the next message; None where none comes in so many seconds.

        A new epoch begins anew. Raises ConnectionError with the client's reason where it can read no more, or
        ValueError for messages of another kind.
        """
        until = time.monotonic() + timeout_s
        while True:
            found = self._consumer.poll(max(until - time.monotonic(), 0))
            message = None if found is None else self._taken(found)
            if message is not None or (found is None and time.monotonic() >= until):
                return message

    def _taken(self, found: Message) -> Resolved | None:
        """Return the message of a record, where it is one of the channel, and not before the last one."""
        if (failure := found.error()) is not None:
            if failure.retriable() or failure.code() in _PASSING:
                return None
            raise ConnectionError(f"{self._topic}: {failure.str()}")
        key, value = found.key(), found.value()
        if value is None or (self._channel and key != self._channel.encode()):
            return None
        message, last = Resolved.of_json(value if isinstance(value, bytes) else value.encode()), self.last
        if last is not None and last.channel != message.channel:
            raise ValueError(
                f"{self._topic} has messages of the channels {last.channel} and {message.channel}: name one (channel=…)"
            )
        if last is not None and last.epoch == message.epoch and _is_before(message, last):
            return None
        self.last = message
        return message

    def wait_for(
        self, position: str, tables: Sequence[str] = (), timeout_s: float | None = None, server: str = ""
    ) -> Resolved:
        """Return the first message by which all is in the topics that was committed at or before a position.

        position, tables, server: as of `is_at`. timeout_s: None: without limit. Raises TimeoutError, and as `next`.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        message = self.last
        while message is None or not is_at(message, position, tables, server):
            left = _POLL_S if until is None else min(_POLL_S, until - time.monotonic())
            if left < 0:
                reached = "nothing" if self.last is None else _shown(self.last, tables)
                raise TimeoutError(f"{self._topic}: {position} is not reached in {timeout_s} s; resolved: {reached}")
            message = self.next(left) or self.last
        return message

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_before(message: Resolved, last: Resolved) -> bool:
    """Return whether a message goes back: it was sent late by a process that was ended."""
    pairs = [(last.point, message.point)]
    pairs += [(one.point, message.of_table(name)) for name, one in last.tables.items() if name in message.tables]
    return any(one is not None and (now is None or now.integ_seq < one.integ_seq) for one, now in pairs)


def _shown(message: Resolved, tables: Sequence[str]) -> str:
    names = (tables if message.tables else ()) or [name for name, one in message.tables.items() if one.why]
    why = {
        name: message.tables[name].why if name in message.tables else "the channel has no such table" for name in names
    }
    lacking = "; ".join(f"{name}: {text}" for name, text in why.items() if text)
    return f"{message.point.position if message.point else None}{f' ({lacking})' if lacking else ''}"


def reader(
    brokers: str,
    topic: str,
    channel: str = "",
    properties: Mapping[str, str] = MappingProxyType({}),
    *,
    last: int = 200,
) -> Reader:
    """Return a reader that begins with the last records of a topic; with all, where none of them is of the channel.

    channel: needed where the topic has several. properties: librdkafka's, such as those for access. last: so many
    records are read that are there already; those of transactions' ends count, too. Raises KafkaException, or
    ConnectionError, where the topic cannot be read.
    """
    settings = {
        "group.id": "integrator-resolved",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 50,
        "enable.partition.eof": True,
    }
    consumer = Consumer({**client_settings(properties), "bootstrap.servers": brokers, **settings})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=_BOUNDS_S)
    begin = max(low, high - last)
    if channel and begin > low:
        consumer.assign([TopicPartition(topic, 0, begin)])
        begin = begin if _has(consumer, channel.encode()) else low
    consumer.assign([TopicPartition(topic, 0, begin)])
    return Reader(consumer, topic, channel)


def _has(consumer: Consumer, channel: bytes) -> bool:
    """Return whether a channel has a message between where the consumer reads and the end. Raises ConnectionError."""
    until = time.monotonic() + _BOUNDS_S
    while time.monotonic() < until:
        found = consumer.poll(_POLL_S)
        failure = None if found is None else found.error()
        if failure is not None and failure.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
            return False
        if found is not None and failure is None and found.key() == channel and found.value() is not None:
            return True
    raise ConnectionError(f"the topic of resolved messages is not read to its end in {_BOUNDS_S:.0f} s")
