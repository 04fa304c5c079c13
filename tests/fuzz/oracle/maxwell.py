"""Maxwell's daemon: https://maxwells-daemon.io/dataformat/."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.oracle import envelope, octets
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tree import an_object
from tests.fuzz.oracle.values import Texts
from tests.fuzz.oracle.verdict import Row, Wrong

_TEXTS = Texts(octets.from_base64, booleans="10")


def rows(tree: Any, line: Line) -> list[Row]:
    """Return the rows of a record. Raises Wrong."""
    members = an_object(tree, "the record")
    actions = {"insert": "I", "bootstrap-insert": "I", "update": "U", "delete": "D"}
    others = [f"{what}-{done}" for what in ("table", "database") for done in ("create", "alter", "drop")]
    kind = envelope.word(members, "type", [*actions, *others, "bootstrap-start", "bootstrap-complete"])
    if kind not in actions:
        return []
    envelope.time(members, "ts", 1, line.notes)
    envelope.transaction(members, "xid", line.notes)
    if members.get("commit") not in (None, True, False):
        line.notes.add("a mark of the commit that is no boolean")
    place = members.get("position")
    if place is not None:
        found = isinstance(place, str) and re.fullmatch(r".*\.(\d+):(\d+)", place, re.ASCII)
        if not found or int(found[1]) >= 16**8 or int(found[2]) >= 16**12:
            raise Wrong("no position in the binlog")
    if place != "master.000006:800911" or members.get("xid") != "42":
        line.notes.add("another position, or none, which may not ascend")
    data, old = members.get("data"), members.get("old")
    action = actions[kind]
    if action == "U" and old is not None and not isinstance(old, dict):
        raise Wrong("an image is no object")
    if old is not None and not isinstance(old, dict):
        line.notes.add("an old image that is no object, where none is read")
    record = Record(
        action, members.get("database"), members.get("table"), data, data if action == "D" else old, of_changes=True
    )
    return rows_of(line, record, lambda value, _, kind, notes: _TEXTS.of_json(value, kind, notes))
