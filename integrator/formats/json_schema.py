"""JSON with a schema in a registry: JSON Schema draft 7, annotated for Connect's JsonSchemaConverter.

The annotations are https://github.com/confluentinc/schema-registry, JsonSchemaData.java: connect.type, connect.index,
title for a logical name, connect.version and connect.parameters; a nullable property is a oneOf with null. Decimals
are JSON numbers, as HVR sends them; the converter takes both numbers and base64. No other properties may be there:
with that, and only with that, a registry takes a new property for a compatible change (BACKWARD;
https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/serdes-json.html).
"""

from __future__ import annotations

import json
from typing import Any

from integrator import schema
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import connect
from integrator.formats.contract import Format, Frame, prefix
from integrator.formats.json_object import by_column
from integrator.formats.records import Columns
from integrator.schema import Column, Type

DIALECT = "http://json-schema.org/draft-07/schema#"
_JSON_TYPES = {"boolean": "boolean", "string": "string", "bytes": "string", "float": "number", "double": "number"}
_CONNECT_TYPES = {"float": "float32", "double": "float64"}
_IMPLIED = ("boolean", "string")


def schema_text(name: str, columns: Columns, options: Options) -> str:
    """Return the JSON Schema of a row, `title` the record's name; no property is required, for one may be missing."""
    root = {"$schema": DIALECT, **_object(schema.Struct(tuple(columns), name, options.version), options)}
    return json.dumps(root, separators=(",", ":"), ensure_ascii=False)


def column_schema(column: Column, options: Options) -> str:
    """Return the JSON Schema of one column's value alone."""
    written = _schema(column.type, options)
    if column.nullable:
        written = {"oneOf": [{"type": "null"}, written]}
    return json.dumps({"$schema": DIALECT, **written}, separators=(",", ":"), ensure_ascii=False)


def string_schema() -> str:
    """Return the JSON Schema of a text, for keys."""
    return json.dumps({"$schema": DIALECT, "type": "string"}, separators=(",", ":"))


def _object(struct: schema.Struct, options: Options) -> dict[str, Any]:
    properties = {}
    for index, column in enumerate(struct.fields):
        written = _schema(column.type, options)
        default = connect.default_of(column, options)
        if column.nullable:
            written = {"oneOf": [{"type": "null"}, written]}
        written |= {} if default is None else {"default": default}
        properties[column.name] = {**written, "connect.index": index}
    head: dict[str, Any] = {"type": "object"} | ({"title": struct.name} if struct.name else {})
    head |= {"connect.version": struct.version} if struct.version else {}
    return head | {"properties": properties, "additionalProperties": False}


def _schema(kind: Type, options: Options) -> dict[str, Any]:
    match kind:
        case schema.Array(item):
            return {"type": "array", "items": {"oneOf": [{"type": "null"}, _schema(item, options)]}}
        case schema.Struct():
            return _object(kind, options)
        case _:
            pass
    logical = connect.connect_type(kind, options)
    definition: dict[str, Any] = {"type": _JSON_TYPES.get(logical.base, "integer")}
    if isinstance(kind, schema.Decimal) and options.decimals == "NUMERIC":
        definition["type"] = "number"
    if isinstance(kind, schema.String) and kind.role == "uuid":
        definition["format"] = "uuid"
    if logical.base not in _IMPLIED:
        definition["connect.type"] = _CONNECT_TYPES.get(logical.base, logical.base)
    if logical.name:
        definition |= {"title": logical.name, "connect.version": 1}
    if logical.parameters:
        definition["connect.parameters"] = dict(logical.parameters)
    return definition


def frame(_name: str, _columns: Columns, _options: Options, schema_id: SchemaId | None) -> Frame:
    """Return the registry's prefix."""
    return Frame(prefix(schema_id))


FORMAT = Format(
    by_column(connect.leaf),
    frame,
    missing="omit",
    finite=True,
    schema_text=schema_text,
    schema_type="JSON",
    text=False,
    named=True,
)
