"""A live PostgreSQL under load, its changes through a socket, a refresh while they come, and a daemon that is killed.

At the end, the tables that a consumer makes of the topics are PostgreSQL's.

python -m tests.faults.live_postgres --seconds 60 --kills 4
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.socket_kills import through
from tests.parts import jdbc, kafka_io, postgres
from tests.parts.brokers import broker, free_port
from tests.parts.daemon import ROOT, Daemon
from tests.parts.waiting import PATIENCE_S, until

TABLES = """
create table accounts(id integer primary key, balance integer not null, note text);
create table moves(id bigserial primary key, account integer not null, amount integer not null, at timestamptz);
"""
FILL = "insert into accounts select i, 0, 'account ' || i from generate_series(1, {rows}) i;"
LOAD = r"""
\set id random(1, {rows})
\set amount random(-500, 500)
\set what random(1, 20)
begin;
update accounts set balance = balance + :amount where id = :id;
insert into moves(account, amount, at) values (:id, :amount, now());
\if :what = 1
delete from moves where id = (select max(id) - 10 from moves);
\elif :what = 2
delete from accounts where id = :id;
insert into accounts values (:id, :amount, 'again');
\elif :what = 3
insert into accounts values ({rows} + (random() * 1000000)::integer, 1, 'new') on conflict do nothing;
\elif :what = 4
delete from accounts where id = (select min(id) from accounts where id > {rows});
\endif
commit;
"""
SLOT = "integrator"


def channel_file(directory: Path, servers: str, topic: str, port: int, server: postgres.Postgres) -> Path:
    (directory / "tables.sql").write_text(TABLES.replace("bigserial", "bigint"))
    path = directory / "channel.yaml"
    url = f"jdbc:postgresql://{server.host}:{server.port}/postgres"
    path.write_text(
        f"""
channel: live
state: {directory}/state
locations:
  src: {{class: socket, listen: "127.0.0.1:{port}", dialect: wal2json, poll_seconds: 0.1}}
  tab: {{class: jdbc, url: '{url}', user: {server.user}, jars: ['{jdbc.driver()}']}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 4}}}}
