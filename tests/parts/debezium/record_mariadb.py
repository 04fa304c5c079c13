"""Records Debezium's change events of a MariaDB of its own, in several settings, as data for tests.

    python -m tests.parts.debezium.record_mariadb [setting ...]

The statements are tests/data/debezium-mariadb/{tables,before,during}.sql: the tables, what a snapshot finds, and what is
streamed. Each setting has a server of its own; what it recorded is there as NAME.jsonl (the values, null for a tombstone).
final.json has what is in the tables afterwards, which is the same for all: a table's rows, each column as text.

Debezium comes from Maven Central, in the version of the pom's profile; it needs mvn, Java 17 or newer, and MariaDB's programs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.parts import mariadb
from tests.parts.debezium import record

DATA = record.DATA.parent / "debezium-mariadb"
JARS = record.JARS.parent / "debezium-mariadb-libs"
DATABASE = "shop"
MARKER = "message"
"""A table whose name and key end the recording: there are no logical messages in a binlog."""

ALWAYS = {
    "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
    "topic.prefix": "shop",
    "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
    "database.include.list": DATABASE,
    "database.server.id": "4711",
    "database.ssl.mode": "disable",
    "skipped.operations": "none",
    "record.end": record.END,
}
"""Truncates are left out by default; all else is as it is by default."""
SETTINGS: dict[str, dict[str, str]] = {
    "plain": {"converter.schemas.enable": "false", "provide.transaction.metadata": "true"},
    "with_schema": {
        "converter.schemas.enable": "true",
        "table.include.list": f"{DATABASE}.types,{DATABASE}.{MARKER}",
        "include.schema.changes": "false",
    },
    "plain_string": {
        "converter.schemas.enable": "false",
        "decimal.handling.mode": "string",
        "binary.handling.mode": "base64",
        "time.precision.mode": "isostring",
        "include.schema.changes": "false",
    },
}
"""A schema in each message makes large files, so that one has a part of the tables only."""


def missing() -> str:
    """What a recording needs and is not here; nothing if all is."""
    return mariadb.missing() or record.programs_missing()


def statements(name: str) -> str:
    """The text of one of the SQL files."""
    return (DATA / f"{name}.sql").read_text(encoding="utf-8")


def prepared(server: mariadb.MariaDb) -> None:
    """Make the tables, with what the snapshot finds."""
    server.sql(f"create database {DATABASE}")
    server.sql(f"create table {MARKER}(id varchar(40) primary key);", DATABASE)
    server.sql(statements("tables") + statements("before"), DATABASE)


def capture(server: mariadb.MariaDb, properties: dict[str, str], values: Path, keys: Path, log: Path) -> None:
    """Record what Debezium makes of the statements; its warnings go to the log."""
    prepared(server)
    own = {"database.user": server.user, "database.password": server.password}
    where = [str(values), str(keys), server.host, str(server.port), DATABASE]
    streaming = "select count(*) from information_schema.processlist where command = 'Binlog Dump'"

    def change() -> None:
        server.sql(statements("during"), DATABASE)
        server.sql(f"insert into {MARKER} values ('{record.END}')", DATABASE)

    class_path = record.libraries(JARS, "mariadb")
    record.capture(class_path, where, ALWAYS | own | properties, log, lambda: server.sql(streaming) != "0\n", change)


def tables_of(server: mariadb.MariaDb) -> dict[str, list[dict[str, str | None]]]:
    """Every table's rows by id, each column as text that says it exactly; nulls are null.

    Bytes are hex digits, and bits binary ones; what MariaDB prints of a float has 6 digits, so that it is made a double. A
    timestamp is told in the server's zone, UTC.
    """
    columns = f"""
        select table_name, column_name, data_type from information_schema.columns
        where table_schema = '{DATABASE}' and table_name <> '{MARKER}' order by table_name, ordinal_position
    """
    exact = {
        **dict.fromkeys(("binary", "varbinary", "blob"), "hex({})"),
        "bit": "lpad(conv({} + 0, 10, 2), 8, '0')",
        "float": "cast(cast({} as double) as char)",
        "timestamp": "cast({} as char), '+00:00'",
    }
    texts: dict[str, list[str]] = {}
    for line in server.sql(columns, DATABASE).splitlines():
        table, column, kind = line.split("\t")
        text = exact.get(kind, "cast({} as char)").format(f"`{column}`")
        texts.setdefault(table, []).append(f"'{column}', concat({text})")

    def rows(table: str, pairs: Sequence[str]) -> str:
        return server.sql(f"select json_object({', '.join(pairs)}) from `{table}` order by id", DATABASE)

    return {table: [json.loads(line) for line in rows(table, pairs).splitlines()] for table, pairs in texts.items()}


def main(chosen: Sequence[str]) -> None:
    """Record the settings of these names, or all."""
    if missing():
        sys.exit(missing())
    logs = record.JARS.parent / "debezium-logs"
    logs.mkdir(parents=True, exist_ok=True)
    finals = []
    for name in chosen or SETTINGS:
        values, keys, log = DATA / f"{name}.jsonl", logs / f"mariadb-{name}.tsv", logs / f"mariadb-{name}.log"
        with mariadb.cluster() as server:
            capture(server, SETTINGS[name], values, keys, log)
            finals.append(tables_of(server))
        print(f"{name}: {len(values.read_bytes().splitlines())} records, {values.stat().st_size} bytes")
    record.write_final(DATA / "final.json", finals)


if __name__ == "__main__":
    main(sys.argv[1:])
