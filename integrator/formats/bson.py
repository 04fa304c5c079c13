"""BSON, HVR's JsonMode TABLE_OBJECT_BSON: {"tab1": [{"c1": 44}]} as a document of MongoDB's (https://bsonspec.org/spec.html).

A document is its length, elements, and a zero byte; an element is the type of its value, its name, a zero byte, and the
value. As the type stands before the name, and is another for null, an element is made of a column as a whole.

Integers are int32 and int64, decimals of up to 34 digits Decimal128, floats double, bytes binary; dates, and timestamps
of milliseconds, are UTC datetimes, one without a zone as if it were UTC. What BSON has no type for without loss is text
as in plain JSON: finer timestamps, times of day, intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import regrouped
from integrator.arrow.varints import FixedWidthBytes, Part, constant, join_parts
from integrator.contracts.message_format import Options, SchemaId
from integrator.engine.arrays import Ints, Mask
from integrator.formats import plain
from integrator.formats.contract import Format, Frame
from integrator.formats.records import Arrays, Columns, Encoder, InvalidValue, Missing, UnsupportedValue, at_column
from integrator.schema import Type

_DOUBLE, _STRING, _DOCUMENT, _ARRAY, _BINARY = b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"
_BOOLEAN, _DATETIME, _NULL, _INT32, _INT64, _DECIMAL128 = b"\x08", b"\x09", b"\x0a", b"\x10", b"\x12", b"\x13"
_DIGITS, _BIAS = 34, 6176
_MS_OF_DAY = 86_400_000
_ELEMENT_BYTES = 10
"""What a row costs in an array beside itself, at most: its type, its index, and a zero byte."""


@dataclass(frozen=True)
class _Kind:
    """How values of a type are written: the type of their elements, and the bytes of values without nulls."""

    type: bytes
    write: Callable[[pa.Array], Part]


def _kind(kind: Type, options: Options) -> _Kind:
    match kind:
        case schema.Boolean():
            return _Kind(_BOOLEAN, lambda values: _numbers(values.cast(pa.uint8()), "u1"))
        case schema.Integer(bits) if bits <= 32:
            return _Kind(_INT32, lambda values: _numbers(values, "<i4"))
        case schema.Integer():
            return _Kind(_INT64, lambda values: _numbers(values, "<i8"))
        case schema.Float():
            return _Kind(_DOUBLE, lambda values: _numbers(values, "<f8"))
        case schema.Decimal(_, scale):
            return _Kind(_DECIMAL128, lambda values: _decimals(values, scale))
        case schema.Bytes():
            return _Kind(_BINARY, _binary)
        case schema.Date():
            return _Kind(_DATETIME, lambda values: _numbers(_ints(values.cast(pa.int32())) * _MS_OF_DAY, "<i8"))
        case schema.Timestamp("ms"):
            return _Kind(_DATETIME, lambda values: _numbers(values.cast(pa.int64()), "<i8"))
        case schema.Array(item):
            return _Kind(_ARRAY, _list_writer(_kind(item, options)))
        case schema.Struct(fields):
            return _Kind(_DOCUMENT, _struct_writer(_documents(fields, options)))
        case schema.Timestamp():
            return _Kind(_STRING, lambda values: _text(plain.timestamps(values, iso=True)))
        case _:
            text_of = plain.text_of(kind, options)
            return _Kind(_STRING, lambda values: _text(text_of(values)))


def _ints(values: pa.Array) -> Ints:
    return np.asarray(values).astype(np.int64)


def _numbers(values: pa.Array | Ints, kind: str) -> FixedWidthBytes:
    """Return numbers as numpy's little-endian type `kind` has them."""
    little = np.ascontiguousarray(np.asarray(values).astype(kind))
    return FixedWidthBytes(little.view(np.uint8).reshape(len(little), little.itemsize))


def _sizes(sizes: Ints) -> FixedWidthBytes:
    return _numbers(sizes, "<i4")


def _decimals(values: pa.Array, scale: int) -> FixedWidthBytes:
    """Return Decimal128 in its binary integer encoding: the sign, the exponent, and 113 bits of digits."""
    pairs = np.frombuffer(values.buffers()[1], "<u8", 2 * len(values), 16 * values.offset).reshape(-1, 2)
    negative = pairs[:, 1] >> np.uint64(63) != 0
    low = np.where(negative, ~pairs[:, 0] + np.uint64(1), pairs[:, 0])
    carry = (negative & (low == 0)).astype(np.uint64)
    high = np.where(negative, ~pairs[:, 1] + carry, pairs[:, 1])
    high |= np.uint64(_BIAS - scale) << np.uint64(49)
    high |= negative.astype(np.uint64) << np.uint64(63)
    return FixedWidthBytes(np.ascontiguousarray(np.stack([low, high], axis=1).astype("<u8")).view(np.uint8))


def _lengths(values: pa.Array) -> Ints:
    return np.asarray(pc.binary_length(values)).astype(np.int64)


def _binary(values: pa.Array) -> pa.Array:
    subtype = constant(b"\x00", len(values))
    return join_parts([_sizes(_lengths(values)), subtype, values.cast(pa.binary())])


