"""Kafka Connect's data model: the schema of a type as JSON, and how JsonConverter writes its values.

The definition is https://github.com/apache/kafka, connect/json JsonConverter.java and connect/api data/*.java: the keys
of a schema in their order, Decimal as base64 of the unscaled big-endian value, Date as days, Time and Timestamp as
milliseconds. Finer times have no Connect type; ADAPTIVE sends them as int64 under Debezium's names
(https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-temporal-types), and DEBEZIUM
calls all of them, and the text of uuid, json and enum columns, as Debezium does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first
from integrator.arrow.base64 import base64, decimals
from integrator.arrow.durations import iso_text
from integrator.contracts.message_format import Options
from integrator.formats import json_text
from integrator.formats.json_object import Value
from integrator.formats.records import InvalidValue
from integrator.schema import Column, Type

DATA = "org.apache.kafka.connect.data."
TIME = "io.debezium.time."
_MICROS = 1000
_YEAR_0, _YEAR_10000 = -62_167_219_200, 253_402_300_800
"""Seconds since 1970 of the first moments of these years."""
_MICRO_NAMES = {"ms": "", "us": "Micro", "ns": "Nano"}
_ROLES = {"uuid": "Uuid", "json": "Json", "enum": "Enum"}
_ZONED_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Logical:
    """A Connect type: its base, and the name and parameters of the logical type it stands for, if any."""

    base: str
    name: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


def connect_type(kind: Type, options: Options) -> Logical:
    """Return the Connect type of everything but arrays and structs."""
    match kind:
        case schema.Boolean():
            return Logical("boolean")
        case schema.Integer(bits):
            return Logical(f"int{bits}")
        case schema.Float(bits):
            return Logical("float" if bits == 32 else "double")
        case schema.Bytes():
            return Logical("bytes")
        case schema.Decimal(precision, scale):
            if options.decimals == "TEXT":
                return Logical("string")
            parameters = (("scale", str(scale)), ("connect.decimal.precision", str(precision)))
            return Logical("bytes", DATA + "Decimal", parameters)
        case schema.Date() | schema.Time() | schema.Timestamp() | schema.Interval():
            return _time_type(kind, options)
        case schema.String(_, role) if options.times == "DEBEZIUM" and role in _ROLES:
            return Logical("string", "io.debezium.data." + _ROLES[role])
        case _:
            return Logical("string")


def _time_type(kind: Type, options: Options) -> Logical:
    match kind:
        case schema.Date():
            return Logical("int32", (TIME if options.times == "DEBEZIUM" else DATA) + "Date")
        case schema.Time(unit):
            if options.times == "CONNECT" or (unit == "ms" and options.times == "ADAPTIVE"):
                return Logical("int32", DATA + "Time")
            return Logical("int32" if unit == "ms" else "int64", f"{TIME}{_MICRO_NAMES[unit]}Time")
        case schema.Timestamp(unit, zoned):
            if options.times == "CONNECT" or (unit == "ms" and options.times == "ADAPTIVE"):
                return Logical("int64", DATA + "Timestamp")
            if zoned and options.times == "DEBEZIUM":
                return Logical("string", TIME + "ZonedTimestamp")
            return Logical("int64", f"{TIME}{_MICRO_NAMES[unit]}Timestamp")
        case _:
            return Logical("string", TIME + "Interval" if options.times == "DEBEZIUM" else "")


def schema_of(kind: Type, optional: bool, options: Options) -> dict[str, Any]:
    """Return the schema of a type, its keys in JsonConverter's order."""
    match kind:
        case schema.Array(item):
            return {"type": "array", "items": schema_of(item, True, options), "optional": optional}
        case schema.Struct():
            return struct_schema(kind, options, optional=optional)
        case _:
            logical = connect_type(kind, options)
            written: dict[str, Any] = {"type": logical.base, "optional": optional}
            if logical.name:
                written |= {"name": logical.name, "version": 1}
            return written | ({"parameters": dict(logical.parameters)} if logical.parameters else {})


