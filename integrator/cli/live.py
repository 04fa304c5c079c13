"""The quickstart with a database: a PostgreSQL of its own, which a script changes, and what arrives in Kafka."""

from __future__ import annotations

import contextlib
import json
import logging
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from rich.console import Console

from integrator import plan as planning
from integrator.cli import command_file, direct, embedded_postgres, output
from integrator.cli.connect_values import readable
from integrator.cli.embedded_postgres import NoDatabaseError
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.errors import EnvironmentFault, command
from integrator.names.numbers import counted
from integrator.plan import Plan
from integrator.run import daemon
from integrator.run.seen import progress
from integrator.sources.postgres.server import Server, Session

DATABASE = "shop"
_CUSTOMERS, _ORDERS, _PARTITIONS = 200, 1000, 4
_SHOP = """
create table customers(id int primary key, name text not null, city text not null, version int not null default 1);
create table orders(id int primary key, customer int not null references customers, amount numeric(10,2) not null,
  paid boolean not null default false, placed timestamptz not null default now(), version int not null default 1);
insert into customers select n, 'customer ' || n, 'Ghent' from generate_series(1, 200) n;
insert into orders select n, 1 + n % 200, n * 1.25 from generate_series(1, 1000) n;
"""
_CITIES = ("Ghent", "Porto", "Turku", "Zürich", "Gdańsk")
_LIVE_S, _EACH_S, _SHOWN, _PATIENCE_S = 8.0, 0.05, 3, 300.0
"""For how long changes are shown, the pause between two, how many a second, and how long any of them is waited for."""
_LAST = 2_000_000_000
"""The id of the order by which it is known that all before it has arrived."""


def run(timezone: str) -> None:
    """Have a database and a Kafka, capture one into the other, show what arrives, and compare.

    Raises NoDatabaseError; nothing else has happened then. Raises IntegratorError.
    """
    console = output.console()
    with contextlib.ExitStack() as stack:
        with output.working("Starting a PostgreSQL of this demonstration"):
            server = _server(stack)
            with Server(server.address("postgres"), "quickstart").session() as session:
                session.run(f"create database {DATABASE}")
                [(version,)] = session.rows("show server_version")
            shop = stack.enter_context(Server(server.address(DATABASE), "quickstart").session())
            shop.run(_SHOP)
        kafka = stack.enter_context(EmbeddedCluster())
        console.print(
            f"PostgreSQL {version} listens on {server.address(DATABASE)}, and a Kafka on {kafka.brokers};\n"
            "both end with this command. Now, as you would do it with yours:\n"
        )
        console.print(f"  {command()} run --from {server.address(DATABASE)} --to {kafka.brokers}\n")
        state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quickstart-")))
        plan = _plan(server.address(DATABASE), kafka.brokers, state, timezone)
        kafka.create(plan.topics, _PARTITIONS)
        for line in direct.opening_lines(plan):
            console.print(line)
        progress.configure(plan.secrets, level=logging.WARNING)
        _capture(plan, shop, kafka.brokers, console)
    console.print("\nNext, with your database and your Kafka (docs/sources/postgres.md has what they need):\n")
    console.print(f"  {command()} run --from postgresql://USER@HOST/DATABASE --to HOST:9092")


def _server(stack: contextlib.ExitStack) -> embedded_postgres.Cluster:
    try:
        return stack.enter_context(embedded_postgres.cluster(stack.enter_context(embedded_postgres.programs())))
    except (EnvironmentFault, OSError) as fault:
        raise NoDatabaseError(fault) from fault


def _plan(address: str, brokers: str, state: Path, timezone: str) -> Plan:
    made, file = direct.channel_of(direct.Asked(address, brokers)), state / f"{DATABASE}.yaml"
    command_file.written(made, file)
    return planning.build(str(file), timezone)


def _capture(plan: Plan, shop: Session, brokers: str, console: Console) -> None:
    """Run the channel in this thread, as the daemon does, and watch it in another one."""
    stopping, watched = threading.Event(), list[BaseException]()

    def watch() -> None:
        try:
            _watch(_Seen(plan, brokers, stopping), shop, console)
        except _Ended:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised below
            watched.append(error)
        finally:
            stopping.set()

    thread = threading.Thread(target=watch, daemon=True)
    console.print("\nStarting Spark (about 15 s) …")
    thread.start()
    try:
        daemon.integrate([plan], once=False, stopping=stopping)
    finally:
        stopping.set()
        thread.join()
    if watched:
        raise watched[0]


class _Ended(Exception):
    """The channel ends: by SIGINT, or because it failed."""


