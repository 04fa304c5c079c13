"""The page "In production", followed block by block in a bare directory, with real servers.

Addresses and the password are those of the tests. In the place of systemd the test runs the unit's command, and it changes
tables while the channel runs and while it does not.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.conftest import ROOT
from tests.parts import pages, postgres, topic_rows
from tests.parts.brokers import KraftCluster, free_port, libraries
from tests.parts.registries import Registry
from tests.parts.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]

PAGE = pages.DOCS / "howto" / "production.md"
UNIT = (ROOT / "ops" / "integrator.service").read_text(encoding="utf-8")
DONE = "the block is done"
PASSWORD = "right"
TABLES = """
create table customers(id int primary key, name text not null, city text);
create table orders(id bigint primary key, customer int not null, amount numeric(10,2));
insert into customers values (1, 'Zürich AG', 'Zürich'), (2, 'O''Neil', null);
insert into orders select g, 1 + g % 2, g / 4.0 from generate_series(1, 100) g;
revoke all on schema public from public; revoke connect on database shop from public;
"""
CHANGES = """
begin; insert into customers values ({n}0, 'new', 'Oslo'); update orders set amount = {n} where id <= 10; commit;
delete from orders where id = 10 + {n}; update customers set id = {n}1 where id = {n}0;
"""
ROWS_OF_CHANGES = 1 + 10 + 1 + 2
"""What a consumer gets of them: an update of a key is a row of the old key and one of the new key."""
BY_HAND = re.compile(r"make install$|kubectl create |helm install ")
"""Lines for machines that are not here, beside those about the unit: tests/unit/test_chart.py looks at what they use."""


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) <= 900


class Shell:
    """A shell that is given one block after another, in a directory where there is nothing."""

    def __init__(self, directory: Path) -> None:
        given = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "KAFKA_", "HVR_"))}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        given |= {"PATH": path, "PYTHONPATH": str(ROOT), "SPARK_MASTER": "local[2]"}
        self._process = subprocess.Popen(
            ["bash", "-eu", "-o", "pipefail"],
            cwd=directory,
            env=given,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, block: str) -> str:
        """Return what a block prints. The first command that fails fails the test."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{{\n{block}\n}} < /dev/null\necho {DONE}\n")
        self._process.stdin.flush()
        said = ""
        for line in self._process.stdout:
            if line == f"{DONE}\n":
                return said
            said += line
        pytest.fail(f"{block}{said}")

    def directory(self) -> Path:
        """Return where it is."""
        return Path(self.run("pwd").strip())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


class Unit:
    """What systemd does with ops/integrator.service and the channel `shop`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._log = Path()

    def do(self, what: str, directory: Path) -> None:
        """Start it in a directory, or end it as systemd does; it must end well."""
        if what == "stop":
            assert self._process is not None
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(PATIENCE_S) == 0, self.log()
            self._process = None
            return
        assert self._process is None
        [command] = re.findall(r"^ExecStart=/opt/integrator/bin/(.*)$", UNIT, re.MULTILINE)
        assert re.search(r"^WorkingDirectory=/var/lib/integrator$", UNIT, re.MULTILINE)
        program, *words = shlex.split(command.replace("%i", "shop"))
        given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SPARK_MASTER": "local[2]"}
        self._log = directory / "unit.log"
        with self._log.open("ab") as log:
            executable = Path(sys.executable).with_name(program)
            self._process = subprocess.Popen([executable, *words], cwd=directory, env=given, stdout=log, stderr=log)

    def log(self) -> str:
        return self._log.read_text()[-4000:] if self._log.is_file() else ""

    def kill(self) -> None:
        """End it by signal 9, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Tables:
    """The tables, the changes that are made of them, and the rows that a consumer of their topics makes of these."""

    def __init__(self, server: postgres.Postgres, tap: topic_rows.Tap, registry: Registry) -> None:
        self._server, self._tap, self._changed = server, tap, 0
        client = SchemaRegistryClient({"url": registry.url})
        self._decode = topic_rows.avro(client)
        self.expected = 0

    def change(self) -> None:
        self._changed += 1
        self._server.psql(CHANGES.format(n=self._changed), "shop")
        self.expected += ROWS_OF_CHANGES

    def begin_anew(self) -> None:
        """All rows are sent again."""
        self.expected += sum(int(self._server.psql(f"select count(*) from {one}", "shop")) for one in KEPT)

    def check(self, told: str = "") -> None:
        """Wait until consumers have the tables' rows, of as many messages as there were changes: none came twice."""

        def came() -> bool:
            return sum(len(self._tap.events(topic, self._decode)) for topic in TOPICS.values()) >= self.expected

        until(came, lambda: f"{self.expected} messages {told}")
        for table, columns in KEPT.items():
            events = self._tap.events(TOPICS[table], self._decode)
            assert len({(one["integ_seq"], one["op_val"]) for one in events}) == len(events)
            made = {}
            for event in sorted(events, key=lambda one: one["integ_seq"]):
                if event["op_val"] in {0, 3}:  # deleted, or its key was updated
                    made.pop(event["id"], None)
                else:
                    made[event["id"]] = {name: event[name] for name in columns}
            listed = ", ".join(columns)
            rows = self._server.psql(f"select {listed} from {table} order by id", "shop").splitlines()
            assert [
                "|".join("" if one is None else str(one) for one in made[id_].values()) for id_ in sorted(made)
            ] == rows
        assert sum(len(self._tap.events(topic, self._decode)) for topic in TOPICS.values()) == self.expected


