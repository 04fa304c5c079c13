"""The capture of PostgreSQL beside Kafka Connect with Debezium, in turns, on one database and one broker.

    python -m tests.bench.capture [--rows 1000000] [--snapshot 2000000] [--rounds 3]

stream: a backlog of rows of 13 columns, which is in the log before the clock starts, from the slot to acknowledged.
snapshot: the rows that a table has. Both send JSON with schema. Timed from the first message to the last; who does not
run is stopped. CPU is that of the processes of each; the server's is shown apart.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from tests.bench import rows as table
from tests.bench.other_peers import EACH, PRODUCER, SELECT, Ends, unwrapped
from tests.parts import brokers, connect, postgres
from tests.parts.daemon import Daemon

SETTINGS = "max_wal_size = 8GB\nwal_sender_timeout = 30min\nshared_buffers = 512MB\n"
LIMIT_S = 900


def fill(server: postgres.Postgres, rows: int) -> None:
    server.psql(
        f"do $$ begin for k in 0..{rows // EACH - 1} loop insert into orders {SELECT} "
        f"from generate_series(k*{EACH}+1, (k+1)*{EACH}) i; commit; end loop; end $$"
    )


def family(pid: int) -> list[psutil.Process]:
    one = psutil.Process(pid)
    return [one, *one.children(recursive=True)]


def signalled(processes: list[psutil.Process], number: signal.Signals) -> None:
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.send_signal(number)


def cpu(processes: list[psutil.Process]) -> float:
    total = 0.0
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            total += times.user + times.system
    return total


def of_server(server: postgres.Postgres) -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["name"]) if one.info["name"] == "postgres"]


class Turn:
    """What one of them did: seconds, CPU seconds of its own, and of the server."""

    def __init__(self, server: postgres.Postgres, ends: Ends, pid: int) -> None:
        self._server, self._ends, self._pid = server, ends, pid
        self._before, self._cpu, self._server_cpu = ends.count(), cpu(family(pid)), cpu(of_server(server))

    def result(self, rows: int) -> tuple[float, float, float]:
        seconds = self._ends.seconds(self._before, rows, LIMIT_S)
        return seconds, cpu(family(self._pid)) - self._cpu, cpu(of_server(self._server)) - self._server_cpu


class Ours:
    """A daemon for each turn."""

    name = "integrator"

    def __init__(self, home: Path, server: postgres.Postgres, servers: str, topic: str) -> None:
        self._home, self._server, self._servers, self._topic = home, server, servers, topic
        self._ends = Ends(servers, topic)

    def _channel(self, name: str) -> Path:
        path = self._home / f"{name}.yaml"
        path.write_text(
            f"""
channel: {name}
state: {self._home}/state
locations:
  src: {{class: postgres, address: "{self._server.dsn}", tables: [orders], spool_bytes: 4000000000}}
  kaf: {{class: kafka, Kafka_Brokers: ["{self._servers}"], Kafka_Default_Topic: "{self._topic}", Kafka_Message_Compress: LZ4}}
"""
        )
        return path

    def stream(self, rows: int, turn: int) -> tuple[float, float, float]:
        self._server.psql("truncate orders")
        daemon = Daemon(self._channel(f"s{turn}"))
        daemon.wait_for("cycle synced")
        stopped = family(daemon.pid)
        signalled(stopped, signal.SIGSTOP)
        fill(self._server, rows)
        made = Turn(self._server, self._ends, daemon.pid)
        signalled(stopped[::-1], signal.SIGCONT)
        try:
            return made.result(rows)
        finally:
            self._end(daemon, f"s{turn}")

    def snapshot(self, rows: int, turn: int) -> tuple[float, float, float]:
        daemon = Daemon(self._channel(f"n{turn}"))
        made = Turn(self._server, self._ends, daemon.pid)
        try:
            return made.result(rows)
        finally:
            self._end(daemon, f"n{turn}")

    def _end(self, daemon: Daemon, name: str) -> None:
        daemon.terminate()
        self._server.psql(f"select pg_drop_replication_slot('integrator_{name}'); drop publication integrator_{name}")


class Debezium:
    """A connector for each turn."""

    name = "debezium"

    def __init__(self, server: postgres.Postgres, worker: connect.Worker, ends: Ends, topic: str) -> None:
        self._server, self._worker, self._ends, self._topic = server, worker, ends, topic

    def stream(self, rows: int, turn: int) -> tuple[float, float, float]:
        self._server.psql("truncate orders")
        self._server.psql(f"select pg_create_logical_replication_slot('d{turn}', 'pgoutput')")
        fill(self._server, rows)
        return self._run(f"d{turn}", rows, "no_data")

    def snapshot(self, rows: int, turn: int) -> tuple[float, float, float]:
        return self._run(f"e{turn}", rows, "initial")

    def _run(self, slot: str, rows: int, mode: str) -> tuple[float, float, float]:
        made = Turn(self._server, self._ends, self._worker.process.pid)
        self._worker.put(slot, unwrapped(self._server, slot, self._topic, mode))
        try:
            return made.result(rows)
        finally:
            self._worker.delete(slot)
            time.sleep(3)
            self._server.psql(f"select pg_drop_replication_slot('{slot}')")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--snapshot", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    class_path = connect.libraries()
    assert class_path is not None
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="capture-bench-")))
        kafka = stack.enter_context(brokers.broker())
        server = stack.enter_context(postgres.cluster(SETTINGS))
        server.psql(table.DDL)
        server.psql("create publication pub for table orders")
        kafka.create(["ours", "theirs"], 4)
        (home / "connect").mkdir()
        settings = {f"producer.{name}": value for name, value in PRODUCER.items()}
        worker = stack.enter_context(connect.Worker(class_path, home / "connect", kafka.servers, settings, ("-Xmx2G",)))
        theirs = Debezium(server, worker, Ends(kafka.servers, "theirs"), "theirs")
        both = [Ours(home, server, kafka.servers, "ours"), theirs]
        for what, rows in (("stream", options.rows), ("snapshot", options.snapshot)):
            if not rows:
                continue
            if what == "snapshot":
                server.psql("truncate orders")
                fill(server, rows)
            rates: dict[str, list[float]] = {one.name: [] for one in both}
            for turn in range(options.rounds):
                for one in both:
                    process = psutil.Process(worker.process.pid)
                    process.suspend() if one is not theirs else process.resume()
                    seconds, own, of_database = getattr(one, what)(rows, turn)
                    rates[one.name].append(rows / seconds)
                    print(
                        f"{what}, {one.name}: {rows / seconds:,.0f} rows/s, {own / rows * 1e6:.2f} µs of CPU a row, "
                        f"the server's {of_database / rows * 1e6:.2f}",
                        flush=True,
                    )
                process.resume()
            ours, debezium = (statistics.median(one) for one in rates.values())
            print(f"{what}: {ours:,.0f} and {debezium:,.0f} rows/s: {ours / debezium:.2f} times", flush=True)


if __name__ == "__main__":
    main()
