"""`check --connect`: what the brokers allow and limit, asked before the first row; a message through a test topic."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from integrator.channel.created_topics import BROKER, Creation, TopicRule, rule_of
from integrator.deliver.kafka.diagnosis import with_remedy
from integrator.deliver.kafka.topics import (
    AUTO_CREATE,
    BY_CHANNEL,
    TIMEOUT_S,
    broker_settings,
    connected,
    created,
    missing_text,
)
from integrator.errors import EnvironmentFault
from integrator.librdkafka.aws_iam import client_settings
from integrator.librdkafka.properties import QUIET, client_properties
from integrator.names.numbers import are, counted, ranges

_REPLICAS = "the replication factor of Create_Topics"
_FEWER = "lower it, or add brokers"
_OF_TOPICS = ("max.message.bytes", "min.insync.replicas")
_NOT_ASKED = KafkaError._UNSUPPORTED_FEATURE  # noqa: SLF001 - the name that confluent_kafka gives it
_NAMED = 3
_OF_TIMES, _NO_LIMIT = "message.timestamp.", (1 << 63) - 1
"""What the names of a topic's settings for timestamps begin with; a limit of so many milliseconds is none."""
_ALLOWING = {AclOperation.WRITE, AclOperation.ALL}


def topic_problems(properties: dict[str, str], topics: Sequence[str]) -> Iterator[str]:
    """Yield what at the brokers would keep messages from those of `topics` that are there.

    Inspected: whether our user may write, whether each partition has a leader, the topics' max.message.bytes beside
    message.max.bytes, and min.insync.replicas beside the number of replicas.
    """
    client, there = connected(properties)
    found = [topic for topic in topics if topic in there.topics]
    if not found:
        return
    for topic in found:
        without = sorted(one.id for one in there.topics[topic].partitions.values() if one.leader < 0)
        if without:
            yield f"{topic}: partitions without a leader: {ranges(without)}: start the brokers that have them"
    for topic, future in client.describe_topics(
        TopicCollection(found), include_authorized_operations=True, request_timeout=TIMEOUT_S
    ).items():
        operations = set(future.result().authorized_operations or _ALLOWING)
        if not operations & _ALLOWING:
            yield f"{topic}: our user may not write; the operator of the brokers must allow it: ACL Write on the "
    yield from _limits(client, properties, {topic: _replicas(there.topics[topic]) for topic in found})


def compacted(properties: dict[str, str], topics: Sequence[str]) -> list[str]:
    """Return which of the topics that are there are compacted, as far as our user may see it."""
    client, there = connected(properties)
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics if topic in there.topics]
    found = []
    for resource, future in client.describe_configs(resources, request_timeout=TIMEOUT_S).items() if resources else ():
        with contextlib.suppress(KafkaException, KeyError):
            if "compact" in future.result()["cleanup.policy"].value:
                found.append(resource.name)
    return sorted(found)


def time_remarks(properties: dict[str, str], topics: Sequence[str]) -> Iterator[str]:
    """Yield what topics that are there do with timestamps that messages bring, as far as our user may see it."""
    client, there = connected(properties)
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics if topic in there.topics]
    for resource, future in client.describe_configs(resources, request_timeout=TIMEOUT_S).items() if resources else ():
        try:
            settings = {name: one.value for name, one in future.result().items() if name.startswith(_OF_TIMES)}
        except KafkaException:
            continue
        if settings.get(f"{_OF_TIMES}type") == "LogAppendTime":
            yield (
                f"{resource.name}: gives messages timestamps of its own (message.timestamp.type=LogAppendTime), and "
                "MessageTimestamp has no effect there; set CreateTime"
            )
            continue
        for name, value in sorted(settings.items()):
            if name.endswith(".max.ms") and value.isdigit() and int(value) < _NO_LIMIT:
                yield (
                    f"{resource.name}: refuses messages whose MessageTimestamp is further from the brokers' clock than "
                    f"{name}, {counted(int(value) // 1000, 'second')}"
                )


def creation_problems(properties: dict[str, str], creation: Creation, topics: Sequence[str]) -> Iterator[str]:
    """Yield what at the brokers does not allow `topics` that are to be created, or would keep messages from them.

    The brokers check them as if they were created, and report what they would refuse. What the brokers do not show
    is not checked: without the ACL DescribeConfigs on the cluster, or where they are not Apache Kafka's and have no
    such settings.
    """
    client, there = connected(properties)
    theirs = broker_settings(client, there)
    if creation == BROKER:
        if theirs.get(AUTO_CREATE) == "false":
            yield f"the brokers create no topics ({AUTO_CREATE}=false), and Create_Topics is broker; {BY_CHANNEL}"
        yield from _too_little(properties, theirs, TopicRule(topics=["*"]))
        return
    if lacking := [topic for topic in topics if rule_of(creation, topic) is None]:
        yield missing_text(properties, lacking, creation)
    rules = {topic: rule for topic in topics if (rule := rule_of(creation, topic)) is not None}
    used = [rule for rule in creation if rule in rules.values()]
    brokers = len(there.brokers)
    too_many = [rule for rule in used if (rule.replication or 1) > brokers]
    for rule in too_many:
        yield f"{_REPLICAS} is {rule.replication}, and there {are(brokers)} {counted(brokers, 'broker')}; {_FEWER}"
    yield from _refused(client, {topic: rule for topic, rule in rules.items() if rule not in too_many})
    yield from dict.fromkeys(text for rule in used for text in _too_little(properties, theirs, rule))


