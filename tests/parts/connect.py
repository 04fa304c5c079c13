"""Kafka Connect with Debezium's connectors for PostgreSQL and MariaDB: a distributed worker, on a port of 127.0.0.1.

Configurations, offsets and states are in topics, so that kill -9 loses none of them, and can leave none half written: a
worker that is started again continues with its connectors. What they had sent and not noted they send again, with the same
positions of the source.

Encodings are those that converters of public registries write. A Protobuf converter for Connect is not among them:
Confluent's is in a repository of its own, and Apicurio's has no release.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.parts import brokers
from tests.parts.java import JVM_OPTIONS
from tests.parts.mariadb import MariaDb
from tests.parts.postgres import Postgres
from tests.parts.waiting import until

POM = Path(__file__).parent / "connect" / "pom.xml"
LIBRARIES = brokers.LIBRARIES.parent / "connect-libs"
JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.apicurio.registry.utils.converter.AvroConverter"
ENCODINGS = ("JSON with schema", "JSON", "Avro")
_BUSY = 409
"""The answer of a worker whose group is being formed."""


def libraries() -> str | None:
    """The class path of Connect, Debezium and the converters, fetched if need be; None where there is no Maven or Java."""
    return f"{LIBRARIES}/*" if brokers.fetched(POM, LIBRARIES) else None


def converters(encoding: str, registry: str = "") -> dict[str, str]:
    """The properties of a connector whose keys and values are encoded so. registry: its URL, which Avro needs.

    Avro has Confluent's framing: a zero byte, an id of four bytes, and the datum.
    """
    if encoding == "Avro":
        own = {
            "url": f"{registry.partition('/apis/')[0]}/apis/registry/v2",
            "auto-register": "true",
            "headers.enabled": "false",
            "as-confluent": "true",
            "use-id": "contentId",  # what the registry's compatible API gives schemas by
        }
        properties = {"": AVRO} | {f".apicurio.registry.{name}": value for name, value in own.items()}
    else:
        properties = {"": JSON, ".schemas.enable": str(encoding == "JSON with schema").lower()}
    return {f"{part}.converter{name}": value for part in ("key", "value") for name, value in properties.items()}


def postgres_connector(server: Postgres, prefix: str, tables: str) -> dict[str, str]:
    """Debezium's connector for PostgreSQL: topics PREFIX.SCHEMA.TABLE, of tables (a list of regular expressions)."""
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.dbname": "postgres",
        "plugin.name": "pgoutput",
        "slot.name": prefix,
        "slot.retry.delay.ms": "500",  # where the killed worker still has it
        "slot.max.retries": "60",
        "publication.name": prefix,
        "publication.autocreate.mode": "filtered",
        **_connector(server.host, server.port, server.user, "-", prefix, tables),
    }


def mariadb_connector(server: MariaDb, prefix: str, tables: str, kafka: str) -> dict[str, str]:
    """Debezium's connector for MariaDB: topics PREFIX.DATABASE.TABLE. The history of schemas is in the topic PREFIX-history."""
    return {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "database.server.id": str(1000 + sum(map(ord, prefix))),
        "include.schema.changes": "false",
        "schema.history.internal.kafka.bootstrap.servers": kafka,
        "schema.history.internal.kafka.topic": f"{prefix}-history",
        **_connector(server.host, server.port, server.user, server.password, prefix, tables),
    }


def _connector(host: str, port: int, user: str, password: str, prefix: str, tables: str) -> dict[str, str]:
    return {
        "tasks.max": "1",
        "database.hostname": host,
        "database.port": str(port),
        "database.user": user,
        "database.password": password,
        "topic.prefix": prefix,
        "table.include.list": tables,
        "poll.interval.ms": "20",
    }


def file_sink(file: Path, topics: str, encoding: str, registry: str = "") -> dict[str, str]:
    """Kafka's sink that appends a line to a file for each record: of Debezium's events, the rows that they leave.

    topics: a regular expression.
    """
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "file": str(file),
        "topics.regex": topics,
        "consumer.override.auto.offset.reset": "earliest",
        "consumer.override.metadata.max.age.ms": "1000",
        "transforms": "unwrap",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
        **converters(encoding, registry),
    }


