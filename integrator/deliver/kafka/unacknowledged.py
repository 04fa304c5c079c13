"""Why messages were not acknowledged: the topics are inspected, for librdkafka reports only that it could not send."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from integrator.deliver.kafka.topics import TIMEOUT_S, connected
from integrator.errors import DeliveryError, EnvironmentFault
from integrator.names.numbers import counted

UNEXPLAINED = (
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
"""librdkafka's codes of errors behind which the topics' state is."""
_SHOWN = 3
_INSPECT_S, _KEPT_S = 3.0, 60.0
_LEAST = "min.insync.replicas"


class Reasons:
    """Why deliveries of a channel fail. Without an answer of brokers it takes seconds, in which nothing is sent.

    So what was found is kept for a minute, or until a delivery does not fail.
    """

    def __init__(self, properties: dict[str, str], topics: Sequence[str]) -> None:
        self._properties, self._topics = properties, topics
        self._found, self._at = "", float("-inf")

    def explained(self, error: DeliveryError) -> DeliveryError:
        """Return a failed delivery with what keeps messages from the topics, where no broker refused them."""
        if error.code not in UNEXPLAINED:
            return error
        now = time.monotonic()
        age = now - self._at
        if age > _KEPT_S:
            self._found, age = self._inspect(), 0.0
            self._at = time.monotonic()
        seen = f" (seen {age:.0f} s ago)" if age else ""
        return DeliveryError(f"{error}. Why: {self._found}{seen}")

    def forget(self) -> None:
        """Inspect again at the next failure: what kept messages from the topics does so no more."""
        self._at = float("-inf")

    def _inspect(self) -> str:
        try:
            client, there = connected(self._properties, _INSPECT_S)
            found = list(_problems(client, there, self._topics))
        except EnvironmentFault as fault:
            found = [str(fault)]
        except KafkaException as failure:
            found = [f"the topics cannot be inspected: {failure.args[0].str()}"]
        more = f" (and {len(found) - _SHOWN} more of the kind)" if len(found) > _SHOWN else ""
        reason = "; ".join(found[:_SHOWN]) or (
            "the brokers answer, and the topics have leaders and replicas enough: they were away, or are slower than "
            "HVR_KAFKA_MSG_DELIVERY_TIMEOUT allows (a quota, a slow disk or network)"
        )
        return f"{reason}{more}"


def _problems(client: AdminClient, there: Any, topics: Sequence[str]) -> Iterator[str]:
    lacking: dict[str, Any] = {}
    for topic in topics:
        known = there.topics.get(topic)
        if known is None or (known.error and known.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART):
            yield f"the topic {topic} is not there any more: create it, with as many partitions as it had"
            continue
        headless = [partition.id for partition in known.partitions.values() if partition.leader < 0]
        if headless:
            yield f"{topic}: partition {headless[0]} has no leader: start the brokers that have its replicas"
        least = min(known.partitions.values(), key=lambda one: len(one.isrs), default=None)
        if least is not None and len(least.isrs) < len(least.replicas):
            lacking[topic] = least
    if not lacking:
        return
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in lacking]
    for resource, future in client.describe_configs(resources, request_timeout=TIMEOUT_S).items():
        partition = lacking[resource.name]
        insync, replicas = len(partition.isrs), len(partition.replicas)
        try:
            wanted = int(future.result()[_LEAST].value)
        except (KafkaException, KeyError):  # without the ACL DescribeConfigs, or not Apache Kafka's
            wanted = replicas
        if insync < wanted:
            yield (
                f"{resource.name}: partition {partition.id} has {insync} of {counted(replicas, 'replica')} in sync, "
                f"and {_LEAST} is {wanted}: start the brokers that have the others"
            )
