"""Debezium's events: https://debezium.io/documentation/reference/stable/, in the envelope, with a schema, or flattened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.fuzz.oracle import debezium_values as values
from tests.fuzz.oracle import envelope
from tests.fuzz.oracle.records import Line, Record, rows_of
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import Number, an_object
from tests.fuzz.oracle.verdict import MISSING, Row, Skip, Wrong

Notes = set[str]
_ACTIONS = {"c": "I", "r": "I", "u": "U", "d": "D", "t": "T"}
_SEQUENCE = re.compile(r'\[("\d{1,19}"|null),\s?("\d{1,19}"|null)\]', re.ASCII)
Position = Callable[[dict[str, Any], Notes], None]


def postgres_position(source: dict[str, Any], notes: Notes) -> None:
    """Check where an event of PostgreSQL stands."""
    lsn, xid, sequence = source.get("lsn"), source.get("txId"), source.get("sequence")
    if lsn is None and not isinstance(sequence, str):
        raise Wrong("no position")
    envelope.number(source, "lsn", notes)
    envelope.number(source, "txId", notes, 2**63 - 1)
    if sequence is not None and not (isinstance(sequence, str) and _SEQUENCE.fullmatch(sequence)):
        raise Wrong("a sequence that is none")
    if (lsn, xid, sequence, source.get("snapshot")) != ("2000", "700", '["1000","2000"]', "false"):
        notes.add("another position, which may not ascend")


def mysql_position(source: dict[str, Any], notes: Notes) -> None:
    """Check where an event of MySQL stands."""
    file = source.get("file")
    if file == "":
        notes.add("an event without a position among others")
        return
    number = re.fullmatch(r".*\.(\d{1,20})", file, re.ASCII) if isinstance(file, str) else None
    if number is None or int(number[1]) >= 2**32:
        raise Wrong("no file of the binlog")
    if envelope.number(source, "pos", notes, 16**12 - 1) is None:
        raise Wrong("no position in the binlog")
    gtid = source.get("gtid")
    if gtid is not None and (not isinstance(gtid, str) or isinstance(gtid, Number)):
        notes.add("a gtid that is no text")
    if (file, source.get("pos"), gtid) != ("binlog.000001", "5000", None):
        notes.add("another position, which may not ascend")


def no_position(source: dict[str, Any], notes: Notes) -> None:
    """Note positions where recorded events have none."""
    if any(source.get(name) is not None for name in ("file", "lsn", "scn", "commit_lsn", "sequence", "pos")):
        notes.add("a position where other events have none")


def event(
    tree: Any, line: Line, position: Position, schemas: dict[str, dict[str, values.Field]], *, mysql: bool
) -> list[Row]:
    """Return the rows of an event. Raises Wrong."""
    if tree is None:
        return []
    members = an_object(tree, "the record")
    told: dict[str, values.Field] = {}
    if "payload" in members and "schema" in members:
        if members["schema"] is not None:
            known = schemas.get(json.dumps(members["schema"]))
            if known is None:
                raise Skip  # another schema: what it says of the columns is not the oracle's to guess
            told = known
        if members["payload"] is None:
            return []
        members = an_object(members["payload"], "the payload")
    flattened = "__deleted" in members or "__op" in members
    framed = any(name in members for name in ("before", "after", "source", "message"))
    if not flattened and _is_mark(members):
        line.notes.add("a mark, of which an error is right where its transaction is wrong")
        return []
    if not flattened and ({"ddl", "source"} <= members.keys() and "op" not in members):
        return []
    if members.keys() == {"ts_ms"}:
        return []
    if "op" in members and framed and not flattened:
        return _in_envelope(members, line, position, told, mysql=mysql)
    return _flat(members, line, position, mysql=mysql)


def _is_mark(members: dict[str, Any]) -> bool:
    return {"status", "id", "event_count"} <= members.keys() and members["status"] in ("BEGIN", "END")


def _in_envelope(
    members: dict[str, Any], line: Line, position: Position, told: dict[str, values.Field], *, mysql: bool
) -> list[Row]:
    op = envelope.word(members, "op", [*_ACTIONS, "m"])
    if op == "m":
        try:
            _checked(members.get("source"), position, set())
        except Wrong:
            line.notes.add("a source block that is wrong, of a message, which is no row")
        return []
    source = _checked(members.get("source"), position, line.notes)
    if source.get("connector") != ("mariadb" if mysql else "postgresql"):
        line.notes.add("another connector than the other events'")
    action, images = _ACTIONS[op], [image(members.get(name), line) for name in ("after", "before")]
    if op in "cr" and images[1] is not None:
        line.notes.add("an insert with an old image")
    of_mysql = source.get("connector") in ("mysql", "mariadb")
    schema = source.get("db" if of_mysql else "schema")
    database = None if of_mysql else source.get("db")
    record = Record(action, schema, source.get("table"), *images, lone_keys=True, database=database)
    return rows_of(line, record, convert(told, mysql=mysql))


def _checked(tree: Any, position: Position, notes: Notes) -> dict[str, Any]:
    """Return a source block, whose position and times are such. Raises Wrong."""
    source = an_object(tree, "source")
    position(source, notes)
    for name, per_second in (("ts_us", 1_000_000), ("ts_ms", 1000)):
        envelope.time(source, name, per_second, notes)
    return source


def _flat(members: dict[str, Any], line: Line, position: Position, *, mysql: bool) -> list[Row]:
    deleted, op = members.get("__deleted"), members.get("__op")
    if deleted not in (None, "true", "false", True, False) or isinstance(deleted, Number):
        raise Wrong("an unknown word for deleted")
    op = "c" if op is None else envelope.word(members, "__op", [*_ACTIONS, "m"])
    if op == "m":
        line.notes.add("a message, flattened")
        return []
    source = {name: _first(members, f"__source_{name}", f"__{name}") for name in
              ("lsn", "txId", "sequence", "snapshot", "schema", "table", "ts_us", "ts_ms")}  # fmt: skip
    position({**source, "snapshot": source["snapshot"] or "false"}, line.notes)
    for name, per_second in (("ts_us", 1_000_000), ("ts_ms", 1000)):
        envelope.time(source, name, per_second, line.notes)
    is_deleted = deleted in ("true", True)
    if is_deleted != (op == "d"):
        line.notes.add("an operation and a mark of deletion that do not agree")
    own = image(members, line)
    action = "D" if is_deleted or op == "d" else _ACTIONS[op]
    old = own if action == "D" else None
    record = Record(
        action, source["schema"], source["table"], own, old, lone_keys=True, apart=lambda name: name.startswith("__")
    )
    return rows_of(line, record, convert({}, mysql=mysql))


def _first(members: dict[str, Any], *names: str) -> Any:
    return next((members[name] for name in names if members.get(name) is not None), None)


def image(given: Any, line: Line) -> Any:
    """Return an image without what stands for unchanged values: these are missing."""
    if not isinstance(given, dict):
        return given
    return {name: MISSING if values.is_unavailable(value) else value for name, value in given.items()}


def convert(told: dict[str, values.Field], *, mysql: bool) -> Callable[[Any, str, Kind, Notes], Any]:
    """Return what reads values, of which a schema tells what it has of columns."""

    def converted(tree: Any, name: str, kind: Kind, notes: Notes) -> Any:
        return values.value(tree, kind, told.get(name, values.UNTOLD), notes, mysql=mysql)

    return converted


def schemas_of(lines: list[str]) -> dict[str, dict[str, values.Field]]:
    """Return what the schemas in recorded events say of columns, by the schema as JSON."""
    found = {}
    for line in lines:
        members = json.loads(line, parse_int=Number, parse_float=Number)
        if isinstance(members, dict) and isinstance(members.get("schema"), dict):
            fields = {field["field"]: field.get("fields", []) for field in members["schema"]["fields"]}
            columns = fields.get("after", [])
            found[json.dumps(members["schema"])] = {one["field"]: values.Field.of(one) for one in columns}
    return found
