"""A database whose server is killed under load, round after round, and a replica or a standby takes its place.

    python -m tests.faults.failover_campaign [--rounds 10] [--seed 1] [--product mysql]

A round is one of `capture_campaign`, whose first fault is that: the server is killed by signal 9, its replica is promoted,
the address leads there, and the next replica is made. MySQL and MariaDB hold up commits until the replica has all, for
they may send us what it lacks; PostgreSQL waits for it with `synchronized_standby_slots`.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections import Counter
from pathlib import Path

import pymysql

from tests.faults.capture_campaign import POSTGRES, AtBinlog, AtPostgres, Campaign, Database
from tests.parts import brokers, postgres, replicas
from tests.parts.waiting import until

FAULTS = ("kill", "kill all", "proxy cut", "freeze", "column")
_SETTINGS = "innodb_flush_log_at_trx_commit = 2\nmax_binlog_size = 1M\ninnodb_lock_wait_timeout = 2\n"
"""What is committed outlives the server's process: no machine is lost here."""
_SLOT = "select count(*) from pg_replication_slots where slot_name = 'integrator_campaign' and not temporary"


class Binlogs:
    """Servers of MySQL or MariaDB, one after another."""

    def __init__(self, product: str, stack: contextlib.ExitStack) -> None:
        self._product, self._stack, self._number = product, stack, 0
        self.database: Database = AtBinlog(self._server())
        self._follow()

    def _server(self) -> replicas.MariaDb:
        self._number += 1
        return self._stack.enter_context(replicas.server(self._product, self._number, _SETTINGS))

    def _follow(self) -> None:
        self._replica = self._server()
        replicas.follow(self._replica, self.database.server)

    def succeed(self) -> None:
        """Kill the server, and have its replica take its place; the next replica is there afterwards."""
        primary, replica = self.database.server, self._replica
        with contextlib.closing(
            pymysql.connect(host=primary.host, port=primary.port, user=primary.user, password=primary.password)
        ) as holding:
            holding.cursor().execute("flush tables with read lock")
            replicas.caught_up(replica, primary)
            primary.crash()
        replicas.promote(replica)
        self.database.server, self.database.place = replica, f"{replica.host}:{replica.port}"
        self._follow()


class Standbys:
    """Servers of PostgreSQL, one after another."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        found = stack.enter_context(postgres.from_pypi())
        server = stack.enter_context(postgres.cluster(POSTGRES, found))
        stack.callback(server.start)  # which is stopped at the end
        self.database: Database = AtPostgres(server)
        self._follow()

    def _follow(self) -> None:
        server = self.database.server
        server.psql("alter system reset synchronized_standby_slots")
        server.psql("select pg_reload_conf()")
        self._standby = self._stack.enter_context(postgres.standby(server, "sync_replication_slots = on\n"))
        server.psql(f"alter system set synchronized_standby_slots = 'standby_{self._standby.port}'")
        server.psql("select pg_reload_conf()")

    def succeed(self) -> None:
        """Kill the server, and have its standby take its place; the next standby is there afterwards."""
        standby = self._standby
        until(lambda: standby.psql(_SLOT).strip() == "1")
        self.database.server.crash()
        standby.psql("select pg_promote()")
        self.database.server, self.database.place, self.database.own = (
            standby,
            f"{standby.host}:{standby.port}",
            standby.dsn,
        )
        self._follow()


class FailoverCampaign(Campaign):
    """The servers, a broker, and the process that captures."""

    servers: Binlogs | Standbys
    _is_first = True

    def round(self, number: int) -> None:
        """Raises AssertionError where the topics are not the tables."""
        self._is_first = True
        super().round(number)

    def _fault(self, fault: str, tables: list[str]) -> None:
        if not self._is_first:
            super()._fault(fault, tables)
            return
        self._is_first = False
        began = time.monotonic()
        self.servers.succeed()
        self.proxy.target = self.database.place
        self.proxy.cut()
        self.counted["promotions"] += 1
        print(f"promoted: {self.database.place}, {time.monotonic() - began:.0f} s with the next replica", flush=True)


def run(directory: Path, rounds: int, seed: int, product: str) -> Counter[str]:
    """Have rounds. Returns what was counted; raises AssertionError where one ends wrongly."""
    kafka = brokers.libraries()
    assert kafka is not None
    (directory / "kafka").mkdir()
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(brokers.KraftBroker(kafka, directory / "kafka"))
        servers = Standbys(stack) if product == "postgres" else Binlogs(product, stack)
        campaign = FailoverCampaign(directory, servers.database, broker, seed, "exactly_once", defines=False)
        campaign.servers, campaign.faults = servers, list(FAULTS)
        if product == "postgres":
            text = campaign.channel.read_text()
            campaign.channel.write_text(text.replace("class: postgres,", "class: postgres, failover: true,"))
        with campaign.running():
            for number in range(rounds):
                campaign.round(number)
    return campaign.counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--product", choices=("postgres", "mysql", "mariadb"), default="mysql")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="failover-") as name:
        print(dict(run(Path(name), options.rounds, options.seed, options.product)))


if __name__ == "__main__":
    main()
