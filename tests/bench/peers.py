"""The integrator beside what else moves the benchmark's files to Kafka, in turns on one broker: rows a second.

    python -m tests.bench.peers [--rows 1000000] [--rounds 3]
        [integrator spark-unordered spark-ordered kcat debezium conduit]

spark-unordered, spark-ordered: Spark's own JSON reader and Kafka sink make the same messages; ordered keeps the order
of each key. kcat: sends messages that are ready made, as an upper bound. debezium, conduit: see `other_peers`. The
integrator and Spark run before the clock starts, and are timed from the files' names to the end of the batch; who does
not run is stopped (SIGSTOP).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import psutil
from confluent_kafka import Consumer, TopicPartition

from tests.bench import rows as table
from tests.bench.files_to_kafka import CHANNEL, ROOT, Daemon
from tests.bench.other_peers import Conduit, Debezium
from tests.parts.brokers import Broker, broker, fetched

FILES = 8
HERE = Path(__file__).parent / "spark"
JARS = ROOT / "build" / "spark-libs"


class Peer(Protocol):
    """Who moves files. process: what is stopped while others run."""

    process: psutil.Process | None

    def run(self, data: Path, rows: int, turn: int) -> float:
        """Return the seconds that it takes for all files of a directory."""


def named(data: Path, inbox: Path, turn: int) -> None:
    """Link all files of a directory into another one, whole and at once."""
    for path in sorted(data.glob("*.jsonl")):
        (inbox / f"t{turn:02d}-{path.name}").hardlink_to(path)


class Integrator:
    """The daemon as a user runs it."""

    def __init__(self, home: Path, servers: str, topic: str) -> None:
        self._inbox = home / "in"
        self._inbox.mkdir()
        (home / "orders.sql").write_text(table.DDL)
        channel = CHANNEL.format(directory=home, servers=servers, topic=topic, kafka="", json="SCHEMA_PAYLOAD")
        (home / "c.yaml").write_text(channel.replace("dialect: hvr", "dialect: hvr, repeated_positions: send"))
        self._daemon = Daemon(home / "c.yaml")
        self.process: psutil.Process | None = psutil.Process(self._daemon._process.pid)

    def run(self, data: Path, rows: int, turn: int) -> float:
        began = time.monotonic()
        named(data, self._inbox, turn)
        self._daemon.wait_for(rows)
        return time.monotonic() - began


class Spark:
    """`spark/files_to_kafka.py`."""

    def __init__(self, home: Path, servers: str, topic: str, order: str) -> None:
        if not fetched(HERE / "pom.xml", JARS):
            sys.exit("Spark's Kafka sink is not to be had: mvn and Maven Central")
        self._inbox = home / "in"
        self._inbox.mkdir()
        words = [servers, topic, *map(str, (self._inbox, JARS, home.parent / "head")), order]
        self._log = home / "log"
        with self._log.open("w") as log:
            self._running = subprocess.Popen(
                [sys.executable, HERE / "files_to_kafka.py", *words], stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.process: psutil.Process | None = psutil.Process(self._running.pid)
        self._rows()

    def _rows(self) -> int:
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        if not line:
            sys.exit(f"Spark ended:\n{self._log.read_text()[-3000:]}")
        return int(json.loads(line)["rows"])

    def run(self, data: Path, rows: int, turn: int) -> float:
        began = time.monotonic()
        named(data, self._inbox, turn)
        while rows > 0:
            rows -= self._rows()
        return time.monotonic() - began


class Kcat:
    """kcat with a file of keys and values, from its start to its end."""

    process: psutil.Process | None = None

    def __init__(self, home: Path, servers: str, topic: str) -> None:
        settings = {"acks": "all", "linger.ms": 20, "batch.size": 1024 * 1024, "queue.buffering.max.messages": 1000000}
        more = [word for name, value in settings.items() for word in ("-X", f"{name}={value}")]
        self._command = ["kcat", "-P", "-b", servers, "-t", topic, "-z", "lz4", "-K", "\t", *more, "-l"]
        self._ready = home.parent / "ready"

    def run(self, data: Path, rows: int, turn: int) -> float:
        del turn
        with self._ready.open("rb") as source:
            lines = source.readlines()
        part = data / "ready-made"
        part.write_bytes(b"".join((lines * (rows // len(lines) + 1))[:rows]))
        began = time.monotonic()
        subprocess.run([*self._command, str(part)], check=True)
        return time.monotonic() - began


def ready_made(servers: str, topic: str, rows: int, path: Path) -> None:
    """Write the messages of a topic as `key TAB value` lines, and the text that begins each value beside them."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "ready", "auto.offset.reset": "earliest"})
    reader.assign([TopicPartition(topic, 0, 0)])
    with path.open("wb") as file:
        while rows > 0:
            found = [message for message in reader.consume(min(rows, 10_000), 10) if not message.error()]
            file.writelines((message.key() or b"") + b"\t" + (message.value() or b"") + b"\n" for message in found)
            rows -= len(found)
    reader.close()
    with path.open("rb") as file:
        value = file.readline().split(b"\t")[1]
    path.with_name("head").write_bytes(value[: value.index(b'"payload":') + len(b'"payload":')])


