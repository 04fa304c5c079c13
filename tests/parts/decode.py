"""Messages of each format -> rows in plain values, by readers that are not ours; for rebuilding tables from them.

Dates and times are integers since their epochs, decimals exact, a value that was left out is not there.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow.parquet as pq
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from lxml import etree

from integrator import schema
from integrator.schema import Column
from tests.parts import protoc, rebuild
from tests.wire import neutral

Row = dict[str, Any]
Decode = Callable[[bytes, Sequence[Column]], Row]


def connect_value(kind: schema.Type, value: Any) -> Any:
    """A value as JsonConverter writes it."""
    if value is None:
        return None
    match kind:
        case schema.Bytes():
            return base64.b64decode(value, validate=True)
        case schema.Decimal(_, scale) if isinstance(value, str):
            return neutral.decimal(int.from_bytes(base64.b64decode(value), "big", signed=True), scale)
        case schema.Decimal(_, scale):
            return Decimal(value).quantize(Decimal(1).scaleb(-scale), context=neutral.EXACT)
        case schema.Float():
            return neutral.given(kind, float(value))
        case schema.Struct(fields):
            return {field.name: connect_value(field.type, value[field.name]) for field in fields if field.name in value}
        case _:
            return value


def payload(value: bytes, columns: Sequence[Column]) -> Row:
    row = json.loads(value, parse_float=Decimal)
    return {c.name: connect_value(c.type, row[c.name]) for c in columns if c.name in row}


def _plain(row: Row, columns: Sequence[Column]) -> Row:
    return {c.name: neutral.plain_json(c.type, row[c.name]) for c in columns if c.name in row}


def json_in(path: Callable[[Any], Row]) -> Decode:
    return lambda value, columns: _plain(path(json.loads(value, parse_float=Decimal)), columns)


def csv_row(value: bytes, columns: Sequence[Column]) -> Row:
    names, fields = csv.reader(io.StringIO(value.decode(), newline=""))
    assert names == [column.name for column in columns]
    row = {}
    for column, field in zip(columns, fields, strict=True):
        text = None if field == "\\N" else field
        bytes_of = base64.b64decode(text) if isinstance(column.type, schema.Bytes) and text is not None else None
        row[column.name] = bytes_of if bytes_of is not None else neutral.from_plain_text(column.type, text)
    return row


def xml_row(value: bytes, columns: Sequence[Column]) -> Row:
    [[row]] = etree.fromstring(value)
    kinds = {column.name: column.type for column in columns}
    read = {}
    for column in row:
        text = None if column.get("is_null") else column.text or ""
        kind = kinds[column.get("name")]
        is_bytes = isinstance(kind, schema.Bytes) and text is not None
        read[column.get("name")] = bytes.fromhex(text) if is_bytes else neutral.from_plain_text(kind, text)
    return read


def typed(row: Row, columns: Sequence[Column]) -> Row:
    return {column.name: neutral.read(column.type, row[column.name]) for column in columns}


def avro_file(value: bytes, columns: Sequence[Column]) -> Row:
    [row] = fastavro.reader(io.BytesIO(value))
    return typed(row, columns)


def parquet_file(value: bytes, columns: Sequence[Column]) -> Row:
    [row] = pq.read_table(io.BytesIO(value)).to_pylist()
    return typed(row, columns)


def bson_row(value: bytes, columns: Sequence[Column]) -> Row:
    from tests.parts import bson_rows  # here, for other readers go without PyMongo

    return bson_rows.row(value, columns)


DECODERS: dict[str, Decode] = {
    "SCHEMA_PAYLOAD": lambda value, _: rebuild.payload(value),
    "PAYLOAD": payload,
    "ROW_FRAGMENTS": json_in(lambda row: row),
    "ROW_ARRAY": json_in(lambda rows: rows[0]),
    "TABLE_OBJECT": json_in(lambda tables: next(iter(tables.values()))[0]),
    "TABLE_ARRAY": json_in(lambda tables: next(iter(tables[0].values()))[0]),
    "TABLE_OBJECT_BSON": bson_row,
    "CSV": csv_row,
    "XML": xml_row,
    "AVRO_FILE": avro_file,
    "PARQUET": parquet_file,
}


def confluent(kind: str, client: Any, topic: str, headers: Any = None) -> Decode:
    """Confluent's deserializers for Python, with the schema that the registry has for the message."""
    context = SerializationContext(topic, MessageField.VALUE, headers)
    if kind == "AVRO":
        avro = AvroDeserializer(client)
        return lambda value, columns: typed(avro(value, context), columns)
    if kind == "JSON":
        read = JSONDeserializer(None, schema_registry_client=client, conf={"validate": True})

        def of_json(value: bytes, columns: Sequence[Column]) -> Row:
            assert read(value, context) == json.loads(value[5:])
            return payload(value[5:], columns)

        return of_json
    classes: dict[int, ProtobufDeserializer] = {}

    def of_protobuf(value: bytes, columns: Sequence[Column]) -> Row:
        number = int.from_bytes(value[1:5], "big")
        if number not in classes:
            text = client.get_schema(number).schema_str
            name = text.partition("message ")[2].partition(" ")[0]
            classes[number] = ProtobufDeserializer(protoc.message_class(text, name), {}, protoc.Serialized(client))
        message = classes[number](value, context)
        return {column.name: protobuf_field(column.type, message, column.name) for column in columns}

    return of_protobuf


def protobuf_field(kind: schema.Type, message: Any, name: str) -> Any:
    """A field's value; of one that may be absent and is, None."""
    field = message.DESCRIPTOR.fields_by_name[name]
    if field.has_presence and not message.HasField(name):
        return None
    if isinstance(kind, schema.Array):
        inside = getattr(message, name).items if field.has_presence else getattr(message, name)
        return [protobuf_value(kind.item, part) for part in inside]
    return protobuf_value(kind, getattr(message, name))


def protobuf_value(kind: schema.Type, value: Any) -> Any:
    nanos = neutral.UNITS["ns"]
    match kind:
        case schema.Decimal(precision, scale):
            assert (value.precision, value.scale) == (precision, scale)
            return neutral.decimal(int.from_bytes(value.value, "big", signed=True), scale)
        case schema.Date():
            return neutral.days(value.year, value.month, value.day)
        case schema.Time(unit):
            seconds = (value.hours * 60 + value.minutes) * 60 + value.seconds
            return (seconds * nanos + value.nanos) * neutral.UNITS[unit] // nanos
        case schema.Timestamp(unit, _):
            assert 0 <= value.nanos < nanos
            return (value.seconds * nanos + value.nanos) * neutral.UNITS[unit] // nanos
        case schema.Interval():
            return neutral.from_iso(value)
        case schema.Struct(fields):
            return {field.name: protobuf_field(field.type, value, field.name) for field in fields}
        case _:
            return value
