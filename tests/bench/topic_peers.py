"""Who reads Debezium's events from a topic and sends to another one: the integrator, Spark, MirrorMaker 2."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from tests.bench import rows as table
from tests.bench import topic_events
from tests.bench.files_to_kafka import Daemon
from tests.bench.other_peers import PRODUCER, Ends
from tests.bench.peers import HERE, JARS
from tests.parts import connect
from tests.parts.brokers import Broker, fetched
from tests.parts.registries import Registry

BENCH = Path(__file__).parent
MIRROR_POM = BENCH / "mirror" / "pom.xml"
MIRROR_LIBRARIES = JARS.with_name("mirror-libs")
STOPPED_MS = 1_800_000
"""A worker that is stopped for so long is still in its group: it would begin its tasks anew."""
CHANNEL = """
channel: bench
state: {home}/state
locations:
  src: {{class: kafka, Kafka_Brokers: ["{servers}"], topics: {source}, dialect: debezium, repeated_positions: send,
    poll_seconds: 0.1{registry}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: {target}{target_registry}}}
{tables}actions:
  - {{action: Integrate, CycleByteLimit: 0}}
"""


@dataclass(frozen=True)
class Between:
    """Where a peer reads and where it sends. encoding: avro, json or json-schema. head: what begins Spark's messages."""

    kafka: Broker
    registry: Registry
    encoding: str
    home: Path
    source: str = ""
    target: str = ""
    head: bytes = b""


class Peer(Protocol):
    """Who moves records. process: what is stopped while others run."""

    process: psutil.Process

    def run(self, rows: int) -> float:
        """Return the seconds that it takes for the rows that are in the topic, and were not moved."""


class Integrator:
    """The daemon as a user runs it. Only JSON without schemas needs definitions of tables."""

    def __init__(self, at: Between) -> None:
        url, servers, tables = f', Kafka_Schema_Registry: "{at.registry.url}"', at.kafka.servers, ""
        if at.encoding == "json":
            (at.home / "orders.sql").write_text(table.DDL)
            tables = f"tables: [{at.home}/orders.sql]\n"
        ends = {"home": at.home, "servers": servers, "source": at.source, "target": at.target, "tables": tables}
        own = url if at.encoding == "avro" else ""
        (at.home / "c.yaml").write_text(CHANNEL.format(**ends, registry=own, target_registry=own))
        self._daemon = Daemon(at.home / "c.yaml")
        self.process = psutil.Process(self._daemon._process.pid)

    def run(self, rows: int) -> float:
        began = time.monotonic()
        self._daemon.wait_for(rows)
        return time.monotonic() - began


class Spark:
    """`spark/topic_to_topic.py`: a session that is warm, and a batch for what is in the topic."""

    def __init__(self, at: Between) -> None:
        if not fetched(HERE / "pom.xml", JARS):
            sys.exit("Spark's Kafka source and sink are not to be had: mvn and Maven Central")
        self._ends = Ends(at.kafka.servers, at.source)
        self._at = dict.fromkeys(self._ends.offsets(), 0)
        (at.home / "head").write_bytes(at.head)
        words = [at.kafka.servers, at.source, at.target, str(JARS), str(at.home / "head"), at.encoding]
        if at.encoding == "avro":
            for name, schema in (("events", topic_events.ENVELOPE), ("rows", topic_events.VALUE)):
                (at.home / name).write_text(json.dumps(schema))
                words.append(str(at.home / name))
        self._log = at.home / "log"
        with self._log.open("w") as log:
            self._running = subprocess.Popen(
                [sys.executable, HERE / "topic_to_topic.py", *words],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        self.process = psutil.Process(self._running.pid)
        self._answer()

    def _answer(self) -> None:
        assert self._running.stdout is not None
        if not self._running.stdout.readline():
            sys.exit(f"Spark ended:\n{self._log.read_text()[-3000:]}")

    def run(self, rows: int) -> float:
        del rows
        assert self._running.stdin is not None
        ends = self._ends.offsets()
        began = time.monotonic()
        print(json.dumps([self._at, ends]), file=self._running.stdin, flush=True)
        self._answer()
        self._at = ends
        return time.monotonic() - began


class Mirror:
    """MirrorMaker 2's source connector in a worker of Kafka Connect: bytes as they are, to a topic of the same cluster.

    It is timed from its first message to the last one.
    """

    def __init__(self, at: Between) -> None:
        servers = at.kafka.servers
        self._ends, self._moved = Ends(servers, at.target), 0
        if not fetched(MIRROR_POM, MIRROR_LIBRARIES):
            sys.exit("MirrorMaker 2 is not to be had: mvn and Maven Central")
        producer = {f"producer.{name}": value for name, value in PRODUCER.items()}
        settings = producer | {"session.timeout.ms": str(STOPPED_MS)}
        worker = connect.Worker(f"{MIRROR_LIBRARIES}/*", at.home, servers, settings, ("-Xmx2G",))
        worker.start()
        self.process = psutil.Process(worker.process.pid)
        alias = at.target.removesuffix(f".{at.source}")
        plain = "org.apache.kafka.connect.converters.ByteArrayConverter"
        config = {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasks.max": "2",
            **{f"{part}.converter": plain for part in ("key", "value")},
            "source.cluster.alias": alias,
            "target.cluster.alias": "here",
            "source.cluster.bootstrap.servers": servers,
            "target.cluster.bootstrap.servers": servers,
            "topics": at.source,
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            "source.consumer.max.poll.records": "10000",
        }
        worker.put("mirror", config)

    def run(self, rows: int) -> float:
        seconds = self._ends.seconds(self._moved, rows)
        self._moved += rows
        return seconds
