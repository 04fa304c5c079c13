"""Whether messages written by one schema can be read by another: a subject's latest version, which others wrote.

Strict: what is not plainly the same is refused, for a schema that reads other values out of our bytes loses data
unseen. Names that only readers see (documentation, defaults, aliases) may differ, and fields may be added where the
format lets readers take them for absent.
"""

from __future__ import annotations

import json
from typing import Any

from integrator.formats import proto_text

_NOT_CHECKED = (
    "enum",
    "const",
    "$ref",
    "allOf",
    "not",
    "if",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
)
_MEANING = ("type", "title", "connect.type", "connect.parameters")


def incompatibility(schema_type: str, ours: str, theirs: str) -> str | None:
    """Return why a reader with the schema `theirs` could not read what is written by `ours`, or None."""
    try:
        match schema_type:
            case "AVRO":
                mine, other = (_plain_avro(json.loads(text), {}) for text in (ours, theirs))
                return None if mine == other else "fields differ in name, order or type"
            case "PROTOBUF":
                return _protobuf(proto_text.parse(ours), proto_text.parse(theirs))
            case _:
                return _json(json.loads(ours), json.loads(theirs), "the message")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        return f"it cannot be checked ({error})"


def rescaled(ours: str, theirs: str) -> list[str]:
    """Return the fields of an Avro record whose decimals have another scale than in a version before.

    Registries take that for compatible, and a reader by the newer schema reads 1.50 as 0.0150: bytes have no scale.
    https://avro.apache.org/docs/1.12.0/specification/#decimal
    """
    before = _scales(json.loads(theirs))
    return sorted(name for name, scale in _scales(json.loads(ours)).items() if before.get(name, scale) != scale)


def _scales(schema: Any, path: str = "") -> dict[str, int]:
    """Return the scale of each decimal, by the names of the fields that lead to it."""
    found = dict[str, int]()
    if isinstance(schema, list):
        for branch in schema:
            found |= _scales(branch, path)
    elif isinstance(schema, dict):
        if schema.get("logicalType") == "decimal":
            found[path] = schema.get("scale", 0)
        for field in schema.get("fields", ()):
            found |= _scales(field["type"], f"{path}.{field['name']}".lstrip("."))
        for inner in ("items", "values", "type"):
            found |= _scales(schema.get(inner), path)
    return found


def _plain_avro(schema: Any, named: dict[str, Any]) -> Any:
    """Return what of an Avro schema decides how its bytes are read: more than its parsing canonical form says."""
    if isinstance(schema, list):
        return ("union", tuple(_plain_avro(branch, named) for branch in schema))
    if isinstance(schema, str):
        return named.get(schema, schema)
    kind, logical = schema["type"], schema.get("logicalType")
    digits = (schema.get("precision"), schema.get("scale", 0)) if logical == "decimal" else None
    if kind == "record":
        fields = tuple((field["name"], _plain_avro(field["type"], named)) for field in schema["fields"])
        plain: Any = ("record", fields)
    elif kind in ("array", "map"):
        return (kind, _plain_avro(schema["items" if kind == "array" else "values"], named))
    elif kind == "fixed":
        plain = (kind, schema["size"], logical, digits)
    elif kind == "enum":
        plain = (kind, tuple(schema["symbols"]))
    else:
        inner = _plain_avro(kind, named)
        return (inner, logical, digits) if logical else inner
    named[schema["name"]] = plain
    return plain


def _protobuf(ours: proto_text.ProtoFile, theirs: proto_text.ProtoFile) -> str | None:
    return _message(ours, (ours.first_message,), theirs, (theirs.first_message,))


def _message(
    ours: proto_text.ProtoFile, path: tuple[str, ...], theirs: proto_text.ProtoFile, other: tuple[str, ...]
) -> str | None:
    known = {field.number: field for field in theirs.of(other)}
    for field in ours.of(path):
        found = known.get(field.number)
        if found is None:
            return f"it has no field {field.number}, our {field.name}"
        repeated = (field.label == "repeated", found.label == "repeated")
        inside, there = (*path, field.type), (*other, found.type)
        nested = bool(ours.of(inside)) and bool(theirs.of(there))
        same = nested or field.type.rpartition(".")[2] == found.type.rpartition(".")[2]
        if field.name != found.name or not same or repeated[0] != repeated[1]:
            their_field, our_field = (f"{one.label} {one.type} {one.name}".strip() for one in (found, field))
            return f"its field {field.number} is {their_field}, and ours {our_field}"
        why = _message(ours, inside, theirs, there) if nested else None
        if why:
            return why
    return None


def _json(ours: Any, theirs: Any, where: str) -> str | None:
    if "oneOf" in ours or "oneOf" in theirs:
        return _nullable(ours, theirs, where)
    unknown = [word for word in _NOT_CHECKED if word in theirs]
    if unknown:
        return f"{where} has {', '.join(unknown)}, which is not checked"
    for word in _MEANING:
        if ours.get(word) != theirs.get(word) and not (word == "title" and where == "the message"):
            return f"{word} of {where} is {theirs.get(word)!r}, and ours {ours.get(word)!r}"
    if ours.get("type") == "array":
        return _json(ours["items"], theirs["items"], f"an item of {where}")
    mine, known = ours.get("properties", {}), theirs.get("properties", {})
    for name, branch in mine.items():
        if name in known:
            why = _json(branch, known[name], f"property {name}")
            if why:
                return why
        elif theirs.get("additionalProperties") is False:
            return f"it has no property {name}, and no others may be"
    missing = set(theirs.get("required", [])) - set(mine)
    return f"it requires {', '.join(sorted(missing))}, which we do not have" if missing else None


def _nullable(ours: Any, theirs: Any, where: str) -> str | None:
    """Compare two of which one at least may be null: theirs must be, where ours is."""
    mine, known = _branches(ours), _branches(theirs)
    if len(mine[1]) != 1 or len(known[1]) != 1:
        return f"{where} is one of several types"
    if mine[0] and not known[0]:
        return f"{where} may not be null, and ours may"
    return _json(mine[1][0], known[1][0], where)


def _branches(schema: Any) -> tuple[bool, list[Any]]:
    options = schema.get("oneOf", [schema])
    others = [option for option in options if option.get("type") != "null"]
    return len(others) < len(options), others
