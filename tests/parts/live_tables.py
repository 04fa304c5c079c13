"""Two tables of a live database, PostgreSQL's or MariaDB's, and changes of them that are drawn.

Each change that leaves a row gives it a version that no other has, so that a consumer can tell changes from repeats.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.parts import connect
from tests.parts.mariadb import MariaDb
from tests.parts.postgres import Postgres
from tests.parts.waiting import until

Row = dict[str, Any]
KEYS = {"items": ("id",), "notes": ("id", "line")}
DDL = """create table items(id integer primary key, name varchar(40), price decimal(10,2), made timestamp(6),
  day date, weight double precision, version bigint not null);
create table notes(id integer, line integer, note text, version bigint not null, primary key(id, line));
"""
ADDED = "extra"
"""The column that `items` may get."""
NAMES = ("Zürich", "O''Neil", 'say "hi"', "", " ", "x" * 40, "Καλημέρα", "😀", "null")
_MOST = 40
"""Keys of a table."""
_LARGE = 3000
"""Characters of a note that PostgreSQL stores beside its row, and does not repeat where an update leaves it as it is."""


@dataclass(frozen=True)
class Database:
    """A server, what it calls things, and how its connector is configured.

    select: by table, SQL of a JSON object a row: decimals are text, times microseconds and dates days since 1970.
    """

    product: str
    sql: Callable[[str], str]
    schema: str
    create: str
    select: dict[str, str]
    connector: Callable[[str], dict[str, str]]
    forget: Callable[[str], None]
    """Give up what the connector of a prefix left in the database."""

    def rows(self, table: str, added: str = "") -> list[Row]:
        """The rows of a table, by key. added: a column that it was given."""
        more = f", '{added}', {added}" if added else ""
        lines = self.sql(self.select[table].replace("<more>", more)).splitlines()
        rows = [json.loads(line) for line in lines if line]
        for row in rows:
            if row.get("price") is not None:
                row["price"] = Decimal(row["price"])
        return sorted(rows, key=lambda row: [row[name] for name in KEYS[table]])

    def topic(self, prefix: str, table: str) -> str:
        """The topic that Debezium sends a table's changes to."""
        return f"{prefix}.{self.schema}.{table}"


def postgres(server: Postgres) -> Database:
    """The tables in the database `postgres`."""
    of_items = """'id', id, 'name', name, 'price', price::text, 'made', (extract(epoch from made) * 1000000)::bigint,
      'day', day - date '1970-01-01', 'weight', weight, 'version', version<more>"""
    return Database(
        product="PostgreSQL",
        sql=server.psql,
        schema="public",
        create=f"drop table if exists items, notes; {DDL}",
        select={
            "items": f"select json_build_object({of_items}) from items;",
            "notes": "select json_build_object('id', id, 'line', line, 'note', note, 'version', version) from notes;",
        },
        connector=lambda prefix: connect.postgres_connector(server, prefix, r"public\.(items|notes)"),
        forget=lambda prefix: _drop_slot(server, prefix),
    )


def _drop_slot(server: Postgres, prefix: str) -> None:
    """Drop it as soon as the connector, which is deleted, has left it."""
    of_slot = f"from pg_replication_slots where slot_name = '{prefix}'"

    def dropped() -> bool:
        server.psql(f"select pg_drop_replication_slot(slot_name) {of_slot} and not active;")
        return server.psql(f"select count(*) {of_slot};").strip() == "0"

    until(dropped, "the slot is still active")
    server.psql(f"drop publication if exists {prefix};")


def mariadb(server: MariaDb, kafka: str) -> Database:
    """The tables in the database `shop`. kafka: the brokers, which the connector keeps its history of schemas with."""
    server.sql("create database shop;")
    of_items = """'id', id, 'name', name, 'price', cast(price as char), 'made', timestampdiff(microsecond, '1970-01-01',
      made), 'day', to_days(day) - to_days('1970-01-01'), 'weight', weight, 'version', version<more>"""
    return Database(
        product="MariaDB",
        sql=lambda text: server.sql(f"use shop; {text}"),
        schema="shop",
        create=f"drop table if exists items, notes; {DDL.replace('timestamp(6)', 'datetime(6)')}",
        select={
            "items": f"select json_object({of_items}) from items;",
            "notes": "select json_object('id', id, 'line', line, 'note', note, 'version', version) from notes;",
        },
        connector=lambda prefix: connect.mariadb_connector(server, prefix, r"shop\.(items|notes)", kafka),
        forget=lambda prefix: None,
    )


