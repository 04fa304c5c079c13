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

from integrator.errors import Problem, shown
from integrator.schema import Column, Table
from integrator.tables.contract import Notation
from integrator.tables.json_types import type_of

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
