"""Avro's binary encoding, column by column (https://avro.apache.org/docs/1.12.0/specification/#binary-encoding)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow import durations
from integrator.arrow.arrays import first, mask
from integrator.arrow.base64 import small_unscaled, twos_complement
from integrator.arrow.varints import FixedWidthBytes, Part, constant, join_parts, varint, zigzag
from integrator.contracts.message_format import Options
from integrator.engine.arrays import Mask, Octets
from integrator.formats import connect
from integrator.formats.json_object import relisted
from integrator.formats.plain import text_of
from integrator.formats.records import ByColumn, InvalidValue, UnsupportedValue, Write, Written
from integrator.schema import Column, Type

Parts = Callable[[pa.Array], list[Part]]
"""From values, of which null ones may be written as anything, to the parts of each."""

_NULL, _VALUE = b"\x00", b"\x02"
"""The places of null and of the other type in a union, as zigzag varints."""
_INT64_DIGITS = 18
_MILLIS = 1_000_000
_MOST = 2**32


def _of_column(column: Column, options: Options) -> Write:
    write = _writer(column.type, options)
    return lambda values: Written(join_parts(_in_union(values, write) if column.nullable else write(values)), b"", b"")


BY_COLUMN = ByColumn(_of_column, lambda columns, _options: (b"",) * (len(columns) + 1))


def sayable(kind: Type, options: Options) -> str | None:
    """Return why Avro cannot express a type, or None."""
    if isinstance(kind, schema.Struct) and not kind.fields:
        return "a struct needs fields"
    if isinstance(kind, schema.Decimal) and kind.scale > kind.precision and not options.avro_basic:
        return "a decimal has no more digits after the point than in all; send the column as text (Datatype: text)"
    return None


def _in_union(values: pa.Array, write: Parts) -> list[Part]:
    parts = write(values)
    if not values.null_count:
        return [constant(_VALUE, len(values)), *parts]
    there = mask(pc.is_valid(values))
    lead = parts[0] if isinstance(parts[0], FixedWidthBytes) else None
    rest = [_emptied(part, there, values) for part in parts[(lead is not None) :]]
    if lead is None:
        return [constant(_VALUE, len(values)).where(there, _NULL), *rest]
    return [lead.after(_VALUE).where(there, _NULL), *rest]


def _emptied(part: Part, there: Mask, like: pa.Array) -> Part:
    if isinstance(part, FixedWidthBytes):
        return part.where(there)
    if part.null_count:
        return pc.fill_null(part, b"")
    return pc.if_else(pc.is_valid(like), part, b"")


def _writer(kind: Type, options: Options) -> Parts:
    if options.avro_basic and isinstance(kind, schema.Decimal | schema.Timestamp | schema.Interval):
        text = text_of(kind, options)
        return lambda values: _text(text(values))
    if options.times == "DEBEZIUM" and _is_text_in_debezium(kind):
        write = connect.leaf(options)(kind).encode
        return lambda values: _text(write(values))
    match kind:
        case schema.Boolean():
            return lambda values: [FixedWidthBytes(_plain(values, pa.uint8()).reshape(-1, 1))]
        case schema.Float(bits):
            return lambda values: [_fixed(values, bits)]
        case schema.Decimal():
            return _decimal
        case schema.Time() | schema.Timestamp():
            return lambda values: _integers(connect.moments(values, whole=options.times != "CONNECT"))
        case schema.Interval():
            return _duration
        case schema.Array(item):
            inner = _writer(item, options)
            return lambda values: _list(values, inner)
        case schema.Struct():
            return lambda values: _struct(values, kind, options)
        case schema.String() | schema.Bytes():
            return _text
        case schema.Encoded():
            return lambda values: [values]
        case _:
            return _integers


def _is_text_in_debezium(kind: Type) -> bool:
    return isinstance(kind, schema.Interval) or (isinstance(kind, schema.Timestamp) and kind.zoned)


def _plain(values: pa.Array, kind: pa.DataType) -> Octets:
    whole = pc.fill_null(values, fill_value=False) if values.null_count else values
    return np.asarray(whole.cast(kind))


def _integers(values: pa.Array) -> list[Part]:
    if not pa.types.is_integer(values.type):
        values = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
    if values.null_count:
        values = pc.fill_null(values, 0)
    return [varint(zigzag(np.asarray(values).astype(np.int64)))]


def _fixed(values: pa.Array, bits: int) -> FixedWidthBytes:
    whole = pc.fill_null(values, 0.0) if values.null_count else values
    little = np.ascontiguousarray(np.asarray(whole), f"<f{bits // 8}")
    return FixedWidthBytes(little.view(np.uint8).reshape(-1, bits // 8))


def _text(values: pa.Array) -> list[Part]:
    data = values.view(pa.binary()) if pa.types.is_string(values.type) else values
    length = pc.binary_length(data)
    if data.null_count:
        length, data = pc.fill_null(length, 0), pc.fill_null(data, b"")
    return [varint(np.asarray(length).astype(np.uint64) << np.uint64(1)), data]


def _decimal(values: pa.Array) -> list[Part]:
    if values.type.precision <= _INT64_DIGITS and values.type.byte_width == 16:
        unscaled, length = small_unscaled(values)
        left = unscaled.view(np.uint64) << (8 * (8 - length)).astype(np.uint64)
        width = int(length.max()) if len(length) else 1
        data = left.astype(">u8").view(np.uint8).reshape(-1, 8)[:, :width]
        return [FixedWidthBytes(data, length).after_each((length << 1).astype(np.uint8))]
    data, offsets = twos_complement(values)
    flat = pa.Array.from_buffers(
        pa.binary(), len(values), [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    )
    return _text(flat)


def _duration(values: pa.Array) -> list[Part]:
    months, days, nanos = durations.parts(values)
    there = mask(pc.is_valid(values))
    fine = nanos % _MILLIS != 0
    low = (months < 0) | (days < 0) | (nanos < 0) | (nanos // _MILLIS >= _MOST)
    wrong = first((fine | low) & there)
    if wrong is not None:
        value = durations.iso_text(values.slice(wrong, 1))[0].as_py()
        reason = "finer than a millisecond" if fine[wrong] else "negative, or too long"
        text = f"{value} is {reason}, which Avro's duration cannot be; send the column as text (Datatype: varchar)"
        raise InvalidValue(wrong, text)
    packed = np.column_stack([months, days, nanos // _MILLIS]).astype("<u4")
    return [FixedWidthBytes(packed.view(np.uint8).reshape(-1, 12))]


def _list(values: pa.Array, write: Parts) -> list[Part]:
    """Write a list as one block: how many items, the items, and a block of none."""
    items = values.flatten()
    try:
        encoded = join_parts(_in_union(items, write))
    except InvalidValue as error:
        raise InvalidValue(pc.list_parent_indices(values)[error.index].as_py(), str(error)) from None
    count = np.asarray(pc.fill_null(pc.list_value_length(values), 0)).astype(np.int64)
    block = varint(zigzag(count))
    if not (count == 0).any():
        return [block, pc.binary_join(relisted(values, encoded), b""), constant(b"\x00", len(values))]
    some = count > 0
    return [block.where(some), pc.binary_join(relisted(values, encoded), b""), constant(b"\x00", len(values))]


def _struct(values: pa.StructArray, kind: schema.Struct, options: Options) -> list[Part]:
    """Write a struct as its fields; what stands in a null one is not inspected."""
    there = np.flatnonzero(mask(pc.is_valid(values)))
    rows = values.take(pa.array(there)) if values.null_count else values
    fields = dict(zip((field.name for field in kind.fields), rows.flatten(), strict=True))
    try:
        encoded = BY_COLUMN.encoder(kind.fields, options)(fields, {})
    except UnsupportedValue as error:
        raise InvalidValue(int(there[error.index]), f"{error.column}: {error}") from None
    if not values.null_count:
        return [encoded]
    places = np.full(len(values), -1, np.int64)
    places[there] = np.arange(len(there))
    return [pc.fill_null(encoded.take(pa.array(places, mask=places < 0)), b"")]