class Changes:
    """Transactions of drawn changes, as SQL that both databases take."""

    def __init__(self, draw: random.Random, *, large: bool) -> None:
        """large: whether notes may be so long that PostgreSQL leaves them out of later records."""
        self._draw, self._large, self.added = draw, large, ""
        self._keys: dict[str, set[tuple[int, ...]]] = {table: set() for table in KEYS}
        self.version = 0

    def transaction(self) -> str:
        """The next one; some are rolled back."""
        draw, before = self._draw, {table: set(keys) for table, keys in self._keys.items()}
        statements = [self._change(draw.choice(list(KEYS))) for _ in range(draw.choice((1, 1, 2, 3, 8)))]
        kept = draw.random() > 0.05
        if not kept:
            self._keys = before
        return f"begin; {' '.join(statements)} {'commit' if kept else 'rollback'};\n"

    def last(self) -> tuple[str, dict[str, int]]:
        """A change of each table that comes after all, and its version."""
        sql, versions = "", {}
        for table in KEYS:
            sql += self._insert(table, (-1,) * len(KEYS[table]))
            versions[table] = self.version
        return f"begin; {sql} commit;\n", versions

    def _change(self, table: str) -> str:
        key = tuple(self._draw.randrange(_MOST if not place else 3) for place in range(len(KEYS[table])))
        keys = self._keys[table]
        if key not in keys:
            return self._insert(table, key)
        match self._draw.choice(("update", "update", "delete", "move", "touch")):
            case "delete":
                keys.discard(key)
                return f"delete from {table} where {_where(table, key)};"
            case "move" if (
                moved := (key[0] + _MOST, *key[1:])
            ) not in keys:  # all of it: Debezium makes it two changes
                keys.discard(key)
                keys.add(moved)
                return self._update(table, key, {"id": str(moved[0])} | self._values(table))
            case "update":
                return self._update(table, key, self._values(table))
        return self._update(table, key, {"version": str(self._next())})

    @staticmethod
    def _update(table: str, key: tuple[int, ...], values: dict[str, str]) -> str:
        changed = ", ".join(f"{name} = {value}" for name, value in values.items())
        return f"update {table} set {changed} where {_where(table, key)};"

    def _insert(self, table: str, key: tuple[int, ...]) -> str:
        self._keys[table].add(key)
        values = dict(zip(KEYS[table], map(str, key), strict=True)) | self._values(table)
        return f"insert into {table}({', '.join(values)}) values ({', '.join(values.values())});"

    def _next(self) -> int:
        self.version += 1
        return self.version

    def _values(self, table: str) -> dict[str, str]:
        draw, version = self._draw, str(self._next())
        if table == "notes":
            long = self._large and draw.random() < 0.2
            note = (
                "".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=_LARGE)) if long else draw.choice(NAMES)
            )
            return {"note": f"'{note}'", "version": version}
        values = {
            "name": f"'{draw.choice(NAMES)}'",
            "price": f"{draw.randrange(-10_000, 1_000_000) / 100:.2f}",
            "made": f"'{draw.randrange(1960, 2040)}-02-28 23:59:{draw.randrange(60):02}.{draw.randrange(1_000_000):06}'",
            "day": f"'{draw.randrange(1960, 2040)}-12-{draw.randrange(1, 32):02}'",
            "weight": str(draw.randrange(-8000, 8000) / 8),
        } | ({self.added: f"'extra {version}'"} if self.added else {})
        return {name: "null" if draw.random() < 0.1 else value for name, value in values.items()} | {"version": version}


def _where(table: str, key: tuple[int, ...]) -> str:
    return " and ".join(f"{name} = {value}" for name, value in zip(KEYS[table], key, strict=True))
