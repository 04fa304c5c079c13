"""What the topics take: batches are made to fit max.message.bytes, and a message above it is explained; partitions.

Brokers compare it with a batch as it comes, compressed; librdkafka's batch.size is of a batch before that.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from integrator.contracts.outgoing import RECORD_OVERHEAD
from integrator.contracts.recipe import Recipe, Send
from integrator.contracts.report import TooLarge
from integrator.deliver.kafka.topics import TIMEOUT_S, connected
from integrator.errors import DataError, DeliveryError, shown
from integrator.expressions.parts import Part, Text

_LIMIT = "max.message.bytes"


def limits(properties: dict[str, str], topics: Sequence[str]) -> dict[str, int]:
    """Return the limits of the topics that are there, as far as our user may see them (ACL DescribeConfigs).

    Raises EnvironmentFault if the brokers cannot be reached.
    """
    client, there = connected(properties)
    found = {}
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics if topic in there.topics]
    for resource, future in client.describe_configs(resources, request_timeout=TIMEOUT_S).items() if resources else ():
        try:
            found[resource.name] = int(future.result()[_LIMIT].value)
        except (KafkaException, KeyError, TypeError, ValueError):  # brokers that are not Apache Kafka's may have none
            continue
    return found


def fitting(recipe: Recipe, topics: Sequence[str], of_rows: Sequence[str] = ()) -> Recipe:
    """Return the recipe with batches that topics take, and what rows may say of them: names, and partitions.

    topics: those of tables. of_rows: known to be there, and those that rows have named. Raises EnvironmentFault as
    `limits`.
    """
    send = recipe.send
    _, there = connected(send.producer)
    patterns = [_pattern(table.message_topic) for table in recipe.tables if table.message_topic]
    if patterns:
        found = (one for one in there.topics if any(pattern.fullmatch(one) for pattern in patterns))
        known = sorted({*found, *of_rows, *(send.topics or ())})
        send, topics = dataclasses.replace(send, topics=tuple(known)), [*topics, *known]
    least = min(limits(send.producer, topics).values(), default=None)
    if least is not None and least < int(send.producer["batch.size"]):
        send = dataclasses.replace(send, producer={**send.producer, "batch.size": str(least)})
    if recipe.by_partition:
        counts = ((topic, len(there.topics[topic].partitions)) for topic in topics if topic in there.topics)
        send = dataclasses.replace(send, partitions=tuple(counts))
    return recipe if send is recipe.send else dataclasses.replace(recipe, send=send)


def _pattern(topic: Iterable[Part]) -> re.Pattern[str]:
    """Return what the names of topics match that an expression may give."""
    return re.compile("".join(re.escape(part.text) if isinstance(part, Text) else ".*" for part in topic))


def refused(send: Send, found: TooLarge, ours: int, where: str) -> DataError | DeliveryError:
    """Return the error for a message that a broker refused for its size; `ours` is HVR_KAFKA_MSG_MAX_BYTES."""
    theirs = limits(send.producer, [found.topic]).get(found.topic)
    row = f"{where}: {found.topic}: the message of {found.bytes} bytes with the key {shown(found.key)}"
    if theirs is not None and theirs < found.bytes + RECORD_OVERHEAD:
        return DataError(
            f"{row} is refused: the topic takes messages up to {theirs} bytes ({_LIMIT}), and "
            f"HVR_KAFKA_MSG_MAX_BYTES is {ours}; raise {_LIMIT} of the topic, or set HVR_KAFKA_MSG_MAX_BYTES to "
            f"{theirs}: then such a row is found before it is sent, with file, line and largest columns, and "
            "Oversized_Rows sets what happens to it"
        )
    seen = "cannot be seen (ACL DescribeConfigs on the topic)" if theirs is None else f"is {theirs} now"
    return DeliveryError(
        f"{row} is refused, or the batch that it is in: {_LIMIT} of the topic {seen}; start again: batches are then "
        f"limited to the size that is known; otherwise set batch.size in HVR_KAFKA_PROPERTY to {_LIMIT}"
    )
