"""A database that is captured under load, while everything around it is killed, frozen, cut and changed.

    python -m tests.faults.capture_campaign [--rounds 200] [--seed 1] [--delivery exactly_once] [--product mysql]

A round: inserts, updates, updates of keys, deletes, truncates, rollbacks and, now and then, a new column or a new
table; meanwhile our process (with or without its JVM and workers), the database or the broker is killed by signal 9,
our process is frozen, the database ends our connection, a proxy cuts it anywhere or holds its bytes for longer than the
database waits, or the disk of our state is full. At its end the tables that a consumer makes of the topics are those of
the database; with exactly_once no change is there twice.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pymysql
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from tests.parts import brokers, mariadb, mysql, postgres
from tests.parts.daemon import Daemon
from tests.parts.disks import small_disk
from tests.parts.proxy import Proxy
from tests.parts.waiting import PATIENCE_S, until

POSTGRES = "fsync = on\nsynchronous_commit = on\nfull_page_writes = on\nwal_sender_timeout = 5s\n"
ROWS = 200
_SETTLED_S = 60.0
_PAUSE_S = 0.002
"""Between transactions: topics are read again and again."""
_AWAY = (psycopg2.Error, pymysql.MySQLError, OSError)
FAULTS = (
    "kill",
    "kill all",
    "database",
    "broker",
    "freeze",
    "cut",
    "proxy cut",
    "proxy hold",
    "disk",
    "column",
    "table",
)
DISK_MB, SPOOL_BYTES = 400, 64 << 20


BINLOG = "binlog_row_metadata = FULL\nsync_binlog = 1\ninnodb_flush_log_at_trx_commit = 1\nmax_binlog_size = 1M\n"
"""Files of the log are small, so that it goes on in others in each round."""
DATABASE = "shop"


class AtPostgres:
    """What a campaign does at a PostgreSQL."""

    class_ = "postgres"
    text, most_words = "text", 3000
    upsert = "on conflict (id) do update set n = excluded.n"

    def __init__(self, server: postgres.Postgres) -> None:
        self.server, self.place, self.own = server, f"{server.host}:{server.port}", server.dsn

    def address(self, place: str) -> str:
        return f"postgresql://{self.server.user}@{place}/postgres"

    def numbers(self, text: str, first: int, last: int) -> str:
        return f"select g, '{text}', 0 from generate_series({first}, {last}) g"

    def sql(self, text: str) -> str:
        return self.server.psql(text)

    def connect(self) -> Any:
        return psycopg2.connect(self.own)

    def cut(self) -> None:
        self.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'integrator%'")

    def rows(self, table: str) -> list[dict]:
        return [json.loads(line) for line in self.sql(f"select row_to_json(t) from {table} t").splitlines()]


class AtBinlog:
    """What a campaign does at a MySQL or a MariaDB."""

    text, most_words = "longtext", 200
    upsert = "on duplicate key update n = values(n)"

    def __init__(self, server: mariadb.MariaDb) -> None:
        self.server, self.place, self.class_ = server, f"{server.host}:{server.port}", server.product
        server.sql(f"create database {DATABASE}")

    def address(self, place: str) -> str:
        return self.server.address(DATABASE).replace(self.place, place)

    def numbers(self, text: str, first: int, last: int) -> str:
        return f"select seq, '{text}', 0 from {self.server.numbers(first, last)}"

    def sql(self, text: str) -> str:
        return self.server.sql(text, DATABASE)

    def connect(self) -> Any:
        own = self.server
        return pymysql.connect(host=own.host, port=own.port, user=own.user, password=own.password, database=DATABASE)

    def cut(self) -> None:
        for one in self.sql("select id from information_schema.processlist where command = 'Binlog Dump'").split():
            self.sql(f"kill {one}")

    def rows(self, table: str) -> list[dict]:
        with contextlib.closing(self.connect()) as connection, connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(f"select * from {table}")
            return list(cursor.fetchall())


Database = AtPostgres | AtBinlog


class Load(threading.Thread):
    """Changes tables until it is ended; the database may be away meanwhile."""

    def __init__(self, database: Database, seed: int, tables: list[str]) -> None:
        super().__init__(daemon=True)
        self._database, self._draw, self.tables = database, random.Random(seed), tables
        self.ending = threading.Event()
        self.statements = 0

    def run(self) -> None:
        while not self.ending.is_set():
            with contextlib.suppress(*_AWAY), contextlib.closing(self._database.connect()) as connection:
                while not self.ending.is_set():
                    self._transaction(connection)
                    self.ending.wait(_PAUSE_S)
            self.ending.wait(0.2)

    def _transaction(self, connection) -> None:
        draw = self._draw
        with connection.cursor() as cursor:
            for _ in range(draw.choice((1, 1, 2, 5, 40))):
                cursor.execute(self._statement(draw.choice(self.tables)))
                self.statements += 1
        if draw.random() < 0.1:
            connection.rollback()
        else:
            connection.commit()

    def _statement(self, table: str) -> str:
        draw = self._draw
        one, other, text = (
            draw.randrange(ROWS),
            draw.randrange(ROWS),
            "long " * draw.choice((1, 1, 1, self._database.most_words)),
        )
        what = draw.random()
        if what < 0.4:
            return f"insert into {table} (id, v, n) values ({one}, '{text}', {other}) {self._database.upsert}"
        if what < 0.7:
            return f"update {table} set n = {other} where id = {one}"
        if what < 0.8:
            return f"update {table} set id = -{other + ROWS} where id = {one} and n <> {other}"
        if what < 0.99:
            return f"delete from {table} where id = {one}"
        return f"truncate {table}"


class Topics:
    """The tables that a consumer makes of topics, a message after another as they come."""

    def __init__(self, servers: str, *, once: bool) -> None:
        """once: whether a position that comes twice is an error."""
        settings = {"group.id": "campaign", "isolation.level": "read_committed", "enable.auto.commit": False}
        settings |= {"reconnect.backoff.max.ms": 200, "fetch.wait.max.ms": 50, "log_level": 0}
        self._consumer, self._once = Consumer({"bootstrap.servers": servers, **settings}), once
        self._taken: set[tuple[str, int]] = set()
        self.made: dict[str, Made] = {}

    def read(self, tables: list[str]) -> None:
        """Read what has come. Raises AssertionError for what came twice."""
        with contextlib.suppress(KafkaException):  # the broker is away
            there = self._consumer.list_topics(timeout=2).topics
            found = {(one, part) for one in tables if one in there for part in there[one].partitions} - self._taken
            if found:
                self._consumer.incremental_assign([TopicPartition(*one, OFFSET_BEGINNING) for one in found])
                self._taken |= found
            while self._taken and (messages := self._consumer.consume(10_000, 0.2)):
                for message in messages:
                    if not message.error():
                        made = self.made.setdefault(message.topic(), Made())
                        is_new = made.take(json.loads(message.value()))
                        assert is_new or not self._once, f"{message.topic()}: twice: {message.value()!r}"

    def close(self) -> None:
        self._consumer.close()


class Made:
    """A table made of its rows: those of a key come in the order of their positions, and a missing value stays."""

    def __init__(self) -> None:
        self._positions: set[str] = set()
        self._rows: dict[int, tuple[str, dict | None]] = {}
        self._truncated = ""

    def take(self, row: dict) -> bool:
        """Return whether its position is new."""
        op, seq = row.pop("op"), row.pop("seq")
        is_new = seq not in self._positions
        self._positions.add(seq)
        if op == 5:
            self._truncated = max(self._truncated, seq)
        elif op != 4:  # the row before an update that keeps its key, which MySQL and MariaDB send, changes nothing
            assert op in (0, 1, 2, 3), op
            before = self._rows.get(row["id"], ("", None))[1] if op == 2 else None
            self._rows[row["id"]] = (seq, None if op in (0, 3) else {**(before or {}), **row})
        return is_new

    @property
    def rows(self) -> dict[int, dict]:
        return {key: row for key, (seq, row) in self._rows.items() if row is not None and seq > self._truncated}


class Campaign:
    """A database, a broker, and the process that captures."""

    def __init__(self, directory: Path, database: Database, broker: brokers.KraftBroker, seed: int, delivery: str):
        self.database, self.broker = database, broker
        self.draw, self.seed = random.Random(seed), seed
        self.tables, self.counted = ["t0", "t1"], Counter[str]()
        self.topics = Topics(broker.servers, once=delivery == "exactly_once")
        self.proxy, self.disk, self.faults = Proxy(), directory / "disk", list(FAULTS)
        for table in self.tables:
            self._create(table)
        database.sql(f"insert into t0 {database.numbers('first', 0, 150)}")
        self.proxy.target = database.place
        self.channel = directory / "channel.yaml"
        self.channel.write_text(
            f"""
