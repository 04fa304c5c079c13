"""A database that is captured under load, while everything around it is killed, frozen, cut and changed.

    python -m tests.faults.capture_campaign [--rounds 200 | --minutes 60] [--seed 1] [--delivery exactly_once]
        [--product mysql] [--defines] [--compare]

A round: inserts, updates, updates of keys, deletes, truncates, rollbacks and, now and then, a new column or a new
table; meanwhile our process (with or without its JVM and workers), the database or the broker is killed by signal 9,
our process is frozen, the database ends our connection, a proxy cuts it anywhere or holds its bytes for longer than the
database waits, or the disk of our state is full. At its end the tables that a consumer makes of the topics are those of
the database; with exactly_once no change is there twice.

With --defines tables are defined otherwise, too, as often as all that: columns come with defaults, go, and get other names
and types; tables are dropped and made again, change their names, and swap them; partitions are truncated, detached and
attached with rows; rows have values that messages have not. Their topics then have what they have, for rows are read
again.

With --compare the command `compare` says the same at the end of each round; then a difference is planted, which it
finds, names by its key, and repairs.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
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

from tests.faults.compared_rounds import PLANTED, Comparing
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
_SESSIONS = 6
"""How many change tables at once where they are defined otherwise, too."""
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
ANYWHERE = (
    "alter table {t} add column {c} int default 7",
    "alter table {t} add column {c} varchar(20)",
    "alter table {t} rename column {last} to {c}",
    "alter table {t} drop column {last}",
    "drop table {t}; {create}; insert into {t} (id, v, n) values (1, 'made again', 1)",
    "truncate table {t}",
)
AT_POSTGRES = (
    "alter table {t} alter n type text using n::text",
    "alter table {t} alter n type bigint using n::bigint",
    "alter table {t} alter n type int using (n::int + 1)",
    "alter table {t} alter v type text using v || '.'",
    "alter table {t} add column {c} float8; update {t} set {c} = 'NaN' where id % 2 = 0; update {t} set {c} = 1.5 where id % 3 = 0",
    "alter table {t} add column {c} date default 'infinity'",
    "alter table {t} replica identity full",
    "alter table {t} add column {c} int not null default 7; alter table {t} drop constraint {t}_pkey, "
    "add constraint {t}_pkey primary key (id, {c}); create unique index on {t} (id)",
    "begin; alter table {t} rename to away; delete from away where id % 5 = 0; alter table away rename to {t}; commit",
    "begin; alter table {t} rename to away; alter table {u} rename to {t}; alter table away rename to {u}; commit",
    "truncate p0",
    "begin; alter table p detach partition p1; delete from p1 where id % 2 = 0; "
    "alter table p attach partition p1 for values from (100) to (maxvalue); commit",
    "begin; alter table p detach partition p0; alter table p0 rename to old{c}; create table p0 (like old{c} including all); "
    "insert into p0 (id, v, n) values (7, 'was there', 1); alter table p attach partition p0 for values from (minvalue) to (100); commit",
    "vacuum full {t}",
)
AT_BINLOG = (
    "alter table {t} modify n bigint",
    "alter table {t} modify n varchar(30)",
    "alter table {t} modify n int",
    "alter table {t} change {last} {c} varchar(40)",
    "alter table {t} add column {c} date; update {t} set {c} = '2020-01-01' where id % 2 = 0",
    "alter table {t} add column {c} time default '-800:00:00'",
    "alter table {t} add column {c} int not null default 7, drop primary key, add primary key (id, {c})",
    "rename table {t} to away; delete from away where id % 5 = 0; rename table away to {t}",
    "rename table {t} to away, {u} to {t}, away to {u}",
    "alter table p truncate partition p0",
    "create or replace table {t} (id int primary key, v longtext, n int)",
    "alter table {t} engine = innodb",
)
"""t: a table. u: another one. c: a new name. last: the last column that came. create: makes t."""
PARTITIONED = {
    "postgres": "create table p (id int primary key, v text, n int) partition by range (id); create table p0 partition of p for "
    "values from (minvalue) to (100); create table p1 partition of p for values from (100) to (maxvalue)",
    "binlog": "create table p (id int primary key, v longtext, n int) partition by range (id) (partition p0 values less than (100), "
    "partition p1 values less than maxvalue)",
}


BINLOG = (
    "binlog_row_metadata = FULL\nsync_binlog = 1\ninnodb_flush_log_at_trx_commit = 1\nmax_binlog_size = 1M\n"
    "innodb_lock_wait_timeout = 2\n"
)
"""Files of the log are small, so that it continues in others in each round. A session that waits for a row holds up a DDL
statement, and that the session which has the row."""
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

    def unlogged(self, text: str) -> None:
        """Change rows while publications leave updates out."""
        for name in self.sql("select pubname from pg_publication").split():
            self.sql(f"alter publication {name} set (publish = 'insert, delete, truncate')")
            self.sql(text)
            self.sql(f"alter publication {name} set (publish = 'insert, update, delete, truncate')")

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

    def unlogged(self, text: str) -> None:
        self.sql(f"set sql_log_bin = 0; {text}")

    def cut(self) -> None:
        for one in self.sql("select id from information_schema.processlist where command = 'Binlog Dump'").split():
            try:
                self.sql(f"kill {one}")
            except RuntimeError as error:
                if "Unknown thread id" not in str(error):  # it has ended since
                    raise

    def rows(self, table: str) -> list[dict]:
        with contextlib.closing(self.connect()) as connection, connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(f"select * from {table}")
            return list(cursor.fetchall())


Database = AtPostgres | AtBinlog


class Load(threading.Thread):
    """Changes tables until it is ended; the database may be away meanwhile."""

    def __init__(self, database: Database, seed: int, tables: list[str], pause_s: float = _PAUSE_S) -> None:
        super().__init__(daemon=True)
        self._database, self._draw, self.tables, self._pause_s = database, random.Random(seed), tables, pause_s
        self.ending = threading.Event()
        self.statements = 0

    def run(self) -> None:
        while not self.ending.is_set():
            with contextlib.suppress(*_AWAY), contextlib.closing(self._database.connect()) as connection:
                while not self.ending.is_set():
                    self._transaction(connection)
                    self.ending.wait(self._pause_s)
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
            return f"insert into {table} (id, v, n) values ({one}, '{text}', '{other}') {self._database.upsert}"
        if what < 0.7:
            return f"update {table} set n = '{other}' where id = {one}"
        if what < 0.8:
            return f"update {table} set id = -{other + ROWS} where id = {one} and n <> '{other}'"
        if what < 0.99:
            return f"delete from {table} where id = {one}"
        return f"truncate {table}"


class Topics:
    """The tables that a consumer makes of topics, a message after another as they arrive."""

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
                        is_planted = PLANTED in dict(message.headers() or ())
                        assert is_new or is_planted or not self._once, f"{message.topic()}: twice: {message.value()!r}"

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
            at, before = self._rows.get(row["id"], ("", None))
            if at < seq:  # else the key of messages became another one, and with it the partition
                self._rows[row["id"]] = (seq, None if op in (0, 3) else {**((op == 2 and before) or {}), **row})
        return is_new

    @property
    def rows(self) -> dict[int, dict]:
        return {key: row for key, (seq, row) in self._rows.items() if row is not None and seq > self._truncated}


class Campaign:
    """A database, a broker, and the process that captures."""

    def __init__(
        self,
        directory: Path,
        database: Database,
        broker: brokers.KraftBroker,
        seed: int,
        delivery: str,
        *,
        defines: bool,
        compares: bool = False,
    ):
        self.database, self.broker = database, broker
        self.draw, self.seed = random.Random(seed), seed
        self.tables, self.counted = ["t0", "t1"], Counter[str]()
        self.topics = Topics(broker.servers, once=delivery == "exactly_once")
        self.proxy, self.disk, self.faults = Proxy(), directory / "disk", list(FAULTS)
        self.columns: dict[str, str] = {}
        self.ended: list[str] = []  # what the last process that ended by itself said
        for table in self.tables:
            self._create(table)
        if defines:
            self.faults = [one for one in self.faults if one not in ("column", "table")] + ["definition"] * 9
            database.sql(PARTITIONED["postgres" if database.class_ == "postgres" else "binlog"])
            self.tables.append("p")
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
  src: {{class: {database.class_}, address: "{database.address(self.proxy.place)}", spool_bytes: {SPOOL_BYTES}{_READS_AGAIN if defines or compares else ""}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{{hvr_tbl_name}}", Create_Topics: {{Partitions: 3, Replication_Factor: 1}}}}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, Length: 45, TimeKey: true, IntegrateExpression: "{{hvr_integ_seq}}"}}
"""
        )

        self.comparing = Comparing(self.channel, broker.servers, self.draw, database.unlogged) if compares else None

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
                self.faults = [one for one in self.faults if one != "disk"]
            self.daemon = Daemon(self.channel)
            held.callback(lambda: self.daemon.kill(everything=True))
            self.daemon.wait_for("capture begins")
            yield

    def _create(self, table: str) -> None:
        self.database.sql(f"create table {table}(id int primary key, v {self.database.text}, n int)")

    def round(self, number: int) -> None:
        """Raises AssertionError where the topics are not the tables."""
        began = time.monotonic()
        many, tables = _SESSIONS if "definition" in self.faults else 1, list(self.tables)
        seeds = [(self.seed * 1000 + number) * many + one for one in range(many)]
        loads = [Load(self.database, seed, tables, many * _PAUSE_S) for seed in seeds]
        for load in loads:
            load.start()
        faults = [self.draw.choice(self.faults) for _ in range(self.draw.choice((1, 2, 2, 3)))]
        if "definition" in self.faults and "definition" not in faults:
            faults.append("definition")
        for fault in faults:
            time.sleep(self.draw.uniform(0.3, 2.5))
            self._fault(fault, tables)
            self.counted[fault] += 1
        time.sleep(self.draw.uniform(0.3, 1.5))
        for load in loads:
            load.ending.set()
        for load in loads:
            load.join()
        for table in self.tables:
            self.database.sql(f"insert into {table} (id, v, n) values ({_mark(number)}, 'mark', '0')")
        until(
            lambda: self._arrived(number),
            lambda: "\n".join([f"{faults}: not all came:", *self.ended, *self.daemon.lines[-12:]]),
            PATIENCE_S,
        )
        wrong: list[str] = []
        until(lambda: not self._differences(wrong), lambda: f"{faults}: {wrong}", _SETTLED_S)
        statements = sum(load.statements for load in loads)
        self.counted["statements"] += statements
        if self.comparing:
            planted = self.comparing.round(self.tables)
            self.counted[f"planted: {planted}"] += 1
            faults.append(f"planted: {planted}")
            until(lambda: not self._differences(wrong), lambda: f"{faults}: {wrong}", _SETTLED_S)
        print(
            f"round {number}: {', '.join(faults)}: {statements} statements, equal, {time.monotonic() - began:.0f} s",
            flush=True,
        )

    def _fault(self, fault: str, tables: list[str]) -> None:
        """tables: those that sessions change."""
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
            case "definition":
                self._define()
            case "table" if len(self.tables) < 8:
                table = f"t{len(self.tables)}"
                self._create(table)
                self.database.sql(f"insert into {table} {self.database.numbers(table, 0, 50)}")
                self.tables.append(table)
                tables.append(table)

    def _define(self) -> None:
        """Define a table otherwise; a statement that the database refuses is not counted."""
        own = AT_POSTGRES if self.database.class_ == "postgres" else AT_BINLOG
        statement = self.draw.choice((*ANYWHERE, *own))
        table, other = self.draw.sample([one for one in self.tables if one != "p"], 2)
        column = f"c{sum(self.counted.values())}"
        if "{last}" in statement and table not in self.columns:
            return
        sql = statement.format(
            t=table,
            u=other,
            c=column,
            last=self.columns.get(table),
            create=f"create table {table}(id int primary key, v {self.database.text}, n int)",
        )
        try:
            self.database.sql(sql)
        except (RuntimeError, *_AWAY) as refused:
            self.counted[f"refused {type(refused).__name__}"] += 1
            return
        self.counted[statement[:60]] += 1
        if "{c} int not null" in statement:
            return  # such a column stays as it is: one without a default would refuse the rows of sessions
        if "{c}" in statement and "{t}" in statement:
            self.columns[table] = column
        elif "drop" in statement or "replace" in statement or "{u}" in statement:
            self.columns.pop(table, None)
            self.columns.pop(other, None)

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
            self.ended = self.daemon.lines[-12:]
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


