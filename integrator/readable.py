"""Whether messages written by one schema can be read by another: a subject's latest version, which others wrote."""

from __future__ import annotations

import json
import re
from typing import Any

_PROTO_FIELD = re.compile(r"^\s*(optional |repeated )?\s*([\w.]+)\s+(\w+)\s*=\s*(\d+)", re.MULTILINE)


def why_unreadable(schema_type: str, ours: str, theirs: str) -> str | None:
    """Return why a reader with the schema `theirs` could not read what is written by `ours`, or None.

    Avro: the same types in the same order, for the bytes say neither. Protobuf: the same numbers for the same types.
    JSON: no property of ours has another type there. Names that only readers see (documentation, defaults) may differ.
    """
    match schema_type:
        case "AVRO":
            mine, other = (_plain_avro(json.loads(text)) for text in (ours, theirs))
            return None if mine == other else "fields differ in name, order or type"
        case "PROTOBUF":
            return _protobuf(ours, theirs)
        case _:
            return _json(json.loads(ours), json.loads(theirs))


def _plain_avro(schema: Any) -> Any:
    """Return what of an Avro schema decides how its bytes are read (as its parsing canonical form)."""
    if isinstance(schema, list):
        return [_plain_avro(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind == "record":
        fields = [(field["name"], _plain_avro(field["type"])) for field in schema["fields"]]
        return ("record", fields)
    if kind in ("array", "map"):
        return (kind, _plain_avro(schema.get("items", schema.get("values"))))
    if kind == "fixed":
        return (kind, schema.get("size"))
    if kind == "enum":
        return (kind, schema.get("symbols"))
    plain = _plain_avro(kind)
    logical = schema.get("logicalType")
    return (plain, logical, schema.get("precision"), schema.get("scale")) if logical == "decimal" else plain


def _protobuf(ours: str, theirs: str) -> str | None:
    known = {int(number): (kind.rpartition(".")[2], name) for _, kind, name, number in _PROTO_FIELD.findall(theirs)}
    for _, kind, name, number in _PROTO_FIELD.findall(ours):
        other = known.get(int(number))
        if other is None:
            return f"it has no field {number}, our {name}"
        if other[0] != kind.rpartition(".")[2]:
            return f"its field {number} is {other[0]} {other[1]}, and ours {kind} {name}"
    return None


def _json(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    known = theirs.get("properties", {})
    for name, said in ours.get("properties", {}).items():
        if name not in known:
            if theirs.get("additionalProperties") is False:
                return f"it has no property {name}, and no others may be"
            continue
        mine, other = _types(said), _types(known[name])
        if other and not mine <= other | ({"integer"} if "number" in other else set()):
            return f"its property {name} is {' or '.join(sorted(other))}, and ours {' or '.join(sorted(mine))}"
    missing = set(theirs.get("required", [])) - set(ours.get("properties", {}))
    return f"it requires {', '.join(sorted(missing))}, which we do not have" if missing else None


def _types(said: Any) -> set[str]:
    if not isinstance(said, dict):
        return set()
    if "oneOf" in said or "anyOf" in said:
        return {kind for branch in said.get("oneOf") or said.get("anyOf") or [] for kind in _types(branch)}
    kind = said.get("type")
    return set(kind) if isinstance(kind, list) else {kind} if kind else set()