def _text(values: pa.Array) -> pa.Array:
    values = values.cast(pa.binary())
    return join_parts([_sizes(_lengths(values) + 1), values, constant(b"\x00", len(values))])


def _document(elements: pa.Array) -> pa.Array:
    return join_parts([_sizes(_lengths(elements) + 5), elements, constant(b"\x00", len(elements))])


def _elements(column: _Kind, names: bytes | pa.Array, values: pa.Array, gone: Mask | None = None) -> list[Part]:
    """Return the parts of elements: type, name, value; a null has no value, and what is `gone` has nothing."""
    size = len(values)
    name: Part = constant(names, size) if isinstance(names, bytes) else names
    kinds = constant(column.type, size)
    if values.null_count:
        there = np.asarray(pc.is_valid(values), np.bool_)
        kinds = kinds.where(there, _NULL)
        written = _spread(column, values, there)
    else:
        written = column.write(values)
    parts = [kinds, name, written]
    return parts if gone is None else [_without(part, gone) for part in parts]


def _spread(column: _Kind, values: pa.Array, there: Mask) -> pa.Array:
    """Return what is written of values, empty where they are null."""
    at = np.flatnonzero(there)
    try:
        part = column.write(values.take(pa.array(at)))
    except InvalidValue as error:
        raise InvalidValue(int(at[error.index]), str(error)) from None
    written = part.flat() if isinstance(part, FixedWidthBytes) else part
    places = np.full(len(values), -1, np.int64)
    places[at] = np.arange(len(at))
    return pc.fill_null(written.take(pa.array(places, mask=~there)), b"")


def _without(part: Part, gone: Mask) -> pa.Array:
    written = part.flat() if isinstance(part, FixedWidthBytes) else part
    return pc.if_else(pa.array(gone), b"", written)


def _indexes(begins: Ints, size: int) -> pa.Array:
    """Return the names of the elements of arrays: their places, from 0; `begins` are where arrays begin."""
    return _names(np.arange(size) - np.repeat(begins, np.diff(begins, append=size)))


def _names(places: Ints) -> pa.Array:
    text = pa.array(places).cast(pa.string()).cast(pa.binary())
    return pc.binary_join_element_wise(text, b"\x00", b"")


def _list_writer(item: _Kind) -> Callable[[pa.Array], pa.Array]:
    def write(values: pa.Array) -> pa.Array:
        items, lengths = values.flatten(), np.asarray(pc.list_value_length(values)).astype(np.int64)
        begins = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
        try:
            written = join_parts(_elements(item, _indexes(begins, len(items)), items))
        except InvalidValue as error:
            raise InvalidValue(int(np.searchsorted(begins, error.index, side="right")) - 1, str(error)) from None
        return _document(regrouped(written, begins))

    return write


def _struct_writer(documents: Encoder) -> Callable[[pa.Array], pa.Array]:
    def write(values: pa.Array) -> pa.Array:
        names = [values.type.field(place).name for place in range(values.type.num_fields)]
        try:
            return documents(dict(zip(names, values.flatten(), strict=True)), {})
        except UnsupportedValue as error:
            raise InvalidValue(error.index, f"{error.column}: {error}") from None

    return write


def _documents(columns: Columns, options: Options) -> Encoder:
    """Return a function from the columns' arrays to each row as a document."""
    kinds = [(column.name, column.name.encode() + b"\x00", _kind(column.type, options)) for column in columns]

    def encode(arrays: Arrays, missing: Missing) -> pa.Array:
        parts: list[Part] = []
        for name, written, kind in kinds:
            try:
                parts += _elements(kind, written, arrays[name], missing.get(name))
            except InvalidValue as error:
                raise at_column(name, error) from None
        size = len(next(iter(arrays.values()))) if arrays else 0
        return _document(join_parts(parts or [constant(b"", size)]))

    return encode


def _numbered(places: Ints) -> pa.Array:
    """Return what stands before rows in the array of a message: that they are documents, and their places."""
    return join_parts([constant(_DOCUMENT, len(places)), _names(places)])


def _with_length(messages: pa.Array) -> pa.Array:
    return join_parts([_sizes(_lengths(messages) + 4), messages])


def frame(name: str, _columns: Columns, _options: Options, _id: SchemaId | None) -> Frame:
    """Return the object with the table, whose rows are an array."""
    start = _ARRAY + name.encode() + b"\x00"
    return Frame(
        start,
        b"\x00",
        between_rows=bytes(_ELEMENT_BYTES),
        assemble=lambda rows, _count: _document(rows),
        numbered=_numbered,
        finish=_with_length,
    )


def _refusal(kind: Type, _options: Options) -> str | None:
    if isinstance(kind, schema.Decimal) and (kind.precision > _DIGITS or not -6111 <= -kind.scale <= 6176):
        return f"BSON's decimals have up to {_DIGITS} digits; send the column as text (Datatype: varchar)"
    return None


def _name_refusal(name: str) -> str | None:
    return "a name in BSON has no zero character; give another (BaseName)" if "\0" in name else None


FORMAT = Format(
    _documents,
    frame,
    missing="omit",
    refusal=_refusal,
    name_refusal=_name_refusal,
    record_refusal=_name_refusal,
    text=False,
    bundles=lambda _options: "table",
)
