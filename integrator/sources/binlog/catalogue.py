"""Which tables of a server are captured, how they are defined, and which are left out."""

from __future__ import annotations

import contextlib
import fnmatch
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from integrator.channel.databases import BinlogLocation
from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.errors import EnvironmentFault
from integrator.sources.binlog.charsets import Charsets
from integrator.sources.binlog.logged import HIDDEN as HASH
from integrator.sources.binlog.logged import column_of, definition_of, in_catalogue, is_now
from integrator.sources.binlog.product import NAMES
from integrator.sources.binlog.server import Session, quoted
from integrator.sources.binlog.settings import status
from integrator.sources.capture.definitions import Definition, Definitions, is_wanted, tables_of
from integrator.sources.capture.ranges import Part
from integrator.tables.sql import mysql_catalogue

_SYSTEM = "('mysql', 'information_schema', 'performance_schema', 'sys')"
_TABLES = (
    "select table_schema, table_name, table_type, engine, table_rows from information_schema.tables "  # noqa: S608
    f"where table_type in ('BASE TABLE', 'SYSTEM VERSIONED') and table_schema not in {_SYSTEM} "
    "order by table_schema, table_name"
)
_COLUMNS = (
    "select table_schema, table_name, column_name, data_type, column_type, character_set_name, is_nullable, "  # noqa: S608
    "column_key "
    f"from information_schema.columns where table_schema not in {_SYSTEM} "
    "order by table_schema, table_name, ordinal_position"
)
_CASCADE = re.compile(
    r"CONSTRAINT `((?:[^`]|``)+)` FOREIGN KEY .*?"
    r"((?: ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT|RESTRICT|NO ACTION))+),?$",
    re.MULTILINE,
)
"""A foreign key as SHOW CREATE TABLE has it, which needs SELECT. MariaDB's referential_constraints is empty then."""
_CHANGES = re.compile(r"CASCADE|SET (?:NULL|DEFAULT)")
_GRANTS = (
    "select {1} from information_schema.{0} where privilege_type = 'SELECT' and grantee = (select "
    "concat('\\'', left(u, char_length(u) - char_length(h) - 1), '\\'@\\'', h, '\\'') from "
    "(select current_user() as u, substring_index(current_user(), '@', -1) as h) as own)"
)
_FILTERED = (
    "the server logs some databases only (binlog_do_db, binlog_ignore_db): TRUNCATE and statements that define tables "
    "are logged by the database that is current when they are run, so that those of our tables may not be in the log"
)
_NATIVE_KEYS = "show global variables like 'innodb_native_foreign_keys'"
_ENGINE = "InnoDB"
_TRIES, _AGAIN_S = 5, 0.2
"""How often tables are listed again that a statement defines just then."""
_HEXADECIMAL = frozenset(
    ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point", "linestring", "polygon",
     "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection", "vector")
)  # fmt: skip


def _number(value: str) -> str:
    return f"{Decimal(value):f}"  # with an exponent it would be compared as a floating-point number


def _text(value: str) -> str:
    return f"_utf8mb4 x'{value.encode().hex()}'"


def _bytes(value: str) -> str:
    return f"x'{value.removeprefix(BYTES_AS_TEXT)}'"


def _moment(value: str) -> str:
    return f"'{value.removesuffix('+00')}'"


BYTES_AS_TEXT = "\\x"
TOO_LARGE = b"\\x!integrator: too large"
"""What a query gives in the place of bytes whose text is above max_allowed_packet: a function's result is null then."""
_ORDERED: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "decimal"), _number),
    **dict.fromkeys(("char", "varchar"), _text),
    **dict.fromkeys(("binary", "varbinary"), _bytes),
    **dict.fromkeys(("date", "datetime", "timestamp"), _moment),
}
"""Types of keys by whose order tables are read in parts, and how a value is written in SQL."""
_OF_LABELS = frozenset(("enum", "set"))
"""Types whose definitions have text of their owner."""


