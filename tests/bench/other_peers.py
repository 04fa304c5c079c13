"""Peers that are programs of others: Kafka Connect with Debezium's PostgreSQL connector, and Conduit.

Both are timed from their first message on the topic to the last one: their start does not count.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, TopicPartition

from tests.bench import rows as table
from tests.bench.files_to_kafka import ROOT
from tests.parts import postgres
from tests.parts.brokers import fetched, free_port

CONNECT_POM = Path(__file__).parent / "connect" / "pom.xml"
CONNECT_LIBRARIES = ROOT / "build" / "connect-libs"
CONDUIT = ROOT / "build" / "conduit"
CONDUIT_VERSION = "v0.14.0"
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


class Worker:
    """A standalone worker of Kafka Connect, which has been started."""

    def __init__(self, home: Path, servers: str, pom: Path, libraries: Path, converter: str) -> None:
        if not fetched(pom, libraries):
            sys.exit("Kafka Connect and its connectors are not to be had: mvn and Maven Central")
        port = free_port()
        self._url = f"http://127.0.0.1:{port}/connectors"
        settings = {
            "bootstrap.servers": servers,
            **{f"{part}.converter": f"org.apache.kafka.connect.{converter}" for part in ("key", "value")},
            "offset.storage.file.filename": str(home / "offsets"),
            "listeners": f"http://127.0.0.1:{port}",
            **{f"producer.{name}": value for name, value in PRODUCER.items()},
        }
        (home / "worker.properties").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        command = ["java", "-Xmx2G", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{libraries}/*"]
        command += ["org.apache.kafka.connect.cli.ConnectStandalone", str(home / "worker.properties")]
        with (home / "log").open("w") as log:
            running = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self.process = psutil.Process(running.pid)
        deadline = time.monotonic() + 120
        while not self._answers():
            if time.monotonic() > deadline or running.poll() is not None:
                sys.exit(f"Kafka Connect does not answer:\n{(home / 'log').read_text()[-3000:]}")
            time.sleep(0.5)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            self.ask("GET", "")
            return True
        return False

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask its REST interface."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")


class Debezium:
    """A worker of Kafka Connect. The rows are in PostgreSQL's log, and are unwrapped: schema and payload."""

    def __init__(self, home: Path, servers: str, topic: str, stack: contextlib.ExitStack) -> None:
        self._ends, self._topic = Ends(servers, topic), topic
        self._worker = Worker(home, servers, CONNECT_POM, CONNECT_LIBRARIES, "json.JsonConverter")
        self.process: psutil.Process | None = self._worker.process
        self._postgres = stack.enter_context(postgres.cluster("max_wal_size = 8GB"))
        self._postgres.psql(table.DDL)
        self._postgres.psql("create publication pub for table orders")

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
        self._worker.ask("PUT", f"/{slot}/config", self._config(slot))
        try:
            return self._ends.seconds(before, moved) * SHARE
        finally:
            self._worker.ask("DELETE", f"/{slot}")

    def _config(self, slot: str) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1",
            "database.hostname": self._postgres.host,
            "database.port": str(self._postgres.port),
            "database.user": self._postgres.user,
            "database.password": "x",
            "database.dbname": "postgres",
            "topic.prefix": f"d{slot}",
            "table.include.list": "public.orders",
            "plugin.name": "pgoutput",
            "publication.name": "pub",
            "slot.name": slot,
            "snapshot.mode": "no_data",
            "time.precision.mode": "connect",
            "max.batch.size": "8192",
            "max.queue.size": "32768",
            "poll.interval.ms": "20",
            "transforms": "unwrap,route",
            "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
            "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.route.regex": ".*",
            "transforms.route.replacement": self._topic,
        }


class Conduit:
    """A process for each run, which reads lines of a file and sends them as they are: less work than the integrator's."""

    process: psutil.Process | None = None

    def __init__(self, home: Path, servers: str, topic: str) -> None:
        _build_conduit()
        self._home, self._servers, self._topic, self._ends = home, servers, topic, Ends(servers, topic)

    def run(self, data: Path, rows: int, turn: int) -> float:
        home, moved = self._home / f"turn{turn}", rows // SHARE
        (home / "pipelines").mkdir(parents=True)
        with (home / "rows.jsonl").open("wb") as whole:
            for path in sorted(data.glob("*.jsonl")):
                whole.write(path.read_bytes())
        batch = {"sdk.batch.size": "1000", "sdk.batch.delay": "100ms"}
        kafka = {"servers": self._servers, "topic": self._topic, "acks": "all", "compression": "lz4", **batch}
        ends = (("source", "file", {"path": str(home / "rows.jsonl"), **batch}), ("destination", "kafka", kafka))
        connectors = [
            {"id": kind, "type": kind, "plugin": f"builtin:{plugin}", "settings": settings}
            for kind, plugin, settings in ends
        ]
        pipeline = {"id": "bench", "status": "running", "connectors": connectors}
        (home / "pipelines" / "bench.yaml").write_text(json.dumps({"version": "2.2", "pipelines": [pipeline]}))
        command = [str(CONDUIT), "run", "--pipelines.path", str(home / "pipelines"), "--db.type", "inmemory"]
        command += ["--api.enabled=false", "--log.level", "error", "--preview.pipeline-arch-v2"]
        before = self._ends.count()
        with (home / "log").open("w") as log, subprocess.Popen(command, cwd=home, stdout=log, stderr=log) as running:
            try:
                return self._ends.seconds(before, moved) * SHARE
            except TimeoutError:
                sys.exit(f"Conduit stands still:\n{(home / 'log').read_text()[-3000:]}")
            finally:
                running.kill()


def _build_conduit() -> None:
    """Build Conduit from the Go module proxy."""
    if CONDUIT.exists():
        return
    if not shutil.which("go"):
        sys.exit("Conduit is not to be had: go and a module proxy")
    source = CONDUIT.with_name("conduit-module")
    source.mkdir(parents=True, exist_ok=True)
    (source / "go.mod").write_text(
        f"module bench\n\ngo 1.24\n\nrequire github.com/conduitio/conduit {CONDUIT_VERSION}\n"
    )
    (source / "bench.go").write_text('package bench\n\nimport _ "github.com/conduitio/conduit/pkg/conduit"\n')
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    program = "github.com/conduitio/conduit/cmd/conduit"
    for command in (["go", "mod", "tidy"], ["go", "build", "-o", str(CONDUIT), program]):
        subprocess.run(command, cwd=source, env=environment, check=True)
