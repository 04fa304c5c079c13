"""ExtractNewRecordState -> rows without an envelope, with what it adds to them, and what becomes of deletes.

https://debezium.io/documentation/reference/stable/transformations/event-flattening.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from integrator.imports.draft import Draft

_OPERATION = "{hvr_op_str 0>d;1>c;2>u;3>d;4>u;5>t}"
_DELETED = "{hvr_op_str 0>true;1>false;2>false;3>true;4>false;5>true}"
_FLAG = "__deleted"
"""The column that says whether a row was deleted, whatever the prefix of those that are added."""
_MICROS = "sql: cast(round(date_part('epoch', {hvr_cap_tstamp}) * 1000000) as bigint)"
_MILLIS = f"{_MICROS} / 1000"
WITH_DELETES = ("rewrite", "rewrite-with-tombstone")
"""Modes in which deletes are rows, with a column `__deleted`."""
_WITH_TOMBSTONES = ("tombstone", "rewrite-with-tombstone", "delete-to-tombstone")
_MODES = ("drop", *_WITH_TOMBSTONES, "rewrite")
_OLD = {("drop", True): "drop", ("drop", False): "tombstone", ("rewrite", True): "rewrite",
        ("rewrite", False): "rewrite-with-tombstone", ("none", True): "drop", ("none", False): "tombstone"}  # fmt: skip
"""What delete.handling.mode and drop.tombstones mean, which were there before delete.tombstone.handling.mode."""
_POSITION = "positions differ by database: a column with IntegrateExpression {hvr_integ_seq} orders changes"
_KNOWN = (
    "type", "predicate", "negate", "delete.tombstone.handling.mode", "delete.handling.mode", "drop.tombstones",
    "add.fields", "add.fields.prefix", "add.headers", "add.headers.prefix", "replace.null.with.default",
)  # fmt: skip
_OTHERS = {"route.by.field": "Integrate Topic may have columns: write the field there"} | dict.fromkeys(
    ("drop.fields.header.name", "drop.fields.from.key", "drop.fields.keep.schema.compatible"),
    "what it drops is sent, until {action: ColumnProperties, Name: …, Absent: true} leaves it out",
)
_COMMIT = "it is the time of the commit, so that what is sent again is the same"


def import_flattening(
    key: str, given: Mapping[str, str], draft: Draft, source: Mapping[str, str], *, tombstones: bool
) -> bool:
    """Add the actions for flattened rows; return whether these are sent of deletes.

    source: what is the same in all rows, such as db and connector. tombstones: whether the connector sends them.
    """
    mode = mode_of(key, given, draft)
    integrate: dict[str, Any] = {"OnDeleteSendTombstone": (tombstones and mode in _WITH_TOMBSTONES) or None}
    prefix = given.get("add.fields.prefix", "__")
    if mode in WITH_DELETES:
        deleted = {"Name": _FLAG, "Extra": True, "Datatype": "varchar", "Length": 5, "TimeKey": True}
        draft.add_action("ColumnProperties", **deleted, IntegrateExpression=_DELETED)
        draft.add_action("Capture", NoBeforeUpdate=True, NoTruncate=True)
    for field, name in _added(given.get("add.fields", ""), prefix):
        datatype, expression = _value(field, source)
        if expression is None:
            draft.report.todo(f"{key}.add.fields: {field} is not added: {datatype}")
            continue
        sizes: dict[str, Any] = {"Datatype": datatype, "IntegrateExpression": expression}
        draft.add_action("ColumnProperties", Name=name, Extra=True, **sizes)
        if field.endswith(("ts_ms", "ts_us")):
            draft.report.differ(_COMMIT, name)
    headers = []
    for field, name in _added(given.get("add.headers", ""), given.get("add.headers.prefix", "__")):
        datatype, expression = _value(field, source)
        if expression is None or expression.startswith("sql:"):
            why = datatype if expression is None else "a header is a template, and this is SQL"
            draft.report.todo(f"{key}.add.headers: {field} is not added: {why}")
        else:
            headers.append(f"{name}={expression.strip(chr(39))}")
    integrate["MessageHeaders"] = ";".join(headers) or None
    if any(value is not None for value in integrate.values()):
        draft.add_action("Integrate", **integrate)
    for name in given:
        if name not in _KNOWN:
            draft.report.todo(f"{key}.{name} is not followed: {_OTHERS.get(name, 'no counterpart is known')}")
    return mode in WITH_DELETES


def mode_of(key: str, given: Mapping[str, str], draft: Draft) -> str:
    """Return what becomes of deletes, by its name since Debezium 2.5; what is odd is reported."""
    mode, old = given.get("delete.tombstone.handling.mode", ""), given.get("delete.handling.mode", "")
    if mode in _MODES:
        return mode
    if not (mode or old or "drop.tombstones" in given):
        draft.report.differ(
            f"{key} names no delete.tombstone.handling.mode: deletes are tombstones, as since Debezium 2.5; where they "
            "left nothing, remove OnDeleteSendTombstone"
        )
        return "tombstone"
    made = _OLD.get((old or "drop", given.get("drop.tombstones", "true").lower() == "true"))
    if made is None or mode:
        draft.report.todo(f"{key}: {mode or old} is not there ({', '.join(_MODES)} are): deletes are tombstones")
    return made or "tombstone"


def _added(text: str, prefix: str) -> list[tuple[str, str]]:
    """Return what is added, and its name: field, struct.field or field:name, with commas between."""
    found = []
    for item in filter(None, map(str.strip, text.split(","))):
        field, _, name = item.partition(":")
        found.append((field, prefix + (name or field.replace(".", "_"))))
    return found


def _value(field: str, source: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the datatype and the expression of what is added; or the reason why there is none, and None."""
    name = field.rpartition(".")[2]
    match name:
        case "op":
            return "varchar", _OPERATION
        case "ts_ms":
            return "bigint", _MILLIS
        case "ts_us":
            return "bigint", _MICROS
        case "table":
            return "varchar", "{hvr_tbl_base_name}"
        case "schema":
            return "varchar", "{hvr_schema}"
        case _ if name in source and "'" not in source[name]:
            return "varchar", f"'{source[name]}'"
        case "lsn" | "scn" | "commit_scn" | "pos" | "file" | "row" | "gtid" | "change_lsn" | "commit_lsn" | "sequence":
            return _POSITION, None
        case "txId" | "id" | "total_order" | "data_collection_order":
            return "a column with IntegrateExpression {hvr_tx_seq} has the place of a row's transaction", None
        case _:
            return "no counterpart is known", None
