"""Catalogs of Airbyte -> tables: each stream is one, of the columns that its JSON schema has.

Accepted are a configured catalog, what a source's `discover` gives, and that in its message. The key is the stream's
primary key, where that is of columns; what is inside of an object is none.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from integrator import schema
from integrator.errors import Problem, shown
from integrator.schema import Array, Bytes, Column, Date, Integer, String, Struct, Table, Time, Timestamp, Type
from integrator.tables.contract import Notation

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


_EXPECTED = "expected is a catalog of Airbyte: an object with streams, a list of them"
_SIZE = 100


@dataclass(frozen=True)
class _Stream:
    """A stream of a catalog, whether it is configured or not."""

    name: str
    namespace: str | None
    schema: Mapping[str, Any]
    key: tuple[str, ...]


def read(path: str, text: str, *_of_sql: object) -> tuple[list[Table], list[Problem]]:
    """Read the streams of a catalog from the JSON in `text`."""
    try:
        document = json.loads(text)
    except ValueError as error:
        return [], [Problem(path, getattr(error, "lineno", 0), "", f"bad JSON: {error}; {_EXPECTED}")]
    if isinstance(document, Mapping) and isinstance(document.get("catalog"), Mapping):
        document = document["catalog"]
    streams = document.get("streams") if isinstance(document, Mapping) else None
    if not isinstance(streams, list) or not streams:
        return [], [Problem(path, 0, "", _EXPECTED)]
    found, problems = list[_Stream](), list[Problem]()
    for place, one in enumerate(streams):
        stream = _stream(one)
        if isinstance(stream, str):
            problems.append(Problem(path, 0, f"streams[{place}]", stream))
        else:
            found.append(stream)
    problems += _twice(path, found)
    return ([] if problems else _named([_table(stream) for stream in found])), problems


def _stream(given: Any) -> _Stream | str:
    """Return a stream, or what is wrong with it."""
    configured = given if isinstance(given, Mapping) else {}
    inner = configured.get("stream", configured)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str) or not inner["name"]:
        return f"{shown(given)} is no stream; it has a name, a json_schema, and a namespace where the source has such"
    schema, namespace = inner.get("json_schema"), inner.get("namespace")
    if not isinstance(schema, Mapping):
        return f"stream {inner['name']}: json_schema is {shown(schema)}; it is an object, as discover gives it"
    if namespace is not None and not isinstance(namespace, str):
        return f"stream {inner['name']}: namespace is {shown(namespace)}; it is text, or left out"
    key = configured.get("primary_key") or inner.get("source_defined_primary_key")
    return _Stream(inner["name"], namespace or None, schema, _key(key, schema))


def _key(paths: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of a primary key; none where one of them is inside of an object, or is not there."""
    found = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in paths or ()]
    properties = schema.get("properties") or {}
    return tuple(found) if all(isinstance(one, str) and one in properties for one in found) else ()


def _twice(path: str, streams: Sequence[_Stream]) -> Iterator[Problem]:
    counts = Counter((stream.namespace, stream.name) for stream in streams)
    for (namespace, name), count in counts.items():
        if count > 1:
            full = f"{namespace}.{name}" if namespace else name
            yield Problem(path, 0, "streams", f"stream {full} is there {count} times; keep one of them")


def _table(stream: _Stream) -> Table:
    properties = stream.schema.get("properties")
    columns = tuple(
        Column(str(name), type_of(one, stream.schema), nullable=name not in stream.key)
        for name, one in (properties if isinstance(properties, Mapping) else {}).items()
    )
    return Table(stream.name.lower(), stream.name, stream.namespace, columns, stream.key)


def _named(tables: Sequence[Table]) -> list[Table]:
    """Return tables under names that channels can have, each its own: those of one name have their namespace in it."""
    letters = [_letters(table.base_name) for table in tables]
    counts, taken = Counter(letters), set[str]()
    named = []
    for table, name in zip(tables, letters, strict=True):
        whole = _letters(f"{table.schema}_{table.base_name}") if counts[name] > 1 and table.schema else name
        free, number = whole, 2
        while free in taken:
            free, number = f"{whole}_{number}", number + 1
        taken.add(free)
        named.append(replace(table, name=free))
    return named


def _letters(text: str) -> str:
    found = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_")[:_SIZE]
    return found if found[:1].isalpha() else f"t_{found}"


NOTATION = Notation(read)
