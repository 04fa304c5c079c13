"""Replicas of a MySQL or a MariaDB, which have its transactions by their GTIDs, in logs of other names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.parts import mariadb, mysql
from tests.parts.mariadb import PASSWORD, USER, MariaDb

PARTS = {"mariadb": mariadb, "mysql": mysql}
SETTINGS = {
    "mariadb": "binlog_row_metadata = FULL\ngtid_strict_mode = ON\nlog_slave_updates = ON\n",
    "mysql": "binlog_row_metadata = FULL\ngtid_mode = ON\nenforce_gtid_consistency = ON\n",
}
"""Of servers that have GTIDs, and log what they replicate."""
_OF_REPLICAS = {"mariadb": "", "mysql": "skip_replica_start = ON\n"}
_RESET = {
    "mariadb": "reset master; set global gtid_slave_pos = ''",
    "mysql": "reset master",
}
_FOLLOW = {
    "mariadb": "change master to master_host = '{host}', master_port = {port}, master_user = '{user}', "
    "master_password = '{password}', master_use_gtid = slave_pos; start slave",
    "mysql": "change replication source to source_host = '{host}', source_port = {port}, source_user = '{user}', "
    "source_password = '{password}', source_auto_position = 1, get_source_public_key = 1; start replica",
}
_STOP = {"mariadb": "stop slave", "mysql": "stop replica"}
_FORGET = {"mariadb": "reset slave all", "mysql": "reset replica all"}
_POSITION = {"mariadb": "select @@global.gtid_binlog_pos", "mysql": "select @@global.gtid_executed"}
_WAIT = {"mariadb": "select master_gtid_wait('{}', 600)", "mysql": "select wait_for_executed_gtid_set('{}', 600)"}


@contextlib.contextmanager
def server(product: str, number: int, settings: str = "") -> Iterator[MariaDb]:
    """A server with GTIDs, and its number among replicas, by which its log's files are called, too."""
    own = f"server_id = {number}\nlog_bin = log{number}\n"
    with PARTS[product].cluster(SETTINGS[product] + _OF_REPLICAS[product] + own + settings) as found:
        yield found


def follow(replica: MariaDb, primary: MariaDb) -> None:
    """Have a new server have all that another one has, from the first transaction of its log on."""
    where = {"host": primary.host, "port": primary.port, "user": USER, "password": PASSWORD}
    replica.sql(_RESET[replica.product])
    replica.sql(_FOLLOW[replica.product].format(**where))


def caught_up(replica: MariaDb, primary: MariaDb) -> None:
    """Wait until a replica has what is committed at its primary now."""
    position = "".join(primary.sql(_POSITION[primary.product]).split())
    found = replica.sql(_WAIT[replica.product].format(position)).strip()
    assert found == "0", f"{found}: {replica.sql('show slave status')}"


def stop(replica: MariaDb) -> None:
    """Have a replica get nothing more."""
    replica.sql(_STOP[replica.product])


def start(replica: MariaDb) -> None:
    """Have a replica that was stopped continue."""
    replica.sql(_STOP[replica.product].replace("stop", "start"))


def promote(replica: MariaDb) -> None:
    """Make a server of its own of a replica."""
    stop(replica)
    replica.sql(_FORGET[replica.product])
