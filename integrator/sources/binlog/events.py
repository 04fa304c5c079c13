"""Events of MySQL's and MariaDB's log, and positions in it.

https://mariadb.com/kb/en/2-binlog-event-header/,
https://dev.mysql.com/doc/dev/mysql-server/latest/namespacemysql_1_1binlog_1_1event.html.
A position is a file's number, and how many bytes are before it there, as one number that ascends; its lowest bits are
0, so that the position before a snapshot's is none of a transaction. Where another server has taken the place of the
captured one, its files are numbered onward: positions ascend.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from integrator.errors import EnvironmentFault
from integrator.sources.binlog.charsets import Charsets
from integrator.sources.binlog.gtids import Gtid
from integrator.sources.capture.record import ANEW

HEADER_BYTES, CHECKSUM_BYTES = 19, 4
(
    QUERY, ROTATE, FORMAT, XID, TABLE_MAP, INCIDENT, HEARTBEAT, XA_PREPARE, PARTIAL, PAYLOAD, QUERY_COMPRESSED,
) = (2, 4, 15, 16, 19, 26, 27, 38, 39, 40, 165)  # fmt: skip
_GTID_OF_MARIADB, _GTID, _NO_GTID, _TAGGED_GTID = 162, 33, 34, 42
GTIDS = frozenset((_GTID_OF_MARIADB, _GTID, _NO_GTID, _TAGGED_GTID))
"""Each transaction begins with one; those of MySQL may have no number."""
INSERTS, UPDATES, DELETES = frozenset((23, 30, 166)), frozenset((24, 31, 167)), frozenset((25, 32, 168))
ROWS = INSERTS | UPDATES | DELETES
WITH_MORE = frozenset((30, 31, 32))
"""Rows with data of their own before them, whose bytes two say, themselves among them."""
LOADS, DROPS_LOADED = 18, 11
LOADED = frozenset((9, DROPS_LOADED, 17, LOADS))
"""What LOAD DATA is in a log of statements: LOADS executes it."""
IGNORED = frozenset((3, 5, 13, 14, 28, 29, 35, 36, 37, 160, 161, 163, 164))
"""Ends of files, what is of a statement, comments, lists, and what is of a group's members: none has changes."""
IGNORABLE = 0x80
NO_TABLE = b"\xff\xff\xff\0\0\0"
"""The number of rows that are of no table, with which a statement may end."""
COMPRESSED = frozenset((166, 167, 168))
ARTIFICIAL = 0x20
_STANDALONE = 1
"""Of a GTID's flags in MariaDB: one statement follows, without an end of its own."""
_UUID_AT, _NUMBERS_AT, _SEQUENCE_AT, _COMMITTED_AT, _COMMITTED_BYTES = 1, 17, 34, 42, 7
"""In a GTID of MySQL: after flags and UUID its number, then a type and two numbers, the second in the log's order; and
when it was committed, in microseconds since 1970, whose highest bit is set where more follows."""
_HEADER = struct.Struct("<IBIIIH")
_FILE_SHIFT, _AT_SHIFT, _NUMBER_BITS = 38, 3, 25
"""A position has 63 bits: those of the file's number, of an offset, and the lowest ones."""
_HOW_COMPRESSED, _ZSTD, _NOT_COMPRESSED, _SIZE_AT = 2, 0, 255, 9
"""Fields of what is compressed, and how it may be."""
_LOADS_BYTES = 13
"""Of a file's number, two places in the statement, and what happens to duplicates."""
_MODES, _CHARSET, _CATALOG = 1, 4, 6
_SIZES = {0: 4, _MODES: 8, 3: 4, _CHARSET: 6}
"""Of what is known of a statement."""
_DAMAGED = f"the log is damaged there, or was reset; {ANEW}"
FIRST_EVENT = 4
"""Where the first event of a file begins."""


def position_of(file: str, at: int, onward: int = 0) -> int:
    """Return a position in the log as a number. Raises EnvironmentFault for a file without one.

    onward: how much higher files are numbered here than at the server.
    """
    number = file.rpartition(".")[2]
    if not number.isdecimal():
        raise EnvironmentFault(f"the log's file {file} has no number at its end")
    if at >> _FILE_SHIFT - _AT_SHIFT or int(number) + onward >> _NUMBER_BITS:
        raise EnvironmentFault(
            f"the log's file {file} is larger than 32 GiB, or its number above {(1 << _NUMBER_BITS) - 1}: positions "
            "beyond that are not followed"
        )
    return int(number) + onward << _FILE_SHIFT | at << _AT_SHIFT


def position_at(text: str, base: str) -> int:
    """Return a position given as FILE:OFFSET. base: of the log's files. Raises EnvironmentFault for another's."""
    file, _, at = text.rpartition(":")
    if file.rpartition(".")[0] != base:
        raise EnvironmentFault(f"start_position: the log has no file {file}: its files are called {base}.NUMBER")
    return position_of(file, int(at))


def position_in_no_log(number: int) -> int:
    """Return a position that is before all of a log; those of larger numbers, up to 2 ** 35, are after it."""
    return number << _AT_SHIFT


