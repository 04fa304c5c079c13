"""The topics that are there, and creating those that are not: asked before the first row is read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from integrator.channel.locations import TopicCreation
from integrator.deliver.kafka.diagnosis import diagnose
from integrator.errors import EnvironmentFault
from integrator.librdkafka.aws_iam import client_settings
from integrator.librdkafka.properties import QUIET, client_properties

TIMEOUT_S = 10.0
_ATTEMPT_S = 1.0
_FINAL = (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001 - the names that confluent_kafka gives them


def ensure(
    properties: dict[str, str],
    topics: Sequence[str],
    creation: TopicCreation | None,
    made: Mapping[str, int] = MappingProxyType({}),
) -> list[str]:
    """Have all `topics` there; return the names of those that were created.

    creation: how, if those that are missing are to be created. made: topics that are created in any case, with one
    partition, and their replication factors.

    Raises EnvironmentFault if the brokers cannot be reached, or topics are missing and may not or cannot be created.
    """
    client, missing = _missing(properties, topics)
    others = [topic for topic in missing if topic not in made]
    if others and creation is None:
        raise EnvironmentFault(missing_text(properties, others))
    if others and creation is not None:
        _create(client, others, creation)
    for topic in set(missing).intersection(made):
        _create(client, [topic], TopicCreation(Partitions=1, Replication_Factor=made[topic]))
    return missing


def missing_text(properties: Mapping[str, str], absent: Sequence[str]) -> str:
    """Return that topics are missing, and what to do."""
    return (
        f"missing at {properties['bootstrap.servers']}: the topics {', '.join(absent)}; create them, or let the "
        "channel do it with Create_Topics: {Partitions: …, Replication_Factor: …} at its Kafka location; where the "
        "brokers have ACLs, our user needs Describe and Write on them"
    )


def missing(properties: dict[str, str], topics: Sequence[str]) -> list[str]:
    """Return which of `topics` are not there. Raises EnvironmentFault if the brokers cannot be reached."""
    return _missing(properties, topics)[1]


def _missing(properties: dict[str, str], topics: Sequence[str]) -> tuple[AdminClient, list[str]]:
    client, there = connected(properties)
    return client, [topic for topic in topics if topic not in there.topics]


def connected(properties: dict[str, str], timeout_s: float | None = None) -> tuple[AdminClient, Any]:
    """Return a client, and the ClusterMetadata that it sees. Raises EnvironmentFault with the reason if it sees none.

    A client that is not accepted is an error at once; brokers that do not answer have `timeout_s`, or TIMEOUT_S.
    """
    heard: list[KafkaError] = []
    settings: dict[str, Any] = {**QUIET, **client_settings(client_properties(properties))}
    client = AdminClient(settings | {"error_cb": heard.append})
    end = time.monotonic() + (TIMEOUT_S if timeout_s is None else timeout_s)
    while True:
        try:
            return client, client.list_topics(timeout=min(_ATTEMPT_S, TIMEOUT_S))
        except KafkaException as error:
            client.poll(0)  # hears what went wrong
            final = any(one.code() in _FINAL for one in heard)
            if not final and time.monotonic() < end:
                continue
            raise EnvironmentFault(_no_broker(properties, error.args[0].str(), heard)) from None


def _no_broker(properties: dict[str, str], text: str, heard: list[KafkaError]) -> str:
    telling = [one for one in heard if one.code() != KafkaError._ALL_BROKERS_DOWN]  # noqa: SLF001 - its public name
    final = [one for one in telling if one.code() in _FINAL]
    last = (final or telling or heard)[-1].str() if heard else ""
    found = diagnose(properties, last)
    heard_last = f"; the client's last message: {last}" if last else ""
    remedy = found or (
        "start it, or correct Kafka_Brokers or our credentials (Kafka_Authentication_Method, certificates)"
    )
    return f"no broker of {properties['bootstrap.servers']} answers ({text}): {remedy}{heard_last}"


def _create(client: AdminClient, topics: Sequence[str], creation: TopicCreation) -> None:
    for topic, reason in created(client, topics, creation):
        if reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise EnvironmentFault(f"the topic {topic} cannot be created: {reason.str()}{_may(reason)}")


def created(
    client: AdminClient, topics: Sequence[str], creation: TopicCreation, *, only_asked: bool = False
) -> Iterator[tuple[str, KafkaError]]:
    """Create topics; yield those that the brokers refuse, and why. only_asked: they look at them, and create none."""
    new = [
        NewTopic(
            topic,
            num_partitions=creation.Topic_Partitions.get(topic, creation.Partitions),
            replication_factor=creation.Replication_Factor,
            config=creation.Topic_Config,
        )
        for topic in topics
    ]
    asked = {"operation_timeout": TIMEOUT_S, "request_timeout": TIMEOUT_S, "validate_only": only_asked}
    for topic, future in (client.create_topics(new, **asked) if new else {}).items():
        try:
            future.result()
        except KafkaException as error:
            yield topic, error.args[0]


def _may(reason: KafkaError) -> str:
    """Return who mends what, where it is we who may not."""
    if reason.code() not in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        return ""
    return "; the operator of the brokers must create it, or allow our user to: ACL Create on the topic"
