"""The oldest and the newest Apache Kafka that the integrator is tested with, from Maven Central.

The oldest is the first with transactions and headers (KIP-98, KIP-82), which the integrator needs.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.parts.brokers import HERE, LIBRARIES, Broker, KraftBroker, fetched, free_port
from tests.parts.java import JVM_OPTIONS
from tests.parts.waiting import until

OLDEST, NEWEST = "0.11.0.3", "4.4.0"
VERSIONS = {"oldest": OLDEST, "newest": NEWEST}


def class_path(version: str) -> str | None:
    """The class path of a version's jars; None where there is no Maven or Java."""
    pom, words = (HERE / "kafka" / "oldest.xml", []) if version == OLDEST else (HERE / "kafka" / "pom.xml", [version])
    directory = LIBRARIES.with_name(f"kafka-{version}-libs")
    return f"{directory}/*" if fetched(pom, directory, *(f"-Dkafka.version={word}" for word in words)) else None


@contextlib.contextmanager
def broker_of(version: str) -> Iterator[Broker | None]:
    """A broker of a version; None where its jars cannot be had."""
    jars = class_path(version)
    if jars is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="kafka-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        if version == OLDEST:
            servers = stack.enter_context(_with_zookeeper(jars, directory))
        else:
            servers = stack.enter_context(KraftBroker(jars, directory)).servers
        yield Broker(servers, f"Apache Kafka {version}", real=True)


@contextlib.contextmanager
def _with_zookeeper(jars: str, directory: Path) -> Iterator[str]:
    """A broker and its ZooKeeper, each a process; yields where the broker listens."""
    zookeeper, port = free_port(), free_port()
    (directory / "zookeeper.properties").write_text(
        f"dataDir={directory}/zookeeper\nclientPort={zookeeper}\nclientPortAddress=127.0.0.1\n"
    )
    (directory / "server.properties").write_text(
        f"""
broker.id=1
listeners=PLAINTEXT://127.0.0.1:{port}
zookeeper.connect=127.0.0.1:{zookeeper}
log.dirs={directory}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
"""
    )
    (directory / "log4j.properties").write_text(
        "log4j.rootLogger=INFO, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
    )
    with contextlib.ExitStack() as stack:
        for main, file in (
            ("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zookeeper"),
            ("kafka.Kafka", "server"),
        ):
            log = directory / f"{file}.log"
            options = [*JVM_OPTIONS, f"-Dlog4j.configuration=file:{directory}/log4j.properties", "-Xmx256m"]
            with log.open("wb") as out:
                words = ["java", *options, "-cp", jars, main, str(directory / f"{file}.properties")]
                process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.kill)
            ready = {"zookeeper": "binding to port", "server": "], started"}[file]
            until(lambda log=log, ready=ready: ready in log.read_text(), log.read_text)
        yield f"127.0.0.1:{port}"
