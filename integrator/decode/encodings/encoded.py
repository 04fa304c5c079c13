"""Records of a topic, each by the schema that it was written with, as the JSON lines that dialects read.

A line of a record with a schema is `{"schema":0,"payload":{…}}`, where the dialect reads Kafka Connect's schemas, and
its schema stands beside it (`LeftOut`); for other dialects it is the payload alone. Records without a schema's id are
JSON, text, bytes, or of the schema that the location names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.by_kind import program_of
from integrator.decode.encodings.program import NULL, Program, SchemaRefused, between
from integrator.decode.encodings.writing import REASONS, write
from integrator.decode.lines.lines import LeftOut
from integrator.engine import transcode
from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.engine.programs import NO_FRAME

Unframed = Literal["none", "json", "text", "bytes", "json or text"]
"""How records are encoded that have no schema's id; none: all must have one.

json or text: text is what does not begin as JSON does, and what begins as a number or a word and is none.
"""
AS_TEXT = -3
"""In the place of the id of a schema: the record is text."""
ALONE = -4
"""In the place of the id of a schema: the record is a value of JSON that is no object."""
_BEGINS_ALONE = np.isin(np.arange(256), list(b'["-0123456789tf'))
_BEGINS_BARE = np.isin(np.arange(256), list(b"-0123456789tfn"))
_BARE = r"^(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null)[ \t\r\n]*$"
_BEGINS_JSON = np.isin(np.arange(256), list(b'{["-0123456789tfn \t\r\n'))
_PLAIN = {
    "json": transcode.JSON,
    "json or text": transcode.JSON,
    "text": transcode.TEXT,
    "bytes": transcode.BYTES,
}
VALUE = "value"
"""The member, and the column, that text, bytes, and values of JSON that are no objects are the value of."""


@dataclass(frozen=True)
class Records:
    """Encoded records: the bytes of all, where each begins and ends, and which are null."""

    text: Octets
    starts: Ints
    ends: Ints
    null: Mask


@dataclass(frozen=True)
class Encoding:
    """How the values, or the keys, of topics are encoded.

    schemas: by their ids, those that are known. lost: ids of which the registry has none. asks: whether those of others
    are asked for; else they are lost. framed: whether records may begin with a schema's id. unframed: what others are;
    a `WrittenSchema`, where they are all of that one.
    """

    schemas: Mapping[int, WrittenSchema] = field(default_factory=dict, repr=False)
    lost: frozenset[int] = frozenset()
    asks: bool = True
    framed: bool = True
    unframed: Unframed | WrittenSchema = "json"

    def ids_of(self, records: Records) -> Ints:
        """Return the id of each record's schema: NULL for a record that is null, UNFRAMED where it has none."""
        ids = np.where(records.null, transcode.NULL, transcode.UNFRAMED)
        if self.framed:
            ids = np.where(records.null, transcode.NULL, 0)
            transcode.read_frames(records.text, records.starts, records.ends, ids)
        if self.unframed in ("json", "json or text") and len(records.text):
            first = records.text[np.minimum(records.starts, len(records.text) - 1)]
            if self.unframed == "json":
                ids[(ids == transcode.UNFRAMED) & _BEGINS_ALONE[first] & (records.starts < records.ends)] = ALONE
                return ids
            ids[(ids == transcode.UNFRAMED) & (~_BEGINS_JSON[first] | (records.starts == records.ends))] = AS_TEXT
            bare = np.flatnonzero((ids == transcode.UNFRAMED) & _BEGINS_BARE[first])
            ids[bare[~_are_bare(records, bare)]] = AS_TEXT
        return ids

    def unknown(self, ids: Ints) -> list[int]:
        """Return the ids of schemas that are not known."""
        known = {*self.schemas, *self.lost}
        return [one for one in np.unique(ids).tolist() if one >= 0 and one not in known] if self.asks else []


@dataclass(frozen=True)
class Shape:
    """How records stand in their lines: the names of the members of their schema and of their value; none are needed.

    member: where the value stands. always: values without a schema stand so, too.
    """

    schema: str | None = None
    member: str = ""
    always: bool = False

    @cached_property
    def around(self) -> tuple[bytes, bytes]:
        """What stands before and after a value."""
        if self.schema is None:
            return b"", b""
        return f'{{"{self.schema}":0,"{self.member}":'.encode(), b"}"

    @cached_property
    def at(self) -> int:
        """The bytes of a line before its schema."""
        return len(f'{{"{self.schema}":')


@dataclass(frozen=True)
class EncodedLines:
    """Lines of JSON, where each ends, and the schemas that were left out of them.

    wrong: of records that have no line, why.
    """

    data: bytearray
    ends: Places
    left_out: LeftOut | None
    wrong: Mapping[int, str]


