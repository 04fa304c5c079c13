"""Table maps of the log -> relations, and how rows of their tables are read.

https://mariadb.com/kb/en/table_map_event/. What columns are called, which have a sign, and in which character set they
are is there where the server's binlog_row_metadata is FULL; so rows are read by what the log says, and not by what the
catalogue says later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from integrator.decode.encodings.pgoutput import Relation
from integrator.engine import binlog
from integrator.engine.binlog import Program
from integrator.engine.binlog_json import DEPTH, FRAME
from integrator.errors import EnvironmentFault
from integrator.sources.binlog.charsets import BINARY, Charsets
from integrator.sources.binlog.events import Cursor
from integrator.sources.binlog.logged import HIDDEN as HASH
from integrator.sources.binlog.logged import OWN_TEXT, Logged, column_of
from integrator.sources.binlog.product import NAMES
from integrator.sources.capture.record import ANEW

_SIGNS, _CHARSET, _CHARSETS, _NAMES, _SETS, _ENUMS, _KEY, _PREFIXES, _ENUM_CHARSET, _ENUM_CHARSETS = (
    1, 2, 3, 4, 5, 6, 8, 9, 10, 11,
)  # fmt: skip
(_TINY, _SHORT, _LONG, _FLOAT, _DOUBLE, _LONGLONG, _INT24, _DATE, _YEAR) = (1, 2, 3, 4, 5, 8, 9, 10, 13)
_VARCHAR, _BIT, _TIMESTAMP, _DATETIME, _TIME, _DECIMAL, _ENUM, _SET, _BLOB, _STRING, _GEOMETRY = (
    15, 16, 17, 18, 19, 246, 247, 248, 252, 254, 255,
)  # fmt: skip
_VECTOR, _JSON = 242, 245
"""Of MySQL."""
_INTEGERS = {_TINY: 1, _SHORT: 2, _INT24: 3, _LONG: 4, _LONGLONG: 8}
_SIGNED = frozenset((*_INTEGERS, _FLOAT, _DOUBLE, _YEAR, _DECIMAL))
"""Types of which the log says whether they have a sign."""
_OF_CHARACTERS = frozenset((_VARCHAR, _BLOB, _STRING))
"""Types whose character set is in the log; in MariaDB also GEOMETRY, in MySQL also VECTOR."""
_META_BYTES = {_FLOAT: 1, _DOUBLE: 1, _BLOB: 1, _GEOMETRY: 1, _TIMESTAMP: 1, _DATETIME: 1, _TIME: 1, _VARCHAR: 2,
               _BIT: 2, _DECIMAL: 2, _STRING: 2, _VECTOR: 1, _JSON: 1, 140: 1, 141: 2}  # fmt: skip
_LONG_TEXT = 255
LARGE = frozenset((_BLOB, _GEOMETRY, _VECTOR, _JSON))
"""Types that the log leaves out where they did not change (binlog_row_image = NOBLOB)."""
_REMEDY = (
    "its columns have no names in the log: set global binlog_row_metadata = 'FULL', and put it into the server's "
    f"configuration; {ANEW}"
)
_OLD = {7: "timestamp", 11: "time", 12: "datetime"}
_OWN_TEXT = {"uuid": binlog.UUID, "inet6": binlog.INET6, "inet4": binlog.INET4}


@dataclass(frozen=True)
class Own:
    """A column as the log has it. meta: what belongs to its type. key: whether it is in the primary key."""

    name: str
    type: int
    meta: int
    unsigned: bool
    charset: str
    labels: tuple[str, ...] = ()
    not_null: bool = False
    key: bool = False


@dataclass(frozen=True)
class TableMap:
    """A table map. signature: of its columns without what the log may leave out. columns: None without names."""

    schema: str
    table: str
    signature: bytes
    columns: tuple[Own, ...] | None

    @property
    def name(self) -> str:
        """Its database and name."""
        return f"{self.schema}.{self.table}"


def table_map(body: bytes, charsets: Charsets) -> TableMap:
    """Return what a TABLE_MAP event says, after its number and flags. Raises EnvironmentFault for what is not read."""
    cursor = Cursor(body, 8)
    schema = cursor.take(cursor.take(1)[0]).decode()
    cursor.take(1)
    table = cursor.take(cursor.take(1)[0]).decode()
    cursor.take(1)
    begin = cursor.at
    types = list(cursor.take(cursor.number()))
    meta = _metas(types, Cursor(cursor.take(cursor.number())))
    signature = body[begin : cursor.at]
    nulls = cursor.take((len(types) + 7) >> 3)
    types = [_real(kind, one) for kind, one in zip(types, meta, strict=True)]
    more: dict[int, bytes] = {}
    while not cursor.is_done:
        [kind] = cursor.take(1)
        more[kind] = cursor.take(cursor.number())
    if _NAMES not in more:
        return TableMap(schema, table, signature, None)
    names = [one.decode() for one in _texts(Cursor(more[_NAMES]))]
    signs = _signs(types, more.get(_SIGNS, b""))
    of_characters = _OF_CHARACTERS | {_GEOMETRY if charsets.product.name == NAMES["mariadb"] else _VECTOR}
    collations = _collations(types, of_characters, more.get(_CHARSET), more.get(_CHARSETS))
    collations |= _collations(types, {_ENUM, _SET}, more.get(_ENUM_CHARSET), more.get(_ENUM_CHARSETS))
    labels = {_SET: _lists(more.get(_SETS, b"")), _ENUM: _lists(more.get(_ENUMS, b""))}
    key, columns = _key(more), []
    for at, (name, kind) in enumerate(zip(names, types, strict=True)):
        charset = charsets.of_collation(collations[at]) if at in collations else BINARY
        own = next(labels[kind], ()) if kind in labels else ()
        texts = tuple(charsets.decoded(charset, one) for one in own)
        not_null = not nulls[at >> 3] >> (at & 7) & 1
        columns.append(Own(name, kind, meta[at], at in signs, charset, texts, not_null, at in key))
    return TableMap(schema, table, signature, tuple(columns))


def _key(more: Mapping[int, bytes]) -> set[int]:
    """Return the places of the primary key's columns; none where the log does not say it."""
    if _KEY in more:
        cursor, found = Cursor(more[_KEY]), set[int]()
        while not cursor.is_done:
            found.add(cursor.number())
        return found
    cursor, found = Cursor(more.get(_PREFIXES, b"")), set[int]()
    while not cursor.is_done:
        found.add(cursor.number())
        cursor.number()  # how much of it
    return found


