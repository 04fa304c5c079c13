"""The properties of librdkafka that the clients of a channel have in common."""

from __future__ import annotations

from collections.abc import Mapping

QUIET = {"log_level": "2"}
"""librdkafka reports on stderr each time it cannot connect, many times a second; our errors have its last message."""

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