def _are_bare(records: Records, at: Ints) -> Mask:
    """Return which records at some places are numbers, true, false, or null, as JSON has them."""
    sizes = records.ends[at] - records.starts[at]
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    places = np.repeat(records.starts[at] - offsets[:-1], sizes) + np.arange(offsets[-1])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(records.text[places])]
    return mask(pc.match_substring_regex(pa.Array.from_buffers(pa.binary(), len(at), buffers), _BARE))


def lines_of(records: Records, encoding: Encoding, shape: Shape, ids: Ints) -> EncodedLines:
    """Return records as lines. ids: of their schemas, all of which are known. Raises TooLarge."""
    starts = np.where(ids >= 0, records.starts + transcode.FRAME_BYTES, records.starts)
    kinds, found = _kinds(records, starts, encoding, ids)
    programs, refused = list[Program](), dict[int, str]()
    for place, (one, path) in enumerate(kinds):
        try:
            programs.append(_program(encoding, shape, one, path))
        except SchemaRefused as error:
            refused[place] = f"its schema, {one}, cannot be read: {error}" if one >= 0 else str(error)
            programs.append(NULL)
    of: Places = np.where(np.isin(found, list(refused)), -1, found).astype(np.int32)
    written = write(records.text, starts, records.ends, of, programs)
    reasons = {}
    for row in np.flatnonzero(written.fault).tolist():
        byte = int(written.at[row] - records.starts[row]) + 1
        reasons[row] = refused.get(int(found[row])) or f"byte {byte}: {REASONS[int(written.fault[row])]}"
    left_out = None
    if shape.schema is not None:
        values = [one.schema_text for one in programs]
        codes = np.where(np.isin(of, [at for at, one in enumerate(programs) if one.schema]), of, -1)
        left_out = LeftOut(values, codes.astype(np.int32), shape.at)
    return EncodedLines(written.data, written.ends, left_out, reasons)


def _kinds(records: Records, starts: Ints, encoding: Encoding, ids: Ints) -> tuple[list[tuple[int, int]], Ints]:
    """Return which schemas records have, and which message of these each is; and of each record its place there.

    Move where records begin to after what says that.
    """
    known, of = np.unique(ids, return_inverse=True)
    of_protobuf = [one in encoding.schemas and encoding.schemas[one].type == "PROTOBUF" for one in known.tolist()]
    if not any(of_protobuf):
        return [(one, 0) for one in known.tolist()], of
    paths = np.zeros(len(ids), np.int64)
    transcode.read_paths(records.text, starts, records.ends, np.array(of_protobuf)[of], paths)
    messages, inside = np.unique(paths, return_inverse=True)
    both, found = np.unique(of * len(messages) + inside, return_inverse=True)
    places = (divmod(one, len(messages)) for one in both.tolist())
    return [(int(known[one]), int(messages[other])) for one, other in places], found


def _message(path: int) -> tuple[int, ...]:
    """Return the indexes of a message in its file. Raises SchemaRefused."""
    if path == transcode.NO_PATH:
        raise SchemaRefused("the record does not say which of its messages it is")
    most = (1 << transcode.INDEX_BITS) - 1
    found = [path & most]
    while path := path >> transcode.INDEX_BITS:
        found.append((path & most) - 1)
    return tuple(found)


def _program(encoding: Encoding, shape: Shape, schema: int, path: int) -> Program:
    """Return the program of the records that have a schema's id, or none. Raises SchemaRefused."""
    if schema == transcode.NULL:
        return NULL
    if schema >= 0 and schema not in encoding.schemas:
        raise SchemaRefused(
            "the registry does not have it: it was deleted there, or the record was written with another registry; "
            "register it again under its id (mode IMPORT), or correct Kafka_Schema_Registry at the source location; or "
            "it is no record of a registry, and only begins as these do, with a zero byte"
        )
    if schema >= 0:
        return program_of(replace(encoding.schemas[schema], message=_message(path)), *shape.around)
    if isinstance(encoding.unframed, WrittenSchema):
        return program_of(encoding.unframed, *shape.around)
    if encoding.unframed == "none":
        raise SchemaRefused(REASONS[NO_FRAME])
    engine = transcode.TEXT if schema == AS_TEXT else _PLAIN[encoding.unframed]
    if shape.always:
        return _between(engine, f'{{"{shape.schema}":null,"{shape.member}":'.encode(), b"}")
    is_whole = engine == transcode.JSON and schema != ALONE
    return _between(engine, *((b"", b"") if is_whole else (f'{{"{VALUE}":'.encode(), b"}")))


@lru_cache(maxsize=64)
def _between(engine: int, before: bytes, after: bytes) -> Program:
    """Return as `between`, the same program each time."""
    return between(engine, before, after)
