"""The first load of many tables beside that of one with as many rows, and tables that are altered at once.

    python -m tests.bench.first_loads [--tables 200] [--rows 1000] [--altered 24] [--rounds 3] [--product mysql]

Seconds of a whole `run --once`, from its start until it ends: of many tables, of one table, and of a change to each of
some tables that were altered before. Topics exist before the clock starts. In turns, medians; nothing else should run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from tests.parts import brokers, mariadb, mysql, postgres
from tests.parts.daemon import Daemon

CHANNEL = """
channel: {name}
state: {directory}/state
locations:
  src: {{class: {product}, address: "{address}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}"}}
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
"""


def seconds(path: Path) -> float:
    """Run a channel over what exists now. Fails where it does."""
    began = time.monotonic()
    daemon = Daemon(path, "--once")
    assert daemon.wait(900) == 0, "\n".join(daemon.lines[-20:])
    return time.monotonic() - began


class Loads:
    """Databases with tables of the same rows, and their channels."""

    def __init__(self, product: str, server: object, servers: str, directory: Path) -> None:
        self._product, self._server, self._servers, self._directory = product, server, servers, directory
        self._sql = server.psql if product == "postgres" else server.sql

    def database(self, name: str, tables: int, rows: int) -> Path:
        """Make a database with tables; return its channel, whose topics exist."""
        self._sql(f"create database {name}")
        numbers = (
            f"select n, 'text ' || n from generate_series(1, {rows}) n"
            if self._product == "postgres"
            else f"with recursive r(n) as (select 1 union all select n + 1 from r where n < {rows}) select n, concat('text ', n) from r"
        )
        limit = {
            "postgres": "",
            "mysql": f"set cte_max_recursion_depth = {rows}; ",
            "mariadb": f"set max_recursive_iterations = {rows}; ",
        }
        each = [
            f"create table t{at} (k int primary key, v varchar(40)); insert into t{at} {numbers}"
            for at in range(tables)
        ]
        self._sql(limit[self._product] + "; ".join(each), name)
        admin = AdminClient({"bootstrap.servers": self._servers})
        for made in admin.create_topics([NewTopic(f"{name}.t{at}", 1, 1) for at in range(tables)]).values():
            made.result()
        directory = self._directory / name
        directory.mkdir()
        path = directory / "channel.yaml"
        address = self._server.address(name)
        path.write_text(
            CHANNEL.format(
                name=name, directory=directory, product=self._product, address=address, servers=self._servers
            )
        )
        return path

    def alter(self, name: str, tables: int) -> None:
        """Alter tables, and change a row of each."""
        each = [f"alter table t{at} add w int; insert into t{at} values (0, 'new', 1)" for at in range(tables)]
        self._sql("; ".join(each), name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1000, help="of each")
    parser.add_argument("--altered", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--product", choices=("postgres", "mariadb", "mysql"), default="postgres")
    given = parser.parse_args()
    parts = {"postgres": postgres, "mariadb": mariadb, "mysql": mysql}[given.product]
    settings = () if given.product == "postgres" else ("binlog_row_metadata = FULL\n",)
    found: dict[str, list[float]] = {"many": [], "one": [], "altered": [], "unaltered": []}
    with tempfile.TemporaryDirectory() as name, brokers.broker() as broker, parts.cluster(*settings) as server:
        loads = Loads(given.product, server, broker.servers, Path(name))
        for number in range(given.rounds):
            many = loads.database(f"many{number}", given.tables, given.rows)
            one = loads.database(f"one{number}", 1, given.tables * given.rows)
            found["many"].append(seconds(many))
            found["one"].append(seconds(one))
            loads.alter(f"many{number}", given.altered)
            found["altered"].append(seconds(many))
            found["unaltered"].append(seconds(many))
            print({what: round(times[-1], 1) for what, times in found.items()}, flush=True)
    medians = {what: statistics.median(times) for what, times in found.items()}
    print(
        f"{given.product}: {given.tables} tables of {given.rows} rows {medians['many']:.1f} s, one {medians['one']:.1f} s: ",
        end="",
    )
    print(
        f"{medians['many'] / medians['one']:.2f}; {given.altered} altered {medians['altered']:.1f} s, nothing {medians['unaltered']:.1f} s"
    )


if __name__ == "__main__":
    main()
