"""Airbyte's protocol: https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol."""

from __future__ import annotations

from typing import Any

from tests.fuzz.oracle import envelope, octets
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tree import an_object
from tests.fuzz.oracle.values import Texts
from tests.fuzz.oracle.verdict import Row


def rows(tree: Any, line: Line) -> list[Row]:
    """Return the rows of a record. Raises Wrong."""
    members = an_object(tree, "the record")
    others = ("STATE", "LOG", "TRACE", "SPEC", "CONNECTION_STATUS", "CATALOG", "CONTROL")
    kind = envelope.word(members, "type", ["RECORD", *others])
    if kind != "RECORD":
        if members.get("record") is not None:
            line.notes.add("a record beside another message")
        return []
    record = an_object(members.get("record"), "record")
    data = an_object(record.get("data"), "data")
    envelope.time(record, "emitted_at", 1000, line.notes)
    envelope.moment(line.notes, data, "_ab_cdc_updated_at")
    action = "I" if data.get("_ab_cdc_deleted_at") is None else "D"
    texts = Texts(octets.from_base64)
    change = Record(
        action, record.get("namespace"), record.get("stream"), data, data, lone_keys=True,
        apart=lambda name: name.startswith("_ab_cdc_"),
    )  # fmt: skip
    return rows_of(line, change, lambda value, _, kind, notes: texts.of_json(value, kind, notes))
