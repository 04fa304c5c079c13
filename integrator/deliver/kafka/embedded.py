"""librdkafka's in-process Kafka cluster, for trying the integrator out where there is no Kafka.

Its C interface (rdkafka_mock.h, declared experimental) is in the library that confluent-kafka ships. It keeps at most
5 MiB a partition in memory, knows no admin requests, and is gone with this process: good for a demonstration, no more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import TracebackType

from typing_extensions import Self

from integrator.errors import EnvironmentFault
from integrator.librdkafka.rdkafka_h import library

_PRODUCER = 0
_BROKERS = 1


class EmbeddedCluster:
    """A cluster of one broker on a port of 127.0.0.1, as long as the `with` block lasts."""

    def __init__(self) -> None:
        self._library = _library()
        text = ctypes.create_string_buffer(512)
        configuration = self._library.rd_kafka_conf_new()
        # of its log only errors: it warns of a client without brokers, and the cluster is these brokers
        self._library.rd_kafka_conf_set(ctypes.c_void_p(configuration), b"log_level", b"3", text, len(text))
        self._client = self._library.rd_kafka_new(_PRODUCER, ctypes.c_void_p(configuration), text, len(text))
        if not self._client:
            raise EnvironmentFault(f"the in-process cluster does not start: {text.value.decode()}")
        self._cluster = self._library.rd_kafka_mock_cluster_new(ctypes.c_void_p(self._client), _BROKERS)
        cluster = ctypes.c_void_p(self._cluster)
        # without these, a group's first member waits 3 s, and metadata names a controller that is not there
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0)
        self._library.rd_kafka_mock_set_controller_id(cluster, 1)
        self.brokers: str = self._library.rd_kafka_mock_cluster_bootstraps(cluster).decode()

    def create(self, topics: Sequence[str], partitions: int = 4) -> None:
        """Create topics; the cluster does not know Kafka's own request for it."""
        for topic in topics:
            self._library.rd_kafka_mock_topic_create(ctypes.c_void_p(self._cluster), topic.encode(), partitions, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.rd_kafka_mock_cluster_destroy(ctypes.c_void_p(self._cluster))
        self._library.rd_kafka_destroy(ctypes.c_void_p(self._client))


def _library() -> ctypes.CDLL:
    """Return librdkafka, the functions of its in-process cluster declared."""
    found = library()
    try:
        found.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
        found.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        _ = found.rd_kafka_mock_set_controller_id
    except AttributeError as error:
        raise EnvironmentFault(
            f"the confluent-kafka installed here has no in-process cluster ({error}); name a real broker instead"
        ) from None
    return found