def struct_schema(struct: schema.Struct, options: Options, *, optional: bool = False) -> dict[str, Any]:
    """Return the schema of a struct."""
    fields = [
        {**schema_of(c.type, c.nullable, options), **_default(c, options), "field": c.name} for c in struct.fields
    ]
    written: dict[str, Any] = {"type": "struct", "fields": fields, "optional": optional}
    written |= {"name": struct.name} if struct.name else {}
    return written | ({"version": struct.version} if struct.version else {})


def default_of(column: Column, options: Options) -> Any:
    """Return the default of a column as JsonConverter writes it; None where the schema has none."""
    if options.zeros or column.nullable or column.default is None:
        return None
    value = _value(column.type, options)
    try:
        text = value.encode(pa.array([column.default], schema.arrow_type(column.type)))[0].as_py()
    except InvalidValue:
        return None
    return json.loads(f'"{text}"' if value.quoted else text)


def _default(column: Column, options: Options) -> dict[str, Any]:
    value = default_of(column, options)
    return {} if value is None else {"default": value}


def leaf(options: Options) -> Any:
    """Return how JsonConverter writes values."""
    return lambda kind: _value(kind, options)


def _value(kind: Type, options: Options) -> Value:
    match kind:
        case schema.String():
            return Value(json_text.escaped, quoted=True)
        case schema.Bytes():
            return Value(base64, quoted=True)
        case schema.Decimal() if options.decimals == "BASE64":
            return Value(decimals, quoted=True)
        case schema.Decimal():
            return Value(json_text.numbers, quoted=options.decimals == "TEXT")
        case schema.Float():
            return Value(json_text.floats)
        case schema.Interval():
            return Value(iso_text, quoted=True)
        case schema.Date():
            return Value(lambda values: values.cast(pa.int32()).cast(pa.string()))
        case schema.Timestamp(_, zoned) if zoned and options.times == "DEBEZIUM":
            return Value(_zoned, quoted=True)
        case schema.Time() | schema.Timestamp():
            return Value(lambda values: moments(values, whole=options.times != "CONNECT").cast(pa.string()))
        case _:
            return Value(json_text.numbers)


def _zoned(values: pa.Array) -> pa.Array:
    in_years(values)
    return pc.strftime(values, format=_ZONED_FORMAT)


def in_years(values: pa.Array) -> None:
    """Raise InvalidValue for a time stamp whose year has not four digits: no text of it would be read the same."""
    each = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
    integers = values.cast(pa.timestamp(values.type.unit)).cast(pa.int64())
    if not len(integers) or integers.null_count == len(integers):
        return
    ends = pc.min_max(integers)
    if ends["min"].as_py() >= _YEAR_0 * each and ends["max"].as_py() < _YEAR_10000 * each:
        return
    wrong = first(pc.or_(pc.less(integers, _YEAR_0 * each), pc.greater_equal(integers, _YEAR_10000 * each)))
    raise InvalidValue(wrong or 0, "the year has not four digits; use a format with numbers for times")


def moments(values: pa.Array, *, whole: bool) -> pa.Array:
    """Return times as integers in their own unit, or in milliseconds where they must be Connect's.

    Raises InvalidValue for what is finer than a millisecond and must not be.
    """
    integers = values.cast(pa.int32() if pa.types.is_time32(values.type) else pa.int64())
    unit = values.type.unit
    if whole or unit == "ms":
        return integers
    parts = _MICROS if unit == "us" else _MICROS * _MICROS
    millis = pc.divide(integers, parts)
    index = first(pc.not_equal(pc.multiply(millis, parts), integers))
    if index is not None:
        value = values.slice(index, 1).cast(pa.string())[0].as_py()
        raise InvalidValue(index, f"{value} is finer than Connect's millisecond; use Json_Times: ADAPTIVE")
    return millis