@dataclass(frozen=True)
class Captured:
    """A table that is captured. kinds: the types of its columns, by name. rows: about how many there are.

    select: what a query reads of each column, so that it has the same text as the log's.
    """

    relation: Relation
    kinds: Mapping[str, str] = field(default_factory=dict)
    select: Sequence[str] = ()
    rows: int = 0

    @property
    def name(self) -> str:
        """Its database and name."""
        return self.relation.full_name

    @property
    def quoted(self) -> str:
        """Its name as SQL has it."""
        return f"{quoted(self.relation.schema)}.{quoted(self.relation.table)}"

    @property
    def shape(self) -> Mapping[str, Any]:
        """Nothing: the log has each statement that makes its rows others."""
        return {}

    def is_ordered_by(self, column: str) -> bool:
        """Return whether rows can be read by a column's order: a value as text is compared as it is ordered."""
        return self.kinds.get(column, "") in _ORDERED

    def query(self, part: Part) -> str:
        """Return the statement that reads a part of its rows."""
        after = "" if part.last is None else self._after(part.key, part.last)
        conditions = " and ".join(filter(None, (after, f"({part.where})" if part.where else "")))
        rows = f"{self.quoted}{' where ' if conditions else ''}{conditions}"
        order = f" order by {', '.join(map(quoted, part.key))}" if part.key else ""
        return f"select {', '.join(self.select)} from {rows}{order}"  # noqa: S608

    def condition(self, key: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Return the condition that a row is one of those whose values of the key are given as text."""
        kinds = [_ORDERED[self.kinds[name]] for name in key]
        values = [", ".join(one(value) for one, value in zip(kinds, row, strict=True)) for row in rows]
        return f"({', '.join(map(quoted, key))}) in ({', '.join(f'({one})' for one in values)})"

    def _after(self, key: Sequence[str], last: Sequence[str]) -> str:
        """Return the condition that a row is after one: (a, b) > (1, 2), as the server reads it by the index."""
        columns = [quoted(one) for one in key]
        values = [_ORDERED[self.kinds[name]](value) for name, value in zip(key, last, strict=True)]
        pairs = [*zip(columns, values, strict=True)]
        each = [
            " and ".join([*(f"{one} = {value}" for one, value in pairs[:size]), f"{pairs[size][0]} > {pairs[size][1]}"])
            for size in range(len(pairs))
        ]
        return f"{columns[0]} >= {values[0]} and ({' or '.join(f'({one})' for one in each)})"


@dataclass(frozen=True)
class Found:
    """The tables of a server that a location is for. left_out: why others are not captured. notes: what of them is.

    others: tables that it is not for.
    """

    tables: tuple[Captured, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def found(session: Session, location: BinlogLocation, numbers: Mapping[str, int]) -> Found:
    """Return which tables are captured. numbers: those of tables that have one. Raises SourceAway, EnvironmentFault."""
    charsets, granted = Charsets(session), _granted(session)
    not_logged = _not_logged(session) if location.captures_changes else {}
    tables, left_out = list[Captured](), dict[str, str]()
    listed, columns, others = _listed(session, location, lower=charsets.lower_names)
    for schema, name, kind, engine, rows in listed:
        full = f"{schema}.{name}"
        reason = _no_columns(columns[schema, name], charsets)
        if location.captures_changes:
            reason = _no_changes(kind, engine) or reason or not_logged.get(schema)
        if "." in schema:
            reason = "is in a database whose name has a dot, so that its tables may be taken for those of others"
        if reason or (reason := None if granted(schema, name) else _not_read(session, schema, name)):
            left_out[full] = reason
            continue
        own = columns[schema, name]
        relation = Relation(numbers.get(full, 0), schema, name, "f", _columns_of(own))
        kinds = {str(column[0]): str(column[1]) for column in own}
        tables.append(Captured(relation, kinds, [_read(*column[:3]) for column in own], int(rows or 0)))
    # https://dev.mysql.com/doc/refman/9.7/en/innodb-foreign-key-constraints.html: newer servers have these in the log
    is_logged = [value for _, value in session.rows(_NATIVE_KEYS)] == ["OFF"]
    notes = [] if is_logged else _cascades(session, tables)
    return Found(tuple(tables), left_out, (*notes, *([_FILTERED] if not_logged else [])), others)


def _columns_of(columns: Sequence[Sequence[str]]) -> tuple[Column, ...]:
    return tuple(column_of(name, in_catalogue(*more)) for name, *more in columns)


def _sql(session: Session, names: Sequence[tuple[str, str]]) -> str:
    return "\n".join(mysql_catalogue.definitions(session, names, qualified=True, spatial_type="longblob"))


def unaltered(session: Session, location: BinlogLocation, tables: Sequence[Captured]) -> list[Relation]:
    """Return the relations of tables that are still as they were found: what was asked for since defines them."""
    _, columns, _ = _listed(session, location, lower=Charsets(session).lower_names)
    relations = [one.relation for one in tables]
    return [one for one in relations if one.columns == _columns_of(columns[one.schema, one.table])]


def _listed(
    session: Session, location: BinlogLocation, *, lower: bool
) -> tuple[list[tuple[Any, ...]], dict[tuple[str, str], list[Sequence[str]]], tuple[str, ...]]:
    """Return the tables that a location is for, the columns of all, and the names of the other tables.

    Two queries are not of one time, and a table has no engine while a statement makes it another one: they are asked
    again. A table without columns is one that was dropped between them.
    """
    database, tries = session.server.database, 0
    while True:
        tables, others = list[tuple[Any, ...]](), list[str]()
        for row in session.rows(_TABLES):
            if wanted(row[0], row[1], location, database, lower=lower):
                tables.append(row)
            elif is_for(row[0], location, database, lower=lower):
                others.append(f"{row[0]}.{row[1]}")
        columns = defaultdict[tuple[str, str], list[Sequence[str]]](list)
        for schema, name, *column in session.rows(_COLUMNS):
            columns[schema, name].append(column)
        whole = [row for row in tables if row[:2] in columns]
        if tries == _TRIES or (len(whole) == len(tables) and all(row[3] for row in whole)):
            return whole, columns, tuple(others)
        tries += 1
        time.sleep(_AGAIN_S)


def wanted(schema: str, name: str, location: BinlogLocation, database: str | None, *, lower: bool = False) -> bool:
    """Return whether a location is for a table. database: that of its address, which names without one are of.

    lower: whether the server has names in lower case, however they are written.
    """
    if not is_for(schema, location, database, lower=lower):
        return False
    if lower:
        low = {key: [one.lower() for one in getattr(location, key)] for key in ("tables", "exclude")}
        location = location.model_copy(update=low)
    return is_wanted(f"{schema}.{name}", location)


def is_for(schema: str, location: BinlogLocation, database: str | None, *, lower: bool = False) -> bool:
    """Return whether a location is for tables of a database. database, lower: as in `wanted`."""
    named = [one.partition(".")[0] for one in location.tables if "." in one]
    if lower:
        schema, database, named = schema.lower(), database and database.lower(), [one.lower() for one in named]
    return database in (None, schema) or any(fnmatch.fnmatchcase(schema, one) for one in named)


def _not_logged(session: Session) -> dict[str, str]:
    """Return why changes of databases are in no log, by their names."""
    [row] = status(session) or [("", 0, "", "")]
    do, ignore = (set(filter(None, str(one or "").split(","))) for one in row[2:4])
    if not do and not ignore:
        return {}
    databases = [str(name) for (name,) in session.rows("select schema_name from information_schema.schemata")]
    return {
        name: "is in a database that the server does not log (binlog_do_db, binlog_ignore_db)"
        for name in databases
        if (do and name not in do) or name in ignore
    }


def _no_changes(kind: str, engine: str | None) -> str | None:
    """Return why the changes of a table cannot be captured; None if they can."""
    if kind == "SYSTEM VERSIONED":
        return "is system-versioned: the log has its rows and their history alike"
    if engine is None:
        return "cannot be opened by the server, which says why: show table status"
    if engine != _ENGINE:
        return (
            f"is of the engine {engine}, whose rows cannot be read as of a position of the log: have it be of {_ENGINE}"
        )
    return None


def _no_columns(columns: Sequence[Sequence[str]], charsets: Charsets) -> str | None:
    """Return why the values of a table cannot be read; None if they can."""
    for name, kind, whole, charset, *_ in columns:
        if charsets.product.name == NAMES["mariadb"] and HASH.fullmatch(name):
            return f"has the column {name}, which is what MariaDB calls a column of its own: rename it"
        if whole == "year(2)":
            return f"has the column {name} of type year(2), whose centuries tables and log write differently: modify it"
        if "COMPRESSED*/" in whole and kind not in _OF_LABELS:
            return f"has the compressed column {name}, which the log has in a form of its own: alter table … modify it"
        if charset is not None and not charsets.is_read(charset):
            return f"has the column {name} in the character set {charset}, which is not read: convert it to utf8mb4"
    return None


def _granted(session: Session) -> Callable[[str, str], bool]:
    """Return whether our user may read a table for certain: rights by roles are not among those that are asked for."""
    if session.rows(_GRANTS.format("user_privileges", "1")):
        return lambda _schema, _name: True
    schemas = {name for (name,) in session.rows(_GRANTS.format("schema_privileges", "table_schema"))}
    tables = set(session.rows(_GRANTS.format("table_privileges", "table_schema, table_name")))
    return lambda schema, name: schema in schemas or (schema, name) in tables


def _not_read(session: Session, schema: str, name: str) -> str | None:
    """Return why a table is not captured that our user may not read, or some columns of it; None where it may."""
    try:
        session.rows(f"select * from {quoted(schema)}.{quoted(name)} limit 0")  # noqa: S608
    except EnvironmentFault:
        return "has columns that our user may not read, and the log has: grant select on all of it"
    return None


def _cascades(session: Session, tables: Sequence[Captured]) -> list[str]:
    """Return of which rows of tables InnoDB makes changes by itself."""
    found = []
    for one in tables:
        try:
            [(_, text)] = session.rows(f"show create table {one.quoted}")
        except EnvironmentFault:  # the server cannot open it, and says so when its rows are read
            continue
        for key, rules in _CASCADE.findall(str(text)):
            if _CHANGES.search(rules):
                found.append(
                    f"table {one.name}: rows that change by its foreign key {key} ({rules.strip().lower()}) are "
                    "changed by InnoDB alone, and are not in the log: these changes cannot be captured"
                )
    return found


def _read(name: str, kind: str, whole: str) -> str:
    """Return what a query reads of a column."""
    column = quoted(name)
    if kind in _HEXADECIMAL:
        return f"coalesce(concat(0x5c78, lower(hex({column}))), if({column} is null, null, 0x{TOO_LARGE.hex()}))"
    if kind in ("float", "double"):
        return f"cast({column} as double)"
    if kind == "bit":
        return f"lpad(bin({column} + 0), {whole[4:-1]}, '0')"
    if kind == "timestamp":
        return f"concat({column}, if({column} + 0 = 0, '', '+00'))"
    is_filled = "zerofill" in whole and kind not in _OF_LABELS and kind != "year"
    return f"({column} + 0)" if is_filled else column


def definition(session: Session, tables: Sequence[Captured]) -> Definition:
    """Return how a server's catalogue defines tables now. Raises SourceAway, EnvironmentFault."""
    names = [(one.relation.schema, one.relation.table) for one in tables]
    try:
        sql = _sql(session, names)
    except EnvironmentFault:  # of a table that the server cannot open, which keeps no other from being defined
        sql = ""
        for one in names:
            with contextlib.suppress(EnvironmentFault):
                sql += _sql(session, [one])
    columns = {one.name: [column.name for column in one.relation.columns] for one in tables}
    return Definition(sql, "mysql", columns)


def as_announced(
    known: Definitions, relations: Sequence[Relation], tables: Sequence[Captured], now: Definition
) -> Definitions:
    """Return definitions with those of relations of the log: the catalogue's where a table is still so.

    Else they are what the log says. tables: as the catalogue has them now, and `now` defines them.
    """
    there = {one.name: one.relation for one in tables}
    defined = {one.full_name: one for one in tables_of(now)}
    are_now = [
        one
        for one in relations
        if (name := one.full_name) in there and name in defined and is_now(one, there[name], defined[name])
    ]
    known = known.with_versions(now, are_now)
    for one in (other for other in relations if other not in are_now):
        name = one.full_name
        names = [column.name for column in one.columns]
        keys = [each.key for each in reversed(known.known_of(name)) if set(each.key) <= set(names)]
        made = Definition(definition_of(one, keys[0] if keys else ()), "mysql", {name: names})
        known = known.with_versions(made, [one])
    return known
