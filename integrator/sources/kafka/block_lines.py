"""Blocks of records -> lines, as dialects read them."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat
from integrator.contracts.change_batch import RECORD
from integrator.contracts.rejected import Rejected
from integrator.contracts.streams import Source
from integrator.decode.encodings import encoded
from integrator.decode.encodings.encoded import EncodedLines, Encoding, Records, Shape
from integrator.decode.encodings.writing import TooLarge
from integrator.decode.lines.lines import NO_TIME, LeftOut, Lines, Origin
from integrator.decode.lines.reading import LineReading, in_utf_8, lines_of
from integrator.engine import transcode
from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.engine.gather import NO_TIME as HAS_NO_TIME
from integrator.engine.gather import NULL_KEY
from integrator.engine.grammar import NEWLINE
from integrator.engine.lines import count_bytes
from integrator.errors import DataError, EnvironmentFault, Fault, Place, SchemasFound
from integrator.librdkafka.blocks import Block

BY_PARTS = ""
"""The last part of a topic's name, after a dot, is the table; of three or more the one before it is the schema."""
_BLANK = ord(" ")
"""All that are blanks in JSON are at most this."""
_NO_MEMBERS = Shape()


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
    """Which lines a dialect reads. shape: of records with a schema. keys: the member of keys, if they are asked for.

    records: whether expressions ask for what the topic has of records.
    """

    shape: Shape = _NO_MEMBERS
    keys: str = ""
    records: bool = False


def block_lines(
    block: Block, place: tuple[str, str], wanted: Wanted, encoding: TopicEncoding, how: LineReading
) -> Lines:
    """Return the records of a block as lines, whose numbers are their offsets.

    place: what the partition is called, and its topic. Raises DataError, SchemasFound, and EnvironmentFault.
    """
    partition, topic = place
    if encoding.topics is not None and topic not in encoding.topics:
        raise SchemasFound(f"{topic}: is new", topic, ())
    records = Records(block.values, block.ends[:-1].astype(np.int64), block.ends[1:].astype(np.int64) - 1, block.nulls)
    ids = encoding.values.ids_of(records)
    origin = _origin(block, encoding.table_of(topic), _records(block, place, encoding) if wanted.records else None)
    if _is_lines(block, ids, encoding.values) and not (wanted.keys and block.nulls.any()):
        lines = lines_of(partition, bytearray(block.values), block.offsets, block.ends, how)
        return replace(lines, origin=origin and origin.take(np.searchsorted(block.offsets, lines.numbers)))
    _check_known(encoding.values, ids, topic, "value")
    try:
        made = encoded.lines_of(records, encoding.values, wanted.shape, ids)
        if wanted.keys and block.nulls.any():
            made = _with_keys(made, block, wanted.keys, encoding.keys, topic)
    except TooLarge:
        first, last = int(block.offsets[0]), int(block.offsets[-1])
        raise EnvironmentFault(
            f"{partition}: the records from offset {first} to {last} have over 2 GiB as JSON; they cannot be read"
        ) from None
    return _lines(made, partition, block, origin, how)


def _is_lines(block: Block, ids: Ints, encoding: Encoding) -> bool:
    """Return whether the values are lines of JSON as they are."""
    if encoding.unframed != "json" or bool((ids >= 0).any()):
        return False
    may_be_blank = bool((block.values[block.ends[:-1]] <= _BLANK).any())
    return int(count_bytes(block.values, NEWLINE)) == len(block) and not may_be_blank


def _check_known(encoding: Encoding, ids: Ints, topic: str, part: str) -> None:
    unknown = encoding.unknown(ids)
    if unknown:
        numbers = ", ".join(map(str, unknown))
        raise SchemasFound(f"{topic}: the {part}s of records have the schemas {numbers}", topic, unknown)