def too_many_replicas(properties: dict[str, str], topics: Mapping[str, int]) -> Iterator[str]:
    """Yield which topics of dead letters cannot be created: there are fewer brokers than they are to have replicas."""
    brokers = len(connected(properties)[1].brokers) if topics else 0
    for topic, replicas in topics.items():
        if replicas > brokers:
            key = "deadletterqueue.topic.replication.factor of errors"
            yield f"{topic}: {key} is {replicas}, and there {are(brokers)} {counted(brokers, 'broker')}; {_FEWER}"


def compacted_anew(properties: dict[str, str]) -> bool:
    """Return whether topics that brokers create are compacted, as far as our user may see it."""
    return "compact" in broker_settings(*connected(properties)).get("log.cleanup.policy", "")


def _too_little(properties: Mapping[str, str], theirs: Mapping[str, str], rule: TopicRule) -> Iterator[str]:
    """Yield where the brokers' settings `theirs` would keep messages from topics of a rule."""
    ours = int(properties["message.max.bytes"])
    most, least = int(theirs.get("message.max.bytes", ours)), int(theirs.get("min.insync.replicas", "1"))
    replicas = rule.replication or int(theirs.get("default.replication.factor", least))
    if most < ours and "max.message.bytes" not in rule.settings:
        yield (
            f"new topics take messages up to {most} bytes (message.max.bytes of the brokers), and "
            f"HVR_KAFKA_MSG_MAX_BYTES is {ours}; lower this, or give max.message.bytes in Create_Topics"
        )
    if least > replicas and "min.insync.replicas" not in rule.settings:
        named = f"{_REPLICAS} is {replicas}" if rule.replication else f"default.replication.factor is {replicas}"
        yield f"{named}, and min.insync.replicas of the brokers {least}: no message would be acknowledged; raise it"


def _refused(client: AdminClient, rules: Mapping[str, TopicRule]) -> Iterator[str]:
    """Yield why topics would not be created; brokers that are not asked so, such as in-process ones, refuse nothing."""
    by_reason: dict[str, list[str]] = {}
    for topic, reason in created(client, rules, only_asked=True):
        if reason.code() != _NOT_ASKED:
            by_reason.setdefault(reason.str(), []).append(topic)
    for text, refused in by_reason.items():
        shown, more = refused[:_NAMED], len(refused) - _NAMED
        which = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        yield f"{which} cannot be created: {text}; correct Create_Topics"


def _replicas(topic: Any) -> int:
    return min((len(partition.replicas) for partition in topic.partitions.values()), default=1)


def _limits(client: AdminClient, properties: dict[str, str], replicas: dict[str, int]) -> Iterator[str]:
    ours = int(properties["message.max.bytes"])
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in replicas]
    for resource, future in client.describe_configs(resources, request_timeout=TIMEOUT_S).items():
        try:
            settings = future.result()
        except KafkaException as error:  # without the ACL DescribeConfigs the limits cannot be seen
            yield f"{resource.name}: its limits cannot be seen: {error.args[0].str()}"
            continue
        # brokers that are not Apache Kafka's may show neither
        seen = {name: int(settings[name].value) for name in _OF_TOPICS if name in settings}
        theirs, least = seen.get("max.message.bytes", ours), seen.get("min.insync.replicas", 1)
        if theirs < ours:
            yield (
                f"{resource.name}: takes messages up to {theirs} bytes (max.message.bytes), and HVR_KAFKA_MSG_MAX_BYTES"
                f" is {ours}; set one of them to the other's"
            )
        if least > replicas[resource.name]:
            yield (
                f"{resource.name}: has {counted(replicas[resource.name], 'replica')}, and min.insync.replicas is "
                f"{least}: no message is ever acknowledged; add replicas, or lower min.insync.replicas"
            )


def through_topic(properties: dict[str, str], topic: str) -> float:
    """Send a message to `topic` and read it back; return how many seconds both took.

    Raises EnvironmentFault where one of them is not possible.
    """
    _, there = connected(properties)
    if topic not in there.topics:
        raise EnvironmentFault(f"the test topic {topic} is not there; create it, or name one that is there")
    begun, mark = time.monotonic(), uuid.uuid4().bytes
    place = send(properties, topic, b"integrator check", mark)
    access = client_settings(client_properties(properties))
    settings: dict[str, Any] = {**QUIET, **access, "group.id": "integrator-check"}
    consumer = Consumer(settings | {"enable.auto.commit": False})
    try:
        consumer.assign([place])
        came, reason = _first(consumer)
    finally:
        consumer.close()
    if came != mark:
        raise EnvironmentFault(
            f"the message sent to the test topic {topic} cannot be read back: {reason}; our user needs the ACL Read"
        )
    return time.monotonic() - begun


def send(properties: dict[str, str], topic: str, key: bytes, value: bytes) -> TopicPartition:
    """Send a message to a test topic; return where it is. Raises EnvironmentFault if it is not acknowledged."""
    failed: list[str] = []
    producer = Producer({**QUIET, **client_settings(properties), "message.timeout.ms": str(int(TIMEOUT_S * 1000))})
    places: list[tuple[int, int]] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is not None:
            failed.append(error.str())
        else:
            places.append((message.partition(), message.offset()))

    producer.produce(topic, key=key, value=value, on_delivery=delivered)
    left = producer.flush(TIMEOUT_S + 1)
    if failed or left or not places:
        why = with_remedy(failed[0] if failed else f"not acknowledged within {TIMEOUT_S:.0f} s")
        raise EnvironmentFault(f"the test topic {topic} takes no message: {why}")
    return TopicPartition(topic, *places[0])


def _first(consumer: Consumer) -> tuple[bytes | None, str]:
    """Return the value of the first message that comes, or why none did; a group, and its ACL, are not needed."""
    end, reason = time.monotonic() + TIMEOUT_S, "nothing came back"
    while time.monotonic() < end:
        message = consumer.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is None:
            return message.value(), ""
        if error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            reason = error.str()
    return None, reason
