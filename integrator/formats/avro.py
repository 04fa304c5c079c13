"""Avro (https://avro.apache.org/docs/1.12.0/specification/): the schema of a record, and Confluent's wire format.

As HVR has it, the record is named by the table, without a namespace; a NOT NULL column has a zero default, a nullable
one is a union with null. A channel can give the record another name, with a namespace. The connect.* annotations are
those of Confluent's AvroData.java (https://github.com/confluentinc/schema-registry), so that Connect's AvroConverter
gets its types back, decimals with their real precision. Where times are Debezium's, schemas are what AvroData makes of
Debezium's. How values are written is in `avro_values`.
"""

from __future__ import annotations

import base64
import json
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
from integrator.formats.record_names import name_refusal, record_refusal
from integrator.formats.records import Columns
from integrator.schema import Column, Type

_DURATION = {"size": 12, "logicalType": "duration"}

_PRIMITIVES = {"boolean": "boolean", "float": "float", "double": "double", "bytes": "bytes", "string": "string"}
_TIMES = {"ms": "millis", "us": "micros", "ns": "nanos"}


def schema_text(name: str, columns: Columns, options: Options) -> str:
    """Return the Avro schema of a message: of a row, or of an array of rows."""
    record = _record(schema.Struct(tuple(columns), name, options.version), name, options, _Names())
    written = {"type": "array", "items": record} if options.array else record
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


def column_schema(name: str, column: Column, options: Options) -> str:
    """Return the Avro schema of one column's value alone."""
    kind = _schema(column.type, name, options, _Names())
    return json.dumps(["null", kind] if column.nullable else kind, separators=(",", ":"), ensure_ascii=False)


class _Names:
    """The named types that stand in the schema already: Avro has each only once.

    space: the namespace at the place that is being written, which names without one are in. duration: the name of the
    type of intervals, where it stands already.
    """

    def __init__(self) -> None:
        self.known: dict[str, Columns] = {"duration": ()}
        self.space = self.duration = ""

    def full(self, name: str) -> str:
        """Return the name with its namespace."""
        return f"{self.space}.{name}" if self.space and "." not in name else name

    def new(self, name: str, columns: Columns) -> str:
        """Return a full name that no other type has, and note it."""
        while name in self.known:
            name += "_"
        self.known[name] = columns
        return name

    def declared(self, name: str) -> dict[str, str]:
        """Return the members that give a type its full name."""
        space, _, own = name.rpartition(".")
        return {"name": own} | ({"namespace": space} if space != self.space else {})

    def reference(self, name: str) -> str:
        """Return what stands for a type that stands before."""
        space, _, own = name.rpartition(".")
        return own if space == self.space else name


def _record(struct: schema.Struct, name: str, options: Options, names: _Names) -> dict[str, Any] | str:
    """Return a record; the name alone where the same one stands before."""
    name = names.full(name)
    if names.known.get(name) == struct.fields:
        return names.reference(name)
    unique = names.new(name, struct.fields)
    written: dict[str, Any] = {"type": "record", **names.declared(unique)}
    around, names.space = names.space, unique.rpartition(".")[0]
    written["fields"] = [_field(column, unique, options, names) for column in struct.fields]
    names.space = around
    if struct.version:
        written["connect.version"] = struct.version
    return written | ({"connect.name": unique} if "." in unique else {})


def _field(column: Column, record: str, options: Options, names: _Names) -> dict[str, Any]:
    kind = _schema(column.type, f"{record}_{column.name}", options, names)
    if column.nullable:
        return {"name": column.name, "type": ["null", kind], "default": None}
    if options.zeros:
        default = _zero(column.type, options)
    else:
        default = _default(column, options)
        kind = kind if default is None else _with_default(kind, default)
    return {"name": column.name, "type": kind} | ({} if default is None else {"default": default})


def _default(column: Column, options: Options) -> Any:
    """Return the default of a column as Avro has it: bytes are text of their characters."""
    default = connect.default_of(column, replace(options, decimals="BASE64"))
    if default is not None and isinstance(column.type, schema.Decimal):
        return base64.b64decode(default).decode("latin-1")
    return default


def _with_default(kind: Any, default: Any) -> dict[str, Any]:
    """Return a type with Connect's default, at the place where AvroData has it."""
    members = kind if isinstance(kind, dict) else {"type": kind}
    after = ("connect.name", "connect.type", "logicalType")
    before = {name: value for name, value in members.items() if name not in after}
    return before | {"connect.default": default} | {name: members[name] for name in after if name in members}


def _schema(kind: Type, name: str, options: Options, names: _Names) -> Any:
    match kind:
        case schema.Array(item):
            return {"type": "array", "items": ["null", _schema(item, name, options, names)]}
        case schema.Struct():
            return _record(kind, kind.name or name, options, names)
        case schema.Interval() if _is_duration(options):
            if names.duration:
                return names.reference(names.duration)
            names.duration = names.new(names.full("duration"), ()) if names.space else "duration"
            return {"type": "fixed", **names.declared(names.duration), **_DURATION}
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
        case _ if options.times == "DEBEZIUM":
            return "decimal" if isinstance(kind, schema.Decimal) else ""
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
    named=True,
    bundles=lambda options: "table" if options.array else "",
)
