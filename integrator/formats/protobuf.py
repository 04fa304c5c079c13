"""Protocol Buffers (https://protobuf.dev/programming-guides/proto3/): the proto3 text of a message, for a registry.

As Confluent's ProtobufData.java has it (https://github.com/confluentinc/schema-registry), so that Connect's
ProtobufConverter gets its types back: decimals are confluent.type.Decimal, dates google.type.Date, times of day
google.type.TimeOfDay, timestamps google.protobuf.Timestamp; field_meta keeps precision, scale and small integers.
A nullable column is `optional` (the converter reads null with optional.for.nullables=true); a nullable list is a
message with the list in it, for a repeated field is never null.

Field numbers are those of the subject's latest version where a field has one there, and new ones after them: a number
is never given to another field. How values are written is in `protobuf_values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from integrator import schema
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import proto_text
from integrator.formats.contract import Format, Frame, prefix
from integrator.formats.protobuf_values import BY_COLUMN, ITEMS, LIST, STRUCT, inside, numbered
from integrator.formats.record_names import name_refusal
from integrator.formats.records import PATH, Columns
from integrator.schema import Column, Type

_IMPORTS = {
    "confluent.type.Decimal": "confluent/type/decimal.proto",
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
}
_META = "confluent/meta.proto"
_HIDING = {"confluent", "google"}
"""Parts of a package that hide the packages of these names, which are then named from the outermost on."""
_IMPORTED = re.compile(r"(?<![\w.])((?:confluent|google)\.)")


def schema_text(name: str, columns: Columns, options: Options) -> str:
    """Return the proto3 text with the message `name`, which is in the package that is before its last dot."""
    imports: set[str] = set()
    package, _, message = name.rpartition(".")
    body = list(_message(message, columns, options, 0, imports))
    if _HIDING.intersection(package.split(".")):
        body = [_IMPORTED.sub(r".\1", line) for line in body]
    imported = "".join(f'import "{file}";\n' for file in sorted(imports))
    head = (f"package {package};\n\n" if package else "") + (imported + "\n" if imported else "")
    return 'syntax = "proto3";\n\n' + head + "\n".join(body) + "\n"


def _message(name: str, columns: Columns, options: Options, depth: int, imports: set[str]) -> Iterator[str]:
    indent = "  " * depth
    yield f"{indent}message {name} {{"
    numbers = numbered(columns, options)
    gone = sorted(_taken(options) - set(numbers.values()))
    if gone:
        yield f"{indent}  reserved {', '.join(map(str, gone))};"
    for column in columns:
        if isinstance(column.type, schema.Array) and column.nullable:
            items = (Column(ITEMS, column.type, nullable=False),)
            yield from _message(column.name + LIST, items, inside(options, column.name), depth + 1, imports)
            yield f"{indent}  optional {column.name}{LIST} {column.name} = {numbers[column.name]};"
            continue
        kind = column.type.item if isinstance(column.type, schema.Array) else column.type
        written = _type_name(kind, column.name)
        if isinstance(kind, schema.Struct):
            yield from _message(written, kind.fields, inside(options, column.name), depth + 1, imports)
        if written in _IMPORTS:
            imports.add(_IMPORTS[written])
        meta = _meta(kind)
        if meta:
            imports.add(_META)
        label = "repeated " if isinstance(column.type, schema.Array) else "optional " if column.nullable else ""
        yield f"{indent}  {label}{written} {column.name} = {numbers[column.name]}{meta};"
    yield f"{indent}}}"


def _type_name(kind: Type, column: str) -> str:
    match kind:
        case schema.Boolean():
            return "bool"
        case schema.Integer(bits):
            return "int64" if bits == 64 else "int32"
        case schema.Float(bits):
            return "float" if bits == 32 else "double"
        case schema.Decimal():
            return "confluent.type.Decimal"
        case schema.Bytes():
            return "bytes"
        case schema.Date():
            return "google.type.Date"
        case schema.Time():
            return "google.type.TimeOfDay"
        case schema.Timestamp():
            return "google.protobuf.Timestamp"
        case schema.Struct():
            return f"{column}{STRUCT}"
        case _:
            return "string"


def _meta(kind: Type) -> str:
    match kind:
        case schema.Integer(bits) if bits < 32:
            params = {"connect.type": f"int{bits}"}
        case schema.Decimal(precision, scale):
            params = {"precision": str(precision), "scale": str(scale)}
        case _:
            return ""
    entries = ", ".join(f'{{ key: "{key}", value: "{value}" }}' for key, value in params.items())
    return f" [(confluent.field_meta) = {{ params: [{entries}] }}]"


def _taken(options: Options) -> set[int]:
    return {number for field, number in options.numbers if PATH not in field}


def numbers_of(text: str) -> tuple[tuple[str, int], ...]:
    """Return the field numbers in a proto text, by the field's path; reserved ones are named ? and number."""
    found = proto_text.parse(text)
    paths: dict[tuple[str, ...], str] = {(found.first_message,): ""}
    size = 0
    # a nested message is one of ours if a field of its type is in the same message
    while size < len(paths):
        size = len(paths)
        for field in found.fields:
            inside = (*field.path, field.type)
            if field.path in paths and found.of(inside):
                paths[inside] = paths[field.path] + field.name + PATH
    named = [(paths[field.path] + field.name, field.number) for field in found.fields if field.path in paths]
    return (*named, *((f"{paths[path]}?{number}", number) for path, number in found.reserved if path in paths))


def record_refusal(name: str) -> str | None:
    """Return why no message can have this name, which may have dots, or None."""
    return next(filter(None, map(name_refusal, name.split("."))), None)


def refusal(kind: Type, _options: Options) -> str | None:
    """Return why Protobuf cannot express a type, or None."""
    if isinstance(kind, schema.Array) and isinstance(kind.item, schema.Array):
        return "a repeated field cannot hold lists; send the column as text (Datatype: text)"
    if isinstance(kind, schema.Struct):
        names = {field.name for field in kind.fields}
        return clash(kind.fields) or (None if names else "a struct needs fields")
    return None


def clash(columns: Columns) -> str | None:
    """Return why columns cannot stand in one message: one has the name of another's message, or of its JSON."""
    names = {column.name for column in columns}
    for column in columns:
        inside = column.type.item if isinstance(column.type, schema.Array) else column.type
        taken = [column.name + STRUCT] if isinstance(inside, schema.Struct) else []
        taken += [column.name + LIST] if isinstance(column.type, schema.Array) and column.nullable else []
        for name in taken:
            if name in names:
                return (
                    f"columns {column.name} and {name} clash, because a message is named {name}; rename one (BaseName)"
                )
    return None


def frame(_name: str, _columns: Columns, _options: Options, schema_id: SchemaId | None) -> Frame:
    """Return the registry's prefix, and the path of the message in its file: the first, which is one zero byte."""
    before = prefix(schema_id)
    return Frame(before + b"\x00" if before else b"")


FORMAT = Format(
    BY_COLUMN,
    frame,
    missing="refuse",
    schema_text=schema_text,
    refusal=refusal,
    name_refusal=name_refusal,
    record_refusal=record_refusal,
    schema_type="PROTOBUF",
    numbers_of=numbers_of,
    columns_refusal=clash,
    header_tail=b"\x00",
    text=False,
    named=True,
)
