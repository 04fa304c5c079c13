"""Frames that PostgreSQL's pgoutput sends, and rows of its COPY, as lines of JSON, by their relations.

A line is `{"action":"I","schema":"public","table":"orders","new":{"id":"1"}}`: values are PostgreSQL's text. An image
does not have what was not sent: unchanged values that are stored out of line (TOAST), and of a key all but its columns.
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

from integrator.decode.lines.lines import Lines, json_text
from integrator.decode.lines.reading import LineReading, in_utf_8
from integrator.engine.arrays import Octets, words
from integrator.engine.json_writer import output_of
from integrator.engine.pgoutput import (
    DAMAGED,
    HEADER_BYTES,
    NO_RELATION,
    RELATION,
    TEXTS,
    Relations,
    frames_of,
    measure,
    write_frames,
)
from integrator.engine.words import WORD
from integrator.errors import EnvironmentFault

BLOCK_BYTES = 4 * 1024 * 1024
"""Frames that become lines at once, about."""
ACTION_AT = TEXTS[0].index(b"B")
"""Where in a line the letter of its action is."""
_ANY_BYTES = (
    "a database whose encoding is SQL_ASCII sends bytes as it has them; with `errors: {tolerance: all}` such a change "
    "is rejected, and the next ones are sent"
)
_ASCII = 128
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


def lines_of(
    file: str, data: bytes, relations: Sequence[Relation], how: LineReading, most: int = BLOCK_BYTES
) -> Iterator[Lines]:
    """Yield frames as lines, as `as_they_came`. Raises DataError for text that is not UTF-8, too."""
    for lines in as_they_came(file, data, relations, most):
        is_ascii = bool(lines.text.max() < _ASCII)
        yield in_utf_8(replace(lines, hidden=how.hidden), replace(how, remedy=_ANY_BYTES), is_ascii=is_ascii)


def as_they_came(file: str, data: bytes, relations: Sequence[Relation], most: int = BLOCK_BYTES) -> Iterator[Lines]:
    """Yield frames as lines, whose text is that of the frames, whether it is UTF-8 or not.

    Lines are numbered from 1, and come in blocks of about `most` bytes of frames. Raises EnvironmentFault.
    """
    octets, programs = np.frombuffer(data, np.uint8), _programs(relations)
    at, number = 0, 1
    while at < len(octets):
        block, end, count = _block(file, octets, (at, most), programs)
        if count:
            yield Lines(file, block[0], np.arange(number, number + count), block[1])
        at, number = end, number + count


def _block(
    file: str, octets: Octets, where: tuple[int, int], programs: Relations
) -> tuple[tuple[bytearray, np.ndarray[tuple[int], np.dtype[np.int32]]], int, int]:
    """Return the lines of frames, and where each begins; where the frames end; and how many.

    where: at which byte the frames begin, and about how many bytes they have.
    """
    at, most = where
    found = np.zeros(2, np.int64)
    end = measure(octets, at, most, programs, found)
    if end == NO_RELATION:
        raise EnvironmentFault(f"{file}: has changes of a relation that it does not announce; it {_DAMAGED}")
    if end == DAMAGED:
        raise EnvironmentFault(f"{file}: {_DAMAGED}")
    room = int(found[1]) + 2 * WORD
    if room >= 1 << 31:
        raise EnvironmentFault(f"{file}: one change would have over 2 GiB as JSON")
    out, offsets = np.empty(room, np.uint8), np.zeros(int(found[0]) + 1, np.int32)
    count = write_frames(octets, words(octets), (at, end), programs, output_of(out), offsets)
    if count == DAMAGED:
        raise EnvironmentFault(f"{file}: {_DAMAGED}")
    return (bytearray(out[: offsets[count]].data), offsets[: count + 1]), end, count


def _programs(relations: Sequence[Relation]) -> Relations:
    """Return what is written for relations."""
    texts = list(TEXTS)
    size = sum(map(len, texts))

    def placed(text: bytes) -> tuple[int, int]:
        nonlocal size
        texts.append(text)
        size += len(text)
        return size - len(text), size

    ordered = sorted(relations, key=lambda one: one.oid)
    head, names, in_key, bounds = [], [], [], [0]
    for one in ordered:
        head.append(placed(b',"schema":' + json_text(one.schema) + b',"table":' + json_text(one.table)))
        for column in one.columns:
            names.append(placed(json_text(column.name) + b":"))
            in_key.append(column.in_key)
        bounds.append(len(names))
    literals = np.frombuffer(b"".join(texts) + bytes(WORD), np.uint8)
    return Relations(
        np.array([one.oid for one in ordered], np.int64),
        np.array(head, np.int64).reshape(-1, 2),
        np.array(bounds, np.int64),
        np.array(names, np.int64).reshape(-1, 2),
        np.array(in_key, np.bool_),
        words(literals),
    )
