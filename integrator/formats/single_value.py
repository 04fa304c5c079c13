"""One value as a message, without anything around it: text, and bytes as they are. Null is a message without value.

That is what Kafka Connect's StringConverter and ByteArrayConverter write of a value that is text or bytes
(https://github.com/apache/kafka, connect/api StringConverter.java, connect/runtime ByteArrayConverter.java).
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from integrator.contracts.message_format import Options, SchemaId
from integrator.formats.contract import Format, Frame
from integrator.formats.records import Arrays, Columns, Encoder, Missing
from integrator.schema import Bytes, String, Type, describe


def _encoder(columns: Columns, _options: Options) -> Encoder:
    [column] = columns

    def encode(arrays: Arrays, _missing: Missing) -> pa.Array:
        return arrays[column.name]

    return encode


def frame(_name: str, _columns: Columns, _options: Options, _id: SchemaId | None) -> Frame:
    """Return that nothing stands around the value."""
    return Frame()


def _only(kind: type[String | Bytes]) -> Callable[[Type, Options], str | None]:
    return lambda given, _options: None if isinstance(given, kind) else f"the message is {describe(kind())} alone"


TEXT = Format(_encoder, frame, missing="refuse", refusal=_only(String))
BYTES = Format(_encoder, frame, missing="refuse", refusal=_only(Bytes), text=False)
