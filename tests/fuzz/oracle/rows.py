"""Plain rows, as Kafka Connect's converters write their values."""

from __future__ import annotations

from typing import Any

from tests.fuzz.oracle import debezium
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tree import an_object
from tests.fuzz.oracle.verdict import Row, Skip


def row(tree: Any, line: Line, table: str) -> list[Row]:
    """Return the row of a line, which inserts it. Raises Wrong."""
    if tree is None:
        return []
    members = an_object(tree, "the record")
    if members.keys() == {"schema", "payload"}:
        if members["payload"] is None:
            return []
        if members["schema"] is not None:
            raise Skip  # what it says of the columns is not the oracle's to guess
        members = an_object(members["payload"], "the payload")
    elif members.keys() == {"schema", "deleted key"}:
        raise Skip  # only topics have keys
    record = Record("I", None, table, debezium.image(members, line), None)
    return rows_of(line, record, debezium.convert({}, mysql=False))
