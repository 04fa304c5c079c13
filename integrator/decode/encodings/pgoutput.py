"""Frames that PostgreSQL's pgoutput sends, and rows of its COPY, as records, by their relations.

A record is that of the JSON `{"action":"I","schema":"public","table":"orders","new":{"id":"1"}}`, which is never
written: its values are found in the frames (`IndexedLines`). They are PostgreSQL's text. An image does not have what
was not sent: unchanged values that are stored out of line (TOAST), and of a key all but its columns.
https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xxhash

from integrator.contracts.rejected import Rejected
from integrator.decode.lines.indexed import IndexedLines
from integrator.decode.lines.lines import json_text
from integrator.decode.lines.reading import LineReading, without_utf_8
from integrator.engine.arrays import Octets, words
from integrator.engine.frame_nodes import (
    DAMAGED,
    MEMBERS,
    SCRATCH_BYTES,
    VALUES,
    Relations,
    index_frames,
    measure,
    not_utf_8,
)
from integrator.engine.index import Nodes
from integrator.engine.json_writer import output_of
from integrator.engine.pgoutput import HEADER_BYTES, NO_RELATION, RELATION, frames_of
from integrator.engine.words import WORD, hash_of
from integrator.errors import DataError, EnvironmentFault, Fault, Place

BLOCK_BYTES = 4 * 1024 * 1024
"""Frames that become records at once, about."""
_ANY_BYTES = (
    "a database whose encoding is SQL_ASCII sends bytes as it has them; with `errors: {tolerance: all}` such a change "
    "is rejected, and the next ones are sent"
)
_DAMAGED = "is damaged: it is no segment of frames; restore it, or go back to before it (integrator state --back-to)"


@dataclass(frozen=True)
class Column:
    """A column of a relation: its name, its type's oid and modifier, and whether it is in the replica identity."""

    name: str
    type: int
    modifier: int
    in_key: bool


@dataclass(frozen=True)
class Relation:
    """A table as PostgreSQL announces it before its first change. identity: d(efault), n(othing), f(ull), i(ndex)."""

    oid: int
    schema: str
    table: str
    identity: str
    columns: tuple[Column, ...]

    @property
    def full_name(self) -> str:
        """Its schema and name."""
        return f"{self.schema}.{self.table}"

    @property
    def digest(self) -> int:
        """What identifies its columns and its identity, as 63 bits: another table, or other columns, has another."""
        columns = [(one.name, one.type, one.modifier, one.in_key) for one in self.columns]
        return xxhash.xxh3_64_intdigest(repr((self.schema, self.table, columns)).encode()) >> 1

    @property
    def defines(self) -> bool:
        """Whether it has the table's columns; one without any only names the table of a TRUNCATE."""
        return bool(self.columns)

    def message(self) -> bytes:
        """Return the message that announces it."""
        head = b"R" + struct.pack(">I", self.oid) + self.schema.encode() + b"\0" + self.table.encode() + b"\0"
        columns = [
            struct.pack(">B", one.in_key) + one.name.encode() + b"\0" + struct.pack(">Ii", one.type, one.modifier)
            for one in self.columns
        ]
        return head + self.identity.encode() + struct.pack(">H", len(columns)) + b"".join(columns)


def relation_of(message: bytes) -> Relation:
    """Return the relation that a message of kind R announces."""
    [oid] = struct.unpack_from(">I", message, 1)
    schema, at = _name(message, 5)
    table, at = _name(message, at)
    identity, many = struct.unpack_from(">cH", message, at)
    at += 3
    columns = []
    for _ in range(many):
        flags = message[at]
        name, at = _name(message, at + 1)
        kind, modifier = struct.unpack_from(">Ii", message, at)
        at += 8
        columns.append(Column(name, kind, modifier, bool(flags & 1)))
    return Relation(oid, schema or "pg_catalog", table, identity.decode(), tuple(columns))


