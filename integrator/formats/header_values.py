"""The values of message headers, as header converters of Kafka Connect write them.

https://github.com/apache/kafka: connect/api SimpleHeaderConverter.java and StringConverter.java, connect/json
JsonConverter.java, connect/runtime ByteArrayConverter.java. A header whose value is null has no bytes in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.message_format import Options
from integrator.formats import connect, connect_json
from integrator.formats.json_object import by_column
from integrator.schema import Bytes, Column, Type

Write = Callable[[pa.Array], pa.Array]
"""From the values of a header to its bytes. Raises UnsupportedValue."""


@dataclass(frozen=True)
class HeaderFormat:
    """How the values of headers are written. write: of a type.

    typed: a lone column or substitution keeps its type; else all values are text. refusal: why no header may have a
    type, or None.
    """

    write: Callable[[Type, Options], Write]
    typed: bool = True
    refusal: Callable[[Type], str | None] = lambda _kind: None


def _as_it_is(_kind: Type, _options: Options) -> Write:
    return lambda values: values.cast(pa.binary())


def _json(kind: Type, options: Options, *, schema: bool) -> Write:
    column = Column("value", kind, nullable=False)
    encode = by_column(connect.leaf).value_encoder(column, options)
    frame = connect_json.column_frame(column, options)

    def write(values: pa.Array) -> pa.Array:
        data = encode({column.name: values}, {}).cast(pa.binary())
        framed = pc.binary_join_element_wise(frame.before, data, frame.after, b"") if schema else data
        return pc.if_else(pc.is_valid(values), framed, None) if values.null_count else framed

    return write


def _no_bytes(kind: Type) -> str | None:
    return None if isinstance(kind, Bytes) else "BYTES writes a column of bytes: write {column} alone"


HEADERS: dict[str, HeaderFormat] = {
    "STRING": HeaderFormat(_as_it_is, typed=False),
    "CONNECT": HeaderFormat(lambda kind, options: _json(kind, options, schema=True)),
    "CONNECT_PAYLOAD": HeaderFormat(lambda kind, options: _json(kind, options, schema=False)),
    "BYTES": HeaderFormat(_as_it_is, refusal=_no_bytes),
}
"""STRING: text. CONNECT, CONNECT_PAYLOAD: Connect JSON with and without schema. BYTES: bytes as they are."""
