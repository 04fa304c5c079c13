"""What a cluster says of its topics: their ids and partitions, offsets, and those of consumer groups.

confluent-kafka's admin client asks it; what goes wrong is data (`ClusterFault`), of which a text is made elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from integrator.errors import EnvironmentFault
from integrator.librdkafka.aws_iam import client_settings
from integrator.librdkafka.properties import QUIET

TIMEOUT_S = 10.0
_KEPT_NOTICES = 3
_ABSENT = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)  # noqa: SLF001 - its public name
_FORBIDDEN = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
_PASSING = (3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 56, 74, 75, 78)
"""Error codes of brokers that change leaders, start, or do not know a new partition yet: asked again, they answer.

https://kafka.apache.org/protocol#protocol_error_codes
"""
_SPECS: Any = OffsetSpec
"""Which offsets are asked for; its functions have no types."""
Partition = tuple[str, int]
"""A topic and the number of a partition."""


@dataclass(unsafe_hash=True)  # not frozen: what it passes through sets its traceback
class ClusterFault(Exception):
    """Why a cluster does not answer, as data. of: the topic or group that was asked of. text: what the client says."""

    reason: Literal["away", "not allowed", "other"]
    of: str
    text: str


@dataclass(frozen=True)
class Topic:
    """A topic: its id, which it loses when it is deleted and made anew, and how many partitions it has."""

    id: str
    partitions: int


_NONE_THEN = -1
"""The offset of the first record from a time on, where there is none. librdkafka has -1001 for what is not known."""


class Cluster:
    """A cluster that is asked. It may be asked by several threads."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Take librdkafka's properties. Raises EnvironmentFault where no token can be made, or one cannot be."""
        self._noticed: deque[str] = deque(maxlen=_KEPT_NOTICES)
        settings: dict[str, Any] = {**QUIET, **client_settings(properties)}
        try:
            self._client = AdminClient(settings | {"error_cb": lambda error: self._noticed.append(error.str())})
        except KafkaException as error:
            raise EnvironmentFault(f"the Kafka client does not start: {error.args[0].str()}") from None

    def names(self) -> list[str]:
        """Return the names of all topics that we may see. Raises ClusterFault."""
        try:
            return sorted(self._client.list_topics(timeout=TIMEOUT_S).topics)
        except KafkaException as error:
            raise self._fault("", error) from None

    def topics(self, names: Iterable[str]) -> dict[str, Topic | None]:
        """Return topics by their names; None for one that is not there. Raises ClusterFault."""
        asked = TopicCollection(list(names))
        if not asked.topic_names:
            return {}
        found: dict[str, Topic | None] = {}
        for name, future in self._called(lambda: self._client.describe_topics(asked, request_timeout=TIMEOUT_S)):
            try:
                described = future.result()
            except KafkaException as error:
                if error.args[0].code() not in _ABSENT:
                    raise self._fault(name, error) from None
                found[name] = None
            else:
                found[name] = Topic(str(described.topic_id), len(described.partitions))
        return found

    def first(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the first offset that each partition has. Raises ClusterFault."""
        return self._offsets(partitions, _SPECS.earliest())

    def stable(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the last stable offset of each: before it no transaction is open. Raises ClusterFault."""
        return self._offsets(partitions, _SPECS.latest())

    def at(self, partitions: Iterable[Partition], time_ms: int) -> dict[Partition, int]:
        """Return the offset of the first record of each that is not earlier than a time; -1: none is. ClusterFault."""
        return self._offsets(partitions, _SPECS.for_timestamp(time_ms))

    def committed(self, group: str, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offsets that a group has committed; a negative one where it has none. Raises ClusterFault."""
        asked = ConsumerGroupTopicPartitions(group, [Place(*one) for one in partitions])
        [(_, future)] = self._called(
            lambda: self._client.list_consumer_group_offsets([asked], request_timeout=TIMEOUT_S)
        )
        try:
            return {(one.topic, one.partition): one.offset for one in future.result().topic_partitions}
        except KafkaException as error:
            raise self._fault(group, error) from None

    def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets for a group that has no members. Raises ClusterFault."""
        given = ConsumerGroupTopicPartitions(group, [Place(*one, offset) for one, offset in offsets.items()])
        [(_, future)] = self._called(
            lambda: self._client.alter_consumer_group_offsets([given], request_timeout=TIMEOUT_S)
        )
        try:
            refused = [one for one in future.result().topic_partitions if one.error is not None]
        except KafkaException as error:
            raise self._fault(group, error) from None
        if refused:
            raise self._fault(group, KafkaException(refused[0].error))

    def _offsets(self, partitions: Iterable[Partition], spec: Any) -> dict[Partition, int]:
        asked = {Place(*one): spec for one in partitions}
        if not asked:
            return {}
        committed, found = IsolationLevel.READ_COMMITTED, dict[Partition, int]()
        for place, future in self._called(
            lambda: self._client.list_offsets(asked, isolation_level=committed, request_timeout=TIMEOUT_S)
        ):
            name = f"{place.topic}/{place.partition}"
            try:
                offset = future.result().offset
            except KafkaException as error:
                raise self._fault(name, error) from None
            if offset < _NONE_THEN:
                raise ClusterFault(
                    "away", name, "a broker that has just begun to lead it does not know its offsets yet"
                )
            found[place.topic, place.partition] = offset
        return found

    def _called(self, ask: Any) -> list[tuple[Any, Any]]:
        try:
            return list(ask().items())
        except KafkaException as error:
            raise self._fault("", error) from None

    def _fault(self, of: str, error: KafkaException) -> ClusterFault:
        self._client.poll(0)  # hears what went wrong
        reason = error.args[0]
        heard = "; ".join(dict.fromkeys(self._noticed))
        self._noticed.clear()
        text = f"{reason.str()}{f'; the last messages of the client: {heard}' if heard else ''}"
        if reason.code() in _FORBIDDEN:
            return ClusterFault("not allowed", of, text)
        is_away = reason.code() < 0 or reason.code() in _PASSING or reason.retriable()
        return ClusterFault("away" if is_away else "other", of, text)


_CLUSTERS: dict[tuple[tuple[str, str], ...], Cluster] = {}


def cluster_of(properties: Mapping[str, str]) -> Cluster:
    """Return this process's client of a cluster, which is kept."""
    key = tuple(sorted(properties.items()))
    if key not in _CLUSTERS:
        _CLUSTERS[key] = Cluster(properties)
    return _CLUSTERS[key]
