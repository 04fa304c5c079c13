"""A captured database whose channel says how far all is in the topics, while processes are killed (I12).

    python -m tests.faults.resolved_campaign [--rounds 20] [--seed 1] [--product mysql] [--delivery exactly_once]

Two tables are changed in transactions; a round kills our process by signal 9, with or without its JVM and workers, ends it
as its users do, ends its connection, or lets it be. Then all messages are held against the rows of the topics and against
what was committed: no row at or below a position comes after it, each change that was committed before it is there, and
no position goes back, for consumers of what is committed and of all. At the end it says how long after commits they were
resolved.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from integrator.resolved import Resolved, is_at
from tests.faults.capture_campaign import BINLOG, POSTGRES, AtBinlog, AtPostgres
from tests.parts import brokers, kafka_io, mariadb, mysql, postgres
from tests.parts import resolved as promised
from tests.parts.daemon import Daemon
from tests.parts.waiting import until

FAULTS = ("kill", "kill all", "kill jvm", "end", "cut", "none")
NAME, TABLES = "resolved", ("a", "b")
PATIENCE_S = 900.0
CHANNEL = """
channel: {name}
state: {directory}/state
locations:
  src: {{class: {product}, address: "{address}", tables: [a, b]}}
  kaf: {{class: kafka, Kafka_Brokers: ["{brokers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}",
    Create_Topics: {{Partitions: 2, Replication_Factor: 1}}}}
delivery: {delivery}
resolved: {{topic: {name}.resolved, every: {every}, per_partition: true}}
latency: {{sub_cycles: {sub_cycles}}}
actions:
  - {{action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
"""


class Load(threading.Thread):
    """Commits transactions: `n` of table a ascends. commits: of each the position after its commit, and when it was."""

    def __init__(self, database: AtPostgres | AtBinlog, seed: int, first: int, pause_s: float) -> None:
        super().__init__(daemon=True)
        self._database, self._draw, self._pause_s, self.number = database, random.Random(seed), pause_s, first
        self.commits: dict[int, tuple[str, float]] = {}
        self.ending = threading.Event()

    def run(self) -> None:
        with contextlib.closing(self._database.connect()) as connection, connection.cursor() as cursor:
            while not self.ending.wait(self._pause_s):
                self.number += 1
                cursor.execute(f"insert into a (k, n) values ({self.number}, {self.number})")
                for _ in range(self._draw.choice((0, 1, 1, 30))):
                    key = self._draw.randrange(100)
                    cursor.execute(f"update b set n = {self.number} where k = {key}")
                connection.commit()
                at = time.time()
                self.commits[self.number] = position(self._database, cursor), at
                connection.commit()


def position(database: AtPostgres | AtBinlog, cursor: object) -> str:
    """Return a position after all that was committed."""
    if database.class_ == "postgres":
        cursor.execute("select pg_current_wal_insert_lsn()::text")
        return str(cursor.fetchone()[0])
    cursor.execute("show master status")
    file, offset, *_ = cursor.fetchone()
    return f"{file}:{offset}"


class Campaign:
    """A channel and its database, and what was committed."""

    def __init__(
        self, directory: Path, database: AtPostgres | AtBinlog, servers: str, seed: int, how: Mapping[str, object]
    ) -> None:
        """how: delivery, every, sub_cycles and pause_s."""
        self._database, self._servers, self._draw, self._seed = database, servers, random.Random(seed), seed
        self._pause_s = float(str(how.get("pause_s", 0.02)))
        database.sql("create table a (k int primary key, n int)")
        database.sql("create table b (k int primary key, n int)")
        database.sql("insert into b (k, n) values " + ", ".join(f"({key}, 0)" for key in range(100)))
        self._path = directory / "channel.yaml"
        place = {"address": database.address(database.place), "product": database.class_, "brokers": servers}
        given = {"delivery": "exactly_once", "every": "200ms", "sub_cycles": 30, **how}
        self._path.write_text(CHANNEL.format(name=NAME, directory=directory, **place, **given))
        self.commits: dict[int, tuple[str, float]] = {}
        self.faults: list[str] = []
        self.daemon = Daemon(self._path)

    def round(self, number: int) -> None:
        """Have a fault under load, and check all that was said. Raises AssertionError."""
        load = Load(self._database, self._seed + number, max(self.commits, default=0), self._pause_s)
        load.start()
        fault = self._draw.choice(FAULTS)
        self.faults.append(fault)
        time.sleep(self._draw.random() * 8)
        if fault == "kill jvm":
            self.daemon.kill_jvm()
        elif fault.startswith("kill"):
            self.daemon.kill(everything=fault == "kill all")
        elif fault == "end":
            self.daemon.terminate()
        elif fault == "cut":
            self._database.cut()
        time.sleep(self._draw.random() * 2)
        if not self.daemon.running:
            self.daemon = Daemon(self._path)
        time.sleep(self._draw.random() * 4)
        load.ending.set()
        load.join()
        self.commits |= load.commits
        self.check()

    def quiet(self, seconds: float) -> int:
        """Change tables for so long without a fault; return the first number after the start."""
        first = max(self.commits, default=0)
        load = Load(self._database, self._seed, first, self._pause_s)
        load.start()
        time.sleep(seconds)
        load.ending.set()
        load.join()
        self.commits |= load.commits
        self.check()
        return first + 50

    def check(self) -> None:
        """Wait until the last change is resolved; hold all that was said against what is there."""
        last, _ = self.commits[max(self.commits)]
        until(lambda: self._alive() and any(is_at(one, last) for one in self.said()[-20:]), self._told, PATIENCE_S)
        topics = {f"{NAME}.{table}": table for table in TABLES}
        said, rows = self.said(), kafka_io.read_all(self._servers, list(topics))
        commits = {number: at for number, (at, _) in self.commits.items()}
        wrong = [
            *promised.goes_back(said),
            *promised.goes_back(promised.messages(self._servers, f"{NAME}.resolved", uncommitted=True)),
            *promised.come_later(said[-300:], rows, topics),
            *promised.not_there(said, rows, "a", f"{NAME}.a", commits),
        ]
        everything = kafka_io.read_all(self._servers, list(topics), properties={"isolation.level": "read_uncommitted"})
        wrong += promised.come_later(said[-300:], everything, topics)
        assert not wrong, (self.faults, wrong[:5])

    def _alive(self) -> bool:
        if not self.daemon.running:  # its JVM was killed
            self.daemon = Daemon(self._path)
        return True

    def said(self) -> list[Resolved]:
        """Return all messages."""
        return promised.messages(self._servers, f"{NAME}.resolved")

    def _told(self) -> str:
        said = [one.point for one in self.said()[-3:]]
        return f"{self.faults}: {said}, and not {list(self.commits.items())[-1]}\n" + "\n".join(self.daemon.lines[-12:])

    def latencies(self, since: int = 0) -> list[float]:
        """Return how many seconds after each commit, from a number on, the first message was sent that is at it."""
        found, said = [], self.said()
        for number, (at, when) in self.commits.items():
            first = next((one for one in said if is_at(one, at)), None) if number >= since else None
            if first is not None:
                found.append(first.sent.timestamp() - when)
        return sorted(found)


@contextlib.contextmanager
def running(directory: Path, product: str, seed: int, how: Mapping[str, object]) -> Iterator[Campaign]:
    """Have a campaign with a broker and a database of its own."""
    kafka = brokers.libraries()
    assert kafka is not None
    (directory / "kafka").mkdir()
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(brokers.KraftBroker(kafka, directory / "kafka"))
        database: AtPostgres | AtBinlog = (
            AtPostgres(stack.enter_context(postgres.cluster(POSTGRES)))
            if product == "postgres"
            else AtBinlog(stack.enter_context({"mariadb": mariadb, "mysql": mysql}[product].cluster(BINLOG)))
        )
        campaign = Campaign(directory, database, broker.servers, seed, how)
        try:
            yield campaign
        finally:
            with contextlib.suppress(Exception):
                campaign.daemon.kill(everything=True)


def shown(latencies: list[float]) -> str:
    """Return the median, and what one of a hundred is above."""
    p50, p99 = (latencies[int(len(latencies) * part)] for part in (0.5, 0.99))
    return f"{len(latencies)} commits, from commit to resolved: p50 {p50:.3f} s, p99 {p99:.3f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--product", choices=("postgres", "mysql", "mariadb"), default="postgres")
    parser.add_argument("--delivery", default="exactly_once")
    parser.add_argument("--every", default="200ms")
    options = parser.parse_args()
    how = {"delivery": options.delivery, "every": options.every}
    with (
        tempfile.TemporaryDirectory(prefix="resolved-") as name,
        running(Path(name), options.product, options.seed, how) as campaign,
    ):
        for number in range(options.rounds):
            campaign.round(number)
            print(number, campaign.faults[-1], len(campaign.commits), len(campaign.said()), flush=True)
        print(shown(campaign.latencies()), "(with the time in which nothing ran)", flush=True)
        first = campaign.quiet(20)
        print(shown(campaign.latencies(first)), f"(nothing fails; every {options.every})")


if __name__ == "__main__":
    main()
