"""Canal's flat messages: https://github.com/alibaba/canal/wiki. A message has the rows of a statement."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.oracle import envelope, octets
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import an_object
from tests.fuzz.oracle.values import Texts, text_of
from tests.fuzz.oracle.verdict import Row, Wrong

Notes = set[str]


def rows(tree: Any, line: Line) -> list[Row]:
    """Return the rows of a record. Raises Wrong."""
    members = an_object(tree, "the record")
    actions = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"}
    others = [
        "CREATE",
        "ALTER",
        "ERASE",
        "RENAME",
        "CINDEX",
        "DINDEX",
        "QUERY",
        "GTID",
        "XACOMMIT",
        "XAROLLBACK",
        "TIDB_WATERMARK",
    ]
    kind = envelope.word(members, "type", [*actions, *others])
    if kind not in actions:
        return []
    envelope.time(members, "es", 1000, line.notes)
    for name in ("gtid", "id"):
        if members.get(name) not in ("", "12"):
            envelope.transaction(members, name, line.notes)
    action, types = actions[kind], members.get("mysqlType")
    if types is not None and not isinstance(types, dict):
        raise Wrong("mysqlType is no object")
    data, old = (_rows(members.get(name)) for name in ("data", "old"))
    if action == "T":
        if data or old:
            line.notes.add("a truncate with rows")
        return rows_of(line, Record("T", members.get("database"), members.get("table"), None, None), _no_value)
    if not data:
        raise Wrong("no rows")
    images = old if old and len(old) == len(data) else [None] * len(data)

    def convert(tree: Any, name: str, kind: Kind, notes: Notes) -> Any:
        return _canal_value(tree, kind, str((types or {}).get(name, "")), notes)

    rows = []
    for new, before in zip(data, images, strict=True):
        if not isinstance(new, dict):
            raise Wrong("a row is no object")
        old_image = new if action == "D" else before
        record = Record(action, members.get("database"), members.get("table"), new, old_image, of_changes=True)
        rows += rows_of(line, record, convert)
    return rows


def _no_value(*_: Any) -> Any:
    raise AssertionError


def _rows(tree: Any) -> list[Any] | None:
    if tree is not None and not isinstance(tree, list):
        raise Wrong("rows are no list")
    return tree


def _canal_value(tree: Any, kind: Kind, told: str, notes: Notes) -> Any:
    if kind.name == "text" and told.lower().startswith(("enum(", "set(")) and tree is not None:
        if isinstance(tree, (list, dict)):
            notes.add("an object or a list for an enum")
            return Texts().of_json(tree, kind, notes)
        text = text_of(tree)
        if text.isdigit():
            return _label(text, told, notes)
    return Texts(octets.from_latin1, booleans="10").of_json(tree, kind, notes)


def _label(text: str, told: str, notes: Notes) -> str:
    """Return what the number of an enum or a set means. Raises Wrong for one that it does not have."""
    labels = [label.replace("''", "'") for label in re.findall(r"'((?:[^']|'')*)'", told)]
    if not re.fullmatch("[0-9]{1,18}", text):
        raise Wrong("no label's number")
    if told.lower().startswith("enum("):
        if text == "0":
            return ""  # MySQL's mark of a value that was refused
        if int(text) > len(labels):
            raise Wrong("a number that no label has")
        return labels[int(text) - 1]
    if int(text) >> len(labels):
        raise Wrong("a number that no labels have")
    return ",".join(label for at, label in enumerate(labels) if int(text) >> at & 1)
