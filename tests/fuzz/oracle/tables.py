"""Table definitions, read from simple DDL by the oracle's own few lines: `create table t(a int primary key, …);`."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A column's type. size: bits of an integer, digits of a decimal, or digits behind the second's point.

    scale: of a decimal; 1 of an integer that may be true and false.
    """

    name: str
    size: int = 0
    scale: int = 0
    item: Kind | None = None


@dataclass(frozen=True)
class Table:
    """A table, whose names are in lower case."""

    name: str
    columns: dict[str, Kind]
    key: tuple[str, ...]


_PLAIN = {
    "boolean": Kind("boolean"),
    "tinyint": Kind("integer", 16),
    "smallint": Kind("integer", 16),
    "year": Kind("integer", 16),
    "mediumint": Kind("integer", 32),
    "int": Kind("integer", 32),
    "integer": Kind("integer", 32),
    "bigint": Kind("integer", 64),
    "bigserial": Kind("integer", 64),
    "bigint unsigned": Kind("decimal", 20, 0),
    "real": Kind("real"),
    "float": Kind("real"),
    "double": Kind("double"),
    "double precision": Kind("double"),
    "numeric": Kind("number"),
    "uuid": Kind("word"),
    "enum": Kind("word"),
    "bytea": Kind("bytes"),
    "blob": Kind("bytes"),
    "binary": Kind("bytes"),
    "varbinary": Kind("bytes"),
    "date": Kind("date"),
    "interval": Kind("interval"),
}
_TIMES = {"time": "time", "timestamp": "timestamp", "datetime": "timestamp", "timestamptz": "timestamptz"}
_MYSQL = 3
"""Digits of seconds that MySQL's times have by default, as they are kept; elsewhere it is six."""
_TYPE = re.compile(r"([a-z]+(?: precision| unsigned)?)(?:\((\d+)(?:,\s*(\d+))?\))?(\[\])?")


def _digits(written: str | None, default: int) -> int:
    """Return 3, 6 or 9: as finely as values are kept."""
    given = default if written is None else int(written)
    return 3 if given <= 3 else 6 if given <= 6 else 9


def kind_of(text: str, digits: int = 6) -> Kind:
    """Return the type that DDL writes so; `digits` of seconds are what times have by default."""
    found = _TYPE.match(text)
    assert found, text
    name, size, scale, is_list = found.groups()
    if name in _TIMES:
        zoned = name == "timestamp" and digits == _MYSQL  # MySQL's TIMESTAMP is an instant, its DATETIME is none
        kind = Kind("timestamptz" if zoned else _TIMES[name], _digits(size, digits))
    elif name in ("numeric", "decimal") and size:
        kind = Kind("decimal", int(size), int(scale or 0))
    else:
        kind = Kind("integer", 16, 1) if (name, size) == ("tinyint", "1") else _PLAIN.get(name, Kind("text"))
    return Kind("array", item=kind) if is_list else kind


def tables_of(ddl: str, digits: int = 6) -> dict[str, Table]:
    """Return the tables of DDL, by name."""
    tables = {}
    enums = dict.fromkeys(re.findall(r"create type (\w+) as enum", ddl), Kind("word"))
    for name, written_body in re.findall(r"create table (\w+)\((.*)\);", ddl):
        body = written_body
        columns, key = {}, ()
        whole = re.search(r",\s*primary key\s*\(([^)]*)\)", body)
        if whole:
            key = tuple(part.strip() for part in whole[1].split(","))
            body = body.replace(whole[0], "")
        for part in re.split(r",\s*(?![^(]*\))", body):
            column, _, written = part.strip().partition(" ")
            columns[column] = enums.get(written) or kind_of(written, digits)
            key = (column,) if "primary key" in written else key
        tables[name] = Table(name, columns, key)
    return tables
