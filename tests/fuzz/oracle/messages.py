"""Dialects whose line is one JSON object with images of columns: Maxwell, Canal, DMS, Airbyte, OpenCDC, GoldenGate, Delta."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.fuzz.oracle import envelope, moments, octets
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import Number, an_object, has_lone_surrogate, parse
from tests.fuzz.oracle.values import Texts, text_of
from tests.fuzz.oracle.verdict import Row, Wrong

Notes = set[str]
_MYSQL = Texts(octets.from_base64, booleans="10")


def maxwell(tree: Any, line: Line) -> list[Row]:
    """https://maxwells-daemon.io/dataformat/."""
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
    if place != "master.000006:800911":
        line.notes.add("another position, or none, which may not ascend")
    data, old = members.get("data"), members.get("old")
    action = actions[kind]
    if action != "D" and old is not None and not isinstance(old, dict):
        raise Wrong("an image is no object")
    record = Record(
        action, members.get("database"), members.get("table"), data, data if action == "D" else old, of_changes=True
    )
    return rows_of(line, record, lambda value, _, kind, notes: _MYSQL.of_json(value, kind, notes))


def dms(tree: Any, line: Line) -> list[Row]:
    """https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kafka.html."""
    members = an_object(tree, "the record")
    metadata = an_object(members.get("metadata"), "metadata")
    actions = {"load": "I", "insert": "I", "update": "U", "delete": "D"}
    control = "create-table rename-table drop-table change-columns add-column drop-column rename-column column-type-change"
    kind = envelope.word(metadata, "operation", [*actions, *control.split()])
    if kind not in actions:
        return []
    envelope.transaction(metadata, "transaction-id", line.notes)
    _moments(line, metadata, "commit-timestamp", "timestamp")
    data, before, action = members.get("data"), members.get("before-image"), actions[kind]
    old = data if action == "D" else None if before == {} else before
    texts = Texts(octets.from_hex)
    record = Record(action, metadata.get("schema-name"), metadata.get("table-name"), data, old, filled=False)
    return rows_of(line, record, lambda value, _, kind, notes: texts.of_json(value, kind, notes))


def _moments(line: Line, members: dict[str, Any], *names: str) -> None:
    """Check the first moment of the envelope that is there, and note what is wrong with others."""
    there = [members[name] for name in names if members.get(name) is not None]
    for value in there[:1]:
        if not isinstance(value, str) or isinstance(value, Number):
            raise Wrong("a moment of the envelope is no text")
        moments.timestamptz(text_of(value), 6, line.notes, bare="utc")


def airbyte(tree: Any, line: Line) -> list[Row]:
    """https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol."""
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
    _moments(line, data, "_ab_cdc_updated_at")
    action = "I" if data.get("_ab_cdc_deleted_at") is None else "D"
    texts = Texts(octets.from_base64)
    change = Record(
        action, record.get("namespace"), record.get("stream"), data, data, lone_keys=True,
        apart=lambda name: name.startswith("_ab_cdc_"),
    )  # fmt: skip
    return rows_of(line, change, lambda value, _, kind, notes: texts.of_json(value, kind, notes))


def opencdc(tree: Any, line: Line) -> list[Row]:
    """https://conduit.io/docs/using/opencdc-record."""
    members = an_object(tree, "the record")
    actions = {"create": "I", "snapshot": "I", "update": "U", "delete": "D"}
    action = actions[envelope.word(members, "operation", actions)]
    payload = _or_none(members.get("payload"), "payload") or {}
    metadata = _or_none(members.get("metadata"), "metadata") or {}
    images = [_raw(payload.get(name), line.notes) for name in ("after", "before")] + [_raw(members.get("key"), line.notes)]
    for name in ("opencdc.createdAt", "opencdc.readAt"):
        stamp = metadata.get(name)
        if stamp is not None and not (isinstance(stamp, str) and re.fullmatch(r"-?\d{1,19}", stamp, re.ASCII)):
            raise Wrong("a time of the envelope is no integer as text")
        if stamp is not None and not -(2**63) <= int(stamp) < 2**63:
            raise Wrong("a time of the envelope out of range")
    new, old, key = images
    if action == "D" and old is None:
        old = key
    schema, _, table = (metadata.get("opencdc.collection"), "", metadata.get("opencdc.collection"))
    if isinstance(table, str):
        schema, _, table = table.rpartition(".")
        schema = schema or None
    return rows_of(line, Record(action, schema, table, new, old), _go)


def _or_none(tree: Any, what: str) -> dict[str, Any] | None:
    return None if tree is None else an_object(tree, what)


def _raw(image: Any, notes: Notes) -> dict[str, Any] | None:
    """Return an image that is an object, or the base64 of one."""
    if isinstance(image, str) and not isinstance(image, Number):
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


