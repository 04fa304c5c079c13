"""Rows a second through one table and through many, the same rows in turn, in one run: what tables cost.

python -m tests.bench.tables --tables 500 --rows 1000000 --runs 3 [--unlike]

The tables have the same columns; with --unlike each has names of its own. Names are as long for one table as for many.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.files_to_kafka import Daemon
from tests.parts.brokers import broker

COLUMNS = 12
_WARMING = 14
"""Runs that do not count: Spark begins, the broker makes each partition's log, and at the second batch its index; and for
a minute its Java compiler takes half a core and more, which a broker that has run for a while does not."""


def write(path: Path, rows: int, tables: int, start: int, *, unlike: bool = False) -> None:
    """Rows in transactions of ten, table after table."""
    with path.open("w") as file:
        for key in range(start, start + rows):
            table = key * 7919 % tables
            own = f"_{table:03}" if unlike else ""
            row = {f"c{i}{own}": (key * i if i % 2 else f"text {key} {i}") for i in range(COLUMNS)}
            meta = {"hvr_tbl_name": f"t{table:03}", "hvr_op": 1, "hvr_tx_seq": f"{key // 10:X}", "id": key}
            file.write(json.dumps(meta | row, separators=(",", ":")) + "\n")


def channel_file(directory: Path, servers: str, name: str, tables: int, *, unlike: bool = False) -> Path:
    (directory / "in").mkdir(parents=True)
    with (directory / "tables.sql").open("w") as file:
        for at in range(tables):
            own = f"_{at:03}" if unlike else ""
            columns = ", ".join(f"c{i}{own} {'bigint' if i % 2 else 'varchar(40)'}" for i in range(COLUMNS))
            file.write(f"create table t{at:03}(id bigint primary key, {columns});\n")
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: bench
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/in, dialect: hvr, poll_seconds: 0.1}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{}}}}
tables: [{directory}/tables.sql]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: Integrate, CycleByteLimit: 0}}
"""
    )
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--unlike", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tables-") as name, broker() as kafka:
        print(f"broker: {kafka.kind}; {given.rows} rows")
        daemons, rates = {}, {1: [], given.tables: []}
        for tables in rates:
            directory = Path(name) / str(tables)
            daemons[tables] = Daemon(channel_file(directory, kafka.servers, f"of{tables}", tables, unlike=given.unlike))
        for run in range(-_WARMING, given.runs):
            for tables, daemon in daemons.items():
                count = given.rows // 4 if run < 0 else given.rows
                path = Path(name) / str(tables) / "in" / f"{run + _WARMING}.tmp"
                write(path, count, tables, (run + _WARMING) * given.rows, unlike=given.unlike)
                began = time.monotonic()
                path.rename(path.with_suffix(".jsonl"))
                daemon.wait_for(count)
                seconds = time.monotonic() - began
                print(f"run {run + 1:2}: {tables:4} tables {count / seconds:10,.0f} rows/s", flush=True)
                if run >= 0:
                    rates[tables].append(count / seconds)
        one, many = (statistics.median(rates[tables]) for tables in (1, given.tables))
        print(f"medians: {one:,.0f} and {many:,.0f} rows/s: {given.tables} tables cost {one / many:.2f} times one")
        for daemon in daemons.values():
            daemon.stop()


if __name__ == "__main__":
    main()
