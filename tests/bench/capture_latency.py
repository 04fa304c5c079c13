"""Latency of the capture of PostgreSQL: from a row's statement, whose commit follows, to the broker's append.

    python -m tests.bench.capture_latency [--rate 2000] [--seconds 60]

Transactions of 10 rows of 13 columns and the time, at a steady rate; Connect JSON with schema. The topic has the broker's
time of the append. The first seconds, in which what is compiled is loaded, are not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
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

EACH, WARM_S = 10, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="latency-")))
        kafka = stack.enter_context(brokers.broker())
        server = stack.enter_context(postgres.cluster("fsync = on\nsynchronous_commit = on\n"))
        server.psql(table.DDL + "; alter table orders add column stated timestamptz default clock_timestamp()")
        admin = AdminClient({"bootstrap.servers": kafka.servers})
        new = NewTopic("orders", 4, 1, config={"message.timestamp.type": "LogAppendTime"})
        admin.create_topics([new])["orders"].result()
        channel = home / "x.yaml"
        channel.write_text(
            f"""
channel: latency
state: {home}/state
locations:
  src: {{class: postgres, address: "{server.dsn}", tables: [orders]}}
  kaf: {{class: kafka, Kafka_Brokers: ["{kafka.servers}"], Kafka_Default_Topic: orders}}
"""
        )
        server.psql(f"insert into orders {SELECT} from generate_series(-1, -1) i")
        began = time.monotonic()
        daemon = Daemon(channel)
        daemon.wait_for("cycle synced")
        print(f"from the start of the process to the first synced cycle: {time.monotonic() - began:.1f} s", flush=True)
        with contextlib.closing(psycopg2.connect(server.dsn)) as connection, connection.cursor() as cursor:
            begin, sent = time.monotonic() + 1, 0
            while sent < options.rate * (options.seconds + WARM_S):
                pause = begin + sent / options.rate - time.monotonic()
                if pause > 0:
                    time.sleep(pause)
                cursor.execute(f"insert into orders {SELECT} from generate_series({sent + 1}, {sent + EACH}) i")
                connection.commit()
                sent += EACH
        took = time.monotonic() - begin
        daemon.wait_for_rows(sent + 1)
        daemon.terminate()
        found = []
        for one in kafka_io.read_all(kafka.servers, ["orders"]):
            row = json.loads(one.value)["payload"]
            if row["id"] > options.rate * WARM_S:
                found.append(one.timestamp / 1e3 - row["stated"] / 1e6)
        p50, p90, p99, most = np.percentile(found, [50, 90, 99, 100])
        print(
            f"{sent / took:,.0f} rows/s, {len(found):,} of them: p50 {p50:.3f} s, p90 {p90:.3f}, p99 {p99:.3f}, at most {most:.3f}"
        )


if __name__ == "__main__":
    main()