channel: campaign
state: {self.disk}/state
delivery: {delivery}
restart: {{timeout_seconds: -1, first_seconds: 0.5, most_seconds: 2}}
locations:
  src: {{class: {database.class_}, address: "{database.address(self.proxy.place)}", spool_bytes: {SPOOL_BYTES}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{{hvr_tbl_name}}", Create_Topics: {{Partitions: 3, Replication_Factor: 1}}}}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, Length: 45, TimeKey: true, IntegrateExpression: "{{hvr_integ_seq}}"}}
"""
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The process, and what is between it and the database."""
        with contextlib.ExitStack() as held:
            held.callback(self.topics.close)
            held.enter_context(self.proxy)
            try:
                held.enter_context(small_disk(self.disk, DISK_MB))
            except pytest.skip.Exception as skipped:
                print(f"the disk is never full: {skipped}")
                self.faults.remove("disk")
            self.daemon = Daemon(self.channel)
            held.callback(lambda: self.daemon.kill(everything=True))
            self.daemon.wait_for("capture begins")
            yield

    def _create(self, table: str) -> None:
        self.database.sql(f"create table {table}(id int primary key, v {self.database.text}, n int)")

    def round(self, number: int) -> None:
        """Raises AssertionError where the topics are not the tables."""
        began = time.monotonic()
        load = Load(self.database, self.seed * 1000 + number, list(self.tables))
        load.start()
        faults = [self.draw.choice(self.faults) for _ in range(self.draw.choice((1, 2, 2, 3)))]
        for fault in faults:
            time.sleep(self.draw.uniform(0.3, 2.5))
            self._fault(fault, load)
            self.counted[fault] += 1
        time.sleep(self.draw.uniform(0.3, 1.5))
        load.ending.set()
        load.join()
        for table in self.tables:
            self.database.sql(f"insert into {table} (id, v, n) values ({_mark(number)}, 'mark', 0)")
        until(
            lambda: self._arrived(number),
            lambda: f"{faults}: not all came: " + "\n".join(self.daemon.lines[-12:]),
            PATIENCE_S,
        )
        wrong: list[str] = []
        until(lambda: not self._differences(wrong), lambda: f"{faults}: {wrong}", _SETTLED_S)
        self.counted["statements"] += load.statements
        print(
            f"round {number}: {', '.join(faults)}: {load.statements} statements, equal, {time.monotonic() - began:.0f} s",
            flush=True,
        )

    def _fault(self, fault: str, load: Load) -> None:
        match fault:
            case "kill" | "kill all":
                self.daemon.kill(everything=fault == "kill all")
                time.sleep(self.draw.uniform(0, 1))
                self.daemon = Daemon(self.channel)
            case "database":
                self.database.server.crash()
                self.database.server.start()
            case "broker":
                self.broker.stop()
                self.broker.start()
            case "freeze":
                os.kill(self.daemon.pid, signal.SIGSTOP)
                time.sleep(self.draw.uniform(1, 8))
                os.kill(self.daemon.pid, signal.SIGCONT)
            case "cut":
                self.database.cut()
            case "proxy cut":
                self.proxy.cut()
            case "proxy hold":
                self.proxy.hold()
                time.sleep(self.draw.uniform(1, 8))
                self.proxy.flow()
            case "disk":
                self._fill(self.draw.uniform(0.5, 4))
            case "column":
                table = self.draw.choice(self.tables)
                column = f"c{self.counted['column']}"
                self.database.sql(f"alter table {table} add column {column} int default 7")
            case "table" if len(self.tables) < 8:
                table = f"t{len(self.tables)}"
                self._create(table)
                self.database.sql(f"insert into {table} {self.database.numbers(table, 0, 50)}")
                self.tables.append(table)
                load.tables.append(table)

    def _fill(self, seconds: float) -> None:
        """Have no room in the file system of the state, for a while."""
        filler = self.disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"0" * (1 << 20))
        time.sleep(seconds)
        filler.unlink()

    def _arrived(self, number: int) -> bool:
        if not self.daemon.running:
            self.daemon = Daemon(self.channel)
        self.topics.read(self.tables)
        made = self.topics.made
        return all(table in made and _mark(number) in made[table].rows for table in self.tables)

    def _differences(self, wrong: list[str]) -> list[str]:
        """What is not as in the tables; partitions of the last cycle may be committed one after another."""
        wrong.clear()
        self.topics.read(self.tables)
        for table in self.tables:
            made = self.topics.made[table].rows
            wanted = {row["id"]: row for row in self.database.rows(table)}
            keys = [key for key in made.keys() | wanted.keys() if not _same(made.get(key), wanted.get(key))]
            wrong += [f"{table}: {key}: {made.get(key)}, and in the table {wanted.get(key)}" for key in keys[:2]]
        return wrong


def _mark(number: int) -> int:
    """The key of the row that is written at the end of a round."""
    return -1_000_000 - number


def _same(made: dict | None, wanted: dict | None) -> bool:
    """Whether a row is the same; a column that came later with a default is not in rows that were sent before."""
    if made is None or wanted is None:
        return made is wanted
    return all(wanted[name] == value for name, value in made.items()) and all(
        name in made or wanted[name] == 7 for name in wanted
    )


def run(
    directory: Path, rounds: int, seed: int, delivery: str, first: int = 0, product: str = "postgres"
) -> Counter[str]:
    """Have rounds. Returns what was counted; raises AssertionError where one ends wrongly."""
    kafka = brokers.libraries()
    assert kafka is not None
    (directory / "kafka").mkdir()
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(brokers.KraftBroker(kafka, directory / "kafka"))
        database: Database = (
            AtPostgres(stack.enter_context(postgres.cluster(POSTGRES)))
            if product == "postgres"
            else AtBinlog(stack.enter_context({"mariadb": mariadb, "mysql": mysql}[product].cluster(BINLOG)))
        )
        campaign = Campaign(directory, database, broker, seed, delivery)
        with campaign.running():
            for number in range(first, first + rounds):
                campaign.round(number)
    return campaign.counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", default="exactly_once")
    parser.add_argument("--product", choices=("postgres", "mysql", "mariadb"), default="postgres")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="capture-") as name:
        print(dict(run(Path(name), options.rounds, options.seed, options.delivery, product=options.product)))


if __name__ == "__main__":
    main()
