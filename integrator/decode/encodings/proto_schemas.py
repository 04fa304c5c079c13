"""The types of Protocol Buffers, and the schemas that Kafka Connect has of them.

They are those that Confluent's ProtobufData makes; a member of a oneof is a field that may be null, timestamps and
times keep their nanoseconds, and a decimal without a scale in its schema has one in each value.
https://docs.confluent.io/platform/current/schema-registry/connect.html
"""

from __future__ import annotations

from integrator.decode.encodings.program import Connect, SchemaRefused, logical
from integrator.decode.encodings.proto_types import Message, Types, params_of
from integrator.engine import protobuf_fields as protobuf
from integrator.formats.proto_text import ProtoField

SCALARS = {
    "int32": (protobuf.SIGNED_32, protobuf.VARINT, b"0", "int32"),
    "sint32": (protobuf.ZIGZAG_32, protobuf.VARINT, b"0", "int32"),
    "uint32": (protobuf.UNSIGNED_32, protobuf.VARINT, b"0", "int64"),
    "int64": (protobuf.SIGNED, protobuf.VARINT, b"0", "int64"),
    "sint64": (protobuf.ZIGZAG, protobuf.VARINT, b"0", "int64"),
    "uint64": (protobuf.UNSIGNED, protobuf.VARINT, b"0", "int64"),
    "fixed32": (protobuf.UNSIGNED_32, protobuf.BITS_32, b"0", "int64"),
    "sfixed32": (protobuf.SIGNED_32, protobuf.BITS_32, b"0", "int32"),
    "fixed64": (protobuf.UNSIGNED, protobuf.BITS_64, b"0", "int64"),
    "sfixed64": (protobuf.SIGNED, protobuf.BITS_64, b"0", "int64"),
    "bool": (protobuf.BOOLEAN, protobuf.VARINT, b"false", "boolean"),
    "float": (protobuf.FLOAT, protobuf.BITS_32, b"0", "float"),
    "double": (protobuf.DOUBLE, protobuf.BITS_64, b"0", "double"),
    "string": (protobuf.STRING, protobuf.LENGTH, b'""', "string"),
    "bytes": (protobuf.BYTES, protobuf.LENGTH, b'""', "bytes"),
}
_PARAMETER = "io.confluent.connect.protobuf.Type"
_DATA, _TIME = "org.apache.kafka.connect.data.", "io.debezium.time."
DECIMAL = "confluent.type.Decimal"
KNOWN = {
    "google.protobuf.Timestamp": (protobuf.MOMENT, 2, "int64", f"{_TIME}NanoTimestamp"),
    "google.type.Date": (protobuf.DATE, 3, "int32", f"{_DATA}Date"),
    "google.type.TimeOfDay": (protobuf.TIME_OF_DAY, 4, "int64", f"{_TIME}NanoTime"),
}
WRAPPERS = {f"google.protobuf.{one}Value": one.lower() for one in
             ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")}  # fmt: skip
_MOST_FIELDS = 20_000
"""Of messages in messages: those that are used in two places count twice, as in Connect's schema."""


def scale_of(params: dict[str, str]) -> int | None:
    """Return the scale of a decimal, as its field has it. Raises SchemaRefused."""
    text = params.get("scale")
    try:
        return None if text is None else int(text)
    except ValueError:
        raise SchemaRefused(f"the scale {text!r} of a decimal is no number") from None


def map_types(field: ProtoField) -> tuple[str, str] | None:
    """Return the types of keys and values of a map."""
    if not field.type.startswith("map<"):
        return None
    key, _, value = field.type[len("map<") : -1].partition(",")
    if key not in SCALARS:
        raise SchemaRefused(f"{key!r} is no type of keys of a map")
    return key, value


def is_nullable(message: Message, field: ProtoField) -> bool:
    """Return whether it shows that a scalar is absent."""
    return bool(field.oneof) or field.label == "optional" or (not message.proto3 and not field.label)


class Schemas:
    """Connect's schemas of types."""

    def __init__(self, types: Types) -> None:
        self._types, self._many = types, 0

    def message(self, name: str, params: dict[str, str], around: tuple[str, ...]) -> Connect:
        """Return the schema of a message. params: of the field. around: the messages that it is in."""
        if name in KNOWN:
            _, _, kind, logical_name = KNOWN[name]
            return logical({"type": kind, "optional": False}, logical_name, zoned=logical_name.endswith("Timestamp"))
        if name in WRAPPERS:
            return self._scalar(WRAPPERS[name], {})
        if name == DECIMAL:
            return _decimal(params)
        struct: Connect = {"type": "struct", "fields": [], "optional": False, "name": name}
        if name in around:  # it is in itself
            return struct
        message = self._types.messages[name]
        self._many += len(message.fields)
        if self._many > _MOST_FIELDS:
            raise SchemaRefused(f"its messages in messages have over {_MOST_FIELDS} fields")
        fields = [{**self._field(message, one, (*around, name)), "field": one.name} for one in message.fields]
        return {**struct, "fields": fields}

    def _field(self, message: Message, field: ProtoField, around: tuple[str, ...]) -> Connect:
        params, of_map = params_of(field), map_types(field)
        if of_map:
            keys, values = (self._value(message, one, {}, around) for one in of_map)
            return {"type": "map", "keys": keys, "values": values, "optional": False}
        found = self._value(message, field.type, params, around)
        if field.label == "repeated":
            return {"type": "array", "items": found, "optional": False}
        is_message = field.type not in SCALARS and self._types.find(field.type, message.name) in self._types.messages
        return {**found, "optional": field.label != "required" and (is_message or is_nullable(message, field))}

    def _value(self, message: Message, kind: str, params: dict[str, str], around: tuple[str, ...]) -> Connect:
        if kind in SCALARS:
            return self._scalar(kind, params)
        full = self._types.find(kind, message.name)
        if full in self._types.messages:
            return self.message(full, params, around)
        allowed = (("allowed", ",".join(name for name, _ in self._types.enums[full])),)
        return logical({"type": "string", "optional": False}, "io.debezium.data.Enum", allowed)

    @staticmethod
    def _scalar(kind: str, params: dict[str, str]) -> Connect:
        base = SCALARS[kind][3]
        if base == "int32" and params.get("connect.type") in ("int8", "int16"):
            base = params["connect.type"]
        unsigned = {"parameters": {_PARAMETER: kind}} if kind in ("uint64", "fixed64") else {}
        return {"type": base, "optional": False, **unsigned}


def _decimal(params: dict[str, str]) -> Connect:
    scale = scale_of(params)
    if scale is None:
        fields = [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ]
        struct = {"type": "struct", "fields": fields, "optional": False}
        return logical(struct, "io.debezium.data.VariableScaleDecimal")
    given = [("scale", str(scale))]
    if "precision" in params:
        given.append(("connect.decimal.precision", params["precision"]))
    return logical({"type": "bytes", "optional": False}, f"{_DATA}Decimal", given)
