"""The types that a Protobuf schema declares and imports, by their full names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.program import SchemaRefused
from integrator.formats.proto_text import ProtoField, ProtoFile, parse

_META = "confluent.field_meta"
_VALUES = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_KNOWN = {
    "google/protobuf/descriptor.proto": "package google.protobuf;",
    "google/protobuf/timestamp.proto": "package google.protobuf; "
    "message Timestamp { int64 seconds = 1; int32 nanos = 2; }",
    "google/protobuf/duration.proto": "package google.protobuf; "
    "message Duration { int64 seconds = 1; int32 nanos = 2; }",
    "google/protobuf/empty.proto": "package google.protobuf; message Empty {}",
    "google/protobuf/any.proto": "package google.protobuf; message Any { string type_url = 1; bytes value = 2; }",
    "google/protobuf/field_mask.proto": "package google.protobuf; message FieldMask { repeated string paths = 1; }",
    "google/protobuf/wrappers.proto": "package google.protobuf; "
    + " ".join(f"message {one}Value {{ {one.lower()} value = 1; }}" for one in _VALUES),
    "google/protobuf/struct.proto": """package google.protobuf;
        message Struct { map<string, Value> fields = 1; }
        message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = 3;
            bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; } }
        enum NullValue { NULL_VALUE = 0; }
        message ListValue { repeated Value values = 1; }""",
    "google/type/date.proto": "package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "google/type/timeofday.proto": "package google.type; "
    "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }",
    "google/type/decimal.proto": "package google.type; message Decimal { string value = 1; }",
    "google/type/money.proto": "package google.type; "
    "message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }",
    "google/type/latlng.proto": "package google.type; message LatLng { double latitude = 1; double longitude = 2; }",
    "confluent/meta.proto": "package confluent;",
    "confluent/type/decimal.proto": "package confluent.type; "
    "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }",
}
"""Files that registries need not have, for every compiler of Protobuf does."""


@dataclass(frozen=True)
class Message:
    """A message: its full name, its fields, and whether its file is in proto3."""

    name: str
    fields: tuple[ProtoField, ...]
    proto3: bool


class Types:
    """The messages and enums of a schema and of what it imports. Raises SchemaRefused."""

    def __init__(self, written: WrittenSchema) -> None:
        self.messages: dict[str, Message] = {}
        self.enums: dict[str, list[tuple[str, int]]] = {}
        self._own, self._given = parse(written.text), dict(written.references)
        self._files = set[str]()
        self._add(self._own)

    def _add(self, file: ProtoFile) -> None:
        if file.syntax not in ("proto2", "proto3"):
            raise SchemaRefused(f"it is written in {file.syntax!r}: proto2 and proto3 are read")
        if file.unread:
            raise SchemaRefused(f"it cannot be read at {file.unread[0]!r}")
        for name in file.imports:
            if name not in self._files:
                self._files.add(name)
                self._add(self._imported(name))
        fields: dict[tuple[str, ...], list[ProtoField]] = {path: [] for path in file.messages}
        for one in file.fields:
            fields[one.path].append(one)
        for path, own in fields.items():
            full = _full(file, path)
            self.messages[full] = Message(full, tuple(own), file.syntax == "proto3")
        self.enums |= {_full(file, path): values for path, values in file.enums.items()}

    def _imported(self, name: str) -> ProtoFile:
        if name in self._given:
            return parse(self._given[name])
        if name not in _KNOWN:
            raise SchemaRefused(f"it imports {name!r}, which its references do not have")
        return _known(name)

    def of_path(self, path: tuple[int, ...]) -> Message:
        """Return the message at a path of indexes in the schema's own file."""
        inside: tuple[str, ...] = ()
        for index in path:
            if any(one.type.startswith("map<") for one in self._own.of(inside)):
                raise SchemaRefused(
                    f"{'.'.join(inside)} has maps: some writers count them among its messages, others do not"
                )
            there = [one for one in self._own.messages if one[:-1] == inside]
            if index >= len(there):
                raise SchemaRefused(f"it has no message {', '.join(map(str, path))}")
            inside = there[index]
        return self.messages[_full(self._own, inside)]

    def find(self, name: str, scope: str) -> str:
        """Return the full name of a type that is named in a message: the innermost one of that name."""
        places = [""] if name.startswith(".") else [*_outwards(scope)]
        for place in places:
            full = f"{place}.{name}".strip(".")
            if full in self.messages or full in self.enums:
                return full
        raise SchemaRefused(f"{name!r} is no type of Protobuf, and neither it nor what it imports declares it")


@lru_cache
def _known(name: str) -> ProtoFile:
    return parse(f'syntax = "proto3"; {_KNOWN[name]}')


def _full(file: ProtoFile, path: tuple[str, ...]) -> str:
    return ".".join((file.package, *path)).lstrip(".")


def _outwards(scope: str) -> Iterator[str]:
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""


def params_of(field: ProtoField) -> dict[str, str]:
    """Return what Confluent's converter noted at a field: the `params` of its option confluent.field_meta."""
    found: dict[str, str] = {}
    if not any(word.strip(".") == _META for word in field.options):
        return found
    entry: dict[str, str] = {}
    words = [word for word in field.options if word != ":"]
    for word, text in zip(words, [*words[1:], ""], strict=True):
        if word in ("key", "value") and text[:1] in ("'", '"'):
            entry[word] = re.sub(r"\\(.)", r"\1", text[1:-1])
        elif word in ("}", ">") and entry:
            found[entry.get("key", "")] = entry.get("value", "")
            entry = {}
    return found
