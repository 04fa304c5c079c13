"""Avro (https://avro.apache.org/docs/1.12.0/specification/): the schema of a record, and Confluent's wire format.

Names as HVR has them: the record is named by the table, without a namespace; a NOT NULL column has a zero default, a
nullable one is a union with null. The connect.* annotations are those of Confluent's AvroData.java
(https://github.com/confluentinc/schema-registry), so that Connect's AvroConverter gets its types back, decimals with
their real precision. How values are written is in `avro_values`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pyarrow as pa

from integrator import schema
from integrator.arrow.varints import constant, join_parts, varint, zigzag
from integrator.contracts.message_format import Options, SchemaId
from integrator.engine.arrays import Ints
from integrator.formats import connect
from integrator.formats.avro_values import BY_COLUMN, sayable
from integrator.formats.contract import Format, Frame, prefix
from integrator.formats.records import Columns
from integrator.schema import Column, Type

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = (
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    "record",
    "enum",
    "array",
    "map",
    "fixed",
)
DURATION = {"type": "fixed", "name": "duration", "size": 12, "logicalType": "duration"}

_PRIMITIVES = {"boolean": "boolean", "float": "float", "double": "double", "bytes": "bytes", "string": "string"}
_TIMES = {"ms": "millis", "us": "micros", "ns": "nanos"}


def schema_text(name: str, columns: Columns, options: Options) -> str:
    """Return the Avro schema of a message: of a row, or of an array of rows."""
    record = _record(name, columns, options, _Names())
    written = {"type": "array", "items": record} if options.array else record
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


def column_schema(name: str, column: Column, options: Options) -> str:
    """Return the Avro schema of one column's value alone."""
    kind = _schema(column.type, name, options, _Names())
    return json.dumps(["null", kind] if column.nullable else kind, separators=(",", ":"), ensure_ascii=False)


class _Names:
    """The named types that stand in the schema already: Avro has each only once."""

    def __init__(self) -> None:
        self.known: dict[str, Columns] = {"duration": ()}
        self.fixed = False


def _record(name: str, columns: Columns, options: Options, names: _Names) -> dict[str, Any] | str:
    """Return a record; the name alone where the same one stands before."""
    if names.known.get(name) == columns:
        return name
    unique = name
    while unique in names.known:
        unique += "_"
    names.known[unique] = columns
    fields = [_field(column, unique, options, names) for column in columns]
    return {"type": "record", "name": unique, "fields": fields}


def _field(column: Column, record: str, options: Options, names: _Names) -> dict[str, Any]:
    kind = _schema(column.type, f"{record}_{column.name}", options, names)
    if column.nullable:
        return {"name": column.name, "type": ["null", kind], "default": None}
    field = {"name": column.name, "type": kind}
    zero = _zero(column.type, options)
    return field if zero is None else field | {"default": zero}


def _schema(kind: Type, name: str, options: Options, names: _Names) -> Any:
    match kind:
        case schema.Array(item):
            return {"type": "array", "items": ["null", _schema(item, name, options, names)]}
        case schema.Struct(fields, struct_name):
            return _record(struct_name or name, fields, options, names)
        case schema.Interval() if _is_duration(options):
            if names.fixed:
                return "duration"
            names.fixed = True
            return DURATION
        case _:
            return _annotated(kind, options)


def _is_duration(options: Options) -> bool:
    """Return whether an interval is Avro's duration: before 1.8 there is none, and Debezium writes text."""
    return not options.avro_basic and options.times != "DEBEZIUM"


def _annotated(kind: Type, options: Options) -> Any:
    logical = connect.connect_type(kind, replace(options, decimals="BASE64"))  # Avro has decimals of its own
    written: dict[str, Any] = {"type": _PRIMITIVES.get(logical.base, "long" if logical.base == "int64" else "int")}
    if options.avro_basic:
        basic = isinstance(kind, schema.Decimal | schema.Timestamp | schema.Interval)
        return "string" if basic else written["type"]
    if isinstance(kind, schema.Decimal):
        written = {"type": "bytes", "scale": kind.scale, "precision": kind.precision}
    if logical.name:
        written["connect.version"] = 1
        if logical.parameters:
            written["connect.parameters"] = dict(logical.parameters)
        written["connect.name"] = logical.name
    if logical.base in ("int8", "int16"):
        written["connect.type"] = logical.base
    avro_name = _logical_type(kind, options)
    if avro_name and (logical.base != "string" or isinstance(kind, schema.String)):
        written["logicalType"] = avro_name
    return written["type"] if len(written) == 1 else written


def _logical_type(kind: Type, options: Options) -> str:
    match kind:
        case schema.Time() | schema.Timestamp() if options.times == "CONNECT":
            return "time-millis" if isinstance(kind, schema.Time) else "timestamp-millis"
        case schema.Decimal():
            return "decimal"
        case schema.Date():
            return "date"
        case schema.Time(unit):
            return f"time-{_TIMES[unit]}"
        case schema.Timestamp(unit, _):
            return f"timestamp-{_TIMES[unit]}"
        case schema.String(_, "uuid"):
            return "uuid"
        case _:
            return ""


def _zero(kind: Type, options: Options) -> Any:
    match kind:
        case schema.Boolean():
            return False
        case schema.Decimal() if not options.avro_basic:
            return "\0"
        case schema.Timestamp(_, zoned) if options.avro_basic or (zoned and options.times == "DEBEZIUM"):
            return ""
        case schema.Integer() | schema.Date() | schema.Time() | schema.Timestamp():
            return 0
        case schema.Float():
            return 0.0
        case schema.Array():
            return []
        case schema.Interval() if _is_duration(options):
            return "\0" * 12
        case schema.Struct():
            return None
        case _:
            return ""


def name_refusal(name: str) -> str | None:
    """Return why a column or table cannot have this name in Avro, or None."""
    if NAME.fullmatch(name):
        return None
    return "a name has letters, digits and underscores, and no digit first; give another (BaseName)"


def record_refusal(name: str) -> str | None:
    """Return why no record can have this name, which may have dots, or None."""
    if name in RESERVED:
        return f"{name} is a type of Avro's; rename the table in its definition"
    return next(filter(None, map(name_refusal, name.split("."))), None)


def string_schema() -> str:
    """Return the Avro schema of a text, for keys."""
    return '"string"'


def frame(_name: str, _columns: Columns, options: Options, schema_id: SchemaId | None) -> Frame:
    """Return the registry's prefix; an array's rows stand in one block."""
    return Frame(prefix(schema_id), assemble=_array if options.array else None)


def _array(rows: pa.Array, count: Ints) -> pa.Array:
    return join_parts([varint(zigzag(count)), rows, constant(b"\0", len(rows))])


FORMAT = Format(
    BY_COLUMN,
    frame,
    missing="refuse",
    schema_text=schema_text,
    refusal=sayable,
    name_refusal=name_refusal,
    record_refusal=record_refusal,
    schema_type="AVRO",
    text=False,
    bundles=lambda options: "table" if options.array else "",
)
