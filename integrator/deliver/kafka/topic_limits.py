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
from integrator.contracts.recipe import Recipe, Sought
from integrator.contracts.report import MSG_SIZE_TOO_LARGE, RefusedMessage
from integrator.deliver.kafka.permanent import PERMANENT
from integrator.deliver.kafka.topics import TIMEOUT_S, connected
from integrator.errors import DataError, DeliveryError, IntegratorError, shown
from integrator.expressions.parts import Part, Text

_LIMIT = "max.message.bytes"
_ALONE = {"batch.size": "1"}


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
    """Return the recipe with batches that topics take, their limits, and the topics and partitions that rows may name.

    topics: those of tables. of_rows: known to be there, and those that rows have named. Raises EnvironmentFault as
    `limits`.
    """
    send = recipe.send
    _, there = connected(send.producer)
    patterns = [_pattern(table.message_topic) for table in recipe.tables if table.message_topic]
    if patterns:
        found = (one for one in there.topics if any(pattern.fullmatch(one) for pattern in patterns))
        names = sorted({*found, *of_rows, *(send.topics or ())})
        send, topics = dataclasses.replace(send, topics=tuple(names)), [*topics, *names]
    known = limits(send.producer, topics)
    small = tuple(sorted((topic, limit) for topic, limit in known.items() if limit < recipe.messages.max_bytes))
    least = min([int(send.producer["batch.size"]), *known.values()])
    send = dataclasses.replace(send, producer={**send.producer, "batch.size": str(least)})
    if recipe.by_partition:
        counts = ((topic, len(there.topics[topic].partitions)) for topic in topics if topic in there.topics)
        send = dataclasses.replace(send, partitions=tuple(counts))
    return dataclasses.replace(recipe, messages=dataclasses.replace(recipe.messages, limits=small), send=send)


def _pattern(topic: Iterable[Part]) -> re.Pattern[str]:
    """Return what the names of topics match that an expression may give."""
    return re.compile("".join(re.escape(part.text) if isinstance(part, Text) else ".*" for part in topic))


def one_by_one(recipe: Recipe) -> Recipe:
    """Return the recipe with each message in a batch of its own, so that what a broker refuses is that message."""
    send = recipe.send
    return dataclasses.replace(recipe, send=dataclasses.replace(send, producer={**send.producer, **_ALONE}))


def seeking_row(recipe: Recipe, found: RefusedMessage, why: str) -> Recipe:
    """Return the recipe with which the first pass finds the row of a refused message, and reports `why` of it."""
    sought = Sought(found.topic, found.bytes, found.digest, why, size=found.code == MSG_SIZE_TOO_LARGE)
    return dataclasses.replace(recipe, messages=dataclasses.replace(recipe.messages, sought=sought))


def refused(recipe: Recipe, found: RefusedMessage, where: str) -> IntegratorError:
    """Return the error for a message that a broker refused for good.

    It is a DeliveryError where another message of its batch may be the reason: it is known after messages are sent
    `one_by_one`.
    """
    kind, remedy = PERMANENT[found.code]
    if not found.topic:
        return kind(f"{where}: the brokers refuse our producer: {found.reason}; {remedy}")
    key = "(not shown: the channel masks columns)" if recipe.masks else shown(found.key)
    text = f"{where}: {found.topic}: the message of {found.bytes} bytes with the key {key} is refused"
    if found.code != MSG_SIZE_TOO_LARGE:
        return kind(f"{text}: {found.reason}; {remedy}")
    theirs = limits(recipe.send.producer, [found.topic]).get(found.topic)
    ours = recipe.messages.max_bytes
    known = f"and HVR_KAFKA_MSG_MAX_BYTES is {ours}"
    bundling = recipe.messages.layout.bundling
    if theirs is not None and bundling.keyless and theirs < bundling.threshold:  # brokers compare what is compressed
        return DataError(
            f"{text}: the topic takes messages up to {theirs} bytes ({_LIMIT}), {known}; raise {_LIMIT} of the topic, "
            f"or write a Kafka_Message_Bundling_Threshold below {theirs}: it is {bundling.threshold}"
        )
    if theirs is not None and theirs < found.bytes + RECORD_OVERHEAD:
        return DataError(
            f"{text}: the topic takes messages up to {theirs} bytes ({_LIMIT}), {known}; raise {_LIMIT} of the topic, "
            "or start again: then such a row is found before it is sent, and Oversized_Rows sets what happens to it"
        )
    seen = "cannot be seen (ACL DescribeConfigs on the topic)" if theirs is None else f"is {theirs} now"
    if recipe.send.producer.items() >= _ALONE.items():
        return DataError(
            f"{text}, alone in its batch: {_LIMIT} of the topic {seen}, {known}; raise {_LIMIT} of the topic, or set "
            "HVR_KAFKA_MSG_MAX_BYTES to it: then Oversized_Rows sets what happens to such a row"
        )
    return DeliveryError(
        f"{text}, or the batch that it is in: {_LIMIT} of the topic {seen}, {known}; now each message is sent "
        "in a batch of its own"
    )