def _metas(types: Sequence[int], cursor: Cursor) -> list[int]:
    """Return what belongs to each type: two bytes are of the most significant first where they are two numbers."""
    found = []
    for kind in types:
        size = _META_BYTES.get(kind, 0)
        found.append(int.from_bytes(cursor.take(size), "big" if kind in (_DECIMAL, _STRING) else "little"))
    return found


def _real(kind: int, meta: int) -> int:
    """Return the type of a column: the log has those of labels as STRING."""
    return meta >> 8 if kind == _STRING and meta >> 8 in (_ENUM, _SET) else kind


def _texts(cursor: Cursor) -> Iterator[bytes]:
    while not cursor.is_done:
        yield cursor.take(cursor.number())


def _lists(data: bytes) -> Iterator[list[bytes]]:
    cursor = Cursor(data)
    while not cursor.is_done:
        yield [cursor.take(cursor.number()) for _ in range(cursor.number())]


def _signs(types: Sequence[int], bits: bytes) -> set[int]:
    """Return which columns have no sign: a bit for each number, the first one highest."""
    numbers = [at for at, kind in enumerate(types) if kind in _SIGNED]
    return {at for place, at in enumerate(numbers) if bits[place >> 3] >> (7 - (place & 7)) & 1}


def _collations(types: Sequence[int], which: Collection[int], most: bytes | None, each: bytes | None) -> dict[int, int]:
    """Return the collations of columns of these types: of each, or of all but some."""
    columns = [at for at, kind in enumerate(types) if kind in which]
    cursor = Cursor(each if each is not None else most or b"")
    if each is not None:
        found = {at: cursor.number() for at in columns if not cursor.is_done}
    elif most is None:
        return {}
    else:
        found = dict.fromkeys(columns, cursor.number())
        while not cursor.is_done:
            place = cursor.number()
            found[columns[place] if place < len(columns) else len(types)] = cursor.number()
    if not cursor.is_done or not found.keys() <= set(columns) or len(found) != len(columns):
        raise EnvironmentFault(
            "a table's map has other columns with character sets than are known: the server is newer than what is read"
        )
    return found


def relation_of(own: TableMap, oid: int, kinds: Mapping[str, str]) -> Relation:
    """Return the relation that changes of a table are announced with. kinds: as of `program_of`."""
    columns = []
    for one in own.columns or ():
        is_own = one.charset == BINARY and kinds.get(one.name) in OWN_TEXT
        has_text = one.charset != BINARY and one.type in (*_OF_CHARACTERS, _ENUM, _SET)
        logged = Logged(one.type, one.meta, one.unsigned, has_text, is_own, one.not_null, one.key)
        columns.append(column_of(one.name, logged))
    return Relation(oid, own.schema, own.table, "f", tuple(columns))