def file_and_offset(position: int) -> tuple[int, int]:
    """Return the number of a position's file, and the bytes before it there."""
    return position >> _FILE_SHIFT, (position & ((1 << _FILE_SHIFT) - 1)) >> _AT_SHIFT


def position_text(position: int, onward: int = 0) -> str:
    """Return a position as people read it: the number of the file, and the offset."""
    number, at = file_and_offset(position)
    return f"{number - onward:06d}:{at}"


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


@dataclass(frozen=True)
class Begun:
    """What begins a transaction. number: its own. micros: when it was committed, since 1970. gtid: where it has one.

    is_standalone: whether it is one statement, without an end of its own; None where the statement shows that.
    """

    number: int
    micros: int
    is_standalone: bool | None = None
    gtid: Gtid | None = None


def begun_by(event: Event) -> Begun:
    """Return what an event of GTIDS has; of one with a tag only its time."""
    body, micros = event.body, event.seconds * 1_000_000
    if event.kind == _GTID_OF_MARIADB:
        number, domain = struct.unpack_from("<QI", body)
        own = Gtid(f"{domain}-{event.server}", number, event.seconds)
        return Begun(number & 0xFFFFFFFF, micros, bool(body[12] & _STANDALONE), own)
    if event.kind == _TAGGED_GTID or len(body) < _COMMITTED_AT + _COMMITTED_BYTES:
        return Begun(0, micros)
    number = int.from_bytes(body[_NUMBERS_AT : _NUMBERS_AT + 8], "little")
    at = _NUMBERS_AT if event.kind == _GTID else _SEQUENCE_AT
    gtid = Gtid(str(uuid.UUID(bytes=body[_UUID_AT:_NUMBERS_AT])), number) if event.kind == _GTID else None
    committed = int.from_bytes(body[_COMMITTED_AT : _COMMITTED_AT + _COMMITTED_BYTES], "little") & ~(
        1 << 8 * _COMMITTED_BYTES - 1
    )
    return Begun(int.from_bytes(body[at : at + 4], "little"), committed, gtid=gtid)


def unpacked(event: Event) -> Iterator[Event]:
    """Yield the events of a transaction that the log has compressed, as if each ended where all end.

    https://dev.mysql.com/doc/refman/8.4/en/binary-log-transaction-compression.html. Raises EnvironmentFault.
    """
    cursor, fields = Cursor(event.body), dict[int, int]()
    while field := cursor.number():
        fields[field] = Cursor(cursor.take(cursor.number())).number()
    source = pa.BufferReader(event.body[cursor.at :])
    how = fields.get(_HOW_COMPRESSED, 0)
    if how == _ZSTD:
        source = pa.CompressedInputStream(source, "zstd")  # a transaction may be larger than memory
    elif how != _NOT_COMPRESSED:
        raise EnvironmentFault(f"a transaction is compressed in way {how}, which is not read")
    while head := source.read(HEADER_BYTES):
        size = int.from_bytes(head[_SIZE_AT : _SIZE_AT + 4], "little")
        if size < HEADER_BYTES:
            raise EnvironmentFault(f"a compressed transaction has an event of {size} bytes: {_DAMAGED}")
        own = event_of(b"\0" + head + source.read(size - HEADER_BYTES), checksums=False)
        yield replace(own, end=event.end, flags=own.flags & ~ARTIFICIAL)


def inflated(data: bytes) -> bytes:
    """Return what is after a compressed event's head: a byte says how many bytes of size follow, and then zlib's."""
    return zlib.decompress(data[1 + (data[0] & 7) :])


@dataclass(frozen=True)
class Statement:
    """A statement of the log. database: the one it was run in. modes: its client's sql_mode."""

    database: str
    text: str
    modes: int = 0


def statement_of(event: Event, charsets: Charsets) -> Statement:
    """Return the statement of a QUERY event (https://mariadb.com/kb/en/query_event/), in its client's character set.

    Of LOADS it is the same, but for what is loaded (https://mariadb.com/kb/en/execute_load_query_event/).
    """
    body = event.body if event.kind != LOADS else event.body[:13] + event.body[13 + _LOADS_BYTES :]
    size, status = body[8], int.from_bytes(body[11:13], "little")
    at = 13 + status
    text = body[at + size + 1 :]
    if event.kind == QUERY_COMPRESSED:
        text = inflated(text)
    known = _known_of(body[13:at])
    client = known.get(_CHARSET)
    name = "utf8mb4" if client is None else charsets.of_collation(client & 0xFFFF)
    database = body[at : at + size].decode(errors="replace")
    return Statement(database, charsets.decoded(name, text), known.get(_MODES, 0))


def _known_of(status: bytes) -> dict[int, int]:
    """Return what is known of a statement, as far as it is read, which the client's character set ends."""
    found = dict[int, int]()
    at = 0
    while at < len(status) and _CHARSET not in found:
        kind = status[at]
        size = status[at + 1] + 1 if kind == _CATALOG and at + 1 < len(status) else _SIZES.get(kind)
        if size is None:
            break
        found[kind] = int.from_bytes(status[at + 1 : at + 1 + size], "little")
        at += 1 + size
    return found


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