_READS_AGAIN = ', on_rewrite: read_again, values_without_form: "null", tables: [t0, t1, t2, t3, t4, t5, t6, t7, p]'


def _mark(number: int) -> int:
    """The key of the row that is written at the end of a round."""
    return -1_000_000 - number


def _same(made: dict | None, wanted: dict | None) -> bool:
    """Whether a row is the same; a column that came later with a default is not in rows that were sent before."""
    if made is None or wanted is None:
        return made is wanted
    there = {name: str(value) if isinstance(value, datetime.date) else value for name, value in wanted.items()}
    return all(
        there.get(name, value) == value or (value is None and _has_no_form(there[name])) for name, value in made.items()
    ) and all(name in made or there[name] in (7, None) or _has_no_form(there[name]) for name in there)


def _has_no_form(value: object) -> bool:
    """Whether messages are null where the database has a value."""
    return value in ("infinity", "NaN") or isinstance(value, datetime.timedelta)


def run(
    directory: Path,
    rounds: int,
    seed: int,
    delivery: str,
    first: int = 0,
    product: str = "postgres",
    *,
    defines: bool = False,
    compares: bool = False,
    minutes: float = 0.0,
) -> Counter[str]:
    """Have rounds, or as many as there are minutes for. Returns what was counted; raises AssertionError where one ends wrongly."""
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
        campaign = Campaign(directory, database, broker, seed, delivery, defines=defines, compares=compares)
        with campaign.running():
            number, until_ = first, time.monotonic() + 60 * minutes
            while time.monotonic() < until_ if minutes else number < first + rounds:
                campaign.round(number)
                number += 1
    return campaign.counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=0.0, help="instead of rounds")
    parser.add_argument("--defines", action="store_true", help="tables are defined otherwise, too")
    parser.add_argument("--compare", action="store_true", help="and compare says the same, also of planted differences")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", default="exactly_once")
    parser.add_argument("--product", choices=("postgres", "mysql", "mariadb"), default="postgres")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="capture-") as name:
        how = {"product": options.product, "defines": options.defines, "minutes": options.minutes}
        how["compares"] = options.compare
        print(dict(run(Path(name), options.rounds, options.seed, options.delivery, **how)))


if __name__ == "__main__":
    main()
