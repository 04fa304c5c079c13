"""Events of MariaDB's log, and places in it.

https://mariadb.com/kb/en/2-binlog-event-header/. A place is a file's number, and how many bytes are before it there, as
one number that ascends; its lowest bits are 0, so that the place before a snapshot's is none of a transaction.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from integrator.errors import EnvironmentFault
from integrator.sources.binlog.charsets import Charsets
from integrator.sources.capture.record import ANEW

HEADER_BYTES, CHECKSUM_BYTES = 19, 4
(
    QUERY, ROTATE, FORMAT, XID, TABLE_MAP, INCIDENT, HEARTBEAT, XA_PREPARE, GTID, QUERY_COMPRESSED,
) = (2, 4, 15, 16, 19, 26, 27, 38, 162, 165)  # fmt: skip
INSERTS, UPDATES, DELETES = frozenset((23, 166)), frozenset((24, 167)), frozenset((25, 168))
ROWS = INSERTS | UPDATES | DELETES
LOADED = frozenset((9, 17, 18))
"""What LOAD DATA is in a log of statements."""
IGNORED = frozenset((3, 5, 13, 14, 160, 161, 163, 164))
"""Ends of files, what is of a statement, comments, and lists: none has changes."""
IGNORABLE = 0x80
NO_TABLE = b"\xff\xff\xff\0\0\0"
"""The number of rows that are of no table, with which a statement may end."""
COMPRESSED = frozenset((166, 167, 168))
ARTIFICIAL = 0x20
STANDALONE = 1
"""Of a GTID's flags: one statement follows, without an end of its own."""
_HEADER = struct.Struct("<IBIIIH")
_FILE_SHIFT, _AT_SHIFT = 36, 3
_CHARSET, _CATALOG = 4, 6
"""Of what is known of a statement."""
_DAMAGED = f"the log is damaged there, or was reset; {ANEW}"
FIRST_EVENT = 4
"""Where the first event of a file begins."""


def place_of(file: str, at: int) -> int:
    """Return a place in the log as a number. Raises EnvironmentFault for a file without one."""
    number = file.rpartition(".")[2]
    if not number.isdecimal():
        raise EnvironmentFault(f"the log's file {file} has no number at its end")
    if at >> _FILE_SHIFT - _AT_SHIFT:
        raise EnvironmentFault(f"the log's file {file} is larger than 8 GiB, and places beyond that are not followed")
    return int(number) << _FILE_SHIFT | at << _AT_SHIFT


def file_and_offset(place: int) -> tuple[int, int]:
    """Return the number of a place's file, and the bytes before it there."""
    return place >> _FILE_SHIFT, (place & ((1 << _FILE_SHIFT) - 1)) >> _AT_SHIFT


def place_text(place: int) -> str:
    """Return a place as people read it: the number of the file, and the offset."""
    number, at = file_and_offset(place)
    return f"{number:06d}:{at}"


@dataclass(frozen=True)
class Event:
    """An event. seconds: since 1970. end: the bytes before its end, as far as 32 bits hold them."""

    kind: int
    seconds: int
    server: int
    end: int
    flags: int
    body: bytes

    @property
    def is_artificial(self) -> bool:
        """Whether it is none of the log, but made for this connection."""
        return bool(self.flags & ARTIFICIAL) or self.end == 0


def event_of(packet: bytes, *, checksums: bool) -> Event:
    """Return the event of a packet, after its first byte. Raises EnvironmentFault for one that is damaged."""
    seconds, kind, server, size, end, flags = _HEADER.unpack_from(packet, 1)
    if size != len(packet) - 1:
        raise EnvironmentFault(f"an event of kind {kind} is not as long as it says: {_DAMAGED}")
    last = len(packet)
    if checksums or kind == FORMAT:
        last -= CHECKSUM_BYTES
        if checksums and zlib.crc32(packet[1:last]) != int.from_bytes(packet[last:], "little"):
            raise EnvironmentFault(f"an event of kind {kind} does not have its checksum: {_DAMAGED}")
    return Event(kind, seconds, server, end, flags, packet[1 + HEADER_BYTES : last])


def inflated(data: bytes) -> bytes:
    """Return what is after a compressed event's head: a byte says how many bytes of size follow, and then zlib's."""
    return zlib.decompress(data[1 + (data[0] & 7) :])


@dataclass(frozen=True)
class Statement:
    """A statement of the log. database: the one it was run in."""

    database: str
    text: str


def statement_of(event: Event, charsets: Charsets) -> Statement:
    """Return the statement of a QUERY event (https://mariadb.com/kb/en/query_event/), in its client's character set."""
    body = event.body
    size, status = body[8], int.from_bytes(body[11:13], "little")
    at = 13 + status
    text = body[at + size + 1 :]
    if event.kind == QUERY_COMPRESSED:
        text = inflated(text)
    client = _client_of(body[13:at])
    name = "utf8mb4" if client is None else charsets.of_collation(client)
    return Statement(body[at : at + size].decode(errors="replace"), charsets.decoded(name, text))


def _client_of(status: bytes) -> int | None:
    """Return the collation of a statement's client, which is after what else is known of it; None where it is not."""
    sizes = {0: 4, 1: 8, 3: 4}
    at = 0
    while at < len(status):
        kind = status[at]
        if kind == _CHARSET:
            return int.from_bytes(status[at + 1 : at + 3], "little")
        if kind == _CATALOG:
            at += 2 + status[at + 1]
        elif kind in sizes:
            at += 1 + sizes[kind]
        else:
            return None
    return None


class Cursor:
    """Reads numbers and names of an event."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self) -> int:
        """Return a number of one byte, or of more, as its first one says."""
        [first] = self.take(1)
        wide = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
        return first if wide is None else int.from_bytes(self.take(wide), "little")

    @property
    def is_done(self) -> bool:
        """Whether nothing follows."""
        return self.at >= len(self.data)
