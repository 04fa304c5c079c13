"""Protocol Buffers: a schema -> the program that writes its records, and the schema as Kafka Connect has it."""

from __future__ import annotations

from functools import partial

from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.program import Connect, Emitter, Program, SchemaRefused, object_of
from integrator.decode.encodings.proto_schemas import (
    DECIMAL,
    KNOWN,
    SCALARS,
    WRAPPERS,
    Schemas,
    is_nullable,
    map_types,
    scale_of,
)
from integrator.decode.encodings.proto_types import Message, Types, params_of
from integrator.decode.lines.lines import json_text
from integrator.engine import protobuf_fields as protobuf
from integrator.engine import transcode
from integrator.formats.proto_text import ProtoField


def compiled(written: WrittenSchema, before: bytes, after: bytes) -> Program:
    """Return the program of a message. before, after: what is around each record. Raises SchemaRefused."""
    types = Types(written)
    writer = _Writer(types)
    root = types.of_path(written.message)
    writer.root(root.name, before, after)
    return writer.emitter.program(transcode.PROTOBUF, Schemas(types).message(root.name, {}, ()), writer.most)


class _Writer:
    """Instructions: a part for each message, which is called where a field is of its type."""

    def __init__(self, types: Types) -> None:
        self.emitter, self.most = Emitter(), 0
        self._types = types
        self._calls: dict[tuple[str, int | None], list[int]] = {}

    def root(self, name: str, before: bytes, after: bytes) -> None:
        self.emitter.literal(before)
        self._call(0, name, None)
        self.emitter.emit(protobuf.ALWAYS)
        self.emitter.literal(after)
        self.emitter.emit(protobuf.END)
        done: dict[tuple[str, int | None], int] = {}
        while missing := [one for one in self._calls if one not in done]:
            for one in missing:
                done[one] = self.emitter.here(protobuf.LITERAL)
                self._part(*one)
                self.emitter.emit(protobuf.RETURN)
        for one, places in self._calls.items():
            for place in places:
                self.emitter.point(place, 2, done[one])

    def _call(self, field: int, name: str, scale: int | None) -> None:
        self._calls.setdefault((name, scale), []).append(self.emitter.emit(protobuf.MESSAGE, field))

    def _head(self, fields: list[tuple[int, int, int]]) -> int:
        """Begin a message: number, wire type and flags of each field."""
        place = self.emitter.emit(protobuf.HEAD, len(fields))
        self.most = max(self.most, len(fields))
        for number, wire, flags in fields:
            self.emitter.set(self.emitter.emit(protobuf.FIELD, number, wire), 2, flags)
        return place

    def _part(self, name: str, scale: int | None) -> None:
        varint, length = protobuf.VARINT, protobuf.LENGTH
        if name in KNOWN:
            what, many, _, _ = KNOWN[name]
            self._head([(number, varint, 0) for number in range(1, many + 1)])
            self.emitter.emit(what)
        elif name in WRAPPERS:
            self._head([(1, SCALARS[WRAPPERS[name]][1], 0)])
            self._value(name, 0, WRAPPERS[name], SCALARS[WRAPPERS[name]][2])
        elif name == DECIMAL:
            self._head([(1, length, 0), (2, varint, 0), (3, varint, 0)])
            if scale is None:
                self.emitter.literal(b'{"scale":')
                self._value(name, 2, "int32", b"0")
                self.emitter.literal(b',"value":')
                self._value(name, 0, "bytes", b'""')
                self.emitter.literal(b"}")
            else:
                self.emitter.emit(protobuf.DECIMAL, scale)
        else:
            self._message(self._types.messages[name])

    def _message(self, message: Message) -> None:
        by_number = sorted(message.fields, key=lambda one: one.number)
        groups = {one: at for at, one in enumerate(dict.fromkeys(f.oneof for f in by_number if f.oneof), 1)}
        rows = []
        for one in by_number:
            wire = protobuf.LENGTH if map_types(one) else self._wire(message.name, one.type)
            many = one.label == "repeated" or self._is_message(message.name, one)
            flags = protobuf.PACKABLE * (one.label == "repeated" and wire != protobuf.LENGTH) + protobuf.MANY * many
            rows.append((one.number, wire, flags + protobuf.FIRST_GROUP * groups.get(one.oneof, 0)))
        if len({number for number, _, _ in rows}) < len(rows):
            raise SchemaRefused(f"two fields of {message.name} have one number")
        self._head(rows)
        places = {one.number: at for at, one in enumerate(by_number)}
        object_of(
            self.emitter,
            ((one.name, partial(self._field, message, one, places[one.number])) for one in message.fields),
        )

    def _is_message(self, scope: str, field: ProtoField) -> bool:
        if field.type in SCALARS:
            return False
        return bool(map_types(field)) or self._types.find(field.type, scope) in self._types.messages

    def _wire(self, scope: str, kind: str) -> int:
        if kind in SCALARS:
            return SCALARS[kind][1]
        return protobuf.LENGTH if self._types.find(kind, scope) in self._types.messages else protobuf.VARINT

    def _field(self, message: Message, field: ProtoField, place: int) -> Connect:
        of_map = map_types(field)
        if of_map:
            self._map(message.name, place, *of_map)
        elif field.label == "repeated":
            self.emitter.literal(b"[")
            head = self.emitter.emit(protobuf.ARRAY, place, self._wire(message.name, field.type))
            self._value(message.name, place, field.type, b"null", params_of(field))
            self._next(head, b"]")
        elif field.label == "required":
            self._value(message.name, place, field.type, None, params_of(field))
        else:
            absent = b"null"
            if not self._is_message(message.name, field) and not is_nullable(message, field):
                absent = self._default(message.name, field.type)
            self._value(message.name, place, field.type, absent, params_of(field))
        return {}

    def _next(self, head: int, close: bytes) -> None:
        self.emitter.point(self.emitter.emit(protobuf.NEXT), 0, head)
        self.emitter.point(head, 2, self.emitter.here(protobuf.LITERAL))
        self.emitter.literal(close)

    def _map(self, scope: str, place: int, key: str, value: str) -> None:
        """Write a map as JsonConverter does: of texts an object, of others a list of pairs."""
        is_object = key == "string"
        self.emitter.literal(b"{" if is_object else b"[")
        head = self.emitter.emit(protobuf.MAP, place, protobuf.LENGTH)
        self._head([(1, SCALARS[key][1], 0), (2, self._wire(scope, value), protobuf.MANY)])
        self.emitter.literal(b"" if is_object else b"[")
        self._value("", 0, key, SCALARS[key][2])
        self.emitter.literal(b":" if is_object else b",")
        self._value(scope, 1, value, self._default(scope, value))
        self.emitter.literal(b"" if is_object else b"]")
        self._next(head, b"}" if is_object else b"]")

    def _default(self, scope: str, kind: str) -> bytes:
        """Return what is written of an absent value; nothing for a message, which is one without fields."""
        if kind in SCALARS:
            return SCALARS[kind][2]
        full = self._types.find(kind, scope)
        return json_text(self._types.enums[full][0][0]) if full in self._types.enums else b""

    def _value(
        self, scope: str, place: int, kind: str, absent: bytes | None, params: dict[str, str] | None = None
    ) -> None:
        """Write a value. absent: what is written where there is none; None: it is required; empty: as an empty one."""
        names: list[tuple[str, int]] = []
        if kind in SCALARS:
            self.emitter.emit(SCALARS[kind][0], place)
        else:
            full = self._types.find(kind, scope)
            if full in self._types.messages:
                self._call(place, full, scale_of(params or {}) if full == DECIMAL else None)
            else:
                names = [
                    (name, number)
                    for number, name in sorted({n: m for m, n in reversed(self._types.enums[full])}.items())
                ]
                self.emitter.emit(protobuf.ENUM, place, len(names))
        if absent:
            self.emitter.literal(absent)
        self.emitter.emit(protobuf.REQUIRED if absent is None else protobuf.LITERAL if absent else protobuf.ALWAYS)
        for name, number in names:
            self.emitter.literal(json_text(name))
            self.emitter.emit(protobuf.LITERAL, number)
