"""Packets of the client/server protocol, from a connection that a command was sent on.

https://mariadb.com/kb/en/0-packet/: three bytes of length, one of sequence; one of the greatest length continues in the
next.
"""

from __future__ import annotations

import select
from typing import Any

from integrator.extras import Library

pymysql: Any = Library("mysql", "a MySQL or MariaDB", "pymysql")
"""The client library."""
_MOST, _HEADER_BYTES, _READ_BYTES = 0xFFFFFF, 4, 1024 * 1024
_ERROR, _END, _MOST_END = 0xFF, 0xFE, 9


class Packets:
    """Reads packets of a connection, which PyMySQL has opened. Raises what PyMySQL raises, and OSError."""

    def __init__(self, connection: Any) -> None:
        self._socket = connection._sock  # noqa: SLF001 - PyMySQL reads packets one by one, and waits for each
        self._pieces: list[bytes] = []
        self._size, self._needed = 0, _HEADER_BYTES
        self._begun: list[bytes] = []

    @property
    def has_more(self) -> bool:
        """Whether something has come that is not read yet."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def read(self, wait_s: float) -> list[bytes]:
        """Return the packets that are there, each without its header; none where none comes within `wait_s` seconds."""
        while True:
            self._socket.settimeout(wait_s)
            try:
                data = self._socket.recv(_READ_BYTES)
            except TimeoutError:
                return []
            if not data:
                raise ConnectionResetError("the server has ended the connection")
            self._pieces.append(data)
            self._size += len(data)
            if self._size >= self._needed and (found := self._whole()):  # a large one is joined once
                return found

    def _whole(self) -> list[bytes]:
        data, at, end = b"".join(self._pieces), 0, self._size
        found: list[bytes] = []
        self._needed = _HEADER_BYTES
        while at + _HEADER_BYTES <= end:
            size = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            after = at + _HEADER_BYTES + size
            if after > end:
                self._needed += size
                break
            piece = data[at + _HEADER_BYTES : after]
            at = after
            if size == _MOST:
                self._begun.append(piece)
                continue
            found.append(b"".join((*self._begun, piece)) if self._begun else piece)
            self._begun = []
        self._pieces, self._size = ([data[at:]], end - at) if at < end else ([], 0)
        return found


def is_end(packet: bytes) -> bool:
    """Return whether a packet ends a result. Raises what PyMySQL raises for one that is an error."""
    if packet[:1] == b"\xff":
        pymysql.err.raise_mysql_exception(packet)
    return packet[0] == _END and len(packet) < _MOST_END
