"""Protobuf's encoding, column by column (https://protobuf.dev/programming-guides/encoding/).

A field is its tag and its value. As Protobuf's own serialisers do, a NOT NULL field with the value zero is left out,
and a null one too; a nullable (`optional`) field is there whenever it is not null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.arrow.durations import iso_text
from integrator.arrow.varints import FixedWidthBytes, Part, constant, join_parts, varint
from integrator.contracts.message_format import Options
from integrator.engine.arrays import Mask
from integrator.errors import ConfigurationError
from integrator.formats.json_object import relisted
from integrator.formats.protobuf_known import (
    I32,
    I64,
    LEN,
    VARINT,
    date,
    decimal,
    delimited,
    ints,
    tag,
    time,
    timestamp,
)
from integrator.formats.records import PATH, ByColumn, Columns, InvalidValue, UnsupportedValue, Written
from integrator.formats.records import Write as WriteColumn
from integrator.schema import Column, Type

STRUCT = "_message"
LIST, ITEMS = "_list", "items"
"""What the names of the messages of structs and of nullable lists end in, for a field and a message cannot share a
name; and the field of the latter."""

_ANY = "column"
"""The name in paths of a column of which only the type and the numbers matter."""
Write = Callable[[pa.Array], list[Part]]
"""From values without null to the parts of each, without the tag."""


def numbered(columns: Columns, options: Options) -> dict[str, int]:
    """Return the number of each field: the one it has already, else one that no field ever had."""
    known = dict(options.numbers)
    fresh = max((number for field, number in options.numbers if PATH not in field), default=0)
    numbers = {}
    for column in columns:
        number = known.get(column.name)
        if number is None:
            fresh += 1
            if 19_000 <= fresh <= 19_999:  # Protobuf's own
                fresh = 20_000
            number = fresh
        numbers[column.name] = number
    return numbers


def inside(options: Options, name: str) -> Options:
    """Return the options of the message that the field `name` holds: those of its numbers that are in there."""
    start = name + PATH
    numbers = ((field[len(start) :], number) for field, number in options.numbers if field.startswith(start))
    return replace(options, numbers=tuple(numbers))


def _of_column(column: Column, options: Options) -> WriteColumn:
    write = _field(column, dict(options.numbers)[_ANY], inside(options, _ANY))
    return lambda values: Written(join_parts(write(values)), b"", b"")


def _in_order(columns: Columns, options: Options) -> list[tuple[int, Options]]:
    """Return the places of columns by their numbers, as Protobuf's own serialisers write them.

    Each has options with its numbers as those of `_ANY`.
    """
    numbers = numbered(columns, options)
    ordered = []
    for place in sorted(range(len(columns)), key=lambda place: numbers[columns[place].name]):
        name = columns[place].name
        of_column = [(_ANY + PATH + path, number) for path, number in inside(options, name).numbers]
        ordered.append((place, replace(options, numbers=((_ANY, numbers[name]), *of_column))))
    return ordered


def _image_options(columns: Columns, options: Options) -> Options:
    """Return the options of the messages that are given as they are encoded: one of each row, wherever it stands.

    Raises ConfigurationError where the registry's schema has other numbers for them in one place than in another.
    """
    found = list(_encoded(columns, options))
    if any(one != found[0] for one in found):
        raise ConfigurationError(
            "the registry's schema numbers the fields of before and after images differently, and here they are one "
            "message; register the schema under another subject (Kafka_Schema_Registry_Subject_Naming_Strategy)"
        )
    return found[0]


def _encoded(columns: Columns, options: Options) -> Iterator[Options]:
    for column in columns:
        if isinstance(column.type, schema.Encoded):
            yield inside(options, column.name)
        elif isinstance(column.type, schema.Struct):
            yield from _encoded(column.type.fields, inside(options, column.name))


BY_COLUMN = ByColumn(
    _of_column, lambda columns, _options: (b"",) * (len(columns) + 1), _in_order, image_options=_image_options
)


def _field(column: Column, number: int, options: Options) -> Write:
    """Return what writes a field with its tag; options: those of the message in it."""
    if isinstance(column.type, schema.Array) and not column.nullable:
        item = column.type.item
        return lambda values: _repeated(values, item, number, options)
    wire, write = _writer(column.type, options)
    lead = tag(number, wire)

    def of_rows(values: pa.Array) -> list[Part]:
        there = mask(pc.is_valid(values)) if values.null_count else None
        if not column.nullable and wire != LEN:
            nonzero = mask(_nonzero(values))
            there = nonzero if there is None else there & nonzero
        elif not column.nullable and isinstance(column.type, schema.String | schema.Bytes):
            filled = mask(pc.greater(pc.binary_length(values), 0))
            there = filled if there is None else there & filled
        parts = write(values)
        if isinstance(parts[0], FixedWidthBytes):
            parts = [parts[0].after(lead), *parts[1:]]
        else:
            parts = [constant(lead, len(values)), *parts]
        return parts if there is None or there.all() else [_only(part, there) for part in parts]

    return of_rows


def _nonzero(values: pa.Array) -> pa.Array:
    if pa.types.is_boolean(values.type):
        return values
    if pa.types.is_floating(values.type):  # minus zero is not the default
        return pa.array(np.asarray(pc.fill_null(values, 0.0)).view(f"u{values.type.bit_width // 8}") != 0)
    return pc.not_equal(values, 0)


def _only(part: Part, there: Mask) -> Part:
    if isinstance(part, FixedWidthBytes):
        return part.where(there)
    return pc.if_else(pa.array(there), pc.fill_null(part, b""), b"")


def _writer(kind: Type, options: Options) -> tuple[int, Write]:
    """Return the wire type, and how values are written after their tag."""
    match kind:
        case schema.Boolean() | schema.Integer():
            return VARINT, lambda values: [varint(ints(values).view(np.uint64))]
        case schema.Float(bits):
            return (I32 if bits == 32 else I64), lambda values: [_fixed(values, bits)]
        case schema.String() | schema.Bytes() | schema.Encoded():
            return LEN, delimited
        case schema.Interval():
            return LEN, lambda values: delimited(iso_text(values))
        case schema.Struct(fields):
            return LEN, lambda values: delimited(_struct(values, fields, options))
        case schema.Array(item):
            [first_number] = numbered((Column(ITEMS, kind),), options).values()
            return LEN, lambda values: delimited(_wrapped(values, item, first_number, inside(options, ITEMS)))
        case schema.Decimal(precision, scale):
            return LEN, lambda values: delimited(decimal(values, precision, scale))
        case schema.Date():
            return LEN, lambda values: delimited(date(values))
        case schema.Time():
            return LEN, lambda values: delimited(time(values))
        case _:
            return LEN, lambda values: delimited(timestamp(values))


def _fixed(values: pa.Array, bits: int) -> FixedWidthBytes:
    whole = pc.fill_null(values, 0.0) if values.null_count else values
    return FixedWidthBytes(
        np.ascontiguousarray(np.asarray(whole), f"<f{bits // 8}").view(np.uint8).reshape(-1, bits // 8)
    )


def _struct(values: pa.StructArray, fields: Iterable[Column], options: Options) -> pa.Array:
    there = np.flatnonzero(mask(pc.is_valid(values)))
    rows = values.take(pa.array(there)) if values.null_count else values
    columns = tuple(fields)
    arrays = dict(zip((field.name for field in columns), rows.flatten(), strict=True))
    try:
        encoded = BY_COLUMN.encoder(columns, options)(arrays, {})
    except UnsupportedValue as error:
        raise InvalidValue(int(there[error.index]), f"{error.column}: {error}") from None
    if not values.null_count:
        return encoded
    places = np.full(len(values), -1, np.int64)
    places[there] = np.arange(len(there))
    return encoded.take(pa.array(places, mask=places < 0))


def _wrapped(values: pa.Array, item: Type, number: int, options: Options) -> pa.Array:
    """Return lists, null ones as empty, each in a message of its own."""
    filled = relisted(values, values.flatten()) if values.null_count else values
    return join_parts(_repeated(filled, item, number, options))


def _repeated(values: pa.Array, item: Type, number: int, options: Options) -> list[Part]:
    null = first(pc.is_null(values))
    if null is not None:
        raise InvalidValue(null, "is null, which a repeated field cannot be; let the column be null (Nullable: true)")
    items = values.flatten()
    inside = first(pc.is_null(items))
    if inside is not None:
        row = pc.list_parent_indices(values)[inside].as_py()
        raise InvalidValue(row, "holds null, which a repeated field cannot; send the column as text (Datatype: text)")
    wire, write = _writer(item, options)
    try:
        parts = write(items)
    except InvalidValue as error:
        raise InvalidValue(pc.list_parent_indices(values)[error.index].as_py(), str(error)) from None
    if wire == LEN:
        each = join_parts([constant(tag(number, LEN), len(items)), *parts])
        return [pc.binary_join(relisted(values, each), b"")]
    packed = pc.binary_join(relisted(values, join_parts(parts)), b"")
    length, data = delimited(packed)
    if not isinstance(length, FixedWidthBytes):
        raise TypeError(length)
    some = mask(pc.greater(pc.binary_length(packed), 0))
    return [length.after(tag(number, LEN)).where(some), data]