def goldengate(tree: Any, line: Line) -> list[Row]:
    """https://docs.oracle.com/en/middleware/goldengate/big-data/, JSON."""
    members = an_object(tree, "the record")
    actions = {"I": "I", "U": "U", "D": "D", "T": "T", "INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"}
    action = actions[envelope.word(members, "op_type", actions)]
    stamp = members.get("op_ts")
    if stamp is not None:
        if not isinstance(stamp, str) or isinstance(stamp, Number):
            raise Wrong("a moment of the envelope is no text")
        cut = re.sub(r"(\.\d{6})\d{1,3}", r"\1", re.sub(r"^(\d{4}-\d\d-\d\d):", r"\1 ", text_of(stamp)))
        moments.timestamptz(cut, 6, line.notes, bare="utc")
    place = members.get("pos")
    if place is not None and not (isinstance(place, str) and re.fullmatch(r"\d{20}", place, re.ASCII)):
        raise Wrong("no position in the trail")
    if place != "00000000050000001234":
        line.notes.add("another position, or none, which may not ascend")
    for name in ("xid", "csn"):
        if members.get(name) != "7" or isinstance(members.get(name), Number):
            envelope.transaction(members, name, line.notes)
    full = members.get("table")
    schema, table = (None, full)
    if isinstance(full, str) and not isinstance(full, Number):
        schema, _, table = full.rpartition(".")
        schema = schema.rpartition(".")[2] or None
        if table != table.lower() and table.lower() in line.tables:
            table = table.lower()  # Oracle's names are in capitals, and the definition's are not quoted
    row_mode = "after" not in members and "before" not in members and action != "T"
    new, old = (members, members) if row_mode else (members.get("after"), members.get("before"))
    if action == "U" and row_mode:
        old = None
    meta = "table op_type op_ts current_ts pos primary_keys tokens xid csn txind before after".split()
    apart = meta.__contains__ if row_mode else lambda name: name.endswith("_isMissing")
    new, old = (_folded(image, line) for image in (new, old))
    if row_mode:
        line.notes.add("row mode in a block with others")
    return rows_of(line, Record(action, schema, table, new, old, apart=apart), _oracle)


def _folded(image: Any, line: Line) -> Any:
    """Return an image with its names in the case of the columns."""
    if not isinstance(image, dict):
        return image
    known = {name for table in line.tables.values() for name in table.columns}
    folded: dict[str, Any] = {}
    for name, value in image.items():
        one = name if name in known or name.lower() not in known else name.lower()
        if one in folded:
            raise Wrong("a column twice, in two spellings")
        folded[one] = value
    return folded


def _oracle(tree: Any, _name: str, kind: Kind, notes: Notes) -> Any:
    """Return a value as Oracle prints it: dates have a time, moments may have a colon after the day."""
    if isinstance(tree, str) and not isinstance(tree, Number):
        if kind.name == "date":
            tree = re.sub(r"[ :T]00:00:00(\.0+)?$", "", tree)
        elif kind.name in ("timestamp", "timestamptz"):
            tree = re.sub(r"^(\d{4}-\d\d-\d\d):", r"\1 ", tree)
    return Texts(octets.from_base64).of_json(tree, kind, notes)


def canal(tree: Any, line: Line) -> list[Row]:
    """https://github.com/alibaba/canal/wiki: a message has the rows of a statement."""
    members = an_object(tree, "the record")
    actions = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"}
    others = "CREATE ALTER ERASE RENAME CINDEX DINDEX QUERY GTID XACOMMIT XAROLLBACK".split()
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


def delta(tree: Any, line: Line) -> list[Row]:
    """https://docs.delta.io/latest/delta-change-data-feed.html: a row, of which an absent column is null."""
    members = an_object(tree, "the record")
    actions = {"insert": "I", "delete": "D", "update_preimage": "D", "update_postimage": "I"}
    action = actions[envelope.word(members, "_change_type", actions)]
    version = members.get("_commit_version")
    if version is None:
        raise Wrong("no version")
    envelope.number(members, "_commit_version", 2**63 - 1)
    if version != "5":
        line.notes.add("another version, which may not ascend")
    stamp = members.get("_commit_timestamp")
    if stamp is not None:
        if not isinstance(stamp, str) or isinstance(stamp, Number):
            raise Wrong("a moment of the envelope is no text")
        moments.timestamptz(text_of(stamp), 6, line.notes, bare="refused")
    [table] = line.tables.values()
    image = dict.fromkeys(table.columns) | {
        name: value for name, value in members.items() if name not in ("_change_type", "_commit_version", "_commit_timestamp")
    }
    texts = Texts(octets.from_base64)
    record = Record(action, None, table.name, image, image)
    return rows_of(line, record, lambda value, _, kind, notes: texts.of_json(value, kind, notes))


__all__ = ["airbyte", "canal", "delta", "dms", "goldengate", "json", "maxwell", "opencdc"]
