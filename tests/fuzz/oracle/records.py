"""A record with its images -> the change rows that it makes, as every dialect but hvr does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.oracle.tables import Kind, Table
from tests.fuzz.oracle.tree import Number
from tests.fuzz.oracle.verdict import MISSING, OneOf, Row, Wrong

Notes = set[str]
Convert = Callable[[Any, str, Kind, Notes], Any]
DELETE, INSERT, UPDATE, BEFORE_KEY_UPDATE, BEFORE_UPDATE, TRUNCATE = range(6)
_EMPTY = ("", "0", "0.0", "false", "AA==", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z")
"""What Debezium writes in a column that cannot be null, where it does not know the value."""


_ONLY_OTHERS = "no column of the row, but others that are ignored"
OTHER_SPELLING = "another spelling than in the records before"


@dataclass
class Line:
    """What judging a line needs: the tables, whether unknown columns are ignored, and where notes go.

    schema, database: those that all recorded lines say. written: names of tables as all of these write them, where not as the definition.
    """

    tables: dict[str, Table]
    ignore: bool
    schema: str | None
    written: dict[str, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=set)
    database: str | None = None


@dataclass
class Record:
    """A change: action is one of I U D T. new and old: images by column, None where the record has none.

    of_changes: the old image holds only what changed. filled: what the new one leaves out is as in the old one.
    lone_keys: an old image that has nothing beside its key says nothing of the other columns.
    """

    action: str
    schema: Any
    table: Any
    new: dict[str, Any] | None
    old: dict[str, Any] | None
    of_changes: bool = False
    filled: bool = True
    lone_keys: bool = False
    apart: Callable[[str], bool] = lambda _: False
    database: Any = None


def parts_of(name: Any) -> tuple[str | None, str | None, Any]:
    """Return the database, the schema and the name that are written with points between. Raises Wrong."""
    if not isinstance(name, str) or isinstance(name, Number):
        return None, None, name
    parts = name.split(".")
    if "" in parts or len(parts) > 3:
        raise Wrong("a name of a table with an empty part, or with too many")
    database, schema, table = [None] * (3 - len(parts)) + parts
    return database, schema, table


def table_of(line: Line, schema: Any, name: Any, database: Any = None) -> Table:
    """Return the table that a record means, beside others that write its names so. Raises Wrong."""
    if not isinstance(name, str) or isinstance(name, Number):
        raise Wrong("no name of a table")
    written = line.written.get(name, "") if line.written else name
    if written not in line.tables:
        equal = [one for one in line.tables if one.lower() == name.lower()]
        raise Wrong(f"{OTHER_SPELLING} of a table" if equal else "an unknown table")
    if database != line.database:
        raise Wrong(f"{OTHER_SPELLING}: a table of another database, or of one that is not said")
    if schema is None and line.schema is not None:
        raise Wrong(f"{OTHER_SPELLING}: a table of a schema that is not said")
    if schema is not None and schema != line.schema:
        if line.schema is None:
            line.notes.add("a schema, where the other records say none")
        elif isinstance(schema, str) and schema.lower() in ("", line.schema.lower()):
            line.notes.add("a schema in other case, or empty")
        else:
            raise Wrong(f"{OTHER_SPELLING}: a table of another schema, where the definition names none")
    return line.tables[written]


def rows_of(line: Line, record: Record, convert: Convert) -> list[Row]:
    """Return the rows that a record makes. Raises Wrong."""
    table = table_of(line, record.schema, record.table, record.database)
    if record.action == "T":
        if record.new is not None or record.old is not None:
            line.notes.add("a truncate with an image")
        return [Row(TRUNCATE, table.name, None)]
    new = None if record.action == "D" else _known(line, table, record.new, record)
    old, is_none = None, record.old is None or (record.old == {} and not record.of_changes)
    if record.action == "D" or (record.action == "U" and not is_none):
        old = _known(line, table, record.old, record)
        if record.lone_keys:
            old = _without_empty(line, table, old, convert)
    if new is not None and old is not None:
        if not new and _ONLY_OTHERS not in line.notes:
            raise Wrong("no value of the row")
        if record.filled:
            new = {**{name: value for name, value in old.items() if name not in new}, **new}
        if record.of_changes:
            old = {**new, **old}
    images = [image for image in (old, new) if image is not None]
    rows = [
        {name: _value(image, name, kind, convert, line) for name, kind in table.columns.items()} for image in images
    ]
    if not all(images) and _ONLY_OTHERS not in line.notes:
        raise Wrong("no value of the row")
    if len(rows) == 2:
        first = BEFORE_KEY_UPDATE if _key_changed(table, *rows) else BEFORE_UPDATE
        return [Row(first, table.name, rows[0]), Row(UPDATE, table.name, rows[1])]
    op = {"I": INSERT, "U": UPDATE, "D": DELETE}[record.action]
    return [Row(op, table.name, rows[0])]


def _value(image: dict[str, Any], name: str, kind: Kind, convert: Convert, line: Line) -> Any:
    return convert(image[name], name, kind, line.notes) if name in image else MISSING


def _known(line: Line, table: Table, image: Any, record: Record) -> dict[str, Any]:
    """Return the columns of the table that an image has. Raises Wrong for others, unless they are ignored."""
    if image is None:
        return {}
    if not isinstance(image, dict):
        raise Wrong("an image is no object")
    others = {name for name in image if name not in table.columns and not record.apart(name)}
    if others and not line.ignore:
        if any(image[name] is not MISSING for name in others):
            raise Wrong("an unknown column")
        line.notes.add("an unknown column that did not change")
    check_cases(table, image, others)
    known = {name: value for name, value in image.items() if name in table.columns and value is not MISSING}
    if others and not known:
        line.notes.add(_ONLY_OTHERS)
    return known


def check_cases(table: Table, image: dict[str, Any], others: set[str]) -> None:
    """Raise Wrong for another name that differs in case alone from that of a column which the image has not."""
    absent = {name.lower() for name in table.columns if name not in image}
    if any(name.lower() in absent for name in others):
        raise Wrong("a name that may be meant for a column without a value")


def _without_empty(line: Line, table: Table, old: dict[str, Any], convert: Convert) -> dict[str, Any]:
    """Return an old image without what stands beside its key, where all of that is null or empty."""
    others = [name for name in table.columns if name not in table.key and name in old]
    if not table.key or not others:
        return old
    texts = {name: _text(old[name]) for name in others}
    if not all(text is None or text in _EMPTY or text in ("[]", "{}") for text in texts.values()):
        return old
    for name in others:
        try:
            convert(old[name], name, table.columns[name], set())
        except Wrong:
            line.notes.add("an empty value, which is of no row, that is none of its column's type")
    return {name: value for name, value in old.items() if name in table.key}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return {"[]": "[]", "{}": "{}"}.get(str(value), "…")


def _key_changed(table: Table, old: dict[str, Any], new: dict[str, Any]) -> bool:
    names = table.key or tuple(table.columns)
    pairs = [(old[name], new[name]) for name in names if MISSING not in (old[name], new[name])]
    return any(_first(one) != _first(other) for one, other in pairs)


def _first(value: Any) -> Any:
    return value.values[0] if isinstance(value, OneOf) else value
