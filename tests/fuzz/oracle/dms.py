"""AWS DMS's messages: https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kafka.html."""

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
    metadata = an_object(members.get("metadata"), "metadata")
    actions = {"load": "I", "insert": "I", "update": "U", "delete": "D"}
    control = (
        "create-table rename-table drop-table change-columns add-column drop-column rename-column column-type-change"
    )
    kind = envelope.word(metadata, "operation", [*actions, *control.split()])
    if kind not in actions:
        return []
    envelope.transaction(metadata, "transaction-id", line.notes)
    envelope.moment(line.notes, metadata, "commit-timestamp", "timestamp")
    data, before, action = members.get("data"), members.get("before-image"), actions[kind]
    old = data if action == "D" else None if before == {} else before
    texts = Texts(octets.from_hex)
    record = Record(action, metadata.get("schema-name"), metadata.get("table-name"), data, old, filled=False)
    return rows_of(line, record, lambda value, _, kind, notes: texts.of_json(value, kind, notes))