tables: [{directory}/tables.sql]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{{hvr_integ_seq}}"}}
"""
    )
    return path


@contextlib.contextmanager
def capture(server: postgres.Postgres, directory: Path, port: int) -> Iterator[Path]:
    """PostgreSQL's changes as wal2json writes them: pg_recvlogical into a file, and the file into the socket."""
    changes = directory / "wal.jsonl"
    connection = ["-h", server.host, "-p", str(server.port), "-U", server.user, "-d", "postgres", "--slot", SLOT]
    options = ("format-version=2", "include-lsn=1", "include-xids=1", "include-timestamp=1")
    words = [str(server.bin / "pg_recvlogical"), *connection, "--start", "-f", str(changes), "-F", "1", "-s", "1"]
    receiving = subprocess.Popen([*words, *(word for option in options for word in ("-o", option))])
    while not changes.exists():
        assert receiving.poll() is None, "pg_recvlogical ended"
        time.sleep(0.05)
    sending = subprocess.Popen(
        [sys.executable, "run.py", "send", "--file", str(changes), "--to", f"127.0.0.1:{port}", "--sender", "pg"],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield changes
    finally:
        for process in (receiving, sending):
            process.terminate()
            process.wait(PATIENCE_S)


def run(servers: str, directory: Path, topic: str, rows: int, seconds: int, kills: int, seed: int, *words: str) -> dict[str, int]:  # fmt: skip
    """Load, refresh with `words`, kill; compare. Returns what was counted."""
    choose = random.Random(seed)
    with postgres.cluster() as server:
        server.psql(TABLES + FILL.format(rows=rows))
        server.psql(f"select pg_create_logical_replication_slot('{SLOT}', 'wal2json')")
        port = free_port()
        path = channel_file(directory, servers, topic, port, server)
        daemon = Daemon(path)
        daemon.wait_for("integrating")
        with (
            capture(server, directory, port) as changes,
            load(server, directory, rows, seconds) as loading,
            contextlib.ExitStack() as held,
        ):
            time.sleep(2)
            refreshing = subprocess.Popen(
                [sys.executable, "run.py", "refresh", "--channel", str(path), "--online", "--slice", "id%3", *words],
                cwd=ROOT, env={**os.environ, "SPARK_MASTER": "local[2]"}, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            held.enter_context(refreshing)
            held.callback(refreshing.kill)  # where a test fails
            for _ in range(kills):
                time.sleep(choose.uniform(2, 8))
                daemon.kill(everything=choose.random() < 0.5)
                daemon = Daemon(path)
            _, said = refreshing.communicate(timeout=PATIENCE_S)
            assert refreshing.returncode == 0, said[-3000:]
            assert loading.wait(PATIENCE_S) == 0
            server.psql("insert into accounts values (-1, 0, 'the last change')")
            wait_until_through(directory, changes, daemon)
            expected = tables(server)
        code = daemon.terminate()
        assert code == 0, daemon.lines[-20:]
    counted = {}
    for name, wanted in expected.items():
        received = kafka_io.read_all(servers, [f"{topic}.{name}"])
        made = rebuilt([json.loads(message.value or b"") for message in received])
        differ = [key for key in made.keys() | wanted.keys() if made.get(key) != wanted.get(key)]
        assert not differ, (
            f"{name}: {len(differ)} rows differ, key {differ[0]}: {made.get(differ[0])} and {wanted.get(differ[0])}"
        )
        counted |= {f"{name} rows": len(wanted), f"{name} messages": len(received)}
    return counted | {"changes": changes.read_bytes().count(b"\n")}


@contextlib.contextmanager
def load(server: postgres.Postgres, directory: Path, rows: int, seconds: int) -> Iterator[subprocess.Popen[bytes]]:
    script = directory / "load.sql"
    script.write_text(LOAD.replace("{rows}", str(rows)))
    words = [str(server.bin / "pgbench"), "-h", server.host, "-p", str(server.port), "-U", server.user, "-n", "-c", "4"]
    words += ["-T", str(seconds), "-R", "300", "-f", str(script), "--max-tries", "100", "postgres"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until_through(directory: Path, changes: Path, daemon: Daemon) -> None:
    """Wait until the last change of the load is captured, received, and synced."""
    state = directory / "state" / "live"

    def is_through() -> bool:
        assert daemon.running, daemon.lines[-20:]
        if b"the last change" not in changes.read_bytes()[-5000:]:
            return False
        arrived = any(b"the last change" in path.read_bytes() for path in (state / "spool").glob("*.jsonl"))
        return arrived and through(state)

    until(is_through, "the changes are not through")


def tables(server: postgres.Postgres) -> dict[str, dict[int, dict[str, Any]]]:
    asked = {"accounts": "id, balance, note", "moves": "id, account, amount"}
    found = {}
    for name, columns in asked.items():
        lines = server.psql(f"select row_to_json(t) from (select {columns} from {name}) t").splitlines()
        found[name] = {row["id"]: row for row in map(json.loads, lines)}
    return found


def rebuilt(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """What a consumer has that takes messages as they arrive: the last one of each key says what is."""
    made: dict[int, dict[str, Any]] = {}
    for row in rows:
        op, _, _ = row.pop("op"), row.pop("seq"), row.pop("at", None)
        if op == 5:
            made.clear()
        elif op in {0, 3}:
            made.pop(row["id"], None)
        elif op in {1, 2}:
            made[row["id"]] = row
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="live-") as directory, broker() as kafka:
        print(f"broker: {kafka.kind}")
        print(run(kafka.servers, Path(directory), "live", given.rows, given.seconds, given.kills, given.seed))


if __name__ == "__main__":
    main()
