"""A round of the campaign from topic to topic: what is drawn of it, its faults, and what must be true at its end."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic
from pyspark.sql import SparkSession

from tests.parts import brokers, channels, connect, in_process, kafka_io, registries, topic_rows
from tests.parts.daemon import Daemon
from tests.parts.live_tables import ADDED, DDL, KEYS, Changes, Database
from tests.parts.waiting import until

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "300",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "2000",  # until then our tap has read it
}
CHANNEL = """
channel: {prefix}
state: {directory}/state
delivery: {delivery}
monitor: {{enabled: false}}
restart: {{first_seconds: 0.2, most_seconds: 1, timeout_seconds: -1}}
locations:
  src: {{class: kafka, Kafka_Brokers: ["{servers}"], topics: '^{prefix}\\.{schema}\\..*', dialect: debezium,
    repeated_positions: send, unknown_columns: {unknown}, poll_seconds: 0.1{source}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{prefix}-out.{{hvr_tbl_name}}"{target}}}
tables: [{tables}]
actions:
  - {{action: Environment, Name: HVR_KAFKA_MSG_DELIVERY_TIMEOUT, Value: "20"}}
  - {{action: ColumnProperties, Name: gone, Datatype: text, Extra: true, IntegrateExpression: "{{hvr_missing}}"}}
"""
ENDS = (0, 4, 5, -signal.SIGKILL)
"""Exit codes of a daemon that met a fault."""


@dataclass(frozen=True)
class Parts:
    """What all rounds have in common."""

    kraft: brokers.KraftBroker
    worker: connect.Worker
    registry: registries.Registry | None
    databases: list[Database]
    spark: SparkSession
    admin: AdminClient = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "admin", AdminClient({"bootstrap.servers": self.kraft.servers, "log_level": 0}))


class Round:
    """All of it is drawn by the seed and the number: how much happens until a fault is a matter of time alone."""

    def __init__(self, parts: Parts, directory: Path, seed: int, number: int) -> None:
        self.parts, self._directory, self._prefix = parts, directory, f"r{seed}x{number}"
        self._draw = draw = random.Random(f"{seed} {number}")
        self._database = draw.choice(parts.databases)
        self._encoding = draw.choice([one for one in connect.ENCODINGS if one != "Avro" or parts.registry])
        self._defined = self._encoding != "Avro" or draw.random() < 0.3
        self._avro_out = draw.random() < 0.5 and parts.registry is not None
        self._once, self._compacted = draw.random() < 0.75, draw.random() < 0.25
        self._unknown = draw.choice(("add", "ignore"))
        self._changes = Changes(random.Random(f"{seed} {number} changes"), large=not self._compacted)
        self._faults: dict[str, Callable[[], None]] = {
            "our driver killed": lambda: self._daemon.kill(everything=False),
            "all of ours killed": lambda: self._daemon.kill(everything=True),
            "Connect killed": lambda: self._kill(parts.worker),
            "the broker killed": lambda: self._kill(parts.kraft),
            "partitions added": self._add_partitions,
            "a column added": self._add_column,
        }
        self.chosen = draw.sample(list(self._faults), draw.randint(1, 3))
        self._topics = {table: self._database.topic(self._prefix, table) for table in KEYS}
        self._out = {table: f"{self._prefix}-out.{table}" for table in KEYS}
        self._changing, self._log = threading.Lock(), list[str]()
        self._path = directory / "channel.yaml"
        is_avro = self._encoding == "Avro" and parts.registry
        self._read_event = topic_rows.avro(parts.registry.client) if is_avro else topic_rows.json_event

    def __str__(self) -> str:
        out = "Avro" if self._avro_out else "Connect JSON"
        how = f"{'exactly' if self._once else 'at least'} once{', compacted' if self._compacted else ''}"
        what = f"{self._database.product}, {self._encoding}{'' if self._defined else ' without definitions'} to {out}"
        return f"{what}, {how}, {self._unknown}; {', '.join(self.chosen)}"

    def run(self) -> Counter[str]:
        """Have it; return what was counted. Raises AssertionError for what is not as it must be."""
        self._prepare()
        self._daemon = Daemon(self._path)
        with self._left_nothing(), topic_rows.Tap(self.parts.kraft.servers, self._topics.values()) as tap:
            with self._fed():
                until(lambda: self._streams(tap), self.parts.worker.log)
                for name in self.chosen:
                    with contextlib.suppress(AssertionError):
                        self._daemon.wait_for("cycle synced", self._draw.randint(0, 3), seconds=20)
                    time.sleep(self._draw.uniform(0.0, 1.5))
                    self._faults[name]()
                    self._start_again()
                time.sleep(self._draw.uniform(0.5, 2.0))
            self._wait_for_last(tap)
            self._daemon.kill(everything=True)
            in_process.integrate(self.parts.spark, self._path)
            return self._check(tap)

    def _prepare(self) -> None:
        """Create the tables with some rows, the topics, the connector and the channel."""
        self._database.sql(self._database.create + "".join(self._changes.transaction() for _ in range(20)))
        config = COMPACTED if self._compacted else {}
        topics = [NewTopic(topic, self._draw.randint(1, 3), 1, config=config) for topic in self._topics.values()]
        topics += [NewTopic(topic, 2, 1) for topic in self._out.values()]
        for made in self.parts.admin.create_topics(topics).values():
            made.result()
        url = self.parts.registry.url if self.parts.registry else ""
        connector = self._database.connector(self._prefix)
        self.parts.worker.put(self._prefix, connector | connect.converters(self._encoding, url))
        (self._directory / "tables.sql").write_text(DDL)
        text = CHANNEL.format(
            prefix=self._prefix,
            directory=self._directory,
            delivery="exactly_once" if self._once else "at_least_once",
            servers=self.parts.kraft.servers,
            schema=self._database.schema,
            unknown=self._unknown,
            source=f", Kafka_Schema_Registry: '{url}'" if self._encoding == "Avro" else "",
            tables="tables.sql" if self._defined else "",
            target=f", Kafka_Schema_Registry: '{url}', Missing_Values: 'NULL'" if self._avro_out else "",
        )
        self._path.write_text(text + channels.TIMEKEY)

    @contextlib.contextmanager
    def _left_nothing(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._daemon.running:
                self._daemon.kill(everything=True)
            (self._directory / "log").write_text("\n".join(self._log + self._daemon.lines))
            self.parts.worker.delete(self._prefix)
            self._database.forget(self._prefix)

    @contextlib.contextmanager
    def _fed(self) -> Iterator[None]:
        """Change the tables all the while."""
        stop, pauses, failed = threading.Event(), random.Random(0), []

        def feed() -> None:
            try:
                while not stop.wait(pauses.uniform(0.02, 0.2)):
                    with self._changing:
                        self._database.sql(self._changes.transaction())
            except Exception as error:  # noqa: BLE001 - raised by the thread that waits
                failed.append(error)

        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            yield
        finally:
            stop.set()
            feeder.join()
        if failed:
            raise failed[0]

    def _streams(self, tap: topic_rows.Tap) -> bool:
        """Return whether Debezium's snapshot is done.

        One that is interrupted is made anew, without the deletes of rows that were sent before: these are lost in Debezium.
        """
        return any(event["op"] != "r" for table in self._topics for event in self._events(tap, table))

    def _start_again(self) -> None:
        """Start the daemon again if it ended. Fails where what ended it is no fault of the round's."""
        if not self._daemon.running:
            code = self._daemon.wait()
            assert code in ENDS, f"the daemon ended with {code}: " + "\n".join(self._daemon.lines[-30:])
            self._log += self._daemon.lines
            self._daemon = Daemon(self._path)

    def _kill(self, server: connect.Worker | brokers.KraftBroker) -> None:
        server.stop()
        time.sleep(self._draw.uniform(0.0, 2.0))
        server.start()

    def _add_partitions(self) -> None:
        topic = self._draw.choice(list(self._topics.values()))
        count = len(self.parts.admin.list_topics(timeout=30).topics[topic].partitions)
        self.parts.admin.create_partitions([NewPartitions(topic, count + self._draw.randint(1, 2))])[topic].result()

    def _add_column(self) -> None:
        with self._changing:
            self._database.sql(f"alter table items add column {ADDED} varchar(40);")
            self._changes.added = ADDED

    def _wait_for_last(self, tap: topic_rows.Tap) -> None:
        """Have a last change of each table, and wait until Debezium has sent it."""
        sql, wanted = self._changes.last()
        self._database.sql(sql)

        def came() -> bool:
            self.parts.worker.wait(self._prefix)
            return all(
                any(event["op"] != "d" and event["after"]["version"] == version for event in self._events(tap, table))
                for table, version in wanted.items()
            )

        until(came, self.parts.worker.log, 120)

    def _events(self, tap: topic_rows.Tap, table: str) -> list[topic_rows.Row]:
        return tap.events(self._topics[table], self._read_event)

    def _check(self, tap: topic_rows.Tap) -> Counter[str]:
        read = topic_rows.connect_json
        if self._avro_out and self.parts.registry:
            read = topic_rows.avro(self.parts.registry.client)
        received = kafka_io.read_all(self.parts.kraft.servers, list(self._out.values()))
        came: Counter[topic_rows.Identity] = Counter()
        sent: Counter[topic_rows.Identity] = Counter()
        for table, topic in self._out.items():
            rows = [read(topic, one.value) for one in received if one.topic == topic and one.value is not None]
            came.update(one for event in self._events(tap, table) for one in topic_rows.of_event(table, event))
            sent.update(topic_rows.of_row(table, row) for row in rows)
            # a table that schemas define has the column where they had it before it was looked at
            has_added = self._unknown == "add" or (not self._defined and any(ADDED in row for row in rows))
            wanted = self._database.rows(table, self._changes.added if table == "items" and has_added else "")
            topic_rows.check_tables(table, topic_rows.rebuilt(table, rows), wanted)
        topic_rows.check_once(came, sent, all_came=not self._compacted, once=self._once)
        return Counter(
            {
                "events": came.total(),
                "events that Debezium sent again": sum(n - 1 for one, n in came.items() if topic_rows.leaves_row(one)),
                "rows": sent.total(),
                "rows that were sent again": (sent - came).total(),
                "records that compaction passed over": (came - sent).total(),
            }
        )
