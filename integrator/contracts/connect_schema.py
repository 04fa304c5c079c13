"""Schemas of Kafka Connect -> tables: of plain rows, and of Debezium's events, flattened or not.

A schema is as JsonConverter writes it. `zoned`, which is no member of Connect's, tells instants from local timestamps.
https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/data/
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from integrator import schema
from integrator.schema import Column, Table, Type

Connect = Mapping[str, Any]
_DATA, _TIME = "org.apache.kafka.connect.data.", "io.debezium.time."
_VARIABLE = "io.debezium.data.VariableScaleDecimal"
_DECIMAL = f"{_DATA}Decimal"
_NAMED: dict[str, Type] = {
    f"{_DATA}Date": schema.Date(),
    f"{_TIME}Date": schema.Date(),
    f"{_DATA}Time": schema.Time("ms"),
    f"{_TIME}Time": schema.Time("ms"),
    f"{_TIME}MicroTime": schema.Time("us"),
    f"{_TIME}NanoTime": schema.String(),  # no type has its digits
    f"{_DATA}Timestamp": schema.Timestamp("ms"),
    f"{_TIME}Timestamp": schema.Timestamp("ms"),
    f"{_TIME}MicroTimestamp": schema.Timestamp("us"),
    f"{_TIME}NanoTimestamp": schema.Timestamp("ns"),
    f"{_TIME}ZonedTimestamp": schema.Timestamp("us", zoned=True),
    f"{_TIME}Interval": schema.Interval(),
    f"{_TIME}MicroDuration": schema.Interval(),
    f"{_TIME}NanoDuration": schema.Interval(),
    "io.debezium.data.Uuid": schema.String(36, "uuid"),
    "io.debezium.data.Json": schema.String(None, "json"),
    "io.debezium.data.Enum": schema.String(None, "enum"),
    _VARIABLE: schema.UNCONSTRAINED_DECIMAL,
}
_BASE: dict[str, Type] = {
    "boolean": schema.Boolean(),
    "int8": schema.Integer(8),
    "int16": schema.Integer(16),
    "int32": schema.Integer(32),
    "int64": schema.Integer(64),
    "float": schema.Float(32),
    "float32": schema.Float(32),
    "double": schema.Float(64),
    "float64": schema.Float(64),
    "string": schema.String(),
    "bytes": schema.Bytes(),
}
_JSON = schema.String(None, "json")
_NO_PRECISION = 64
"""What AvroData writes as the precision of a decimal whose schema has none."""
_MOST_DIGITS = 38
_ADDED = "__"
"""How fields begin that ExtractNewRecordState adds."""
_OF_MYSQL = ("io.debezium.connector.mysql.", "io.debezium.connector.mariadb.")
_PARTS = 3
"""Parts of the name of an event's schema: server.schema.table.Envelope."""


@dataclass(frozen=True)
class RowSchema:
    """The struct that has the columns of a row, and the table's schema and name, where the event's schema has them.

    connector: the schema of an event's source, whose name has the connector's.
    """

    struct: Connect
    schema: str | None = None
    name: str | None = None
    connector: str = ""


def type_of(field: Connect) -> Type:
    """Return the type of a column whose values have a schema: text of JSON for what no column has."""
    name, base = str(field.get("name") or ""), str(field.get("type") or "")
    parameters = field.get("parameters") or {}
    if name == _DECIMAL:
        precision, scale = parameters.get("connect.decimal.precision"), parameters.get("scale")
        known = precision is not None and int(precision) != _NO_PRECISION
        return schema.decimal(int(precision) if known and precision is not None else _MOST_DIGITS, int(scale or 0))
    if name == "io.debezium.data.Bits":
        length = parameters.get("length")
        return schema.String(None if length is None else int(length), "varbits")
    found = _NAMED.get(name)
    if isinstance(found, schema.Timestamp) and field.get("zoned"):
        return schema.Timestamp(found.unit, zoned=True)
    if found is not None:
        return found
    if base == "array":
        item = type_of(field.get("items") or {})
        return _JSON if item == _JSON else schema.Array(item)
    return _BASE.get(base, _JSON)


def row_of(value: Connect) -> RowSchema | None:
    """Return the row of a value's schema: a struct, or the image in an event of Debezium; None where it has none.

    Debezium's own messages (heartbeats, transactions, schema changes) have none.
    """
    if value.get("type") != "struct" or str(value.get("name") or "").startswith("io.debezium."):
        return None
    members = {str(field.get("field")): field for field in value.get("fields") or ()}
    image = members.get("after") or members.get("before")
    if "op" in members and image is not None and image.get("type") == "struct":
        owner = _owner(str(value.get("name") or image.get("name") or ""))
        return RowSchema(image, *owner, str(members.get("source", {}).get("name") or ""))
    return RowSchema(value, *_owner(str(value.get("name") or "")))


def _owner(name: str) -> tuple[str | None, str | None]:
    """Return the schema and the table in the name that Debezium gives an event's schema."""
    parts = name.split(".")
    if parts[-1] not in ("Envelope", "Value") or len(parts) <= _PARTS:
        return None, None
    return parts[-3], parts[-2]


def columns_of(row: RowSchema) -> Iterator[Column]:
    """Yield the columns of a row, without those that ExtractNewRecordState added.

    Bits of MySQL and MariaDB have a fixed length: there is no varbit.
    """
    is_fixed = row.connector.startswith(_OF_MYSQL)
    for field in row.struct.get("fields") or ():
        name, found = str(field.get("field")), type_of(field)
        if is_fixed and isinstance(found, schema.String) and found.role == "varbits":
            found = replace(found, role="bits")
        if not name.startswith(_ADDED):
            yield Column(name, found, nullable=bool(field.get("optional")))


def table_of(value: Connect, key: Connect | None, of_topic: tuple[str | None, str]) -> Table | None:
    """Return the table of rows, of values that are no structs with the column `value`; None of Debezium's own messages.

    key: the schema of keys. of_topic: the schema and the name of the table, as the topic has them.
    """
    row = row_of(value)
    if row is None and str(value.get("type")) not in _BASE:
        return None
    if row is None:
        row = RowSchema({"fields": [{**value, "field": "value"}]})
    owner, name = (row.schema, row.name) if row.name else of_topic
    columns = tuple(columns_of(row))
    names = {column.name for column in columns}
    fields = (key or {}).get("fields") or ()
    keys = tuple(str(field.get("field")) for field in fields if str(field.get("field")) in names)
    own = re.sub(r"[^a-z0-9_]+", "_", str(name).lower())
    return Table(own if own[:1].isalpha() else f"t_{own}", str(name), owner, columns, keys)
