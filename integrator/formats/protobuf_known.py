"""Protobuf's varints, and the messages that Confluent and Google define for decimals, dates and times.

confluent.type.Decimal, google.type.Date, google.type.TimeOfDay, google.protobuf.Timestamp: their fields by number are
in https://github.com/confluentinc/schema-registry and https://github.com/googleapis/googleapis.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first
from integrator.arrow.base64 import twos_complement
from integrator.arrow.varints import FixedWidthBytes, Part, constant, join_parts, varint
from integrator.engine.arrays import Ints
from integrator.formats.records import InvalidValue

VARINT, I64, LEN, I32 = 0, 1, 2, 5
_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_FIRST, _LAST = -719162, 2932896
"""Days of 0001-01-01 and 9999-12-31, the range of google.type.Date and google.protobuf.Timestamp."""


def tag(number: int, wire: int) -> bytes:
    """Return a field's tag: its number and wire type, as a varint."""
    return varint(np.array([number << 3 | wire], np.uint64)).flat()[0].as_py()  # type: ignore[no-any-return]


def ints(values: pa.Array) -> Ints:
    """Return integers or booleans as int64; null is 0."""
    whole = pc.fill_null(values, pa.scalar(0).cast(values.type)) if values.null_count else values
    return np.asarray(whole.cast(pa.int64()))


def delimited(values: pa.Array) -> list[Part]:
    """Return the length and the bytes of text or bytes; null is empty."""
    data = values.view(pa.binary()) if pa.types.is_string(values.type) else values
    if data.null_count:
        data = pc.fill_null(data, b"")
    return [varint(np.asarray(pc.binary_length(data)).astype(np.uint64)), data]


def _fields(*fields: tuple[int, Ints]) -> pa.Array:
    """Return messages of integer fields, those that are zero left out."""
    parts = [varint(v.view(np.uint64)).after(tag(number, VARINT)).where(v != 0) for number, v in fields]
    return join_parts(list(parts))


def decimal(values: pa.Array, precision: int, scale: int) -> pa.Array:
    """Return decimals as confluent.type.Decimal {bytes value = 1; uint32 precision = 2; int32 scale = 3}."""
    data, offsets = twos_complement(values)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    unscaled = delimited(pa.Array.from_buffers(pa.binary(), len(values), buffers))
    length = unscaled[0]
    if not isinstance(length, FixedWidthBytes):
        raise TypeError(length)
    rest = tag(2, VARINT) + varint(np.array([precision], np.uint64)).flat()[0].as_py()
    if scale:
        rest += tag(3, VARINT) + varint(np.array([scale], np.uint64)).flat()[0].as_py()
    return join_parts([length.after(tag(1, LEN)), unscaled[1], constant(rest, len(values))])


def date(values: pa.Array) -> pa.Array:
    """Return dates as google.type.Date {year = 1; month = 2; day = 3}. Raises InvalidValue."""
    days = values.cast(pa.int32()).cast(pa.int64())
    _in_range(values, days)
    parts = [ints(part(values)) for part in (pc.year, pc.month, pc.day)]
    return _fields(*zip((1, 2, 3), parts, strict=True))


def time(values: pa.Array) -> pa.Array:
    """Return times of day as google.type.TimeOfDay {hours = 1; minutes = 2; seconds = 3; nanos = 4}."""
    nanos = ints(values.cast(pa.int32()) if values.type.bit_width == 32 else values.cast(pa.int64()))
    nanos = nanos * _NANOS[values.type.unit]
    seconds = nanos // _NANOS["s"]
    return _fields((1, seconds // 3600), (2, seconds // 60 % 60), (3, seconds % 60), (4, nanos % _NANOS["s"]))


def timestamp(values: pa.Array) -> pa.Array:
    """Return time stamps as google.protobuf.Timestamp {seconds = 1; nanos = 2}. Raises InvalidValue."""
    each = _NANOS["s"] // _NANOS[values.type.unit]
    seconds, rest = np.divmod(ints(values.cast(pa.int64())), each)
    _in_range(values, pa.array(seconds // 86400))
    return _fields((1, seconds), (2, rest * _NANOS[values.type.unit]))


def _in_range(values: pa.Array, days: pa.Array) -> None:
    outside = pc.or_(pc.less(days, _FIRST), pc.greater(days, _LAST))
    wrong = first(pc.and_(outside, pc.is_valid(values)))
    if wrong is not None:
        value = values.slice(wrong, 1).cast(pa.string())[0].as_py()
        text = f"{value} is not in the years 1 to 9999, which Protobuf's dates have; send the column as text"
        raise InvalidValue(wrong, text)
