"""The source of changes -> what executors need to know of it, and what cannot be."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from integrator.channel.paths import as_known, no_file
from integrator.channel.problems import Problems, Report
from integrator.channel.secret import passwords_of
from integrator.channel.sources import FilesLocation, JdbcLocation, SnapshotLocation, SocketLocation
from integrator.contracts.recipe import DebeziumModes, Read
from integrator.contracts.table_recipe import TableRecipe
from integrator.decode.dialects import DIALECTS
from integrator.names import listed, meant, nearest
from integrator.plan.jdbc_url import wrong_url
from integrator.schema import Decimal, Table

AnySource = FilesLocation | SocketLocation | SnapshotLocation | JdbcLocation

SPOOL = "spool"
"""Where in a channel's state directory the lines of sockets are kept."""


def read_of(
    location: AnySource, locations: Iterable[object], tables: Sequence[Table], state: str, absent: tuple[Table, ...]
) -> Read:
    """Return how the source is read.

    locations: those of the channel. state: the channel's state directory. absent: tables not to be sent.
    """
    if isinstance(location, SnapshotLocation | JdbcLocation):
        dialects = [one.dialect for one in locations if isinstance(one, FilesLocation | SocketLocation)]
        return Read(absent=absent, finite=any(DIALECTS[dialect].finite for dialect in dialects))
    path = f"{state}/{SPOOL}" if isinstance(location, SocketLocation) else location.path
    return Read(
        dialect=location.dialect,
        path=path if "://" in path else str(Path(path).absolute()),
        default_table=location.table or (tables[0].name if len(tables) == 1 else None),
        debezium=DebeziumModes(**location.debezium.model_dump()),
        source_zone=location.time_zone,
        timestamp_column=location.timestamp_column,
        ignore_unknown_tables=location.unknown_tables == "ignore",
        unknown_columns=location.unknown_columns,
        repeated_positions=location.repeated_positions == "send",
        absent=absent,
    )


def money_notes(location: AnySource, tables: Sequence[TableRecipe]) -> Iterator[str]:
    """Yield a note for each column of PostgreSQL's money, which wal2json writes with the sign of its currency."""
    if isinstance(location, FilesLocation | SocketLocation) and location.dialect in ("wal2json", "auto"):
        for table in tables:
            for column in table.in_source.columns:
                if isinstance(column.type, Decimal) and column.type.role == "money":
                    yield (
                        f"table {table.table.name}, column {column.name}: wal2json writes money in the format of "
                        "lc_monetary ($1,234.50), which is refused: declare the column as text in the table's "
                        "definition"
                    )


def check_source(location: AnySource, name: str, tables: Sequence[Table], problems: Problems) -> None:
    """Add the problems of a source; `tables` are those of the channel."""
    report = problems.at_location(name)
    if isinstance(location, FilesLocation | SnapshotLocation) and any(passwords_of(location.path)):
        report(
            "path",
            "a path has no password or key, for it is part of each file's name in the state and in logs; give them to "
            "the process, as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for S3",
        )
    if isinstance(location, JdbcLocation) and (wrong := wrong_url(location.url)):
        report("url", wrong)
    if isinstance(location, SnapshotLocation):
        _check_snapshot(location, tables, report)
    if isinstance(location, SnapshotLocation | JdbcLocation):
        for at, jar in enumerate(location.jars):
            if why := no_file(jar):
                text = f"{why} {as_known(jar)}; give the path of the driver's jar"
                problems.add(("locations", name, "jars", at), text)
        return
    if location.table is not None and DIALECTS[location.dialect].names_tables:
        report("table", f"records of the {location.dialect} dialect name their tables: leave it out")
    known = sorted(table.name for table in tables)
    if location.table is not None and location.table not in known:
        report("table", f"{location.table!r} is no table; {meant(location.table, known, 'known are')}")
    if isinstance(location, SocketLocation):
        _check_socket(location, report)


NAMES_IN_PATHS = ("hvr_tbl_name", "hvr_tbl_base_name", "hvr_schema")
"""What may stand in the path of a snapshot's files, in braces."""


def _check_snapshot(location: SnapshotLocation, tables: Sequence[Table], report: Report) -> None:
    """Report of a path in which a name is misspelled, or that is the same for all tables."""
    named = re.findall(r"\{(\w+)\}", location.path)
    for name in named:
        if name not in NAMES_IN_PATHS:
            near = nearest(name, NAMES_IN_PATHS)
            known = f"do you mean {{{near}}}?" if near else listed(f"{{{one}}}" for one in NAMES_IN_PATHS)
            report("path", f"{{{name}}} is no name of a table; {known}")
    if len(tables) > 1 and not named:
        report("path", f"is the same for all {len(tables)} tables; write {{hvr_tbl_name}} in it")


def path_of(location: SnapshotLocation, table: Table) -> str:
    """Return the path of the files of a table."""
    names = dict(zip(NAMES_IN_PATHS, (table.name, table.base_name, table.schema or ""), strict=True))
    path = location.path
    for name, value in names.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def _check_socket(location: SocketLocation, report: Report) -> None:
    if (location.listen is None) == (location.connect is None):
        report("listen", "either listen or connect is needed, and not both; leave one of them out")
    for key, address, least in (("listen", location.listen, 0), ("connect", location.connect, 1)):
        if address is not None and not least <= int(address.rpartition(":")[2]) <= 65535:
            report(key, f"{address} has no port that can be; a port is {least} to 65535, such as 7010")
    if location.listen is not None and not location.secret and not (location.tls and location.tls.authority):
        host = location.listen.rpartition(":")[0].strip("[]")
        if not is_loopback(host):
            port = location.listen.rpartition(":")[2]
            text = f"whoever reaches {host} could send changes: set a secret, or tls with an authority"
            report("listen", f"{text}; or listen on 127.0.0.1:{port}, for this machine alone")
    if location.listen is not None and location.tls is not None and not location.tls.certificate:
        report("tls", "to listen with TLS, a certificate is needed; write certificate: FILE, a PEM file")
    if location.connect is not None and location.secret:
        report("secret", "with `connect` no hello is received, and so no secret; use tls with an authority")
    for key, file in (location.tls.model_dump() if location.tls else {}).items():
        if file is not None and (why := no_file(file)):
            report("tls", f"{key}: {why} {as_known(file)}")


def socket_notes(location: AnySource) -> Iterator[str]:
    """Yield what is allowed and unsafe of a socket: a secret that goes over the network as it is."""
    if isinstance(location, SocketLocation) and location.listen and location.secret and not location.tls:
        host = location.listen.rpartition(":")[0].strip("[]")
        if not is_loopback(host):
            yield f"listen {location.listen} without TLS: the secret and the lines can be read on their way; set tls"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name or address alone; no name is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