KEPT = {"customers": ("id", "name", "city"), "orders": ("id", "customer", "amount")}
TOPICS = {table: f"shop.public.{table}" for table in KEPT}


@pytest.fixture
def kafka() -> Iterator[str]:
    """Three brokers, for topics have three replicas."""
    class_path = libraries()
    if class_path is None:
        pytest.skip("three brokers need Apache Kafka from Maven Central")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-") as directory,
        KraftCluster(class_path, Path(directory)) as cluster,
    ):
        yield cluster.servers


@pytest.fixture
def server() -> Iterator[postgres.Postgres]:
    """A database that asks the user for the password, and gives nobody any right."""
    with postgres.cluster() as started:
        started.psql("create database shop")
        started.psql(TABLES, "shop")
        rules = Path(started.psql("show hba_file").strip())
        rules.write_text(f"host all integrator all scram-sha-256\n{rules.read_text()}")
        started.psql("select pg_reload_conf()")
        yield started


def test_the_page_is_followed(server: postgres.Postgres, kafka: str, registry_server: Registry, tmp_path: Path) -> None:
    here = {
        "db.example.com": f"{server.host}:{server.port}",
        "kafka-1.example.com:9092,kafka-2.example.com:9092": kafka,
        "http://registry.example.com:8081": registry_server.url,
        "127.0.0.1:8472": f"127.0.0.1:{free_port()}",
        "change-me": PASSWORD,
    }
    begin = tmp_path / "integrator"
    begin.mkdir()
    said = ""
    with contextlib.ExitStack() as stack:
        shell, unit = Shell(begin), Unit()
        stack.callback(shell.close)
        stack.callback(unit.kill)
        tables = Tables(server, stack.enter_context(topic_rows.Tap(kafka, TOPICS.values())), registry_server)
        machine = Machine(shell, unit, tables)
        for block in [one for one in pages.blocks() if one.page == PAGE]:
            text = block.text
            for shown, there in here.items():
                text = text.replace(shown, there)
            if block.language == "sql":
                server.psql(text, "shop")
            elif block.language == "sh":
                said = shell.run(text)
                machine.anew |= "forget" in text
                if "--write-channel" in text:
                    channel = begin / "shop.yaml"
                    channel.write_text(channel.read_text().replace("127.0.0.1:8472", here["127.0.0.1:8472"]))
            elif block.language == "text":
                assert [line for line in text.splitlines() if line not in said.splitlines()] == [], said
            elif block.language != "yaml":
                assert block.language == "console", f"{block}: not of a language that this test knows"
                machine.administer(text.splitlines())
        tables.check()
        assert {one.name for one in shell.directory().parent.iterdir()} == {"integrator", "elsewhere"}


class Machine:
    """What its administrator does, while others change the tables. anew: there is no state."""

    def __init__(self, shell: Shell, unit: Unit, tables: Tables) -> None:
        self._shell, self._unit, self._tables, self.anew = shell, unit, tables, True

    def administer(self, lines: list[str]) -> None:
        """Do what lines of the page do to the unit, and check that consumers have the tables' rows after that."""
        for line in lines:
            program, what, *words = line.split()
            if program != "systemctl":
                assert BY_HAND.match(line), line
                continue
            assert words[-1] == "integrator@shop"
            if what == "stop":
                self._tables.change()
                self._tables.check(self._unit.log())
                self._unit.do(what, self._shell.directory())
                continue
            self._start()
            if what == "enable":  # the process is lost, and systemd starts it again
                self._tables.change()
                self._unit.kill()
                self._start()

    def _start(self) -> None:
        if self.anew:
            self._tables.begin_anew()
            self.anew = False
        else:
            self._tables.change()  # while it does not run
        self._unit.do("start", self._shell.directory())
        self._tables.check(self._unit.log())
