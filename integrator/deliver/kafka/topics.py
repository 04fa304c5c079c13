"""The topics that are there, and creating those that are not: asked before the first row is read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from integrator.channel.created_topics import BROKER, OF_BROKERS, Creation, TopicRule, rule_of
from integrator.deliver.kafka.diagnosis import diagnose
from integrator.errors import EnvironmentFault
from integrator.librdkafka.aws_iam import client_settings
from integrator.librdkafka.properties import QUIET, client_properties

TIMEOUT_S = 10.0
_ATTEMPT_S = 1.0
_AGAIN_S = 0.1
AUTO_CREATE = "auto.create.topics.enable"
BY_CHANNEL = (
    "set it to true and start them again, create the topics, or let the channel do it with Create_Topics: {Partitions: "
    "…, Replication_Factor: …} or a list of rules"
)
_UNAUTHORIZED = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_REFUSED = (
    *_UNAUTHORIZED,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.POLICY_VIOLATION,
    KafkaError.INVALID_REPLICATION_FACTOR,
)
"""Why brokers never create a topic that they are asked for."""
_FINAL = (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001 - the names that confluent_kafka gives them


def ensure(
    properties: dict[str, str],
    topics: Sequence[str],
    creation: Creation,
    made: Mapping[str, int] = MappingProxyType({}),
) -> list[str]:
    """Have all `topics` there; return the names of those that were created.

    creation: how those that are missing are created. made: topics that are created in any case, with one partition, and
    their replication factors.

    Raises EnvironmentFault if the brokers cannot be reached, or topics are missing and are not or cannot be created.
    """
    client, missing = _missing(properties, topics)
    rules = {topic: rule_of(creation, topic) for topic in missing if topic not in made}
    if creation == BROKER:
        _ask_brokers(client, properties, list(rules))
    elif lacking := [topic for topic, rule in rules.items() if rule is None]:
        raise EnvironmentFault(missing_text(properties, lacking, creation))
    found = {topic: rule for topic, rule in rules.items() if rule is not None}
    own = {
        topic: TopicRule(topics=[topic], partitions=1, replication=made[topic]) for topic in missing if topic in made
    }
    _create(client, found | own)
    return missing


def missing_text(properties: Mapping[str, str], absent: Sequence[str], creation: Creation = ()) -> str:
    """Return that topics are missing that the channel does not create, and what to do."""
    at, topics = properties["bootstrap.servers"], ", ".join(absent)
    rights = "where the brokers have ACLs, our user needs Describe and Write on them"
    if creation:
        return (
            f"missing at {at}: the topics {topics}; no entry of Create_Topics matches them; create them, or add an "
            f"entry: - {{topics: …, partitions: …}}; {rights}"
        )
    return (
        f"missing at {at}: the topics {topics}; create them, or let the channel do it with Create_Topics: "
        "{Partitions: …, Replication_Factor: …} at its Kafka location, or the brokers, with Create_Topics: broker; "
        f"{rights}"
    )


def _ask_brokers(client: AdminClient, properties: Mapping[str, str], topics: Sequence[str]) -> None:
    """Have the brokers create topics, by asking for each as a producer's first message does. Raises EnvironmentFault.

    Whoever asks for a topic has it created (auto.create.topics.enable); a topic is there when its partitions have
    leaders.
    """
    end, waiting, reasons = time.monotonic() + TIMEOUT_S, list(topics), dict[str, KafkaError | None]()
    while waiting:
        for topic in waiting:
            found = client.list_topics(topic, timeout=TIMEOUT_S).topics[topic]  # which creates it
            reasons[topic] = found.error
            if found.error is None and found.partitions and all(one.leader >= 0 for one in found.partitions.values()):
                del reasons[topic]
        waiting = list(reasons)
        final = [topic for topic, reason in reasons.items() if reason is not None and reason.code() in _REFUSED]
        if waiting and (final or time.monotonic() > end):
            raise EnvironmentFault(_not_made(client, properties, final or waiting, reasons[(final or waiting)[0]]))
        if waiting:
            time.sleep(_AGAIN_S)


def _not_made(
    client: AdminClient, properties: Mapping[str, str], topics: Sequence[str], reason: KafkaError | None
) -> str:
    """Return why brokers did not create topics that they were asked for, and what to do."""
    text = f"{properties['bootstrap.servers']} did not create the topics {', '.join(topics)} (Create_Topics: broker)"
    if reason is not None and reason.code() in _REFUSED:
        why = f"{reason.str()}{_may(reason)}"
    elif broker_settings(client, client.list_topics(timeout=TIMEOUT_S)).get(AUTO_CREATE) == "false":
        why = f"the brokers have {AUTO_CREATE}=false; {BY_CHANNEL}"
    else:
        seen = reason.str() if reason is not None else "the partitions have no leaders"
        why = f"{seen} after {TIMEOUT_S:.0f} s; check {AUTO_CREATE} of the brokers, or {BY_CHANNEL}"
    return f"{text}: {why}"


def broker_settings(client: AdminClient, there: Any) -> dict[str, str]:
    """Return the settings of a broker, as far as our user may see them; none without the ACL DescribeConfigs."""
    try:
        resource = ConfigResource(ResourceType.BROKER, str(min(there.brokers)))
        found = client.describe_configs([resource], request_timeout=TIMEOUT_S)[resource].result()
    except KafkaException:
        return {}
    return {name: one.value for name, one in found.items() if one.value is not None}


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


def _create(client: AdminClient, rules: Mapping[str, TopicRule]) -> None:
    for topic, reason in created(client, rules):
        if reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise EnvironmentFault(f"the topic {topic} cannot be created: {reason.str()}{_may(reason)}")


def created(
    client: AdminClient, rules: Mapping[str, TopicRule], *, only_asked: bool = False
) -> Iterator[tuple[str, KafkaError]]:
    """Create topics, each by its rule; yield those that the brokers refuse, and why.

    only_asked: they check them, and create none.
    """
    new = [
        NewTopic(
            topic,
            num_partitions=rule.partitions or OF_BROKERS,
            replication_factor=rule.replication or OF_BROKERS,
            config=rule.settings,
        )
        for topic, rule in rules.items()
    ]
    asked = {"operation_timeout": TIMEOUT_S, "request_timeout": TIMEOUT_S, "validate_only": only_asked}
    for topic, future in (client.create_topics(new, **asked) if new else {}).items():
        try:
            future.result()
        except KafkaException as error:
            yield topic, error.args[0]


def _may(reason: KafkaError) -> str:
    """Return who mends what, where it is we who may not."""
    if reason.code() not in _UNAUTHORIZED:
        return ""
    return "; the operator of the brokers must create it, or allow our user to: ACL Create on the topic"
