"""The properties of librdkafka that the clients of a channel have in common."""

from __future__ import annotations

from collections.abc import Mapping

QUIET = {"log_level": "2"}
"""librdkafka reports on stderr each time it cannot connect, many times a second; our errors have its last message."""

CONSUMER_SETTINGS = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "allow.auto.create.topics": "false",
    "fetch.wait.max.ms": "10",
    "queued.max.messages.kbytes": str(4 << 10),
    "queued.min.messages": "1000000",
    "fetch.queue.backoff.ms": "5",
}
"""What the consumer of ranges sets. A broker has one request at a time, which waits 10 ms: with more, many partitions
wait for one that has nothing. A full queue stops fetching for a second by default. The bytes of the queue are those of
each partition."""
_PRODUCER_ONLY = (
    "acks", "request.required.acks", "enable.idempotence", "linger.ms", "queue.", "batch.", "compression", "message.",
    "retries", "message.send.max.retries", "partitioner", "sticky.", "delivery.", "max.in.flight", "transaction",
    "request.timeout.ms",
)  # fmt: skip


def is_of_producer(name: str) -> bool:
    """Return whether a property is one that producers alone have."""
    return name.startswith(_PRODUCER_ONLY)


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return those of a producer's properties that every client has."""
    return {name: value for name, value in properties.items() if not is_of_producer(name)}
