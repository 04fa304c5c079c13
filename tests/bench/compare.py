"""A table of PostgreSQL compared with its topic: rows a second, memory, and the CPU of the database.

    python -m tests.bench.compare [--rows 1000000]

The channel has sent the rows, and rests. Beside the comparison stands the CPU of the database for `select count(*)`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.bench import rows as table
from tests.bench.capture import fill
from tests.parts import brokers, postgres

CHANNEL = """
channel: c
state: {home}/state
locations:
  src: {{class: postgres, address: "{address}", tables: [orders], spool_bytes: 4000000000}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: orders, Kafka_Message_Compress: LZ4, Create_Topics: {{Partitions: 1, Replication_Factor: 1}}}}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: Integrate, OnDeleteSendTombstone: true, MessageKeySerializer: JSON_ROW}}
"""


def ran(*words: object) -> tuple[float, float, int, str]:
    """Run a command of the integrator; return seconds, CPU seconds, peak memory in KiB, and what it printed."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, "run.py", *map(str, words)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, said
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, spent, used.ru_maxrss, said


def cpu(server: postgres.Postgres) -> float:
    """CPU seconds of a server so far, with those of sessions that have ended."""
    main = psutil.Process(
        int((Path(server.psql("show data_directory").strip()) / "postmaster.pid").read_text().split()[0])
    )
    times = main.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for one in main.children():
        own = one.cpu_times()
        total += own.user + own.system
    return total


def main() -> None:
    """Print what a comparison takes."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    rows = arguments.parse_args().rows
    with tempfile.TemporaryDirectory() as home, postgres.cluster() as server, brokers.broker() as broker:
        server.psql(table.DDL)
        fill(server, rows)
        server.psql("vacuum analyze orders")
        path = Path(home) / "c.yaml"
        path.write_text(CHANNEL.format(home=home, address=server.dsn, servers=broker.servers))
        ran("--channel", path, "--once")
        counted = cpu(server)
        server.psql("set max_parallel_workers_per_gather = 0; select count(*) from orders")
        counted = cpu(server) - counted
        of_database = cpu(server)
        seconds, spent, memory, said = ran("compare", "--channel", path, "--json")
        of_database = cpu(server) - of_database
        [found] = json.loads(said)["tables"]
        assert found["equal"] == found["rows"] == rows, found
        print(
            f"{rows:,} rows: {seconds:.1f} s, {rows / seconds:,.0f} rows/s, {1e6 * spent / rows:.1f} µs CPU a row, "
            f"{memory >> 10} MiB; the database {of_database:.1f} s CPU, for count(*) {counted:.2f} s"
        )


if __name__ == "__main__":
    main()
