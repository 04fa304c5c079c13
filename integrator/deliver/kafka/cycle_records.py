"""The record of a cycle at the brokers: the offset of a consumer group, which has the record as its metadata (KIP-447).

An offset alone can be read and written in a transaction without waiting for other transactions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from integrator.contracts.recipe import Send
from integrator.contracts.shards import CycleRecord
from integrator.deliver.kafka.diagnosis import with_remedy
from integrator.errors import DeliveryError
from integrator.librdkafka.aws_iam import client_settings
from integrator.librdkafka.properties import QUIET, client_properties

TIMEOUT_S = 60.0
"""For each call of a coordinator: as librdkafka's socket.timeout.ms."""
_AGAIN_S = 0.1


def metadata_of(record: CycleRecord) -> str:
    """Return what is written beside the offset, which is the cycle's number."""
    return json.dumps({name: value for name, value in vars(record).items() if name not in _OFFSET})


_OFFSET = ("cycle", "topic")


def committed(send: Send, group: str, topics: Sequence[str]) -> CycleRecord | None:
    """Return the record that a group has of the first partition of one of the topics, the one of the latest cycle.

    None where it has none. Raises DeliveryError.

    A consumer is asked, and not the admin client: librdkafka's ends the process with a null pointer where the group's
    coordinator has just been lost (2.16, rd_kafka_handle_OffsetFetch: an admin client has no consumer group).
    """
    properties = {**QUIET, **client_settings(client_properties(dict(send.producer))), "group.id": group}
    # read_committed: the coordinator may still be completing the transaction of a producer that was fenced just now
    consumer = Consumer({**properties, "enable.auto.commit": False, "isolation.level": "read_committed"})
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while True:
            try:
                found = consumer.committed(
                    [TopicPartition(topic, 0) for topic in topics], timeout=max(deadline - time.monotonic(), _AGAIN_S)
                )
                error = next((one.error for one in found if one.error is not None), None)
            except KafkaException as failure:
                error = failure.args[0]
            if error is None:
                return max(map(_record, found), key=lambda record: (-1, 0) if record is None else record.step)
            if error.code() not in _LATER or time.monotonic() > deadline:
                raise DeliveryError(with_remedy(f"which cycle was committed last cannot be read: {error.str()}"))
            time.sleep(_AGAIN_S)
    finally:
        consumer.close()


_LATER = {
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError._TRANSPORT,  # noqa: SLF001 - the name that the library documents
    KafkaError._TIMED_OUT,  # noqa: SLF001
}


def _record(found: Any) -> CycleRecord | None:
    """Return what was committed as an offset; None where nothing was."""
    if found.offset < 0:
        return None
    return CycleRecord(**json.loads(found.metadata), cycle=found.offset, topic=found.topic)
