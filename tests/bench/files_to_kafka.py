"""Rows per second from change files to acknowledged, on a real broker beside it: the daemon as a user runs it.

    python -m tests.bench.files_to_kafka [--rows 1000000] [--files 8] [--runs 3] [--registry AVRO | JSON | PROTOBUF]
        [--bundling THRESHOLD] [--json ROW_FRAGMENTS]

Each run: the rows' files get their names at once; the clock stops when the cycle with the last of them is synced.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import deque
from pathlib import Path

import psutil

from tests.bench import rows as table
from tests.parts.brokers import broker
from tests.parts.registries import registry

ROOT = Path(__file__).parent.parent.parent

CHANNEL = """
channel: bench
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/in, dialect: hvr, poll_seconds: 0.1}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}"{kafka}}}
tables: [{directory}/orders.sql]
actions:
  - {{action: FileFormat, JsonMode: {json}}}
  - {{action: Integrate, CycleByteLimit: 0}}
  - {{action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: integ_seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
"""


class Daemon:
    """`python run.py --channel …`, and the cycles that it says are synced."""

    def __init__(self, channel: Path) -> None:
        command = [sys.executable, "run.py", "--channel", str(channel)]
        self._process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env=os.environ)

    def wait_for(self, rows: int) -> tuple[int, int]:
        """Wait until `rows` more rows are synced; return the messages and bytes of their cycles."""
        seen = messages = size = 0
        said: deque[str] = deque(maxlen=40)
        assert self._process.stderr is not None
        for line in self._process.stderr:
            said.append(line)
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("event") == "cycle synced":
                seen += event["rows"]
                messages += event["messages"]
                size += event["bytes"]
            if seen >= rows:
                return messages, size
        raise RuntimeError(f"the daemon ended, exit code {self._process.wait()}:\n{''.join(said)}")

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far of Spark's JVM, of its Python workers, and of all other processes of ours (the broker)."""
        daemon = psutil.Process(self._process.pid)
        inside = [daemon, *daemon.children(recursive=True)]
        used = {"jvm": 0.0, "python": 0.0, "broker": 0.0}
        for process in {*inside, *psutil.Process().children(recursive=True)}:
            with contextlib.suppress(psutil.NoSuchProcess):  # a worker that ends just now
                name = "java" if process.name() == "java" else "python"
                part = "broker" if process not in inside else {"java": "jvm"}.get(name, name)
                used[part] += sum(process.cpu_times()[:2])
        return used

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bundling", default="ROW", choices=["ROW", "CHANGE", "TRANSACTION", "THRESHOLD"])
    parser.add_argument("--json", default="SCHEMA_PAYLOAD", help="the JsonMode")
    parser.add_argument("--registry", choices=["AVRO", "JSON", "PROTOBUF"], help="through a real schema registry")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        kafka = stack.enter_context(broker())
        more = f", Kafka_Message_Bundling: {options.bundling}"
        if options.registry:
            server = stack.enter_context(registry())
            if server is None:
                sys.exit("no schema registry is to be had: mvn and Java 17, or INTEGRATOR_TEST_REGISTRY")
            more += f', Kafka_Schema_Registry: "{server.url}", Kafka_Schema_Registry_Format: {options.registry}'
        directory = Path(name)
        (directory / "in").mkdir()
        (directory / "orders.sql").write_text(table.DDL)
        topic = f"bench-{uuid.uuid4()}"
        kafka.create([topic])
        channel = directory / "bench.yaml"
        channel.write_text(
            CHANNEL.format(directory=directory, servers=kafka.servers, topic=topic, kafka=more, json=options.json)
        )
        daemon = Daemon(channel)
        inbox, start, rates = directory / "in", 0, []
        print(
            f"broker: {kafka.kind}; {options.registry or options.json} {options.bundling}; {options.rows} rows in {options.files} files, {os.cpu_count()} cores"
        )
        for run in range(-1, options.runs):
            count = options.rows // 2 if run < 0 else options.rows
            table.write(inbox, count, options.files, start, f"r{run + 1:02d}-")
            start += count
            before = daemon.cpu()
            began = time.monotonic()
            size = table.publish(inbox, f"r{run + 1:02d}-")
            messages, sent = daemon.wait_for(count)
            seconds = time.monotonic() - began
            assert messages == count or options.bundling != "ROW"
            spent = {name: (used - before[name]) / count * 1e6 for name, used in daemon.cpu().items()}
            shares = ", ".join(f"{name} {micros:.1f}" for name, micros in spent.items())
            label = "warm-up" if run < 0 else f"run {run + 1}  "
            print(
                f"{label} {count / seconds:10,.0f} rows/s  {seconds:6.2f} s  {size / count:.0f} bytes/row in the file, "
                f"{sent / messages:.0f} bytes/message; CPU µs/row: {shares}",
                flush=True,
            )
            if run >= 0:
                rates.append(count / seconds)
        print(f"median  {statistics.median(rates):10,.0f} rows/s; exit code {daemon.stop()}")


if __name__ == "__main__":
    main()
