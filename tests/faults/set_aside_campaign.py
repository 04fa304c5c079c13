"""A captured table is set aside and resumed while processes are killed; each change is there, in order (errors.tables).

    python -m tests.faults.set_aside_campaign [--rounds 20] [--seed 1]

PostgreSQL, a broker and a registry that refuses a table's next schema. A round changes the table's type so that it is set
aside, changes both tables in shared transactions, kills the process at random moments, lets the registry take the schema,
and resumes the table in the process or by a start, with another kill. Delivery is at least once and exactly once in turn.
At the end of a round each key has all of its changes in order, in both topics; with exactly_once none is there twice.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator.errors import EnvironmentFault
from integrator.run.resume import resume_tables
from integrator.run.state import aside
from integrator.run.state.directory import State
from tests.parts import brokers, kafka_io, postgres, registries
from tests.parts.daemon import Daemon
from tests.parts.waiting import until

_KEYS, _PATIENCE_S = 5, 120.0
CHANNEL = """
channel: {name}
state: {directory}/state
locations:
  src: {{class: postgres, address: "{address}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["{brokers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}",
    Create_Topics: {{Partitions: 2, Replication_Factor: 1}},
    Kafka_Schema_Registry: "{registry}", Kafka_Schema_Registry_Format: AVRO, Missing_Values: "NULL"}}
actions: []
delivery: {delivery}
errors: {{tables: set_aside}}
"""


class Round:
    """A database, a channel, and what was changed: of each table and key the numbers of its changes."""

    def __init__(
        self, parts: tuple[postgres.Postgres, str, registries.Registry], home: Path, name: str, of: random.Random
    ) -> None:
        self._server, self._brokers, self._registry = parts
        self._name, self._random, self._number = name, of, 0
        self._made: dict[str, dict[int, list[int]]] = {one: defaultdict(list) for one in ("t", "u")}
        self._server.psql(f"create database {name}", "postgres")
        self._server.psql(
            "create table t (k int primary key, n int, v text); create table u (k int primary key, n int, v text)", name
        )
        self.exactly_once = of.random() < 0.5
        self._path = home / "channel.yaml"
        self._path.write_text(
            CHANNEL.format(
                name=name,
                directory=home,
                address=self._server.address(name),
                brokers=self._brokers,
                registry=self._registry.url,
                delivery="exactly_once" if self.exactly_once else "at_least_once",
            )
        )
        self._state = State(str(home / "state" / name))
        self.change(3)
        self._made = {
            table: defaultdict(list, {key: numbers[-1:] for key, numbers in of.items()})
            for table, of in self._made.items()
        }  # of the rows that are there at the start, the topics have the last state
        self._daemon = Daemon(self._path)

    def change(self, many: int) -> None:
        """Change both tables in transactions that have changes of both."""
        for _ in range(many):
            statements = []
            for _ in range(self._random.randrange(1, 6)):
                table, key, self._number = self._random.choice("tu"), self._random.randrange(_KEYS), self._number + 1
                self._made[table][key].append(self._number)
                statements.append(
                    f"insert into {table} values ({key}, {self._number}, '7') "
                    f"on conflict (k) do update set n = {self._number}"
                )
            self._server.psql(f"begin; {'; '.join(statements)}; commit", self._name)

    def perhaps_kill(self) -> None:
        """Wait for a random time; then kill the process, in two of three times, and start it again."""
        time.sleep(self._random.random() * 6)
        if self._random.random() < 2 / 3:
            with contextlib.suppress(Exception):
                self._daemon.kill(everything=True)
            self._daemon = Daemon(self._path)

    def set_aside_and_resume(self, number: int) -> None:
        """Have the table set aside, and sent again."""
        self._registry.client.set_compatibility(f"{self._name}.t-value", "FULL")
        kind = ("int", "bigint")[number]  # a schema that was there before would be taken
        self._server.psql(f"alter table t alter v type {kind} using v::{kind}", self._name)
        self.change(5)
        self.perhaps_kill()
        until(lambda: "t" in aside.read(self._state.path), self._told, _PATIENCE_S)
        self.change(20)
        self.perhaps_kill()
        self.change(5)
        self._registry.client.set_compatibility(f"{self._name}.t-value", "NONE")
        with contextlib.suppress(EnvironmentFault):  # a start has resumed it
            resume_tables(self._state, self._name, ["t"])
        self.change(5)
        self.perhaps_kill()
        self.change(5)
        until(lambda: not aside.read(self._state.path), self._told, _PATIENCE_S)

    def check(self) -> None:
        """Wait until the topics have the last change of each key; raise AssertionError where one is missing, or not in order."""
        until(lambda: all(self._ends(table) for table in self._made), self._told, _PATIENCE_S)
        for table, expected in self._made.items():
            for key, found in self._found(table).items():
                firsts = list(dict.fromkeys(found))
                assert firsts == expected[key], (table, key, found, expected[key])
                assert not self.exactly_once or firsts == found, (table, key, found)

    def _ends(self, table: str) -> bool:
        found = self._found(table)
        return all(found[key][-1:] == numbers[-1:] for key, numbers in self._made[table].items())

    def _found(self, table: str) -> dict[int, list[int]]:
        topic, read, found = f"{self._name}.{table}", AvroDeserializer(self._registry.client), defaultdict(list)
        if topic not in AdminClient({"bootstrap.servers": self._brokers}).list_topics(timeout=30).topics:
            return found
        for message in kafka_io.read_all(self._brokers, [topic]):
            row = read(message.value, SerializationContext(topic, MessageField.VALUE))
            found[row["k"]].append(row["n"])
        return found

    def _told(self) -> str:
        return "\n".join(self._daemon.lines[-12:])

    def end(self) -> None:
        """End the process."""
        self._daemon.kill(everything=True)


def run(directory: Path, rounds: int, seed: int) -> None:
    """Have rounds of a seed. Raises AssertionError where one ends wrongly."""
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(brokers.broker())
        registry = stack.enter_context(registries.registry())
        server = stack.enter_context(postgres.cluster())
        assert registry is not None
        for number in range(rounds):
            home, of = directory / f"round{number}", random.Random(f"{seed} {number}")
            home.mkdir()
            one = Round((server, broker.servers, registry), home, f"aside_{seed}_{number}", of)
            print(f"round {number}: exactly once {one.exactly_once}", flush=True)
            try:
                one.check()
                for turn in range(2):
                    one.set_aside_and_resume(turn)
                    one.check()
            finally:
                one.end()


def main() -> None:
    """Run it as a command."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="set-aside-") as directory:
        run(Path(directory), given.rounds, given.seed)


if __name__ == "__main__":
    main()
