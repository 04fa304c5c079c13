"""The differences between MySQL and MariaDB, which share the log, its rows, and the protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SETTINGS = (
    "set session time_zone = '+00:00', sql_mode = '', wait_timeout = 28800, net_write_timeout = 28800, "
    "net_read_timeout = 3600, lock_wait_timeout = 86400, sql_quote_show_create = 1, sql_big_selects = 1, "
    "sql_select_limit = 18446744073709551615"
)
"""By which values are written as text, and all rows come, whatever a user or server sets; and a session stays."""
_WITH_KEYS = ", show_gipk_in_create_table_and_information_schema = ON"
"""The log has generated primary keys, too."""
_BEFORE_DUMP = "set @master_heartbeat_period = 1000000000, @master_binlog_checksum = @@global.binlog_checksum, "
"""A sign of life each second, and checksums as they are."""
NAMES = {"mysql": "MySQL", "mariadb": "MariaDB"}
"""By the class of a location."""
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)(?:\.(\d+))?")
"""Before MariaDB 11 its version follows one that old replicas of MySQL take."""


@dataclass(frozen=True)
class Product:
    """A server's product. version: the server's; least: the oldest whose log has names of columns.

    settings: of a session. status: asks where the log ends. before_dump: comes before the log is asked for. monitor:
    the rights to ask where it ends, and which XA transactions are prepared. knows_snapshots: whether it reports the
    position of a snapshot in its log; else nothing may be committed for that moment. images: the values of
    binlog_row_image with which rows are whole.
    """

    name: str
    version: tuple[int, int, int]
    least: tuple[int, int, int]
    settings: str
    status: str
    before_dump: str
    monitor: str
    knows_snapshots: bool
    images: tuple[str, ...]


def product_of(version: str) -> Product:
    """Return the product of a server that gives this version (https://mariadb.com/kb/en/version/)."""
    found = _VERSION.match(version)
    major, minor, patch = (int(one or 0) for one in found.groups()) if found else (0, 0, 0)
    own = (major, minor, patch)
    if "mariadb" in version.lower():
        return Product(
            name=NAMES["mariadb"],
            version=own,
            least=(10, 5, 0),
            settings=_SETTINGS + ", max_statement_time = 0",
            status="show master status",
            before_dump=_BEFORE_DUMP + "@mariadb_slave_capability = 4",  # GTIDs: mariadb.com/kb/en/com_binlog_dump
            monitor="binlog monitor",
            knows_snapshots=True,
            images=("FULL", "NOBLOB", "FULL_NODUP"),
        )
    return Product(
        name=NAMES["mysql"],
        version=own,
        least=(8, 0, 17),
        settings=_SETTINGS
        + (", max_execution_time = 0" if own >= (5, 7, 8) else "")  # older ones are refused for their version
        + (_WITH_KEYS if own >= (8, 0, 30) else ""),
        status="show binary log status" if own >= (8, 2, 0) else "show master status",
        before_dump=_BEFORE_DUMP + "@source_heartbeat_period = 1000000000, "
        "@source_binlog_checksum = @@global.binlog_checksum",
        monitor="replication client, xa_recover_admin",
        knows_snapshots=False,
        images=("FULL",),
    )
