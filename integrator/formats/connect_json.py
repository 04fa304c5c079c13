"""Kafka Connect JSON: {"schema":…,"payload":…}, as Kafka's JsonConverter writes and reads it.

The definition is https://github.com/apache/kafka, connect/json JsonConverter.java and connect/api data/*.java: the keys
of a schema in their order, Decimal as base64 of the unscaled big-endian value, Date as days, Time and Timestamp as
milliseconds. Finer times have no Connect type; ADAPTIVE sends them as int64 microseconds under Debezium's names
(https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-temporal-types).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.formats import json_text
from integrator.formats.base64_text import base64, encode, twos_complement
from integrator.schema import Column, Type

Decimals = Literal["BASE64", "NUMERIC"]
Times = Literal["ADAPTIVE", "CONNECT"]
Encoder = Callable[[dict[str, pa.Array]], pa.Array]

_DATA = "org.apache.kafka.connect.data."
_MICROS = 1000
TAIL = "}"
STRING_KEY = ('{"schema":{"type":"string","optional":false},"payload":"', '"}')
"""What stands before and after the text of a key in Connect JSON."""


class Unsayable(ValueError):
    """A value that the format has no word for: the column, the row, and why."""

    def __init__(self, column: str, index: int, text: str) -> None:
        self.column, self.index = column, index
        super().__init__(text)


def schema_text(name: str, columns: Sequence[Column], times: Times) -> str:
    """Return what stands before the payload: `{"schema":…,"payload":`. A message is this, a payload, and `TAIL`."""
    fields = [{**_schema(c.type, c.nullable, times), "field": c.name} for c in columns]
    struct = {"type": "struct", "fields": fields, "optional": False, "name": name}
    return '{"schema":' + json.dumps(struct, separators=(",", ":"), ensure_ascii=False) + ',"payload":'


def encoder(columns: Sequence[Column], decimals: Decimals, times: Times) -> Encoder:
    """Return a function from the columns' arrays (by name, of equal length) to the payload of each row, as text.

    The function raises Unsayable. Null becomes null; whether it may be null is for the caller to know.
    """
    pieces: list[tuple[str, str, _Value]] = []
    for place, column in enumerate(columns):
        lead = ("{" if place == 0 else ",") + json.dumps(column.name, ensure_ascii=False) + ":"
        pieces.append((lead, column.name, _value(column.type, decimals, times)))

    def encode_rows(arrays: dict[str, pa.Array]) -> pa.Array:
        parts: list[Any] = []
        text = ""
        for lead, name, value in pieces:
            try:
                encoded = value.encode(arrays[name])
            except _Refused as error:
                raise Unsayable(name, error.index, str(error)) from None
            if not value.quoted:
                parts += [text + lead, encoded]
                text = ""
            elif encoded.null_count:
                parts += [text + lead, _quoted(encoded)]
                text = ""
            else:  # the quotes go with the text around: one copy of the column less
                parts += [text + lead + '"', encoded]
                text = '"'
        return pc.binary_join_element_wise(*parts, text + TAIL, "", null_handling="replace", null_replacement="null")

    return encode_rows


@dataclass(frozen=True)
class _Value:
    """How values of a type are written, and whether in quotes, which `encode` leaves out."""

    encode: Callable[[pa.Array], pa.Array]
    quoted: bool = False


def _quoted(text: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', text, '"', "")


class _Refused(ValueError):
    def __init__(self, index: int, text: str) -> None:
        self.index = index
        super().__init__(text)


def _schema(kind: Type, optional: bool, times: Times) -> dict[str, Any]:
    match kind:
        case schema.Array(item):
            return {"type": "array", "items": _schema(item, True, times), "optional": optional}
        case schema.Decimal(precision, scale):
            parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            return _logical("bytes", optional, _DATA + "Decimal", parameters)
        case schema.Date():
            return _logical("int32", optional, _DATA + "Date")
        case schema.Time(unit):
            if unit == "us" and times == "ADAPTIVE":
                return _logical("int64", optional, "io.debezium.time.MicroTime")
            return _logical("int32", optional, _DATA + "Time")
        case schema.Timestamp(unit, _):
            if unit == "us" and times == "ADAPTIVE":
                return _logical("int64", optional, "io.debezium.time.MicroTimestamp")
            return _logical("int64", optional, _DATA + "Timestamp")
        case _:
            return {"type": _plain_type(kind), "optional": optional}


def _logical(base: str, optional: bool, name: str, parameters: dict[str, str] | None = None) -> dict[str, Any]:
    logical: dict[str, Any] = {"type": base, "optional": optional, "name": name, "version": 1}
    return logical | {"parameters": parameters} if parameters else logical


def _plain_type(kind: Type) -> str:
    match kind:
        case schema.Boolean():
            return "boolean"
        case schema.Integer(bits):
            return f"int{bits}"
        case schema.Float(bits):
            return "float" if bits == 32 else "double"
        case schema.Bytes():
            return "bytes"
        case _:
            return "string"


def _value(kind: Type, decimals: Decimals, times: Times) -> _Value:
    match kind:
        case schema.String():
            return _Value(json_text.escaped, quoted=True)
        case schema.Bytes():
            return _Value(base64, quoted=True)
        case schema.Decimal() if decimals == "BASE64":
            return _Value(_decimal, quoted=True)
        case schema.Float():
            return _Value(_float)
        case schema.Date():
            return _Value(lambda values: values.cast(pa.int32()).cast(pa.string()))
        case schema.Time() | schema.Timestamp():
            return _Value(lambda values: _moment(values, whole=times == "ADAPTIVE"))
        case schema.Array(item):
            inner = _value(item, decimals, times)
            return _Value(lambda values: _list(values, inner))
        case _:
            return _Value(json_text.numbers)


def _decimal(values: pa.Array) -> pa.Array:
    data, offsets = twos_complement(values)
    return encode(data, offsets, values)


def _float(values: pa.Array) -> pa.Array:
    wrong = json_text.not_finite(values)
    if wrong is not None:
        raise _Refused(wrong, f"{values[wrong].as_py()} is no JSON number; send the column as text (Datatype: varchar)")
    return values.cast(pa.string())


def _moment(values: pa.Array, *, whole: bool) -> pa.Array:
    """Return times as integers in their own unit, or in milliseconds where they must be Connect's."""
    integers = values.cast(pa.int32() if pa.types.is_time32(values.type) else pa.int64())
    if not whole and values.type.unit == "us":
        millis = pc.divide(integers, _MICROS)
        exact = pc.equal(pc.multiply(millis, _MICROS), integers)
        if not pc.all(pc.fill_null(exact, fill_value=True)).as_py():
            index = pc.index(exact, value=False).as_py()
            text = f"{values[index].as_py()} is finer than Connect's millisecond; use Json_Times: ADAPTIVE"
            raise _Refused(index, text)
        integers = millis
    return integers.cast(pa.string())


def _list(values: pa.Array, inner: _Value) -> pa.Array:
    try:
        items = inner.encode(values.flatten())
    except _Refused as error:
        raise _Refused(pc.list_parent_indices(values)[error.index].as_py(), str(error)) from None
    items = pc.fill_null(_quoted(items) if inner.quoted else items, "null")
    offsets = values.offsets
    if values.null_count or values.offset:
        lengths = pc.fill_null(pc.list_value_length(values), 0)
        ends = pc.cumulative_sum(lengths.cast(pa.int32()))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    lists = pa.ListArray.from_arrays(offsets, items)
    joined = pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")
    return pc.if_else(pc.is_valid(values), joined, None) if values.null_count else joined
