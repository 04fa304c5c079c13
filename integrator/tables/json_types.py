"""Airbyte's types of JSON schemas (docs.airbyte.com: supported data types) -> types of columns.

An integer has 64 bits; a number, whose digits nothing limits, is an exact number as text. A moment has a zone unless
its schema declares it otherwise, and a time of day with a zone is text. An object with properties is a struct, a list
has items of one type; where a schema allows several types, further members, or numbers that no field of a struct has
exactly, the column is JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from integrator import schema
from integrator.schema import Array, Bytes, Column, Date, Integer, String, Struct, Time, Timestamp, Type

JSON = String(None, "json")
_ZONELESS = "timestamp_without_timezone"
_MOST_DEEP = 30
"""Objects in objects; deeper ones, and schemas that have themselves in them, are JSON text."""


def type_of(found: Any, root: Mapping[str, Any], depth: int = 0) -> Type:
    """Return the type of a column whose values have a schema. root: the schema of the record, which has definitions."""
    kinds = [one for one in _alternatives(found, root) if _names(one) != ("null",)]
    types = {_type(one, root, depth) for one in kinds}
    return types.pop() if len(types) == 1 else JSON


def _alternatives(found: Any, root: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of which a value has one."""
    if not isinstance(found, Mapping) or depth > _MOST_DEEP:
        yield {}
        return
    for word in ("oneOf", "anyOf"):
        if isinstance(found.get(word), list):
            for one in found[word]:
                yield from _alternatives(one, root, depth + 1)
            return
    if isinstance(reference := found.get("$ref"), str):
        yield from _alternatives(_referred(reference, root), root, depth + 1)
        return
    names = [name for name in _names(found) if name != "null"] or ["null"] if _names(found) else []
    yield from ({**found, "type": name} for name in names) if names else iter([found])


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    """Return the schema that a reference into the same schema names; an empty one for another reference."""
    found: Any = root if reference.startswith("#/") else {}
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name, {}) if isinstance(found, Mapping) else {}
    return found


def _names(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types that a schema names."""
    names = found.get("type", ())
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def _type(found: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Type:
    airbytes = found.get("airbyte_type")
    match found.get("type"):
        case "string":
            return _text(found)
        case "boolean":
            return schema.Boolean()
        case "integer" | "number" if airbytes == "big_integer":
            return schema.UNCONSTRAINED_DECIMAL
        case "integer":
            return Integer(64)
        case "number":
            return Integer(64) if airbytes == "integer" else schema.UNCONSTRAINED_DECIMAL
        case "array":
            return _list(found, root, depth)
        case "object":
            return _object(found, root, depth)
    return JSON


def _text(found: Mapping[str, Any]) -> Type:
    """Return the type of texts: moments, days, bytes and numbers are written so, too."""
    airbytes, written = found.get("airbyte_type"), found.get("format")
    if airbytes in ("big_integer", "big_number"):
        return schema.UNCONSTRAINED_DECIMAL
    if found.get("contentEncoding") == "base64":
        return Bytes()
    match written:
        case "date":
            return Date()
        case "date-time":
            return Timestamp("us", zoned=airbytes != _ZONELESS)
        case "time" if airbytes == "time_without_timezone":
            return Time("us")
    return String()


def _list(found: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Type:
    items = found.get("items")
    item = type_of(items, root, depth + 1) if isinstance(items, Mapping) and depth < _MOST_DEEP else JSON
    return Array(item) if _is_exact(item) else JSON


def _object(found: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Type:
    properties = found.get("properties")
    if not isinstance(properties, Mapping) or not properties or depth >= _MOST_DEEP:
        return JSON
    if found.get("additionalProperties") not in (None, False):
        return JSON
    fields = tuple(Column(str(name), type_of(one, root, depth + 1)) for name, one in properties.items())
    return Struct(fields) if all(_is_exact(field.type) for field in fields) else JSON


def _is_exact(kind: Type) -> bool:
    """Return whether values of a type are read exactly inside of objects and lists."""
    match kind:
        case String(role=role):
            return not role
        case Struct(fields):
            return all(_is_exact(field.type) for field in fields)
        case Array(item):
            return _is_exact(item)
    return not isinstance(kind, Bytes)
