"""Messages of logical replication as frames in a spool, and where they stand (I9).

A segment begins with a message of our own, START, that has where the stream stood there; and it has each relation
before its first change. So a segment is read alone, and the last one says what is durable.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from integrator.decode.encodings.pgoutput import Relation, frame, relation_of, split, whole_bytes
from integrator.engine.pgoutput import BEGIN, COMMIT, COPY, DELETE, INSERT, MESSAGE, START, TRUNCATE, UPDATE
from integrator.sources.spool import Framing, sealed_in

FRAMES = Framing("frames", whole_bytes, None)
LEFT = b"2"
"""Our own: a change that a snapshot has, and that is not read again."""
NOTE = b"3"
"""Our own: before a transaction, what the product notes of it."""
CHANGES = frozenset((INSERT, UPDATE, DELETE, TRUNCATE, MESSAGE, LEFT[0]))
"""What is counted in a transaction."""
ROWS = frozenset((INSERT, UPDATE, DELETE))
_START, _BEGIN_BYTES = struct.Struct(">QQQ"), 21
_ALIGNED = 7
"""Records of the log begin at multiples of 8, so that the position before a snapshot's is none of a transaction."""


def position_after(lsn: int) -> int:
    """Return the first position for a snapshot whose rows are after what has the position `lsn`."""
    return lsn + 2 + _ALIGNED & ~_ALIGNED


@dataclass(frozen=True)
class Standing:
    """Where a stream stands.

    lsn: of the commit of the last transaction. changes: how many of its changes there are. end: where the last whole
    transaction ends in the log: up to there it may be confirmed. begun: the BEGIN of a transaction whose end is not
    there; else empty. last: the BEGIN of the last transaction, where it is known: by it a log is told from another one.
    history: what the product keeps, KNOWN|OPEN: texts, with commas between, of what was captured, and of what is then,
    too, when the transaction that is open has ended. `end_of` follows it.
    """

    lsn: int = 0
    changes: int = 0
    end: int = 0
    begun: bytes = b""
    last: bytes = b""
    history: bytes = b""

    @property
    def is_open(self) -> bool:
        """Whether the end of the last transaction is not there."""
        return bool(self.begun)

    @property
    def in_snapshot(self) -> bool:
        """Whether rows of a snapshot are the last, and not all of them are there."""
        return self.is_open and self.is_of_rows

    @property
    def is_of_rows(self) -> bool:
        """Whether the last transaction is one of a snapshot, which no log has."""
        return self.lsn & _ALIGNED == _ALIGNED

    def after(self, message: bytes) -> Standing:
        """Return where it stands after a message."""
        kind = message[0]
        if kind in CHANGES:
            return replace(self, changes=self.changes + 1)
        if kind == BEGIN:
            return replace(self, lsn=struct.unpack_from(">Q", message, 1)[0], changes=0, begun=message, last=message)
        if kind == COMMIT:
            return replace(self, begun=b"", end=struct.unpack_from(">Q", message, 10)[0])
        if kind == START:
            lsn, changes, end = _START.unpack_from(message, 1)
            begun = begun_in(message)
            return Standing(lsn, changes, end, begun, begun, message[1 + _START.size + len(begun) :])
        return self

    def message(self) -> bytes:
        """Return the message with which a segment begins."""
        return bytes([START]) + _START.pack(self.lsn, self.changes, self.end) + self.begun + self.history


def begin(lsn: int, micros: int, number: int) -> bytes:
    """Return a BEGIN: of a commit at `lsn`, at `micros` since 2000, with a transaction's number."""
    return struct.pack(">BQqI", BEGIN, lsn, micros, number)


def commit(lsn: int, end: int, micros: int) -> bytes:
    """Return a COMMIT."""
    return struct.pack(">BBQQq", COMMIT, 0, lsn, end, micros)


def copied(oid: int, rows: bytes) -> bytes:
    """Return rows of COPY as a message."""
    return struct.pack(">BI", COPY, oid) + rows


def deleted(relation: Relation, values: Mapping[str, str]) -> bytes:
    """Return a DELETE of a row of which some columns are known, as text; the others are as if they had not changed."""
    cells = []
    for column in relation.columns:
        value = values.get(column.name)
        text = b"" if value is None else value.encode()
        cells.append(b"u" if value is None else struct.pack(">cI", b"t", len(text)) + text)
    return struct.pack(">BIcH", DELETE, relation.oid, b"O", len(cells)) + b"".join(cells)


def standing_in(spool: Path) -> Standing | None:
    """Return where the stream stands by what is durable in a spool's directory; None where there are no segments."""
    segments = sealed_in(spool)
    return end_of(segments[-1]) if segments else None


def end_of(segment: Path) -> Standing:
    """Return where the stream stands at the end of a segment."""
    found, known, noted = Standing(), list[bytes](), b""
    for message in split(segment.read_bytes()):
        found = found.after(message)
        kind = message[0]
        if kind == NOTE[0] or (kind == START and found.history):
            more, _, noted = (found.history if kind == START else message[1:]).partition(b"|")
            known.append(more)
        elif kind == COMMIT and noted:
            known.append(noted)
            noted = b""
    return replace(found, history=b",".join(filter(None, known)) + b"|" + noted) if known else found


def begun_in(start: bytes) -> bytes:
    """Return the BEGIN of the transaction that is open where a segment begins, given its START; else nothing."""
    at = 1 + _START.size
    return start[at : at + _BEGIN_BYTES] if start[at : at + 1] == bytes([BEGIN]) else b""


def _name_in(relation: bytes) -> bytes:
    """Return the schema and the name of a relation, as its message has them."""
    return relation[5 : relation.index(b"\0", relation.index(b"\0", 5) + 1)]


class Segment:
    """Frames that are not durable yet, and are written all at once."""

    def __init__(self, standing: Standing) -> None:
        self._relations: dict[bytes, bytes] = {}
        self.clear(standing)

    def clear(self, standing: Standing) -> None:
        """Begin a new one."""
        self.pieces = [frame(standing.message())]
        self.size = 0
        self._there: set[bytes] = set()
        self._names: dict[bytes, bytes] = {}

    def know(self, message: bytes) -> bool:
        """Take note of a relation; return whether another one of its number or its name has changes here."""
        oid = message[1:5]
        before = self._relations.get(oid)
        self._relations[oid] = message
        return (oid in self._there and before != message) or self._names.get(_name_in(message), oid) != oid

    def knows(self, oid: bytes) -> bool:
        """Return whether a relation is known."""
        return oid in self._relations

    def relation(self, oid: bytes) -> Relation:
        """Return a relation that is known."""
        return relation_of(self._relations[oid])

    def add(self, message: bytes) -> None:
        """Add a message that is of no relation."""
        self.pieces.append(struct.pack("<I", len(message)))
        self.pieces.append(message)
        self.size += len(message) + 4

    def add_frames(self, frames: bytes) -> None:
        """Add frames of changes whose relations are there."""
        self.pieces.append(frames)
        self.size += len(frames)

    def announce(self, oid: bytes) -> None:
        """Add a relation, where it is not there yet."""
        if oid not in self._there:
            self._there.add(oid)
            self._names[_name_in(self._relations[oid])] = oid
            self.add(self._relations[oid])

    def add_change(self, message: bytes, oid: bytes) -> None:
        """Add a change, after its relation where that is not there yet."""
        if oid not in self._there:
            self.announce(oid)
        self.pieces.append(struct.pack("<I", len(message)))
        self.pieces.append(message)
        self.size += len(message) + 4
