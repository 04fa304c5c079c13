"""Peers that are programs of others: Kafka Connect with Debezium's PostgreSQL connector, and Conduit.

Both are timed from their first message on the topic to the last one: their start does not count.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition

from tests.bench import rows as table
from tests.parts import conduit, connect, postgres

SHARE = 5
"""Of so many rows one is moved: these peers take a fraction of the integrator's rate."""
EACH = 1000
"""Rows of a transaction."""
PRODUCER = {"acks": "all", "compression.type": "lz4", "linger.ms": "20", "batch.size": str(1024 * 1024)}
SELECT = """select i, (random()*99999)::int, 'S'||lpad((i%1000)::text,4,'0'), (1+random()*48)::int,
 (random()*1000)::numeric(12,2), round((random()*100)::numeric,3)::float8,
 timestamp '2026-10-06' + (i%86400) * interval '1 s', date '2026-10-07', case when i%5=0 then null else 'note '||i end,
 i%2=0, 'open', (array['Zürich','Oslo','say "hi"','Köln'])[1+i%4], lpad((random()*99998)::int::text,5,'0')"""


class Ends:
    """The number of messages of a topic."""

    def __init__(self, servers: str, topic: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": "ends"})
        parts = self._consumer.list_topics(topic, 10).topics[topic].partitions
        self._partitions = [TopicPartition(topic, part) for part in parts]

    def offsets(self) -> dict[int, int]:
        """Return the end of each partition."""
        return {part.partition: self._consumer.get_watermark_offsets(part, 10)[1] for part in self._partitions}

    def count(self) -> int:
        """Return the number."""
        return sum(self.offsets().values())

    def seconds(self, before: int, rows: int, limit_s: float = 300) -> float:
        """Return the seconds from the first message after `before` to that which makes `rows`."""
        deadline, first, found = time.monotonic() + limit_s, 0.0, 0
        while found < rows:
            time.sleep(0.05)
            found = self.count() - before
            now = time.monotonic()
            first = first or (now if found else 0.0)
            if now > deadline:
                raise TimeoutError(f"{found} of {rows} messages after {limit_s} s")
        return time.monotonic() - first


class Debezium:
    """A worker of Kafka Connect. The rows are in PostgreSQL's log, and are unwrapped: schema and payload."""

    def __init__(self, home: Path, servers: str, topic: str, stack: contextlib.ExitStack) -> None:
        class_path = connect.libraries()
        if class_path is None:
            sys.exit("Kafka Connect and Debezium are not to be had: mvn and Maven Central")
        self._ends, self._topic = Ends(servers, topic), topic
        self._postgres = stack.enter_context(postgres.cluster("max_wal_size = 8GB"))
        self._postgres.psql(table.DDL)
        self._postgres.psql("create publication pub for table orders")
        settings = {f"producer.{name}": value for name, value in PRODUCER.items()}
        self._worker = stack.enter_context(connect.Worker(class_path, home, servers, settings, ("-Xmx2G",)))
        self.process: psutil.Process | None = psutil.Process(self._worker.process.pid)

    def run(self, data: Path, rows: int, turn: int) -> float:
        del data
        moved, slot = rows // SHARE, f"s{turn}"
        self._postgres.psql("truncate orders")
        self._postgres.psql(f"select pg_create_logical_replication_slot('{slot}', 'pgoutput')")
        self._postgres.psql(
            f"do $$ begin for k in 0..{moved // EACH - 1} loop insert into orders {SELECT} "
            f"from generate_series(k*{EACH}+1, (k+1)*{EACH}) i; commit; end loop; end $$"
        )
        before = self._ends.count()
        self._worker.put(slot, unwrapped(self._postgres, slot, self._topic, "no_data"))
        try:
            return self._ends.seconds(before, moved) * SHARE
        finally:
            self._worker.delete(slot)


def unwrapped(server: postgres.Postgres, slot: str, topic: str, snapshot: str) -> dict[str, str]:
    """Debezium's settings for rows of the table in a topic, with schema and payload. snapshot: its snapshot.mode."""
    return connect.postgres_connector(server, slot, "public.orders") | {
        "publication.name": "pub",
        "publication.autocreate.mode": "disabled",
        "snapshot.mode": snapshot,
        "time.precision.mode": "connect",
        "max.batch.size": "8192",
        "max.queue.size": "32768",
        **connect.converters("JSON with schema"),
        "transforms": "unwrap,route",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": topic,
    }


class Conduit:
    """A process for each run, which reads lines of a file and sends them as they are: less work than the integrator's."""

    process: psutil.Process | None = None

    def __init__(self, home: Path, servers: str, topic: str) -> None:
        if not conduit.built():
            sys.exit("Conduit is not to be had: go and a module proxy")
        self._home, self._servers, self._topic, self._ends = home, servers, topic, Ends(servers, topic)

    def run(self, data: Path, rows: int, turn: int) -> float:
        home, moved = self._home / f"turn{turn}", rows // SHARE
        home.mkdir(parents=True)
        with (home / "rows.jsonl").open("wb") as whole:
            for path in sorted(data.glob("*.jsonl")):
                whole.write(path.read_bytes())
        batch = {"sdk.batch.size": "1000", "sdk.batch.delay": "100ms"}
        kafka = {"servers": self._servers, "topic": self._topic, "acks": "all", "compression": "lz4", **batch}
        source = conduit.End("file", {"path": str(home / "rows.jsonl"), **batch})
        before = self._ends.count()
        with conduit.running(home, source, conduit.End("kafka", kafka)):
            try:
                return self._ends.seconds(before, moved) * SHARE
            except TimeoutError:
                sys.exit(f"Conduit stands still:\n{(home / 'log').read_text()[-3000:]}")
