"""Latency of the capture of PostgreSQL: from a row's statement, whose commit follows, to the broker's append.

    python -m tests.bench.capture_latency [--rate 2000] [--seconds 60] [--exactly-once | --debezium]

Transactions of 10 rows of 13 columns and the time, of more where these were over 500 a second, at a steady rate; Connect
JSON with schema. The topic has the broker's
time of the append. The first seconds, in which what is compiled is loaded, are not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import psycopg2
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.bench import rows as table
from tests.bench.other_peers import PRODUCER, SELECT, Ends, unwrapped
from tests.parts import brokers, connect, kafka_io, postgres
from tests.parts.daemon import Daemon
from tests.parts.waiting import until

EACH, WARM_S, MOST_COMMITS = 10, 10, 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--exactly-once", action="store_true", help="until a consumer of what is committed has them")
    parser.add_argument("--debezium", action="store_true", help="Kafka Connect with Debezium in the integrator's place")
    options = parser.parse_args()
    each = max(EACH, options.rate // MOST_COMMITS)
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="latency-")))
        kafka = stack.enter_context(brokers.broker())
        server = stack.enter_context(postgres.cluster("fsync = on\nsynchronous_commit = on\n"))
        server.psql(table.DDL + "; alter table orders add column stated timestamptz default clock_timestamp()")
        admin = AdminClient({"bootstrap.servers": kafka.servers})
        new = NewTopic("orders", 4, 1, config={"message.timestamp.type": "LogAppendTime"})
        admin.create_topics([new])["orders"].result()
        server.psql(f"insert into orders {SELECT} from generate_series(-1, -1) i")
        began = time.monotonic()
        if options.debezium:
            wait = stack.enter_context(_debezium(home, server, kafka.servers))
        else:
            wait = stack.enter_context(_ours(home, server, kafka.servers, exactly_once=options.exactly_once))
        print(f"from the start to the first row: {time.monotonic() - began:.1f} s", flush=True)
        arrived = stack.enter_context(_arrivals(kafka.servers)) if options.exactly_once else None
        with contextlib.closing(psycopg2.connect(server.dsn)) as connection, connection.cursor() as cursor:
            begin, sent = time.monotonic() + 1, 0
            while sent < options.rate * (options.seconds + WARM_S):
                pause = begin + sent / options.rate - time.monotonic()
                if pause > 0:
                    time.sleep(pause)
                cursor.execute(f"insert into orders {SELECT} from generate_series({sent + 1}, {sent + each}) i")
                connection.commit()
                sent += each
        took = time.monotonic() - begin
        wait(sent + 1)
        appended = ((one.value, one.timestamp / 1e3) for one in kafka_io.read_all(kafka.servers, ["orders"]))
        found = []
        for value, at in appended if arrived is None else arrived:
            row = json.loads(value)["payload"]
            if row["id"] > options.rate * WARM_S:
                found.append(at - _seconds(row["stated"]))
        p50, p90, p99, most = np.percentile(found, [50, 90, 99, 100])
        print(
            f"{sent / took:,.0f} rows/s, {len(found):,} of them: p50 {p50:.3f} s, p90 {p90:.3f}, p99 {p99:.3f}, at most {most:.3f}"
        )


@contextlib.contextmanager
def _ours(
    home: Path, server: postgres.Postgres, servers: str, *, exactly_once: bool
) -> Iterator[Callable[[int], None]]:
    """Run the integrator; give what waits until it has sent so many rows."""
    channel = home / "x.yaml"
    channel.write_text(
        f"""
channel: latency
state: {home}/state
delivery: {"exactly_once" if exactly_once else "at_least_once"}
locations:
  src: {{class: postgres, address: "{server.dsn}", tables: [orders]}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: orders}}
"""
    )
    daemon = Daemon(channel)
    daemon.wait_for("cycle synced")
    yield daemon.wait_for_rows
    daemon.terminate()


@contextlib.contextmanager
def _debezium(home: Path, server: postgres.Postgres, servers: str) -> Iterator[Callable[[int], None]]:
    """Run Debezium in Kafka Connect; give what waits until it has sent so many rows."""
    class_path, ends = connect.libraries(), Ends(servers, "orders")
    assert class_path is not None, "Maven and Java 17 are needed"
    server.psql("create publication pub for table orders")
    (home / "connect").mkdir()
    settings = {f"producer.{name}": value for name, value in PRODUCER.items()}
    with connect.Worker(class_path, home / "connect", servers, settings, ("-Xmx2G",)) as worker:
        worker.put("latency", unwrapped(server, "latency", "orders", "initial"))

        def wait(rows: int) -> None:
            until(lambda: ends.count() >= rows, worker.log)

        wait(1)
        yield wait
        worker.delete("latency")


def _seconds(stated: int | str) -> float:
    """Return a moment as seconds since 1970: microseconds of ours, text of Debezium's."""
    return (
        stated / 1e6 if isinstance(stated, int) else datetime.fromisoformat(stated.replace("Z", "+00:00")).timestamp()
    )


@contextlib.contextmanager
def _arrivals(servers: str) -> Iterator[list[tuple[bytes, float]]]:
    """Give the list to which a consumer adds each committed message, and when it had it."""
    found, ended = list[tuple[bytes, float]](), threading.Event()
    own = {"bootstrap.servers": servers, "group.id": "latency", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 5}
    consumer = Consumer({**own, "isolation.level": "read_committed"})
    consumer.subscribe(["orders"])

    def run() -> None:
        while not ended.is_set():
            messages = consumer.consume(1000, 0.002)
            now = time.time()
            found.extend((one.value(), now) for one in messages if not one.error())

    thread = threading.Thread(target=run, name="consumer")
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
        consumer.close()


if __name__ == "__main__":
    main()