class Worker:
    """One worker, which can be killed and started again."""

    def __init__(
        self,
        class_path: str,
        directory: Path,
        servers: str,
        settings: Mapping[str, str] | None = None,
        jvm: Sequence[str] = ("-Xmx512m", "-XX:+UseSerialGC"),
    ) -> None:
        """servers: the brokers. settings: more of the worker's properties. jvm: options of its Java."""
        self._directory, self._starts, self._jvm, self._class_path = directory, 0, jvm, class_path
        port = brokers.free_port()
        self._url = f"http://127.0.0.1:{port}/connectors"
        topics = {f"{one}.storage.topic": f"{directory.name}-{one}" for one in ("config", "offset", "status")}
        self._settings = {
            "bootstrap.servers": servers,
            **topics,
            **{f"{one}.storage.replication.factor": "1" for one in ("config", "offset", "status")},
            **{f"{one}.storage.partitions": "1" for one in ("offset", "status")},
            **converters("JSON"),
            "listeners": f"http://127.0.0.1:{port}",
            "plugin.discovery": "service_load",
            "offset.flush.interval.ms": "1000",
            "scheduled.rebalance.max.delay.ms": "0",
            **(settings or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that runs."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it, and wait until it answers.

        It forms a group of its own each time: in the old one it would wait until the member that was killed has timed out.
        """
        self._starts += 1
        file = self._directory / "worker.properties"
        settings = {**self._settings, "group.id": f"{self._directory.name}-{self._starts}"}
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        words = ["java", *JVM_OPTIONS, *self._jvm, "-cp", self._class_path]
        words += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
        with (self._directory / "log").open("ab") as log:
            command = [*words, "org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until(self._answers, self.log)

    def stop(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def log(self) -> str:
        """The end of what it logged."""
        return (self._directory / "log").read_text(errors="replace")[-4000:]

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Create or change a connector, and wait until its tasks run."""
        self._ask("PUT", f"/{name}/config", dict(config))
        self.wait(name)

    def wait(self, name: str) -> None:
        """Wait until a connector's tasks run. Fails with what ended one."""

        def runs() -> bool:
            status = self._ask("GET", f"/{name}/status", absent={})
            tasks = status.get("tasks", [])
            failed = [task for task in tasks if task["state"] == "FAILED"]
            assert not failed, failed[0]["trace"]
            return {task["state"] for task in tasks} == {"RUNNING"}

        until(runs, self.log)

    def delete(self, name: str) -> None:
        """Delete a connector, and wait until its task has ended."""
        self._ask("DELETE", f"/{name}")
        until(lambda: self._ask("GET", f"/{name}/status", absent=None) is None, self.log)

    def halt(self, name: str) -> dict[str, Any]:
        """Stop a connector, which stays defined; return its offsets, as the worker answers."""
        self._ask("PUT", f"/{name}/stop")
        until(lambda: not self._ask("GET", f"/{name}/status")["tasks"], self.log)
        offsets: dict[str, Any] = self._ask("GET", f"/{name}/offsets")
        return offsets

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log()
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(self._url, timeout=5),
        ):  # not found, until it has begun
            return True
        return False

    def _ask(self, method: str, path: str, body: object = None, **default: Any) -> Any:
        """Return what the worker answers; `absent` where it says that there is no such thing, if that is given."""
        answers: list[Any] = []

        def asked() -> bool:
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(
                self._url + path, data, {"Content-Type": "application/json"}, method=method
            )
            try:
                with urllib.request.urlopen(request, timeout=90) as answer:
                    answers.append(json.loads(answer.read() or b"null"))
            except urllib.error.HTTPError as error:
                if error.code == _BUSY:
                    return False
                if error.code != 404 or "absent" not in default:
                    raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error
                answers.append(default["absent"])
            return True

        until(asked, self.log)
        return answers[0]

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