def _watch(seen: _Seen, shop: Session, console: Console) -> None:
    """Show the first rows, then changes as they arrive, and compare the tables with what a consumer has of them."""
    began = time.monotonic()
    try:
        seen.until(lambda: seen.rows() == _CUSTOMERS + _ORDERS)
        console.print(
            f"The rows that were there are in Kafka, {time.monotonic() - began:.0f} s after the start: "
            f"{counted(seen.messages(), 'message')}.\nA script changes the tables now. Some of what arrives:\n"
        )
        ending = threading.Event()
        script = threading.Thread(target=_change, args=(shop, ending), daemon=True)
        script.start()
        end, shown = time.monotonic() + _LIVE_S, time.monotonic()
        try:
            while time.monotonic() < end:
                for topic, operation, row in seen.take():
                    if time.monotonic() > shown:
                        shown += 1 / _SHOWN
                        console.print(f"  {topic}  {operation}: {json.dumps(row, ensure_ascii=False)}")
        finally:
            ending.set()
            script.join()
        shop.run(f"insert into orders values ({_LAST}, 1, 0)")  # noqa: S608
        seen.until(lambda: _LAST in seen.tables["orders"])
        _compare(seen, shop, console)
    finally:
        seen.close()


def _change(shop: Session, ending: threading.Event) -> None:
    """Change rows until the end: orders come, are paid, and go; customers move."""
    draw, number = random.Random(7), _ORDERS  # noqa: S311 - rows of a demonstration
    while not ending.wait(_EACH_S):
        number += 1
        customer, order = draw.randint(1, _CUSTOMERS), draw.randint(1, number)
        shop.run(
            f"insert into orders values ({number}, {customer}, {draw.randint(100, 99999)} / 100.0); "  # noqa: S608
            f"update orders set paid = true, version = version + 1 where id = {order}; "
            f"delete from orders where id = {order - 1} and paid; update customers set "
            f"city = '{draw.choice(_CITIES)}', version = version + 1 where id = {customer} and {number % 5} = 0"
        )


def _compare(seen: _Seen, shop: Session, console: Console) -> None:
    """Print what arrived, and whether tables that a consumer makes of it are those of the database."""
    grid = output.grid("topic", "messages", "rows by operation", title="What arrived")
    equal = []
    for table, counts in seen.counts.items():
        there = dict(shop.rows(f"select id, version from {table}"))  # noqa: S608
        equal.append(there == seen.tables[table])
        operations = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        grid.add_row(seen.topics[table], str(counts.total()), operations)
    console.print()
    console.print(grid)
    if not all(equal):
        raise EnvironmentFault("the tables that a consumer makes of the topics are not those of the database")
    rows = " and ".join(f"{counted(len(there), 'row')} of {table}" for table, there in seen.tables.items())
    console.print(f"Tables that a consumer makes of the topics are equal to the database's: {rows}.")


class _Seen:
    """What a plain consumer has seen. tables: by name, of each row's key the version. counts: of each table."""

    def __init__(self, plan: Plan, brokers: str, ending: threading.Event) -> None:
        self._ending = ending
        self.topics = {table.in_source.name: table.topic for table in plan.recipe.tables}
        self._names = {topic: name for name, topic in self.topics.items()}
        self.tables: dict[str, dict[int, int]] = {name: {} for name in self.topics}
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in self.topics}
        self._consumer = Consumer({"bootstrap.servers": brokers, "group.id": "quickstart", "fetch.wait.max.ms": 10})
        self._consumer.assign(
            [TopicPartition(topic, number, 0) for topic in plan.topics for number in range(_PARTITIONS)]
        )

    def rows(self) -> int:
        """Return how many rows there are."""
        return sum(map(len, self.tables.values()))

    def messages(self) -> int:
        """Return how many messages there were."""
        return sum(counts.total() for counts in self.counts.values())

    def take(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield messages that are there: the topic, the operation, and the row. Raises _Ended."""
        if self._ending.is_set():
            raise _Ended
        for message in self._consumer.consume(1000, timeout=0.1):
            topic, value = message.topic(), message.value()
            if message.error() is not None or topic is None or value is None:
                continue
            document = json.loads(value)
            row = readable(document["schema"], document["payload"])
            operation, name = row.pop("op_val"), self._names[topic]
            row.pop("integ_seq")
            if operation == 0:
                self.tables[name].pop(row["id"], None)
            else:
                self.tables[name][row["id"]] = row["version"]
            self.counts[name][output.OPERATIONS[operation]] += 1
            yield topic, output.OPERATIONS[operation], row

    def until(self, is_so: Any) -> None:
        """Take messages until something is so. Raises EnvironmentFault where it is not for long."""
        end = time.monotonic() + _PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                raise EnvironmentFault(f"not all messages came within {_PATIENCE_S:.0f} s")
            for _ in self.take():
                pass

    def close(self) -> None:
        """End the consumer."""
        self._consumer.close()