def started(name: str, home: Path, kafka: Broker, stack: contextlib.ExitStack) -> Peer:
    """Return a peer that is ready to run; what it needs beside itself ends with the stack."""
    home.mkdir()
    if name == "debezium":
        return Debezium(home, kafka.servers, name, stack)
    if name == "conduit":
        return Conduit(home, kafka.servers, name)
    if name == "integrator":
        return Integrator(home, kafka.servers, name)
    if name == "kcat":
        if not shutil.which("kcat"):
            sys.exit("kcat is not on the PATH (Debian: kcat)")
        return Kcat(home, kafka.servers, name)
    return Spark(home, kafka.servers, name, name.removeprefix("spark-"))


@contextlib.contextmanager
def _alone(peer: Peer, peers: list[Peer]) -> Iterator[None]:
    others = [one for one in peers if one is not peer and one.process]
    trees = [[one.process, *one.process.children(recursive=True)] for one in others if one.process]
    for process in (process for tree in trees for process in tree):
        with contextlib.suppress(psutil.NoSuchProcess):  # a worker that was idle, and ended
            process.suspend()
    try:
        yield
    finally:
        for process in (process for tree in trees for process in reversed(tree)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


def main() -> None:
    """Measure the peers that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["integrator", "spark-unordered", "spark-ordered"], metavar="peer")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peers-")))
        kafka = stack.enter_context(broker())
        kafka.create([*given.names, "first"])
        for name, rows in (("warm", given.rows // 2), ("data", given.rows)):
            (home / name).mkdir()
            table.write(home / name, rows, FILES, 0, "r")
            table.publish(home / name, "r")
        (home / "first").mkdir()
        first = Integrator(home / "first", kafka.servers, "first")
        first.run(home / "warm", given.rows // 2, 0)
        ready_made(kafka.servers, "first", given.rows // 16, home / "ready")  # of one partition in four
        first._daemon.stop()
        peers: dict[str, Peer] = {}
        for name in given.names:
            peers[name] = started(name, home / name, kafka, stack)
            peers[name].run(home / "warm", given.rows // 2, 0)
        rates: dict[str, list[float]] = {name: [] for name in peers}
        for turn in range(1, given.rounds + 1):
            for name, peer in peers.items():
                with _alone(peer, list(peers.values())):
                    rates[name].append(given.rows / peer.run(home / "data", given.rows, turn))
                print(f"round {turn} {name:16} {rates[name][-1]:10,.0f} rows/s", flush=True)
        ours = statistics.median(rates[given.names[0]])
        for name, found in rates.items():
            median = statistics.median(found)
            print(
                f"median  {name:16} {median:10,.0f} rows/s  {given.names[0]} has {ours / median:.2f} of it, {os.cpu_count()} cores"
            )
        for peer in peers.values():
            for process in [*peer.process.children(recursive=True), peer.process] if peer.process else []:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()


if __name__ == "__main__":
    main()
