"""Encoded rows -> message values. ROW: one row is one message, in the frame of its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator import messages
from integrator.formats.contract import Frame, Wrap
from integrator.formats.finish import compressor, text_bytes
from integrator.formats.keys import KEYS
from integrator.fragments import Shape
from integrator.recipe import Recipe, TableRecipe

RECORD_OVERHEAD = 100
"""Bytes that a record costs beside key and value: at most 36 of its own, and 61 of a batch that it may be alone in
(https://kafka.apache.org/documentation/#messageformat)."""
HEADER_OVERHEAD = 10
"""Bytes that a header costs beside its name and value: two varints of at most 5 bytes."""
WRAP_OVERHEAD = 64
"""Bytes that a format may put around each row, or that compression may add."""

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Messages:
    """Messages for one topic, in order; keys and values are binary, of equal length.

    A null key is none, a null value a tombstone. headers: of each message, or empty where none has any.
    """

    topic: str
    keys: pa.BinaryArray
    values: pa.BinaryArray
    headers: Sequence[Headers] = field(default=())

    @property
    def header_bytes(self) -> npt.NDArray[np.int64]:
        """The bytes that the headers of each message cost."""
        return np.array([header_size(row) for row in self.headers] or [0] * len(self.values), np.int64)

    @property
    def bytes(self) -> int:
        """The bytes of all keys, values and headers."""
        body = sum(pc.sum(_lengths(part)).as_py() or 0 for part in (self.keys, self.values))
        return body + int(self.header_bytes.sum()) if self.headers else body

    @property
    def longest(self) -> int:
        """The bytes of the longest message: its key, value and headers."""
        body = np.asarray(pc.add(_lengths(self.keys), _lengths(self.values)))
        return int((body + self.header_bytes).max() if self.headers else body.max()) if len(body) else 0


def header_size(headers: Headers) -> int:
    """Return the bytes that headers cost."""
    return sum(len(name.encode()) + len(value or b"") + HEADER_OVERHEAD for name, value in headers)


def _lengths(values: pa.Array) -> pa.Array:
    return pc.fill_null(pc.binary_length(values).cast(pa.int64()), 0)


class RowFraming:
    """Adds to each row what its message has around it."""

    def __init__(self, tables: Sequence[TableRecipe], channel: Recipe) -> None:
        self._tables = {table.table.name: table for table in tables}
        self._channel = channel
        self._frames: dict[tuple[str, str], Frame] = {}
        self._key_frames = {name: messages.key_frame(table, channel) for name, table in self._tables.items()}
        tail = messages.format_of(channel.layout).header_tail
        self._headers = {name: _fixed_headers(table, tail) for name, table in self._tables.items()}
        self._compress = compressor(channel.layout.options)
        self._text = messages.format_of(channel.layout).text

    def frame(self, table: str, shape: str) -> Frame:
        """Return the frame of rows of this shape."""
        known = self._frames.get((table, shape))
        if known is None:
            known = messages.value_frame(self._tables[table], self._channel, Shape.of_text(shape))
            if self._text:
                known = Frame(self._finished(known.head), self._finished(known.tail), known.wrap)
            self._frames[table, shape] = known
        return known

    def _finished(self, data: bytes) -> bytes:
        """Return a part of a frame with the line ends and in the encoding of the channel."""
        return text_bytes(pa.array([data], pa.binary()), self._channel.layout.options)[0].as_py()  # type: ignore[no-any-return]

    def frame_bytes(self, table: str, shape: str) -> int:
        """Return the bytes of a message that are neither of the key's body nor of the payload."""
        value, key = self.frame(table, shape), self._key_frames[table]
        fixed = len(value.head) + len(value.tail) + len(key.head) + len(key.tail) + header_size(self._headers[table])
        return fixed + RECORD_OVERHEAD + (WRAP_OVERHEAD if value.wrap or self._compress else 0)

    def sizes(self, fragments: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the bytes of each message, keys, headers and overhead counted."""
        kinds = _kinds(fragments)
        frames = pa.array([self.frame_bytes(*kind.split("\0")) for kind in kinds.dictionary.to_pylist()], pa.int64())
        rows = pc.add(_lengths(fragments["payload"]), _lengths(fragments["key"]))
        sizes = np.asarray(pc.add(rows, frames.take(kinds.indices)), np.int64)
        if fragments["headers"].null_count == len(fragments):
            return sizes
        names = [[name for name, _ in self._tables[table].headers] for table in fragments["table"].to_pylist()]
        rows_of = zip(names, fragments["headers"].to_pylist(), strict=True)
        return sizes + np.array([header_size(list(zip(n, v or [], strict=True))) for n, v in rows_of], np.int64)

    def messages(self, fragments: pa.RecordBatch) -> Iterator[Messages]:
        """Yield the messages of `fragments`, topic by topic, each in the order of its rows."""
        values, keys = self._values(fragments), self._keys(fragments)
        headers = self._headers_of(fragments)
        topics = fragments["topic"].dictionary_encode()
        for code, topic in enumerate(topics.dictionary.to_pylist()):
            if len(topics.dictionary) == 1:
                yield Messages(topic, keys, values, headers)
            else:
                rows = pc.equal(topics.indices, code)
                of_topic = [headers[int(at)] for at in np.flatnonzero(rows)] if headers else ()
                yield Messages(topic, keys.filter(rows), values.filter(rows), of_topic)

    def _values(self, fragments: pa.RecordBatch) -> pa.Array:
        kinds = _kinds(fragments)
        frames = [self.frame(*kind.split("\0")) for kind in kinds.dictionary.to_pylist()]
        payload = fragments["payload"]
        wrap = frames[0].wrap if frames else None
        if wrap is not None:
            wrapped = _wrapped(pc.fill_null(payload, b""), [frame.wrap or wrap for frame in frames], kinds.indices)
            payload = pc.if_else(pc.is_valid(payload), wrapped, None) if payload.null_count else wrapped
        head = _of_kind([frame.head for frame in frames], kinds.indices)
        tail = _of_kind([frame.tail for frame in frames], kinds.indices)
        values = pc.binary_join_element_wise(head, payload, tail, b"") if head or tail else payload
        return self._compress(values) if self._compress else values

    def _keys(self, fragments: pa.RecordBatch) -> pa.Array:
        tables = fragments["table"].dictionary_encode()
        frames = [self._key_frames[table] for table in tables.dictionary.to_pylist()]
        head = _of_kind([frame.head for frame in frames], tables.indices)
        tail = _of_kind([frame.tail for frame in frames], tables.indices)
        return pc.binary_join_element_wise(head, fragments["key"], tail, b"") if head or tail else fragments["key"]

    def _headers_of(self, fragments: pa.RecordBatch) -> Sequence[Headers]:
        tables = fragments["table"]
        if not any(self._headers[name] or self._tables[name].headers for name in pc.unique(tables).to_pylist()):
            return ()
        rows = zip(tables.to_pylist(), fragments["headers"].to_pylist(), strict=True)
        return [self._row_headers(table, values or []) for table, values in rows]  # librdkafka takes them one by one

    def _row_headers(self, table: str, values: Sequence[bytes | None]) -> Headers:
        named = [(name, value) for (name, _), value in zip(self._tables[table].headers, values, strict=True)]
        return [*self._headers[table], *named]


def _fixed_headers(table: TableRecipe, value_tail: bytes) -> list[tuple[str, bytes | None]]:
    """Return the headers that say the schemas, where those are not in a prefix: a 1, the GUID's 16 bytes, a tail.

    https://github.com/confluentinc/schema-registry, HeaderSchemaIdSerializer.java.
    """
    key_format = KEYS[table.message_key.serializer].said
    key_tail = key_format.header_tail if key_format else b""
    parts = (("__key_schema_id", table.key_id, key_tail), ("__value_schema_id", table.value_id, value_tail))
    return [(name, b"\x01" + UUID(said.guid).bytes + tail) for name, said, tail in parts if said and said.guid]


def _of_kind(texts: Sequence[bytes], indices: pa.Array) -> bytes | pa.Array:
    if len(set(texts)) <= 1:
        return texts[0] if texts else b""
    return pa.array(texts, pa.binary()).take(indices)


def _wrapped(payload: pa.Array, wraps: Sequence[Wrap], indices: pa.Array) -> pa.Array:
    if len(wraps) == 1:
        return wraps[0](payload)
    parts, places = [], []
    for code, wrap in enumerate(wraps):
        rows = np.flatnonzero(pc.equal(indices, code))
        parts.append(wrap(payload.take(pa.array(rows))))
        places.append(rows)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def _kinds(fragments: pa.RecordBatch) -> pa.DictionaryArray:
    return pc.binary_join_element_wise(fragments["table"], fragments["shape"], "\0").dictionary_encode()
