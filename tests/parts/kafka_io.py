"""Topics made, filled and read back by a plain consumer."""

from __future__ import annotations

import base64
import json
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition


@dataclass(frozen=True)
class Read:
    """A message as it lies in Kafka."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes


def read_all(servers: str, topics: list[str]) -> list[Read]:
    """Every message of the topics, up to their ends as they are now, partition by partition in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"read-{uuid.uuid4()}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
            "enable.partition.eof": False,
        }
    )
    try:
        left = {}
        metadata = consumer.list_topics(timeout=10).topics
        for topic in topics:
            for partition in metadata[topic].partitions:
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
                assert low == 0, f"{topic}[{partition}] has lost its beginning"
                if high > low:
                    left[topic, partition] = high
        consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in left])
        found: list[Read] = []
        deadline = time.monotonic() + 120
        while left and time.monotonic() < deadline:
            for message in consumer.consume(10_000, timeout=0.5):
                assert message.error() is None, message.error()
                place = message.topic(), message.partition()
                found.append(Read(*place, message.offset(), message.key(), message.value()))
                if left.get(place) == message.offset() + 1:
                    del left[place]
        assert not left, f"not read to the end: {left}"
        return sorted(found, key=lambda read: (read.topic, read.partition, read.offset))
    finally:
        consumer.close()


def converter_reads(class_path: str, messages: list[bytes], role: str = "value") -> list[dict | list]:
    """What Kafka's own JsonConverter makes of each message."""
    program = Path(__file__).parent / "jvm" / "ReadConnectJson.java"
    done = subprocess.run(
        ["java", "-cp", class_path, str(program), role],
        input="\n".join(base64.b64encode(message).decode() for message in messages),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
