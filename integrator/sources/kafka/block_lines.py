"""Blocks of records -> lines, as dialects read them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from integrator.contracts.rejected import Rejected
from integrator.contracts.streams import Source
from integrator.decode.encodings import encoded
from integrator.decode.encodings.encoded import EncodedLines, Encoding, Shape
from integrator.decode.encodings.writing import TooLarge
from integrator.decode.lines.lines import Lines, Origin, RecordKeys
from integrator.decode.lines.reading import LineReading, in_utf_8, lines_of
from integrator.engine.arrays import Ints
from integrator.engine.grammar import NEWLINE
from integrator.engine.lines import count_bytes
from integrator.errors import DataError, EnvironmentFault, Fault, Place, SchemasFound
from integrator.librdkafka.blocks import Block
from integrator.sources.kafka.deleted_keys import places_of_keys, with_keys
from integrator.sources.kafka.encoded_records import check_known, values_of
from integrator.sources.kafka.record_columns import record_columns, times_of

BY_PARTS = ""
"""The last part of a topic's name, after a dot, is the table; of three or more the one before it is the schema."""
_BLANK = ord(" ")
"""All that are blanks in JSON are at most this."""
_NO_MEMBERS = Shape()
NONE = np.zeros(0, np.int64)
_NO_TEXT = (
    "its key is not UTF-8, and an expression of the channel has keys as text; with key_encoding: bytes at the source "
    "location all keys are text in base64"
)
_UTF_8 = "have the producer write text in UTF-8; records that are no text need encoding: bytes at the source location"


@dataclass(frozen=True)
class TopicEncoding:
    """How records of topics are encoded, and which tables they are of.

    table: a regular expression that a topic matches, with the groups `table`, `schema` and `database`; BY_PARTS; None
    where records that name no table are of the only one. topics: those whose schemas define tables; None where
    definitions are in files.
    """

    values: Encoding = field(default_factory=Encoding)
    keys: Encoding = field(default_factory=Encoding)
    table: str | None = BY_PARTS
    topics: frozenset[str] | None = None

    def table_of(self, topic: str) -> Source | None:
        """Return the table of a topic's records; None where the source does not know it."""
        if self.table == BY_PARTS:
            *before, name = topic.split(".")
            schema = before.pop() if len(before) > 1 else None
            return Source(schema, name, ".".join(before) or None)
        found = None if self.table is None else re.match(self.table, topic)
        groups = found.groupdict() if found else {}
        return Source(groups.get("schema"), groups["table"], groups.get("database")) if groups else None


@dataclass(frozen=True)
class Wanted:
    """Which lines a dialect reads. shape: of records with a schema. keys: how keys stand, if they are asked for.

    records: whether expressions ask for what the topic has of records. before: the record before the block; None where
    there is none, or nobody asks.
    """

    shape: Shape = _NO_MEMBERS
    keys: RecordKeys | None = None
    records: bool = False
    before: Block | None = None


def block_lines(
    block: Block, place: tuple[str, str, int], wanted: Wanted, encoding: TopicEncoding, how: LineReading
) -> Lines:
    """Return the records of a block as lines, whose numbers are their offsets.

    place: what the partition is called, its topic, and its number. Raises DataError, SchemasFound, EnvironmentFault.
    """
    partition, topic, number = place
    how = replace(how, remedy=_UTF_8)
    if encoding.topics is not None and topic not in encoding.topics:
        raise SchemasFound(f"{topic}: is new", topic, ())
    records = values_of(block)
    ids = encoding.values.ids_of(records)
    columns, odd = record_columns(block, number, topic, encoding.keys) if wanted.records else (None, NONE)
    origin = _origin(block, encoding.table_of(topic), columns)
    keyed = places_of_keys(block, wanted.before, wanted.keys, wanted.shape, encoding.values, topic)
    if _is_lines(block, ids, encoding.values) and not len(keyed) and not len(odd):
        lines = lines_of(partition, bytearray(block.values), block.offsets, block.ends, how)
        return replace(lines, origin=origin and origin.take(np.searchsorted(block.offsets, lines.numbers)))
    check_known(encoding.values, ids, topic, "value")
    try:
        made = encoded.lines_of(records, encoding.values, wanted.shape, ids)
        if wanted.keys is not None and len(keyed):
            made = with_keys(made, block, keyed, wanted.keys.member, encoding.keys, topic)
    except TooLarge:
        first, last = int(block.offsets[0]), int(block.offsets[-1])
        raise EnvironmentFault(
            f"{partition}: the records from offset {first} to {last} have over 2 GiB as JSON; they cannot be read"
        ) from None
    wrong = dict.fromkeys(odd.tolist(), _NO_TEXT)
    return _lines(replace(made, wrong={**wrong, **made.wrong}), partition, block, origin, how)


def _is_lines(block: Block, ids: Ints, encoding: Encoding) -> bool:
    """Return whether the values are lines of JSON as they are."""
    if encoding.unframed != "json" or bool(((ids >= 0) | (ids == encoded.ALONE)).any()):
        return False
    may_be_blank = bool((block.values[block.ends[:-1]] <= _BLANK).any())
    return int(count_bytes(block.values, NEWLINE)) == len(block) and not may_be_blank


def _lines(made: EncodedLines, partition: str, block: Block, origin: Origin | None, how: LineReading) -> Lines:
    """Return lines without the records that have none. Raises DataError where these are not tolerated."""

    def fault(row: int) -> Fault:
        return Fault(Place(partition, int(block.offsets[row])), made.wrong[row])

    hidden, left_out = how.hidden, made.left_out
    lines = Lines(partition, made.data, block.offsets, made.ends, (), hidden, left_out, None, origin)
    if not made.wrong:
        return in_utf_8(lines, how, is_ascii=made.data.isascii())
    rows = sorted(made.wrong)
    if not how.tolerant:
        raise DataError(fault(rows[0]))
    rejected = tuple(Rejected(fault(row), "VALUE_CONVERTER") for row in rows)
    left = in_utf_8(lines.take(np.delete(np.arange(len(block)), rows)), how, is_ascii=made.data.isascii())
    return replace(left, rejected=(*rejected, *left.rejected))


def _origin(block: Block, table: Source | None, record: pa.Array | None) -> Origin | None:
    if table is None and record is None:
        return None
    codes = np.full(len(block), -1 if table is None else 0, np.int32)
    return Origin(() if table is None else (table,), codes, times_of(block), record)


def begin_of(block: Block, encoding: TopicEncoding, topic: str) -> bytes:
    """Return the values as lines, to recognize their dialect: those with a schema without it. Raises SchemasFound."""
    how = LineReading(tolerant=True)
    return bytes(block_lines(block, (topic, topic, 0), Wanted(), encoding, how).data)
