"""wal2json, both versions: https://github.com/eulerto/wal2json."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.oracle import moments
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import Number, an_object
from tests.fuzz.oracle.values import Texts, text_of
from tests.fuzz.oracle.verdict import Row, Wrong

Notes = set[str]
_TEXTS = Texts(zone="refused", bare="refused", json_lists=False)
_KINDS = {"insert": "I", "update": "U", "delete": "D", "truncate": "T", "message": "M"}


def convert(tree: Any, name: str, kind: Kind, notes: Notes) -> Any:
    """Return a value: a scalar, whose text is PostgreSQL's."""
    if tree is None:
        return None
    if isinstance(tree, (list, dict)):
        raise Wrong("a list or an object as a value")
    return _TEXTS.value(text_of(tree), kind, notes)


def _position(members: dict[str, Any], notes: Notes) -> None:
    lsn, xid = members.get("nextlsn"), members.get("xid")
    if not isinstance(lsn, str) or not re.fullmatch(r"[0-9a-fA-F]{1,8}/[0-9a-fA-F]{1,8}", lsn):
        raise Wrong("no nextlsn")
    if lsn != "0/7F000000":
        notes.add("another nextlsn, which may not ascend")
    if xid is not None and (not isinstance(xid, Number) or not re.fullmatch(r"0|[1-9]\d{0,17}", xid)):
        if not (isinstance(xid, str) and re.fullmatch(r"\d{1,18}", xid, re.ASCII)):
            raise Wrong("an xid that is no number")
        notes.add("an xid as text, or with zeros before it")
    stamp = members.get("timestamp")
    if stamp is not None:
        moments.timestamptz(text_of(stamp) if isinstance(stamp, str) else "", 6, notes)


def version_2(tree: Any, line: Line) -> list[Row]:
    """Return the rows of one action; those of a begin and a commit are none."""
    members = an_object(tree, "the record")
    action = members.get("action")
    if not isinstance(action, str) or isinstance(action, Number) or action not in tuple("BCIUDTM"):
        raise Wrong("an unknown action")
    for name in ("columns", "identity"):
        _named(members.get(name))
    for name in ("schema", "table", "nextlsn", "xid", "timestamp", "lsn"):
        if isinstance(members.get(name), (list, dict)):
            line.notes.add("an object or a list in a member that is not used here")
    if action == "B":
        _position(members, line.notes)
        return []
    _unused_position(members, line.notes)
    if action in "CM":
        return []
    old = _named(members.get("identity"))
    record = Record(action, members.get("schema"), members.get("table"), _named(members.get("columns")), old)
    return rows_of(line, record, convert)


def _unused_position(members: dict[str, Any], notes: Notes) -> None:
    """Note what is wrong with positions that stand in other records than the transaction's first."""
    try:
        _position({"nextlsn": "0/7F000000", **members}, set())
    except Wrong:
        notes.add("a position in a record of which it is not read")


def _named(image: Any) -> dict[str, Any] | None:
    """Return an image that is a list of names and values."""
    if image is None:
        return None
    if not isinstance(image, list):
        raise Wrong("an image is no list")
    values: dict[str, Any] = {}
    for entry in image:
        name = an_object(entry, "an entry").get("name")
        if not isinstance(name, str) or isinstance(name, Number):
            raise Wrong("an entry without a name")
        if name in values:
            raise Wrong("a column twice")
        values[name] = entry.get("value")
    return values


def version_1(tree: Any, line: Line) -> list[Row]:
    """Return the rows of a transaction."""
    members = an_object(tree, "the record")
    changes = members.get("change")
    if not isinstance(changes, list):
        raise Wrong("no list of changes")
    _position(members, line.notes)
    rows = []
    for change in changes:
        told = an_object(change, "a change")
        kind = told.get("kind")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise Wrong("an unknown kind")
        new, keys = _paired(told, "columnnames", "columnvalues"), told.get("oldkeys")
        old = None if keys is None else _paired(an_object(keys, "oldkeys"), "keynames", "keyvalues") or {}
        if _KINDS[kind] != "M":
            rows += rows_of(line, Record(_KINDS[kind], told.get("schema"), told.get("table"), new, old), convert)
    return rows


def _paired(told: dict[str, Any], names: str, values: str) -> dict[str, Any] | None:
    """Return an image that is a list of names, and one of values."""
    lists = [told.get(name) for name in (names, values)]
    if lists == [None, None]:
        return None
    if any(one is not None and not isinstance(one, list) for one in lists):
        raise Wrong("names or values are no list")
    named, valued = (one or [] for one in lists)
    if len(named) != len(valued):
        raise Wrong("another number of names than of values")
    if any(not isinstance(name, str) or isinstance(name, Number) for name in named):
        raise Wrong("a name that is no text")
    if len(set(named)) < len(named):
        raise Wrong("a column twice")
    return dict(zip(named, valued, strict=True))