def _with_keys(made: EncodedLines, block: Block, member: str, encoding: Encoding, topic: str) -> EncodedLines:
    """Return lines with the key of each record that has no value."""
    at = np.flatnonzero(block.nulls)
    ends = block.room.key_ends.astype(np.int64)
    null = (block.room.flags[at] & NULL_KEY) != 0
    keys = Records(block.room.keys, ends[:-1][at], ends[1:][at], null)
    ids = encoding.ids_of(keys)
    _check_known(encoding, ids, topic, "key")
    own = encoded.lines_of(keys, encoding, Shape("schema", member, always=True), ids)
    order = np.arange(len(block))
    order[at] = len(block) + np.arange(len(at))
    data, offsets = flat(pa.concat_arrays([_array(made), _array(own)]).take(pa.array(order)))
    left_out = own.left_out
    if left_out is not None:
        values, codes = list[bytes](), np.full(len(block), -1, np.int32)
        if made.left_out is not None:
            values, codes = made.left_out.values, made.left_out.codes.copy()
        codes[at] = np.where(left_out.codes < 0, left_out.codes, left_out.codes + len(values))
        left_out = LeftOut([*values, *left_out.values], codes, left_out.at)
    wrong = {**made.wrong, **{int(at[row]): reason for row, reason in own.wrong.items()}}
    return EncodedLines(bytearray(data.tobytes()), offsets.astype(np.int32), left_out, wrong)


def _array(lines: EncodedLines) -> pa.Array:
    buffers = [None, pa.py_buffer(lines.ends), pa.py_buffer(lines.data)]
    return pa.Array.from_buffers(pa.binary(), len(lines.ends) - 1, buffers)


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
    return Origin(() if table is None else (table,), codes, _times(block), record)


def _times(block: Block) -> Ints:
    return np.where(block.room.flags & HAS_NO_TIME, NO_TIME, block.room.times)


def _records(block: Block, place: tuple[str, str], encoding: TopicEncoding) -> pa.Array:
    """Return what the topic has of the records of a block (`RECORD`). Raises SchemasFound."""
    (partition, topic), size, room = place, len(block), block.room
    ends = room.key_ends.astype(np.int64)
    keys = Records(room.keys, ends[:-1], ends[1:], (room.flags & NULL_KEY) != 0)
    times = _times(block)
    columns = {
        "topic": pa.repeat(topic, size),
        "partition": pa.repeat(pa.scalar(int(partition.rpartition("/")[2]), pa.int32()), size),
        "offset": pa.array(block.offsets),
        "key": _key_texts(keys, encoding.keys, topic),
        "headers": _headers(block),
        "timestamp": pa.array(times, pa.timestamp("ms", "UTC"), mask=times == NO_TIME).cast(pa.timestamp("us", "UTC")),
    }
    return pa.StructArray.from_arrays(list(columns.values()), fields=list(RECORD))


def _headers(block: Block) -> pa.Array:
    """Return the headers of each record, as texts by their names."""
    room, bounds = block.room, np.zeros(2 * len(block.room.name_ends) + 1, np.int32)
    bounds[1::2], bounds[2::2] = room.name_ends, room.item_ends
    every, at = _pieces(room.fields, bounds), np.arange(0, len(bounds) - 1, 2)
    names = _texts(every.take(pa.array(at)), np.zeros(len(at), np.bool_))
    return pa.MapArray.from_arrays(
        pa.array(room.field_ends), names, _texts(every.take(pa.array(at + 1)), room.null_items)
    )


def _pieces(data: Octets, bounds: Places) -> pa.Array:
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, buffers)


def _texts(values: pa.Array, null: Mask) -> pa.Array:
    """Return bytes as text, those that are no UTF-8 as base64."""
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid:
        texts = pa.array([_text(one) for one in values.to_pylist()], pa.string())
    return pc.if_else(pa.array(null), None, texts)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return b64encode(value).decode()


def _key_texts(keys: Records, encoding: Encoding, topic: str) -> pa.Array:
    """Return keys as text: those with a schema as JSON, others as they are. Raises SchemasFound."""
    ids = encoding.ids_of(keys)
    _check_known(encoding, ids, topic, "key")
    offsets = np.append(keys.starts, keys.ends[-1:] if len(keys.ends) else 0).astype(np.int32)
    texts = _texts(_pieces(keys.text, offsets), keys.null)
    if not (ids >= 0).any():
        return texts
    framed = Records(keys.text, keys.starts, keys.ends, ids < 0)
    made = encoded.lines_of(framed, encoding, _NO_MEMBERS, np.where(ids < 0, transcode.NULL, ids))
    lines = pc.utf8_rtrim(_array(made).cast(pa.string()), "\n")
    return pc.if_else(pa.array(ids >= 0), lines, texts)


def begin_of(block: Block, encoding: TopicEncoding, topic: str) -> bytes:
    """Return the values as lines, to recognize their dialect: those with a schema without it. Raises SchemasFound."""
    how = LineReading(tolerant=True)
    return bytes(block_lines(block, (topic, topic), Wanted(), encoding, how).data)
