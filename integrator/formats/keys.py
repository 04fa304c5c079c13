"""Message keys: HVR's MessageKeySerializer (https://fivetran.com/docs/hvr6/action-reference/integrate), and more.

Serializers take the text of an expression, or the key columns of the row (`struct`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.varints import join_parts, varint, zigzag
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import avro, connect, connect_json, json_schema, json_text, plain_json, protobuf
from integrator.formats.contract import Format, Frame, prefix
from integrator.formats.json_object import by_column
from integrator.formats.records import Columns, Encoder

SchemaType = Literal["", "AVRO", "JSON", "PROTOBUF"]
Encode = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class KeyFormat:
    """How a key is written; `text` is whether it is made of an expression's text, and not of columns.

    schema_type: what a registry calls the key's schema; empty where the serializer needs no registry.
    """

    text: bool
    frame: Callable[[str, Columns, Options, SchemaId | None], Frame]
    schema_text: Callable[[str, Columns, Options], str] = lambda _name, _columns, _options: ""
    encode_text: Encode = lambda texts: texts
    encoder: Callable[[Columns, Options], Encoder] | None = None
    schema_type: SchemaType = ""
    of_struct: Format | None = None
    """The format of a struct, which declares what it can express."""
    lone: bool = False
    """Whether it is the value of the one key column, without its name."""

    @property
    def record(self) -> Format | None:
        """The format of a struct whose schema has a name; None for other keys."""
        return self.of_struct if self.of_struct is not None and self.of_struct.named and not self.lone else None


def _bare(_name: str, _columns: Columns, _options: Options, _id: SchemaId | None) -> Frame:
    return Frame()


def _prefixed(_name: str, _columns: Columns, _options: Options, schema_id: SchemaId | None) -> Frame:
    return Frame(prefix(schema_id))


def _avro_text(texts: pa.Array) -> pa.Array:
    data = pc.fill_null(texts.cast(pa.binary()), b"")
    encoded = join_parts([varint(zigzag(np.asarray(pc.binary_length(data)).astype(np.int64))), data])
    return pc.if_else(pc.is_valid(texts), encoded, None) if texts.null_count else encoded


def _json_text(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', json_text.escaped(texts), '"', "")


def _struct(fmt: Format) -> KeyFormat:
    return KeyFormat(
        text=False,
        frame=fmt.frame,
        schema_text=fmt.schema_text,
        encoder=fmt.encoder,
        schema_type=fmt.schema_type,
        of_struct=fmt,
    )


def _lone(fmt: Format, **otherwise: Any) -> KeyFormat:
    """Return how the value of the one key column is written alone, whose name is nowhere."""
    unnamed = replace(fmt, name_refusal=lambda _name: None, record_refusal=lambda _name: None)
    return replace(_struct(unnamed), lone=True, **otherwise)


def _json_value(columns: Columns, options: Options) -> Encoder:
    return by_column(connect.leaf).value_encoder(columns[0], options)


def key_options(serializer: str, options: Options) -> Options:
    """Return the options of values for keys: decimals as Connect has them in Connect JSON, else as numbers."""
    return replace(
        options,
        decimals="BASE64" if serializer.startswith("CONNECT") else "NUMERIC",
        numbers=(),
        array=False,
        version=0,
    )


KEYS: dict[str, KeyFormat] = {
    "NONE": KeyFormat(text=True, frame=_bare),
    "STRING": KeyFormat(text=True, frame=_bare),
    "CONNECT": KeyFormat(
        text=True,
        frame=lambda _name, _columns, _options, _id: Frame(*connect_json.STRING_KEY),
        encode_text=json_text.escaped,
    ),
    "KAFKA_AVRO": KeyFormat(
        text=True,
        frame=_prefixed,
        schema_text=lambda _name, _columns, _options: avro.string_schema(),
        encode_text=_avro_text,
        schema_type="AVRO",
    ),
    "KAFKA_JSON": KeyFormat(
        text=True,
        frame=_prefixed,
        schema_text=lambda _name, _columns, _options: json_schema.string_schema(),
        encode_text=_json_text,
        schema_type="JSON",
    ),
    "KAFKA_AVRO_SCHEMA": _struct(avro.FORMAT),
    "KAFKA_JSON_SCHEMA": _struct(json_schema.FORMAT),
    "KAFKA_PROTOBUF_SCHEMA": _struct(protobuf.FORMAT),
    "CONNECT_SCHEMA": _struct(connect_json.SCHEMA_PAYLOAD),
    "CONNECT_PAYLOAD": _struct(connect_json.PAYLOAD),
    "KAFKA_AVRO_SCHEMA_COLUMN": _lone(  # a record of one value has that value's bytes
        avro.FORMAT, schema_text=lambda name, columns, options: avro.column_schema(name, columns[0], options)
    ),
    "KAFKA_JSON_SCHEMA_COLUMN": _lone(
        json_schema.FORMAT,
        schema_text=lambda _name, columns, options: json_schema.column_schema(columns[0], options),
        encoder=_json_value,
    ),
    "CONNECT_SCHEMA_COLUMN": _lone(
        connect_json.SCHEMA_PAYLOAD,
        frame=lambda _name, columns, options, _id: connect_json.column_frame(columns[0], options),
        encoder=_json_value,
    ),
    "CONNECT_PAYLOAD_COLUMN": _lone(connect_json.PAYLOAD, encoder=_json_value),
    "JSON_ROW": replace(_struct(plain_json.FORMAT), frame=_bare),
}
"""NONE: no key. STRING: the text. CONNECT: the text as Connect JSON, schema and payload. KAFKA_…: the text, or with
_SCHEMA the key columns as a record TABLE_key, with a schema in the registry. Extensions: KAFKA_PROTOBUF_SCHEMA;
CONNECT_SCHEMA and CONNECT_PAYLOAD, the key columns as Connect JSON with and without schema; JSON_ROW, as plain JSON;
…_COLUMN, the value of the one key column alone, as Connect's ExtractField makes it."""
