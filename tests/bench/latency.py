"""Latency from a change's commit to its message at a consumer, at a steady rate, through files and through a socket.

python -m tests.bench.latency --rate 2000 --seconds 30 [--delivery exactly_once]

The commit's time is when the row was made, which it says; the other end is when a consumer with read_committed has it.
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, TopicPartition

from tests.parts.brokers import broker, free_port
from tests.parts.daemon import Daemon

WARM_CYCLES = 10
CHUNK_S = 0.1


def rows(start: int, count: int) -> bytes:
    """Rows that are committed now, in one transaction."""
    now = datetime.now(timezone.utc).isoformat()
    made = (
        {
            "hvr_op": 1,
            "hvr_tx_seq": f"{start:X}",
            "hvr_cap_tstamp": now,
            "id": start + i,
            "committed": time.time(),
            "note": "x" * 100,
        }
        for i in range(count)
    )
    return b"".join(json.dumps(row).encode() + b"\n" for row in made)


def steadily(rate: int, seconds: float, put: Callable[[bytes], None], daemon: Daemon) -> tuple[int, int]:
    """Put rows at a steady rate, for `seconds` after the start of Spark; return how many before those, and in all."""
    started, sent, warm = time.monotonic(), 0, 0
    warm_at = float("inf")
    while (passed := time.monotonic() - started) < warm_at + seconds:
        due = int(passed * rate)
        if due > sent:
            put(rows(sent, due - sent))
            sent = due
        time.sleep(CHUNK_S)
        if not warm and len(daemon.events("cycle synced")) >= WARM_CYCLES:
            warm, warm_at = sent, passed
    return warm, sent


def measure(servers: str, directory: Path, kind: str, rate: int, seconds: float, delivery: str) -> np.ndarray:
    """Return the latencies, in seconds, of all rows but those that came while Spark started."""
    port, topic = free_port(), f"latency-{uuid.uuid4()}"
    (directory / "in").mkdir(parents=True)
    source = {
        "files": f"{{class: files, path: {directory}/in, dialect: hvr, poll_seconds: 0.05}}",
        "socket": f'{{class: socket, listen: "127.0.0.1:{port}", dialect: hvr, poll_seconds: 0.05}}',
    }[kind]
    (directory / "t.sql").write_text("create table t(id bigint primary key, committed double precision, note text);")
    channel = directory / "channel.yaml"
    channel.write_text(
        f"""
channel: latency
state: {directory}/state
delivery: {delivery}
locations:
  src: {source}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}",
         Create_Topics: {{}}}}
tables: [{directory}/t.sql]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
"""
    )
    daemon = Daemon(channel)
    daemon.wait_for("integrating")
    consuming = Consuming(servers, topic)
    if kind == "socket":
        with socket.create_connection(("127.0.0.1", port)) as connected:
            warm, sent = steadily(rate, seconds, connected.sendall, daemon)
            time.sleep(2)
    else:

        def put(data: bytes) -> None:
            name = f"{time.time_ns()}"
            (directory / "in" / f"{name}.tmp").write_bytes(data)
            (directory / "in" / f"{name}.tmp").rename(directory / "in" / f"{name}.jsonl")

        warm, sent = steadily(rate, seconds, put, daemon)
        time.sleep(3)
    assert daemon.terminate() == 0, daemon.lines[-10:]
    return consuming.latencies(sent)[warm:]


class Consuming(threading.Thread):
    """A consumer with read_committed, and how long after its commit in the source it has each row."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(daemon=True)
        properties = {"bootstrap.servers": servers, "group.id": str(uuid.uuid4()), "isolation.level": "read_committed"}
        self._consumer = Consumer(properties)
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._ended = threading.Event()
        self._found: list[float] = []
        self.start()

    def run(self) -> None:
        while not self._ended.is_set():
            messages = self._consumer.consume(10_000, timeout=0.01)
            now = time.time()
            self._found += [now - json.loads(message.value())["committed"] for message in messages]
        self._consumer.close()

    def latencies(self, count: int) -> np.ndarray:
        """Wait for so many rows; return their latencies in seconds."""
        until = time.monotonic() + 30
        while len(self._found) < count:
            assert time.monotonic() < until, f"{len(self._found)} of {count} messages"
            time.sleep(0.1)
        self._ended.set()
        self.join()
        return np.array(self._found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--delivery", choices=["at_least_once", "exactly_once"], default="at_least_once")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="latency-") as name, broker() as kafka:
        print(f"broker: {kafka.kind}; {given.rate} rows/s for {given.seconds:.0f} s, {given.delivery}")
        for kind in ("files", "socket"):
            found = measure(kafka.servers, Path(name) / kind, kind, given.rate, given.seconds, given.delivery)
            p50, p99, most = np.percentile(found, [50, 99, 100])
            print(f"{kind:7} p50 {p50:.3f} s, p99 {p99:.3f} s, most {most:.3f} s, of {len(found)} rows")


if __name__ == "__main__":
    main()
