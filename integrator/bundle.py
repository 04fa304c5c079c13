"""Encoded rows -> message values. ROW: one row is one message, framed by the text of its schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.formats.connect_json import STRING_KEY, TAIL, schema_text
from integrator.fragments import Shape
from integrator.recipe import Recipe, TableRecipe

RECORD_OVERHEAD = 100
"""Bytes that a record costs beside key and value: at most 36 of its own, and 61 of a batch that it may be alone in
(https://kafka.apache.org/documentation/#messageformat)."""


@dataclass(frozen=True)
class Messages:
    """Messages for one topic, in order; keys and values are binary, of equal length."""

    topic: str
    keys: pa.BinaryArray
    values: pa.BinaryArray

    @property
    def bytes(self) -> int:
        """The bytes of all keys and values."""
        return sum(pc.sum(pc.binary_length(part).cast(pa.int64())).as_py() for part in (self.keys, self.values))

    @property
    def longest(self) -> int:
        """The bytes of the longest message, or a little more: the longest key's and the longest value's."""
        return sum(pc.max(pc.binary_length(part)).as_py() for part in (self.keys, self.values))


class RowFraming:
    """Adds to each row what its message has around it."""

    def __init__(self, tables: Sequence[TableRecipe], channel: Recipe) -> None:
        self._tables = {table.table.name: table for table in tables}
        self._channel = channel
        self._prefixes: dict[tuple[str, str], str] = {}

    @cached_property
    def _key_bytes(self) -> int:
        return len("".join(STRING_KEY))

    def prefix(self, table: str, shape: str) -> str:
        """Return what stands before the payload of rows of this shape."""
        known = self._prefixes.get((table, shape))
        if known is None:
            recipe = self._tables[table]
            columns = Shape.of_text(shape).columns(recipe)
            known = schema_text(recipe.table.name, columns, self._channel.times)
            self._prefixes[table, shape] = known
        return known

    def frame_bytes(self, table: str, shape: str) -> int:
        """Return the bytes of a message that are neither the key's text nor the payload."""
        return len(self.prefix(table, shape).encode()) + len(TAIL) + self._key_bytes + RECORD_OVERHEAD

    def sizes(self, table: pa.Array, shape: pa.Array, key: pa.Array, payload: pa.Array) -> npt.NDArray[np.int64]:
        """Return the bytes of each message, keys and overhead counted."""
        kinds = _kinds(table, shape)
        frames = pa.array([self.frame_bytes(*kind.split("\0")) for kind in kinds.dictionary.to_pylist()], pa.int64())
        rows = pc.add(pc.binary_length(payload).cast(pa.int64()), pc.binary_length(key).cast(pa.int64()))
        return np.asarray(pc.add(rows, frames.take(kinds.indices)), np.int64)

    def messages(self, fragments: pa.RecordBatch) -> Iterator[Messages]:
        """Yield the messages of `fragments`, topic by topic, each in the order of its rows."""
        kinds = _kinds(fragments["table"], fragments["shape"])
        prefixes = [self.prefix(*kind.split("\0")) for kind in kinds.dictionary.to_pylist()]
        prefix = prefixes[0] if len(prefixes) == 1 else pa.array(prefixes, pa.string()).take(kinds.indices)
        values = pc.binary_join_element_wise(prefix, fragments["payload"], TAIL, "").cast(pa.binary())
        keys = pc.binary_join_element_wise(STRING_KEY[0], fragments["key"], STRING_KEY[1], "").cast(pa.binary())
        topics = fragments["topic"].dictionary_encode()
        for code, topic in enumerate(topics.dictionary.to_pylist()):
            if len(topics.dictionary) == 1:
                yield Messages(topic, keys, values)
            else:
                rows = pc.equal(topics.indices, code)
                yield Messages(topic, keys.filter(rows), values.filter(rows))


def _kinds(table: pa.Array, shape: pa.Array) -> pa.DictionaryArray:
    return pc.binary_join_element_wise(table, shape, "\0").dictionary_encode()
