"""Avro schemas (.avsc) -> tables: a record is a table (https://avro.apache.org/docs/1.12.0/specification/).

The key columns are named by a record property `key` (a list of field names), which Avro readers pass over.
"""

from __future__ import annotations

import json
from typing import Any

from integrator import schema
from integrator.errors import Problem
from integrator.schema import Column, Table, Type
from integrator.tables.contract import Notation

PRIMITIVES: dict[str, Type] = {
    "boolean": schema.Boolean(),
    "int": schema.Integer(32),
    "long": schema.Integer(64),
    "float": schema.Float(32),
    "double": schema.Float(64),
    "string": schema.String(),
    "bytes": schema.Bytes(),
    "enum": schema.String(None, "enum"),
    "fixed": schema.Bytes(),
}
LOGICAL: dict[str, Type] = {
    "date": schema.Date(),
    "time-millis": schema.Time("ms"),
    "time-micros": schema.Time("us"),
    "timestamp-millis": schema.Timestamp("ms", zoned=True),
    "timestamp-micros": schema.Timestamp("us", zoned=True),
    "local-timestamp-millis": schema.Timestamp("ms"),
    "local-timestamp-micros": schema.Timestamp("us"),
    "timestamp-nanos": schema.Timestamp("ns", zoned=True),
    "local-timestamp-nanos": schema.Timestamp("ns"),
    "duration": schema.Interval(),
    "uuid": schema.String(36, "uuid"),
}


def read(path: str, text: str, *_of_sql: object) -> tuple[list[Table], list[Problem]]:
    """Read one record schema, or a list of them, from the JSON in `text`."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        return [], [Problem(path, error.lineno, "", f"bad JSON: {error.msg}; expected an Avro record schema")]
    tables: list[Table] = []
    problems: list[Problem] = []
    for record in document if isinstance(document, list) else [document]:
        if not isinstance(record, dict) or record.get("type") != "record" or not record.get("name"):
            problems.append(Problem(path, 0, "", "expected an Avro record schema with a name"))
            continue
        _table(path, record, tables, problems)
    return tables, problems


def _table(path: str, record: dict[str, Any], tables: list[Table], problems: list[Problem]) -> None:
    base_name = str(record["name"]).rpartition(".")[2]
    columns = []
    for field in record.get("fields", []):
        try:
            nullable, kind = _type(field["type"])
        except (KeyError, TypeError) as error:
            text = (
                f"the Avro type {error} has no place in a row; accepted are primitives, logical ones, arrays, records"
            )
            problems.append(Problem(path, 0, f"{base_name}.{field.get('name')}", text))
            continue
        columns.append(Column(field["name"], kind, nullable))
    key = tuple(record.get("key", ()))
    absent = sorted(set(key) - {column.name for column in columns})
    if absent:
        problems.append(Problem(path, 0, f"{base_name}.key", f"names no field: {', '.join(absent)}"))
    tables.append(Table(base_name.lower(), base_name, None, tuple(columns), key))


def _column(field: dict[str, Any]) -> Column:
    nullable, kind = _type(field["type"])
    return Column(field["name"], kind, nullable)


def _type(avro: Any) -> tuple[bool, Type]:
    if isinstance(avro, list):
        branches = [branch for branch in avro if branch != "null"]
        if len(branches) != 1:
            raise KeyError(json.dumps(avro))
        return "null" in avro, _type(branches[0])[1]
    if isinstance(avro, str):
        return False, PRIMITIVES[avro]
    logical = avro.get("logicalType")
    if logical == "decimal":
        return False, schema.decimal(avro["precision"], avro.get("scale", 0))
    if logical in LOGICAL:
        return False, LOGICAL[logical]
    if avro["type"] == "array":
        return False, schema.Array(_type(avro["items"])[1])
    if avro["type"] == "record":
        return False, schema.Struct(tuple(_column(field) for field in avro["fields"]))
    return False, PRIMITIVES[avro["type"]]


NOTATION = Notation(read)
