"""The broker that the tests talk to: the most real one that can be had here, and which one it was."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.parts.java import JVM_OPTIONS
from tests.parts.waiting import until

HERE = Path(__file__).parent
LIBRARIES = HERE.parent.parent / "build" / "kafka-libs"
VARIABLE = "INTEGRATOR_TEST_BROKERS"


@dataclass
class Broker:
    """Where it listens, what it is, and whether it is a real Apache Kafka."""

    servers: str
    kind: str
    real: bool
    embedded: object = None

    def create(self, topics: list[str], partitions: int = 4) -> None:
        """Make topics, in the way this broker can."""
        if self.embedded is not None:
            self.embedded.create(topics, partitions)  # type: ignore[attr-defined]
            return
        admin = AdminClient({"bootstrap.servers": self.servers})
        for future in admin.create_topics([NewTopic(topic, partitions, 1) for topic in topics]).values():
            future.result()


@contextlib.contextmanager
def broker() -> Iterator[Broker]:
    """A broker named in the environment; Docker's; Apache Kafka from Maven Central; librdkafka's in-process cluster."""
    if os.environ.get(VARIABLE):
        yield Broker(os.environ[VARIABLE], f"named by {VARIABLE}", real=True)
        return
    for way in (_docker, _maven):
        with contextlib.ExitStack() as stack:
            found = stack.enter_context(way())
            if found is not None:
                yield found
                return
    from integrator.deliver.kafka.embedded import EmbeddedCluster

    with EmbeddedCluster() as cluster:
        kind = "librdkafka's in-process cluster (no Docker, no mvn and Java 17 here)"
        yield Broker(cluster.brokers, kind, real=False, embedded=cluster)


@contextlib.contextmanager
def _docker() -> Iterator[Broker | None]:
    try:
        import docker

        docker.from_env(timeout=5).ping()
    except Exception:  # noqa: BLE001 - whatever the reason, there is no Docker engine to talk to
        yield None
        return
    from testcontainers.kafka import KafkaContainer

    with KafkaContainer("apache/kafka:4.1.1") as container:
        yield Broker(container.get_bootstrap_server(), "Apache Kafka in Docker", real=True)


def libraries() -> str | None:
    """The class path of Kafka's jars from Maven Central, fetched if need be; None where there is no Maven or Java."""
    return f"{LIBRARIES}/*" if fetched(HERE / "kafka" / "pom.xml", LIBRARIES) else None


def fetched(pom: Path, directory: Path) -> bool:
    """Return whether the jars that a pom depends on are in a directory, fetched from Maven Central if need be."""
    if not (shutil.which("mvn") and shutil.which("java")):
        return directory.exists()
    directory.parent.mkdir(exist_ok=True)
    with Path(f"{directory}.lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        return directory.exists() or _fetch(pom, directory)


def _fetch(pom: Path, directory: Path) -> bool:
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    command += [f"-DoutputDirectory={directory}.part", f"-DbuildDirectory={directory}.build"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"Maven Central gave nothing for {pom}: {done.stdout[-2000:]}")
        return False
    Path(f"{directory}.part").rename(directory)
    return True


@contextlib.contextmanager
def _maven() -> Iterator[Broker | None]:
    class_path = libraries()
    if class_path is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="kafka-") as directory, KraftBroker(class_path, Path(directory)) as kraft:
        yield Broker(kraft.servers, "Apache Kafka 4.1.1 (KRaft) from Maven Central", real=True)


INDEX_BYTES = 1024 * 1024
"""Of each of a partition's two index files, which are mapped whole: Linux 6.18 on ext4 takes 17 ms to touch one of 10 MiB,
the default, for the first time, and 0.3 ms for this; with 500 topics that is 17 s of the broker's time."""


