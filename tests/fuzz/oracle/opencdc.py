"""OpenCDC records: https://conduit.io/docs/using/opencdc-record."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.oracle import envelope, octets
from tests.fuzz.oracle.records import Line, Record, parts_of, rows_of
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import Number, an_object, has_lone_surrogate, parse
from tests.fuzz.oracle.values import Texts
from tests.fuzz.oracle.verdict import Row, Wrong

Notes = set[str]


def rows(tree: Any, line: Line) -> list[Row]:
    """Return the rows of a record. Raises Wrong."""
    members = an_object(tree, "the record")
    actions = {"create": "I", "snapshot": "I", "update": "U", "delete": "D"}
    action = actions[envelope.word(members, "operation", actions)]
    payload = _or_none(members.get("payload"), "payload") or {}
    metadata = _or_none(members.get("metadata"), "metadata") or {}
    written = [payload.get("after"), payload.get("before")]
    new, old = (_raw(image, line.notes) for image in written)
    is_raw = any(isinstance(image, str) and image for image in written)
    key = members.get("key")
    needed = is_raw or (action == "D" and not old)
    key = _raw(key, line.notes) if needed or not isinstance(key, str) or isinstance(key, Number) else None
    for name in ("opencdc.createdAt", "opencdc.readAt"):
        stamp = metadata.get(name)
        if stamp is not None and not (isinstance(stamp, str) and re.fullmatch(r"-?\d{1,400}", stamp, re.ASCII)):
            raise Wrong("a time of the envelope is no integer as text")
        if stamp is not None and not -(2**63) <= int(stamp) < 2**63:
            raise Wrong("a time of the envelope out of range")
        if stamp is not None and re.match(r"-?0.", stamp):
            line.notes.add("a time with zeros before it")
    if action == "D" and not old:
        old = key
    database, schema, table = parts_of(metadata.get("opencdc.collection"))
    return rows_of(line, Record(action, schema, table, new, old, database=database), _go)


def _or_none(tree: Any, what: str) -> dict[str, Any] | None:
    return None if tree is None else an_object(tree, what)


def _raw(image: Any, notes: Notes) -> dict[str, Any] | None:
    """Return an image that is an object, or the base64 of one."""
    if isinstance(image, str) and not isinstance(image, Number):
        if not image:
            return None
        try:
            image = parse(octets.from_base64(image, notes).decode())
        except UnicodeDecodeError:
            raise Wrong("raw bytes that are no JSON") from None
        image = an_object(image, "a raw image")
        if has_lone_surrogate(image):
            notes.add("half of a surrogate pair in a raw image")
    return _or_none(image, "an image")


def _go(tree: Any, _name: str, kind: Kind, notes: Notes) -> Any:
    """Return a value as Go's marshalling writes it."""
    if isinstance(tree, str) and not isinstance(tree, Number):
        if kind.name in ("timestamp", "timestamptz"):
            tree = re.sub(r" \+0000 UTC$", "Z", tree)
        elif kind.name == "date":
            tree = re.sub(r"[T ]00:00:00(Z| \+0000 UTC)$", "", tree)
        elif kind.name in ("decimal", "integer"):
            tree = tree.removesuffix("/1")
    return Texts(octets.from_base64).of_json(tree, kind, notes)
