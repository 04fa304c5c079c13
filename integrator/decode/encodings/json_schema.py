"""JSON Schema: records are JSON as it is; their schema is read as Kafka Connect has it.

Types are those that Confluent's JsonSchemaData makes: `title` is the name, and `connect.type`, `connect.version`,
`connect.parameters` and `connect.index` are Connect's own. A value of one of several types, or of any, is JSON.
https://docs.confluent.io/platform/current/schema-registry/connect.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.program import Connect, Program, SchemaRefused, between, logical
from integrator.engine import transcode

_NUMBERS = ("int8", "int16", "int32", "int64", "float32", "float64", "bytes")
_OF_CONNECT = {"float32": "float", "float64": "double"}
_SEVERAL = ("oneOf", "anyOf")
_MOST_FIELDS = 20_000
"""Of objects in objects: those that are used in two places count twice, as in Connect's schema."""


def compiled(written: WrittenSchema, before: bytes, after: bytes) -> Program:
    """Return the program of a schema. before, after: what stands around each record. Raises SchemaRefused."""
    try:
        root = json.loads(written.text)
        reader = _Reader(root, {name: json.loads(text) for name, text in written.references})
        schema = reader.read(root, root)
    except RecursionError:
        raise SchemaRefused("its types are nested too deeply") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # whatever a schema is not
        raise SchemaRefused(f"it is no JSON Schema ({error!r})") from None
    return between(transcode.JSON, before, after, schema)


class _Reader:
    def __init__(self, root: Any, references: Mapping[str, Any]) -> None:
        self._root, self._references = root, references
        self._open: list[int] = []
        self._many = 0

    def read(self, schema: Any, file: Any) -> Connect:
        """Return Connect's schema of one that stands in a file."""
        if isinstance(schema, bool) or not schema:
            return _any(optional=True)
        if "$ref" in schema:
            return self._referred(schema, file)
        if "allOf" in schema:
            return self.read(self._together(schema, file), file)
        branches = next((schema[word] for word in _SEVERAL if word in schema), None)
        if branches is None and isinstance(schema.get("type"), list):
            branches = [{**schema, "type": one} for one in schema["type"]]
        if branches is not None:
            return self._one_of(schema, branches, file)
        return _named(self._typed(schema, file), schema)

    def _one_of(self, schema: Any, branches: list[Any], file: Any) -> Connect:
        others = [one for one in branches if not _is_null(one)]
        nullable = {"optional": True} if len(others) < len(branches) else {}
        if len(others) == 1:
            around = {word: value for word, value in schema.items() if word not in (*_SEVERAL, "type")}
            return {**_named(self.read(others[0], file), around), **nullable}
        return {**_any(optional=False), **nullable}

    def _typed(self, schema: Any, file: Any) -> Connect:
        kind, connect = schema.get("type") or _kind_of(schema), schema.get("connect.type")
        if kind in ("integer", "number"):
            found = connect or ("int64" if kind == "integer" else "float64")
            if found not in _NUMBERS:
                raise SchemaRefused(f"connect.type of a number is {found!r}, which is none of {', '.join(_NUMBERS)}")
            return _plain(_OF_CONNECT.get(found, found))
        if kind == "boolean":
            return _plain("boolean")
        if kind == "null":
            return {"type": "string", "optional": True}
        if kind == "string":
            allowed = schema.get("enum")
            if allowed:
                return logical(_plain("string"), "io.debezium.data.Enum", [("allowed", ",".join(map(str, allowed)))])
            return _plain("bytes" if connect == "bytes" else "string")
        if kind == "array":
            return self._array(schema, file)
        if kind == "object":
            return self._object(schema, file)
        if kind:
            raise SchemaRefused(f"{kind!r} is no type of JSON Schema")
        return _any(optional=False)

    def _array(self, schema: Any, file: Any) -> Connect:
        items = schema.get("items")
        of_map = items.get("properties", {}) if isinstance(items, dict) else {}
        if schema.get("connect.type") == "map" and {"key", "value"} <= of_map.keys():
            keys, values = (self.read(of_map[one], file) for one in ("key", "value"))
            return {"type": "map", "keys": keys, "values": values, "optional": False}
        read = self.read({} if isinstance(items, list) else items, file)
        return {"type": "array", "items": read, "optional": False}

    def _object(self, schema: Any, file: Any) -> Connect:
        if schema.get("connect.type") == "map" or ("properties" not in schema and "additionalProperties" in schema):
            values = self.read(schema.get("additionalProperties"), file)
            return {"type": "map", "keys": _plain("string"), "values": values, "optional": False}
        struct: Connect = {"type": "struct", "fields": [], "optional": False}
        properties = schema.get("properties", {})
        if properties and id(properties) in self._open:  # it is in itself
            return struct
        self._open.append(id(properties))
        self._many += len(properties)
        if self._many > _MOST_FIELDS:
            raise SchemaRefused(f"its objects in objects have over {_MOST_FIELDS} fields")
        fields = []
        for name, one in _in_order(properties):
            found = {**self.read(one, file), "field": name}
            fields.append({**found, "optional": found["optional"] or _may_miss(schema, name, one)})
        self._open.pop()
        return {**struct, "fields": fields}

    def _referred(self, schema: Any, file: Any) -> Connect:
        target, there = self._find(schema["$ref"], file)
        around = {word: value for word, value in schema.items() if word != "$ref"}
        return _named(self.read(target, there), around)

    def _find(self, name: str, file: Any) -> tuple[Any, Any]:
        """Return what a reference refers to, and the file that it stands in."""
        document, _, pointer = name.partition("#")
        if document and document not in (file.get("$id"), self._root.get("$id")):
            if document not in self._references:
                raise SchemaRefused(f"it refers to {name!r}, which its references do not have")
            file = self._references[document]
        elif document and document != file.get("$id"):
            file = self._root
        found = file
        for part in pointer.split("/")[1:] if pointer.startswith("/") else []:
            step = unquote(part).replace("~1", "/").replace("~0", "~")
            found = found[int(step)] if isinstance(found, list) else found[step]
        if pointer and not pointer.startswith("/"):
            found = _anchored(file, pointer)
            if found is None:
                raise SchemaRefused(f"it refers to {name!r}, which is nowhere")
        return found, file

    def _together(self, schema: Any, file: Any) -> Any:
        """Return what holds for all of several schemas, as one."""
        made: dict[str, Any] = {}
        for one in (*schema["allOf"], {word: value for word, value in schema.items() if word != "allOf"}):
            branch = one
            while "$ref" in branch:
                branch = self._find(branch["$ref"], file)[0]
            branch = self._together(branch, file) if "allOf" in branch else branch
            properties = {**made.get("properties", {}), **branch.get("properties", {})}
            required = [*made.get("required", []), *branch.get("required", [])]
            made |= branch
            made |= {"properties": properties} if properties else {}
            made |= {"required": required} if required else {}
        return made


