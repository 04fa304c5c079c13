"""Messages of TABLE_OBJECT_BSON -> rows in plain values, by PyMongo's bson."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bson
from bson.codec_options import CodecOptions, DatetimeConversion

from integrator import schema
from integrator.schema import Column
from tests.wire import neutral


def row(value: bytes, columns: Sequence[Column]) -> dict[str, Any]:
    [[read]] = bson.decode(value, CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)).values()
    return {c.name: _of_bson(c.type, read[c.name]) for c in columns if c.name in read}


def _of_bson(kind: schema.Type, value: Any) -> Any:
    match kind:
        case _ if value is None:
            return None
        case schema.Decimal():
            return value.to_decimal()
        case schema.Date():
            return int(value) // 86_400_000
        case schema.Timestamp("ms"):
            return int(value)
        case schema.Array(item):
            return [_of_bson(item, one) for one in value]
        case schema.Boolean() | schema.Integer() | schema.Float() | schema.Bytes() | schema.Struct():
            return value
        case _:
            return neutral.plain_json(kind, value)