def program_of(own: TableMap, kinds: Mapping[str, str], charsets: Charsets) -> Program:
    """Return how rows of a table are read. kinds: the types of its columns in the catalogue, by name.

    Raises EnvironmentFault for a column that is not read.
    """
    if own.columns is None:
        raise EnvironmentFault(f"table {own.name}: {_REMEDY}")
    kind, size, more = list[int](), list[int](), list[int]()
    labels: list[bytes] = []
    for one in own.columns:
        made = _column(own, one, kinds.get(one.name, ""), charsets, len(labels))
        for values, value in zip((kind, size, more), made, strict=True):
            values.append(value)
        labels += [label.encode() for label in one.labels]
    ends = np.cumsum([0, *map(len, labels)], dtype=np.int64)
    return Program(
        np.array(kind, np.int64),
        np.array(size, np.int64),
        np.array(more, np.int64),
        np.frombuffer(b"".join(labels) or b"\0", np.uint8),
        np.column_stack([ends[:-1], ends[1:]]).copy(),
        charsets.maps if len(charsets.maps) else np.zeros(4, np.uint8),
        np.zeros(DEPTH * FRAME, np.int64),
    )


def _column(own: TableMap, one: Own, kind: str, charsets: Charsets, label: int) -> tuple[int, int, int]:
    """Return the kind, size, and more of a column, as in `Program`."""
    meta = one.meta
    if charsets.product.name == NAMES["mariadb"] and HASH.fullmatch(one.name):
        return binlog.HIDDEN, _INTEGERS[one.type], 0
    if one.type in _INTEGERS:
        return (binlog.UNSIGNED if one.unsigned else binlog.INTEGER), _INTEGERS[one.type], 0
    made: dict[int, Callable[[], tuple[int, int, int]]] = {
        _FLOAT: lambda: (binlog.FLOAT, 4, 0),
        _DOUBLE: lambda: (binlog.DOUBLE, 8, 0),
        _DECIMAL: lambda: (binlog.DECIMAL, meta >> 8, meta & 0xFF),
        _DATE: lambda: (binlog.DATE, 3, 0),
        _TIME: lambda: (binlog.TIME, 0, meta),
        _DATETIME: lambda: (binlog.DATETIME, 0, meta),
        _TIMESTAMP: lambda: (binlog.TIMESTAMP, 0, meta),
        _YEAR: lambda: (binlog.YEAR, 1, 0),
        _BIT: lambda: (binlog.BIT, (meta >> 8) * 8 + (meta & 0xFF), 0),
        _ENUM: lambda: (binlog.ENUM, _read(own, one, charsets, meta & 0xFF), label),
        _SET: lambda: (binlog.SET, _read(own, one, charsets, meta & 0xFF), label),
        _VARCHAR: lambda: _text(own, one, 2 if meta > _LONG_TEXT else 1, 0, charsets),
        _BLOB: lambda: _text(own, one, meta, 0, charsets),
        _GEOMETRY: lambda: (binlog.BYTES, meta, 0),
        _VECTOR: lambda: (binlog.BYTES, meta, 0),
        _JSON: lambda: (binlog.JSON, meta, 0),
        _STRING: lambda: _string(own, one, kind, charsets),
    }
    if one.type not in made:
        old = f"its type {one.type} is not read"
        if one.type in _OLD:
            old = f"its type is in the format of before MySQL 5.6 and MariaDB 10.1 ({_OLD[one.type]})"
        raise EnvironmentFault(
            f"table {own.name}, column {one.name}: {old}; have the server rewrite the table (alter table … force), or "
            "exclude it"
        )
    return made[one.type]()


def _string(own: TableMap, one: Own, kind: str, charsets: Charsets) -> tuple[int, int, int]:
    """Return how CHAR and BINARY are read; their length has two bits more beside the type, which are inverted."""
    length = ((one.meta >> 4 & 0x300) ^ 0x300) | (one.meta & 0xFF)
    if one.charset == BINARY and kind in _OWN_TEXT:
        return _OWN_TEXT[kind], 1, 0
    return _text(own, one, 2 if length > _LONG_TEXT else 1, length, charsets)


def _text(own: TableMap, one: Own, size: int, fill: int, charsets: Charsets) -> tuple[int, int, int]:
    if one.charset == BINARY:
        return binlog.BYTES, size, fill
    _read(own, one, charsets, size)
    own_map = charsets.map_of(one.charset)
    return (binlog.TEXT, size, 0) if own_map is None else (binlog.MAPPED, size, own_map)


def _read(own: TableMap, one: Own, charsets: Charsets, size: int) -> int:
    """Return `size`, of a column whose text is read. Raises EnvironmentFault for another."""
    if any("\ufffd" in label for label in one.labels):
        raise EnvironmentFault(f"table {own.name}, column {one.name}: a label is no text; exclude the table")
    if one.charset != BINARY and not charsets.is_read(one.charset):
        raise EnvironmentFault(
            f"table {own.name}, column {one.name}: the character set {one.charset} is not read: convert the column to "
            "utf8mb4, or exclude the table"
        )
    return size
