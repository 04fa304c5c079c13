"""The hvr dialect in JSON lines: a record is a row, and its values are of the JSON type of their columns."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.oracle import moments, numbers
from tests.fuzz.oracle.records import TRUNCATE, Line, check_cases, table_of
from tests.fuzz.oracle.tree import Number, an_object, has_lone_surrogate
from tests.fuzz.oracle.values import strict
from tests.fuzz.oracle.verdict import MISSING, Row, Wrong

Notes = set[str]
META = (
    "hvr_tbl_name",
    "hvr_op",
    "hvr_tx_seq",
    "hvr_tx_countdown",
    "hvr_integ_seq",
    "hvr_cap_tstamp",
    "hvr_cap_user",
    "hvr_missing",
)
_COUNTDOWN = 2**28 - 1
_PLACE = re.compile(r"[0-9A-F]{20}\|[0-9A-F]{16}\|[0-9A-F]{7}")


def is_text(value: Any) -> bool:
    """Return whether a member is a string, or null."""
    return value is None or (isinstance(value, str) and not isinstance(value, Number) and not has_lone_surrogate(value))


def json_line(tree: Any, line: Line) -> list[Row]:
    """Return the row of a record. Raises Wrong."""
    members = an_object(tree, "the record")
    for name in ("hvr_tbl_name", "hvr_tx_seq", "hvr_integ_seq", "hvr_cap_tstamp", "hvr_cap_user", "hvr_missing"):
        if not is_text(members.get(name)):
            raise Wrong(f"{name} is no text")
    for name in ("hvr_op", "hvr_tx_countdown"):
        if members.get(name) is not None and not isinstance(members[name], Number):
            raise Wrong(f"{name} is no number")
    if members.get("hvr_missing") is not None:
        line.notes.add("hvr_missing, which is for CSV and Parquet")
    op = check_meta(members, line)
    table = table_of(line, line.schema, members.get("hvr_tbl_name"))
    others = {name for name in members if name not in table.columns and name not in META}
    if others and not line.ignore:
        raise Wrong("an unknown column")
    check_cases(table, members, others)
    values = {
        name: strict(members[name], kind, line.notes) if name in members else MISSING
        for name, kind in table.columns.items()
    }
    return [Row(op, table.name, None if op == TRUNCATE else values)]


def check_meta(members: dict[str, Any], line: Line) -> int:
    """Return the operation, after a look at what else stands in hvr_ columns. Raises Wrong."""
    if members.get("hvr_op") is None:
        raise Wrong("no operation")
    op = numbers.integer(members["hvr_op"], 32, line.notes)
    if not 0 <= op <= 5:
        raise Wrong("an unknown operation")
    place, sequence, left = (members.get(name) for name in ("hvr_integ_seq", "hvr_tx_seq", "hvr_tx_countdown"))
    if place is not None:
        if not _PLACE.fullmatch(place):
            raise Wrong("no position")
        line.notes.add("a position of its own, which may not ascend")
        if sequence is not None and not re.fullmatch("[0-9a-fA-F]{1,20}", sequence):
            line.notes.add("hvr_tx_seq that is not needed, and is none")
    elif sequence is None or not re.fullmatch("[0-9a-fA-F]{1,20}", sequence):
        raise Wrong("no hvr_tx_seq")
    if sequence is not None and sequence.lstrip("0") != "1":
        line.notes.add("another transaction, which may not ascend")
    if left is not None:
        if not 0 <= numbers.integer(left, 64, line.notes) <= _COUNTDOWN:
            raise Wrong("a countdown out of range")
        if left != "0":
            line.notes.add("a countdown beside rows that are counted")
    if members.get("hvr_cap_tstamp") is not None:
        moments.timestamptz(members["hvr_cap_tstamp"], 6, line.notes)
    return op
