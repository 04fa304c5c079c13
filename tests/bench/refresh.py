"""Bulk refresh: rows a second, and the peak memory of the JVM and of the largest Python worker.

python -m tests.bench.refresh --rows 10000000              from one Parquet file
python -m tests.bench.refresh --rows 1000000 --jdbc        from a live PostgreSQL, through Spark's JDBC reader
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from tests.parts import jdbc, postgres
from tests.parts.brokers import broker
from tests.parts.daemon import ROOT

DDL = "create table orders(id bigint primary key, customer integer, status varchar(20), note text, amount numeric(12,2), placed timestamp);"
GENERATED = (
    "insert into orders select i, i % 100000, 'status ' || i % 7, repeat('note ', 8) || i, i / 100.0, "
    "timestamp '2026-01-01' + i * interval '1 second' from generate_series(1, {rows}) i;"
)
BATCH = 500_000


def parquet(path: Path, rows: int) -> None:
    with pq.ParquetWriter(path, _batch(0, 1).schema) as writer:
        for start in range(0, rows, BATCH):
            writer.write_table(_batch(start, min(BATCH, rows - start)), row_group_size=100_000)


def _batch(start: int, count: int) -> pa.Table:
    ids = range(start + 1, start + count + 1)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": pa.array([i % 100_000 for i in ids], pa.int32()),
            "status": [f"status {i % 7}" for i in ids],
            "note": [f"{'note ' * 8}{i}" for i in ids],
            "amount": pa.array(ids, pa.int64()).cast(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2)),
            "placed": pa.array([1_767_225_600_000_000 + i * 1_000_000 for i in ids], pa.timestamp("us")),
        }
    )


class Memory:
    """The largest resident memory, in MiB, of a process's JVM and of any of its Python processes."""

    def __init__(self, pid: int) -> None:
        self.jvm = self.python = 0.0
        self._root, self._ended = psutil.Process(pid), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            with contextlib.suppress(psutil.Error):
                for process in [self._root, *self._root.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        size = process.memory_info().rss / 2**20
                        if process.name() == "java":
                            self.jvm = max(self.jvm, size)
                        else:
                            self.python = max(self.python, size)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


@contextlib.contextmanager
def source(rows: int, directory: Path, *, live: bool) -> Iterator[str]:
    """A location with so many rows."""
    if not live:
        parquet(directory / "orders.parquet", rows)
        yield f'{{class: snapshot, path: "{directory}/{{hvr_tbl_name}}.parquet", format: parquet}}'
        return
    with postgres.cluster() as server:
        server.psql(DDL)
        server.psql(GENERATED.format(rows=rows))
        url = f"jdbc:postgresql://{server.host}:{server.port}/postgres"
        yield f"{{class: jdbc, url: '{url}', user: {server.user}, jars: ['{jdbc.driver()}']}}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--jdbc", action="store_true")
    parser.add_argument("words", nargs="*", help="further words of run.py refresh, after --")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="refresh-") as name,
        broker() as kafka,
        source(given.rows, Path(name), live=given.jdbc) as location,
    ):
        directory = Path(name)
        (directory / "orders.sql").write_text(DDL)
        channel = directory / "channel.yaml"
        channel.write_text(
            f"""
channel: bench
state: {name}/state
locations:
  src: {location}
  kaf: {{class: kafka, Kafka_Brokers: ["{kafka.servers}"], Create_Topics: {{Partitions: 4}}}}
tables: [{name}/orders.sql]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
"""
        )
        words = [sys.executable, "run.py", "refresh", "--channel", str(channel), *given.words]
        started = time.monotonic()
        process = subprocess.Popen(
            words, cwd=ROOT, env={**os.environ, "SPARK_MASTER": "local[2]"}, stderr=subprocess.PIPE, text=True
        )
        memory = Memory(process.pid)
        _, log = process.communicate()
        seconds = time.monotonic() - started
        memory.end()
        print(f"broker: {kafka.kind}; exit code {process.returncode}")
        print(log[-3000:] if process.returncode else "\n".join(log.splitlines()[-2:]))
        print(f"{given.rows / seconds:10,.0f} rows/s with Spark's start ({seconds:.0f} s); "
              f"peak memory: JVM {memory.jvm:,.0f} MiB, largest Python process {memory.python:,.0f} MiB")  # fmt: skip


if __name__ == "__main__":
    main()