class KraftBroker:
    """One Apache Kafka process, broker and controller in one, on ports of 127.0.0.1; it can be stopped and started.

    listeners: more of them, name -> security protocol; `self.listeners` says where. properties: more lines of its
    server.properties. format_words: more words for StorageTool's format. node, quorum: its number and the ports of all
    controllers, where it is one of several. advertised: listeners that clients reach elsewhere, and where.
    """

    def __init__(
        self,
        class_path: str,
        directory: Path,
        listeners: Mapping[str, str] | None = None,
        properties: str = "",
        format_words: Sequence[str] = (),
        node: int = 1,
        quorum: Mapping[int, int] | None = None,
        advertised: Mapping[str, str] | None = None,
    ) -> None:
        self._class_path, self._directory = class_path, directory
        self._properties = str(directory / "server.properties")
        port, controller = free_port(), quorum[node] if quorum else free_port()
        voters = ",".join(f"{number}@127.0.0.1:{place}" for number, place in (quorum or {}).items())
        found = f"voters={voters}" if voters else f"bootstrap.servers=127.0.0.1:{controller}"
        replicas = len(quorum or {node: 0})
        self.servers = f"127.0.0.1:{port}"
        protocols = listeners or {}
        self.listeners = {name: f"127.0.0.1:{free_port()}" for name in protocols}
        more = "".join(f",{name}://{place}" for name, place in self.listeners.items())
        elsewhere = "".join(f",{name}://{place}" for name, place in (self.listeners | dict(advertised or {})).items())
        mapped = "".join(f",{name}:{protocol}" for name, protocol in protocols.items())
        (directory / "server.properties").write_text(
            f"""
process.roles=broker,controller
node.id={node}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{more}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{elsewhere}
controller.listener.names=CONTROLLER
controller.quorum.{found}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT{mapped}
inter.broker.listener.name=PLAINTEXT
log.dirs={directory}/data
auto.create.topics.enable=false
log.cleaner.backoff.ms=300
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=1
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={replicas // 2 + 1}
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor={replicas}
share.coordinator.state.topic.min.isr={replicas // 2 + 1}
group.initial.rebalance.delay.ms=0
log.index.size.max.bytes={INDEX_BYTES}
{properties}
"""
        )
        alone = () if quorum else ("--standalone",)
        self.run(
            "kafka.tools.StorageTool",
            "format",
            *alone,
            "-t",
            "AAAAAAAAAAAAAAAAAAAAAQ",
            *format_words,
            "-c",
            self._properties,
        )
        self._process: subprocess.Popen[bytes] | None = None

    def _command(self, *words: str) -> list[str]:
        return [
            "java",
            *JVM_OPTIONS,
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-Dlog4j2.level=ERROR",
            "-cp",
            self._class_path,
            *words,
        ]

    def run(self, *words: str) -> None:
        """Run one of Kafka's tools."""
        done = subprocess.run(self._command(*words), check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that runs."""
        assert self._process is not None
        return self._process

    def launch(self) -> None:
        """Start it, and do not wait until it answers."""
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command("kafka.Kafka", self._properties), stdout=log, stderr=log)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.launch()
        self.wait()

    def wait(self) -> None:
        """Wait until it answers."""
        until(self._answers, lambda: (self._directory / "log").read_text()[-4000:])

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self._directory / "log").read_text()[-4000:]
        with contextlib.suppress(KafkaException):
            AdminClient({"bootstrap.servers": self.servers, "log_level": 0}).list_topics(timeout=2)
            return True
        return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> KraftBroker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class KraftCluster:
    """Several Apache Kafka processes that are one cluster, each a broker and a controller; listeners as of KraftBroker."""

    def __init__(
        self,
        class_path: str,
        directory: Path,
        *,
        count: int = 3,
        listeners: Mapping[str, str] | None = None,
        properties: str = "",
        format_words: Sequence[str] = (),
        advertised: Sequence[str] = (),
    ) -> None:
        """advertised: where clients reach each broker by its listener PROXIED, if they do by a proxy."""
        listeners = dict(listeners or {}) | ({"PROXIED": "PLAINTEXT"} if advertised else {})
        quorum = {node: free_port() for node in range(1, count + 1)}
        self.nodes = []
        for node in quorum:
            home = directory / f"node-{node}"
            home.mkdir()
            elsewhere = {"PROXIED": advertised[node - 1]} if advertised else {}
            self.nodes.append(
                KraftBroker(class_path, home, listeners, properties, format_words, node, quorum, elsewhere)
            )
        self.servers = ",".join(node.servers for node in self.nodes)

    def configure(self, *words: str) -> None:
        """Alter the configuration of brokers, topics or clients, as kafka-configs.sh does."""
        self.nodes[0].run("kafka.admin.ConfigCommand", "--bootstrap-server", self.servers, "--alter", *words)

    def listener(self, name: str) -> list[str]:
        """Where the brokers listen by that name."""
        return [node.listeners[name] for node in self.nodes]

    def __enter__(self) -> KraftCluster:
        try:
            for node in self.nodes:
                node.launch()
            for node in self.nodes:
                node.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.stop()


def free_port() -> int:
    """A port that nothing listens on, below those that the system gives to clients.

    A client that tries again and again to reach a server that is away may otherwise be given the server's own port, and
    be connected with itself: then the server cannot come back.
    """
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            except OSError:
                continue
            return int(probe.getsockname()[1])