def _name(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def frame(message: bytes) -> bytes:
    """Return a message as a frame."""
    return struct.pack("<I", len(message)) + message


def messages_of(data: bytes | mmap.mmap, kind: int) -> list[bytes]:
    """Return the messages of a kind in whole frames."""
    octets, places = np.frombuffer(data, np.uint8), np.empty(64, np.int64)
    count, _ = frames_of(octets, kind, places)
    if count > len(places):
        places = np.empty(count, np.int64)
        frames_of(octets, kind, places)
    found = []
    for at in places[:count].tolist():
        [size] = struct.unpack_from("<I", data, at)
        found.append(data[at + HEADER_BYTES : at + HEADER_BYTES + size])
    return found


def message_at(frames: Octets, at: int) -> bytes:
    """Return the message of the frame that begins at a place."""
    size = int(frames[at : at + HEADER_BYTES].view("<u4")[0])
    return frames[at + HEADER_BYTES : at + HEADER_BYTES + size].tobytes()


def split(data: bytes) -> Iterator[bytes]:
    """Yield the messages of whole frames."""
    at = 0
    while at < len(data):
        [size] = struct.unpack_from("<I", data, at)
        at += HEADER_BYTES + size
        yield data[at - size : at]


def whole_bytes(data: bytes) -> int:
    """Return how many bytes of data are whole frames."""
    return frames_of(np.frombuffer(data, np.uint8), RELATION, np.empty(0, np.int64))[1]


def relations_in(data: bytes | mmap.mmap) -> list[Relation]:
    """Return the relations that frames announce."""
    return [relation_of(one) for one in messages_of(data, RELATION)]


def relations_of(path: Path) -> list[Relation]:
    """Return the relations that the frames of a file announce; what is between them is not read."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return []
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return relations_in(data)


def records_of(
    file: str, data: bytes, relations: Sequence[Relation], how: LineReading, most: int = BLOCK_BYTES
) -> Iterator[IndexedLines]:
    """Yield frames as records, as `as_they_came`. Raises DataError for text that is not UTF-8, too."""
    for block, is_ascii in _blocks(file, data, relations, most):
        records = replace(block, hidden=how.hidden)
        yield records if is_ascii else in_utf_8(records, how)


def as_they_came(
    file: str, data: bytes, relations: Sequence[Relation], most: int = BLOCK_BYTES
) -> Iterator[IndexedLines]:
    """Yield frames as records, whose text is that of the frames, whether it is UTF-8 or not.

    They are numbered from 1, and come in blocks of about `most` bytes of frames. Raises EnvironmentFault.
    """
    for block, _ in _blocks(file, data, relations, most):
        yield block


def _blocks(file: str, data: bytes, relations: Sequence[Relation], most: int) -> Iterator[tuple[IndexedLines, bool]]:
    """Yield blocks, and whether all of their values are ASCII."""
    octets, (literals, places) = np.frombuffer(data, np.uint8), _places(relations)
    at, number = 0, 1
    while at < len(octets):
        found = np.zeros(3, np.int64)
        end = measure(octets, at, most, places, found)
        if end == NO_RELATION:
            raise EnvironmentFault(f"{file}: has changes of a relation that it does not announce; it {_DAMAGED}")
        if end == DAMAGED:
            raise EnvironmentFault(f"{file}: {_DAMAGED}")
        many, nodes, begins = found.tolist()
        size = len(literals) + end - at
        room = size + 1 + begins * SCRATCH_BYTES + WORD
        if room >= 1 << 31:
            raise EnvironmentFault(f"{file}: one change has over 2 GiB")
        text = bytearray(room)
        text[: len(literals)] = literals
        text[len(literals) : size] = memoryview(data)[at:end]
        indexed = Nodes.of_size(nodes, many)
        count, odd = index_frames(output_of(np.frombuffer(text, np.uint8)), (len(literals), size), places, indexed)
        if count == DAMAGED:
            raise EnvironmentFault(f"{file}: {_DAMAGED}")
        if count:
            yield IndexedLines.of(file, text, np.arange(number, number + count), indexed), not odd
        at, number = end, number + count


def in_utf_8(records: IndexedLines, how: LineReading) -> IndexedLines:
    """Return the records whose values are UTF-8. Raises DataError for another one, where that is not tolerated."""
    nodes = records.nodes
    view, wrong, node, many = words(records.text), list[int](), 0, int(nodes.first[-1])
    while (node := not_utf_8(records.text, view, nodes, node, many)) >= 0:
        wrong.append(int(np.searchsorted(nodes.first, node, side="right")) - 1)
        node = int(nodes.first[wrong[-1] + 1])
    if not wrong:
        return records

    def fault(at: int) -> Fault:
        reason = f"not UTF-8: {without_utf_8(records.written(at))}; {_ANY_BYTES}"
        return Fault(Place(records.file, int(records.numbers[at])), reason)

    if not how.tolerant:
        raise DataError(fault(wrong[0]))
    left = records.take(np.delete(np.arange(len(records)), wrong))
    return replace(left, rejected=tuple(Rejected(fault(at), "VALUE_CONVERTER") for at in wrong))


def _places(relations: Sequence[Relation]) -> tuple[bytes, Relations]:
    """Return what stands before frames that are indexed, and where the names of relations are in it."""
    text = bytearray(b"".join(VALUES))

    def placed(name: bytes) -> tuple[int, int]:
        text.extend(name)
        return len(text) - len(name), len(text)

    ordered = sorted(relations, key=lambda one: one.oid)
    names, in_key = [placed(one) for one in MEMBERS], [False] * len(MEMBERS)
    head, bounds = [], [len(names)]
    for one in ordered:
        head.append([at for name in (one.schema, one.table) for at in placed(b'"' + name.encode() + b'"')])
        for column in one.columns:
            names.append(placed(json_text(column.name)))
            in_key.append(column.in_key)
        bounds.append(len(names))
    view = words(np.frombuffer(bytes(text) + bytes(WORD), np.uint8))
    return bytes(text), Relations(
        np.array([one.oid for one in ordered], np.int64),
        np.array([start for start, _ in names], np.int32),
        np.array([hash_of(view, start, end) for start, end in names], np.uint64),
        np.array(head, np.int32).reshape(-1, 4),
        np.array(bounds, np.int64),
        np.array(in_key, np.bool_),
    )
