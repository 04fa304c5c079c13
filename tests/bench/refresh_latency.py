"""Latency of changes while the rows of another table are read: from a row's statement to the broker's append.

    python -m tests.bench.refresh_latency [--rows 2000000] [--rate 2000] [--seconds 30]

PostgreSQL with ten tables. Nine of them change at a steady rate, in transactions of ten rows. After some seconds the
tenth, which is large, is refreshed. Printed are the latencies before the refresh and while it was under way, and how
many of its rows were sent in a second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psycopg2
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.bench import rows as table
from tests.bench.other_peers import SELECT
from tests.parts import brokers, kafka_io, postgres
from tests.parts.daemon import Daemon
from tests.parts.waiting import until

EACH, WARM_S, TABLES = 10, 10, 9


class Writing:
    """Inserts rows into the tables in turn, so many in a second, until it is closed. sent: how many."""

    def __init__(self, dsn: str, rate: int) -> None:
        self.sent, self._dsn, self._rate, self._ended = 0, dsn, rate, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with contextlib.closing(psycopg2.connect(self._dsn)) as connection, connection.cursor() as cursor:
            begin = time.monotonic()
            while not self._ended.is_set():
                time.sleep(max(begin + self.sent / self._rate - time.monotonic(), 0.0))
                name = f"orders_{1 + self.sent // EACH % TABLES}"
                numbers = f"generate_series({self.sent + 1}, {self.sent + EACH}) i"
                cursor.execute(f"insert into {name} {SELECT} from {numbers}")
                connection.commit()
                self.sent += EACH

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000, help="of the table that is refreshed")
    parser.add_argument("--rate", type=int, default=2000, help="changes in a second")
    parser.add_argument("--seconds", type=int, default=30, help="before the refresh")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="latency-")))
        kafka = stack.enter_context(brokers.broker())
        server = stack.enter_context(postgres.cluster("fsync = on\nsynchronous_commit = on\n"))
        stated = "add column stated timestamptz default clock_timestamp()"
        server.psql(f"{table.DDL}; alter table orders {stated}")
        admin = AdminClient({"bootstrap.servers": kafka.servers})
        changed = [f"orders_{number}" for number in range(1, TABLES + 1)]
        of_broker = {"message.timestamp.type": "LogAppendTime"}
        new = [NewTopic(name, 2, 1, config=of_broker) for name in ("orders", *changed)]
        for name in changed:
            server.psql(f"create table {name} (like orders including all)")
        for made in admin.create_topics(new).values():
            made.result()
        channel = home / "x.yaml"
        channel.write_text(
            f"""
channel: latency
state: {home}/state
locations:
  src: {{class: postgres, address: "{server.dsn}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["{kafka.servers}"], Kafka_Default_Topic: "{{hvr_tbl_name}}"}}
"""
        )
        server.psql(f"insert into orders {SELECT} from generate_series(1, {options.rows}) i; analyze orders")
        daemon = Daemon(channel)
        daemon.wait_for_rows(options.rows)
        writing = stack.enter_context(contextlib.closing(Writing(server.dsn, options.rate)))
        time.sleep(WARM_S)
        before = time.time()
        time.sleep(options.seconds)
        asked = time.time()
        words = [sys.executable, "run.py", "refresh", "--channel", channel, "--table", "orders"]
        subprocess.run(words, check=True, capture_output=True)
        until(lambda: _has_read(daemon) > 10, lambda: str(daemon.lines[-5:]), 600)
        done = time.time()
        time.sleep(5)
        writing.close()
        daemon.wait_for_rows(2 * options.rows + writing.sent)
        daemon.terminate()
        found: dict[str, list[float]] = {"before": [], "while rows are read": []}
        for one in kafka_io.read_all(kafka.servers, changed):
            at = json.loads(one.value)["payload"]["stated"] / 1e6
            if before < at < done:
                found["before" if at < asked else "while rows are read"].append(one.timestamp / 1e3 - at)
        read = sorted(one.timestamp / 1e3 for one in kafka_io.read_all(kafka.servers, ["orders"]))[options.rows :]
        for name, latencies in found.items():
            p50, p90, p99, most = np.percentile(latencies, [50, 90, 99, 100])
            print(
                f"{name}: {len(latencies):,} changes: p50 {p50:.3f} s, p90 {p90:.3f}, p99 {p99:.3f}, at most {most:.3f}"
            )
        print(
            f"rows of the refresh: {options.rows / (read[-1] - read[0]):,.0f} in a second, {len(read):,} of {options.rows:,}"
        )


def _has_read(daemon: Daemon) -> int:
    """Return how many tables' rows were read."""
    return sum("snapshot of a table" in line for line in daemon.lines)


if __name__ == "__main__":
    main()
