"""Delta Lake's change data feed as JSON: https://docs.delta.io/latest/delta-change-data-feed.html."""

from __future__ import annotations

from typing import Any

from tests.fuzz.oracle import envelope, moments, octets
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tree import Number, an_object
from tests.fuzz.oracle.values import Texts, text_of
from tests.fuzz.oracle.verdict import Row, Wrong


def rows(tree: Any, line: Line) -> list[Row]:
    """Return the rows of a record. Raises Wrong."""
    members = an_object(tree, "the record")
    actions = {"insert": "I", "delete": "D", "update_preimage": "D", "update_postimage": "I"}
    action = actions[envelope.word(members, "_change_type", actions)]
    version = members.get("_commit_version")
    if version is None:
        raise Wrong("no version")
    envelope.number(members, "_commit_version", line.notes, 2**63 - 1)
    if version != "5":
        line.notes.add("another version, which may not ascend")
    stamp = members.get("_commit_timestamp")
    if stamp is not None:
        if not isinstance(stamp, str) or isinstance(stamp, Number):
            raise Wrong("a moment of the envelope is no text")
        moments.timestamptz(text_of(stamp), 6, line.notes, bare="utc")  # as those of columns
    [table] = line.tables.values()
    image = dict.fromkeys(table.columns) | {
        name: value
        for name, value in members.items()
        if name not in ("_change_type", "_commit_version", "_commit_timestamp")
    }
    texts = Texts(octets.from_base64)
    record = Record(action, None, table.name, image, image)
    return rows_of(line, record, lambda value, _, kind, notes: texts.of_json(value, kind, notes))
