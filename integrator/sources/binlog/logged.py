"""Columns as the log has them, in the relations of changes: by them a change is read as its table was then (I11).

A relation's column has what the log says beside its name: its type, whether it has a sign, text, NOT NULL, and whether
it is in the primary key; and as its modifier what its values depend on: digits, or bits. The catalogue says the same of
the table that is there now, so that the log's relation is known to be that table's, or to be another one's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.schema import Table

TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24, DATE, YEAR = 1, 2, 3, 4, 5, 8, 9, 10, 13
VARCHAR, BIT, TIMESTAMP, DATETIME, TIME, VECTOR, JSON, DECIMAL, ENUM, SET, BLOB, STRING, GEOMETRY = (
    15, 16, 17, 18, 19, 242, 245, 246, 247, 248, 252, 254, 255,
)  # fmt: skip
"""https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html."""
_WITH_MODIFIER = frozenset((BIT, TIMESTAMP, DATETIME, TIME, DECIMAL))
_UNSIGNED, _TEXT, _OWN, _NOT_NULL, _KEY = 1, 2, 4, 8, 16
_BITS = 5
HIDDEN = re.compile(r"DB_ROW_HASH_\d+")
"""What MariaDB calls its own column, a BIGINT, for a UNIQUE key of long text: the catalogue does not have it
(https://mariadb.com/kb/en/getting-started-with-indexes/)."""
OWN_TEXT = frozenset(("uuid", "inet6", "inet4"))
"""Types whose values are bytes in the log, and text in results; the log does not say which they are."""
_TYPES = {
    "tinyint": TINY, "smallint": SHORT, "mediumint": INT24, "int": LONG, "bigint": LONGLONG, "float": FLOAT,
    "double": DOUBLE, "decimal": DECIMAL, "date": DATE, "year": YEAR, "bit": BIT, "timestamp": TIMESTAMP,
    "datetime": DATETIME, "time": TIME, "varchar": VARCHAR, "varbinary": VARCHAR, "char": STRING, "binary": STRING,
    "enum": ENUM, "set": SET, "json": JSON, "vector": VECTOR, **dict.fromkeys(OWN_TEXT, STRING),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"), BLOB),
}  # fmt: skip
_SQL = {
    TINY: "tinyint", SHORT: "smallint", INT24: "mediumint", LONG: "int", LONGLONG: "bigint", FLOAT: "float",
    DOUBLE: "double", DATE: "date", YEAR: "year", JSON: "json",
}  # fmt: skip
_TEXTS = {VARCHAR: "varchar(255)", STRING: "char(255)", BLOB: "longtext", ENUM: "varchar(255)", SET: "varchar(255)"}


class Logged(NamedTuple):
    """What the log says of a column beside its name."""

    type: int
    modifier: int
    unsigned: bool
    text: bool
    own: bool
    not_null: bool
    key: bool


def column_of(name: str, one: Logged) -> Column:
    """Return a column of a relation; all are in the replica identity, for the log has whole rows."""
    flags = (one.unsigned, one.text, one.own, one.not_null, one.key)
    bits = sum(bit for bit, is_set in zip((_UNSIGNED, _TEXT, _OWN, _NOT_NULL, _KEY), flags, strict=True) if is_set)
    return Column(name, one.type << _BITS | bits, one.modifier if one.type in _WITH_MODIFIER else 0, True)


def logged_of(column: Column) -> Logged:
    """Return what a column of a relation has."""
    flags = [bool(column.type & bit) for bit in (_UNSIGNED, _TEXT, _OWN, _NOT_NULL, _KEY)]
    return Logged(column.type >> _BITS, column.modifier, *flags)


def in_catalogue(kind: str, whole: str, charset: str | None, nullable: str, key: str) -> Logged:
    """Return what the log says of a column that the catalogue (information_schema.columns) says this of.

    kind: its data type. whole: its column type. charset: None for what has none. key: PRI for the primary key.
    """
    type_ = _TYPES.get(kind, GEOMETRY)
    digits = [int(one) for one in re.findall(r"\d+", whole.partition("(")[2].partition(")")[0])] if "(" in whole else []
    modifier = 0
    if type_ == DECIMAL:
        precision, scale = (*digits, 0)[:2]
        modifier = precision << 8 | scale
    elif type_ == BIT:
        modifier = (digits[0] >> 3) << 8 | digits[0] & 7
    elif type_ in _WITH_MODIFIER and digits:
        [modifier] = digits
    has_sign = kind in ("tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "decimal")
    unsigned = (has_sign and "unsigned" in whole) or type_ == YEAR
    return Logged(type_, modifier, unsigned, charset is not None, kind in OWN_TEXT, nullable == "NO", key == "PRI")


def is_now(relation: Relation, now: Relation, table: Table) -> bool:
    """Return whether a relation is that of the table as it is now. table: as its definition has it."""
    then = [one for one in relation.columns if not HIDDEN.fullmatch(one.name)]
    if [one.name for one in then] != [one.name for one in now.columns]:
        return False
    for one, other in zip(map(logged_of, then), map(logged_of, now.columns), strict=True):
        if one._replace(key=False) != other._replace(key=False):
            return False
    key = {one.name for one in then if logged_of(one).key}
    return not key or key == set(table.key)


def definition_of(relation: Relation, key: Sequence[str]) -> str:
    """Return the statement that defines a table as the log says that it was. key: where it does not say it."""
    columns = [(one.name, logged_of(one)) for one in relation.columns if not HIDDEN.fullmatch(one.name)]
    own_key = [name for name, one in columns if one.key] or [name for name, _ in columns if name in key]
    lines = [f"  {_quoted(name)} {_sql(one)}{' NOT NULL' if one.not_null else ''}" for name, one in columns]
    if own_key:
        lines.append(f"  PRIMARY KEY ({', '.join(map(_quoted, own_key))})")
    body = ",\n".join(lines)
    return f"CREATE TABLE {_quoted(relation.schema)}.{_quoted(relation.table)} (\n{body}\n);\n"


def _sql(one: Logged) -> str:
    if one.own:
        return "char(36)"
    if one.type in _TEXTS:
        return _TEXTS[one.type] if one.text or one.type in (ENUM, SET) else "longblob"
    match one.type:
        case 246:
            made = f"decimal({one.modifier >> 8},{one.modifier & 0xFF})"
        case 16:
            return f"bit({(one.modifier >> 8) * 8 + (one.modifier & 0xFF)})"
        case 17 | 18 | 19:
            return f"{ {TIMESTAMP: 'timestamp', DATETIME: 'datetime', TIME: 'time'}[one.type] }({one.modifier})"
        case _:
            made = _SQL.get(one.type, "longblob")
    return f"{made} unsigned" if one.unsigned and one.type != YEAR else made


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
