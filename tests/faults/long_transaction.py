"""One transaction of many rows in TRANSACTION mode, with executors of bounded memory: how much they take, and what arrives.

    python -m tests.faults.long_transaction [--rows 1000000] [--files 1] [--cores 2] [--limit 1200m]

The limit is Spark's own (spark.executor.pyspark.memory: address space of all workers together, which each share of a core
takes its part of), so a worker that needs more dies, and the run fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench import rows as table
from tests.parts import kafka_io
from tests.parts.brokers import broker

ROOT = Path(__file__).parent.parent.parent
THRESHOLD = 800_000

CHANNEL = """
channel: long
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/in, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}",
        Kafka_Message_Bundling: TRANSACTION}}
tables: [{directory}/orders.sql]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: Integrate, CycleByteLimit: {cycle}}}
"""


@dataclass(frozen=True)
class Seen:
    """What a run took and sent: bytes of memory of the largest worker and of the JVM; messages; the bytes of the longest."""

    worker: int
    jvm: int
    messages: int
    longest: int
    cycles: int
    split: int


def write(directory: Path, rows: int, files: int, *, marked: bool) -> None:
    """Write one transaction; marked: with hvr_tx_countdown, so that its end is known."""
    table.write(directory, rows, files, prefix="t")
    left = rows
    for path in sorted(directory.glob(".t*")):
        with path.open() as source, (directory / f"{path.name[1:]}.part").open("w") as target:
            for line in source:
                said = re.sub(r'"hvr_tx_seq":"[0-9a-f]+"', '"hvr_tx_seq":"1"', line, count=1)
                target.write(said if not marked else f'{{"hvr_tx_countdown":{left},' + said[1:])
                left -= 1
        path.unlink()
    for path in sorted(directory.glob("*.part")):
        path.rename(path.with_suffix(""))


def run(
    servers: str, create: Callable[[list[str]], None], directory: Path, rows: int, files: int, cores: int, limit: str,
    *, marked: bool, cycle_bytes: int = 0,
) -> Seen:  # fmt: skip
    """Send the transaction by spark-submit and read it back. Raises AssertionError where anything is not as it should be."""
    topic = f"long-{uuid.uuid4()}"
    create([topic])
    (directory / "in").mkdir()
    write(directory / "in", rows, files, marked=marked)
    (directory / "orders.sql").write_text(table.DDL)
    channel = directory / "channel.yaml"
    channel.write_text(CHANNEL.format(directory=directory, servers=servers, topic=topic, cycle=cycle_bytes))
    submit = str(Path(sys.executable).with_name("spark-submit"))
    settings = ["--conf", f"spark.executor.pyspark.memory={limit}", "--driver-memory", "1g"]
    process = subprocess.Popen(
        [submit, "--master", f"local[{cores}]", *settings, "run.py", "--channel", str(channel), "--once"],
        cwd=ROOT, env={**os.environ, "PYSPARK_PYTHON": sys.executable}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    most: dict[str, int] = {}
    watch = threading.Thread(target=_watch, args=(process, most))
    watch.start()
    said, _ = process.communicate()
    watch.join()
    assert process.returncode == 0, said[-3000:]
    cycles = [json.loads(line) for line in said.splitlines() if line.startswith("{") and "cycle synced" in line]
    sent = [message.value for message in kafka_io.read_all(servers, [topic])]
    assert sum(cycle["rows"] for cycle in cycles) == rows
    ids = [int(number) for value in sent for number in re.findall(rb'"id":(\d+)', value)]
    assert ids == list(range(rows)), "rows are missing, repeated or out of order"
    assert all(len(value) <= THRESHOLD + 1000 for value in sent)
    assert all(len(value) > THRESHOLD for value in sent[:-1]) or len(cycles) > 1
    split = sum(sum(cycle.get("split", {}).values()) for cycle in cycles)
    return Seen(most["python"], most["java"], len(sent), max(map(len, sent)), len(cycles), split)


def _watch(process: subprocess.Popen[str], most: dict[str, int]) -> None:
    """Note the most memory (RSS) that a process of each kind has, the driver's own Python excepted."""
    top = psutil.Process(process.pid)
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            for below in [top, *top.children(recursive=True)]:
                _note(below, most, is_top=below == top)
        time.sleep(0.3)  # each look goes through all processes of the machine


def _note(process: psutil.Process, most: dict[str, int], *, is_top: bool) -> None:
    with contextlib.suppress(psutil.Error):  # it ends just now
        if is_top or process.name() == "java":
            kind = "java"
        elif "pyspark.daemon" in " ".join(process.cmdline()):
            kind = "python"
        else:
            return
        most[kind] = max(most.get(kind, 0), process.memory_info().rss)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--limit", default="1200m", help="spark.executor.pyspark.memory")
    parser.add_argument("--marked", action="store_true", help="with hvr_tx_countdown")
    parser.add_argument("--cycle-bytes", type=int, default=0, help="CycleByteLimit")
    options = parser.parse_args()
    with broker() as kafka, tempfile.TemporaryDirectory(prefix="long-") as name:
        seen = run(
            kafka.servers, kafka.create, Path(name), options.rows, options.files, options.cores, options.limit,
            marked=options.marked, cycle_bytes=options.cycle_bytes,
        )  # fmt: skip
        print(
            f"{options.rows} rows in {options.files} files, {options.cores} cores, limit {options.limit}: "
            f"{seen.messages} messages in {seen.cycles} cycles, the longest {seen.longest} bytes, {seen.split} splits; "
            f"worker {seen.worker / 2**20:.0f} MiB, JVM {seen.jvm / 2**20:.0f} MiB"
        )


if __name__ == "__main__":
    main()