def _anchored(schema: Any, name: str) -> Any:
    """Return the schema in another one that a name is given to; None where there is none."""
    if isinstance(schema, dict) and (schema.get("$anchor") == name or schema.get("$id") == f"#{name}"):
        return schema
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return next((found for one in inside if (found := _anchored(one, name)) is not None), None)


def _plain(kind: str) -> Connect:
    return {"type": kind, "optional": False}


def _any(*, optional: bool) -> Connect:
    return logical({"type": "string", "optional": optional}, "io.debezium.data.Json")


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _kind_of(schema: Any) -> str:
    """Return the type of a schema that does not name it; nothing where it may be any."""
    if "properties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return "string" if values and all(isinstance(one, str) for one in values) else ""


def _in_order(properties: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return properties by `connect.index`; JSON does not keep their order."""
    places = enumerate(properties.items())
    by_index = sorted(places, key=lambda one: (_index(one[1][1], one[0]), one[0]))
    return [one for _, one in by_index]


def _index(schema: Any, place: int) -> int:
    return int(schema.get("connect.index", place)) if isinstance(schema, dict) else place


def _may_miss(schema: Any, name: str, own: Any) -> bool:
    """Return whether a property may be absent: what Connect writes names the required ones, or none."""
    if "required" in schema:
        return name not in schema["required"]
    return not (isinstance(own, dict) and "connect.index" in own)


def _named(found: Connect, given: Any) -> Connect:
    """Return a schema with what JsonSchemaData kept of Connect's own."""
    names = {
        "title": "name",
        "connect.version": "version",
        "connect.parameters": "parameters",
        "description": "doc",
        "default": "default",
    }
    return {**found, **{ours: given[theirs] for theirs, ours in names.items() if theirs in given}}
