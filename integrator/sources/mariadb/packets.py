"""Packets of the client/server protocol, from a connection that a command was sent on.

https://mariadb.com/kb/en/0-packet/: three bytes of length, one of sequence; one of the greatest length goes on in the
next.
"""

from __future__ import annotations

from typing import Any

from pymysql.err import raise_mysql_exception

_MOST, _HEADER_BYTES, _READ_BYTES = 0xFFFFFF, 4, 1024 * 1024
_ERROR, _END, _MOST_END = 0xFF, 0xFE, 9


class Packets:
    """Reads packets of a connection, which PyMySQL has opened. Raises what PyMySQL raises, and OSError."""

    def __init__(self, connection: Any) -> None:
        self._socket = connection._sock  # noqa: SLF001 - PyMySQL reads packets one by one, and waits for each
        self._data = b""

    def read(self, wait_s: float | None) -> list[bytes]:
        """Return the packets that are there, each without its header; none where none comes within `wait_s` seconds."""
        while True:
            found = self._whole()
            if found:
                return found
            self._socket.settimeout(wait_s)
            try:
                data = self._socket.recv(_READ_BYTES)
            except TimeoutError:
                return []
            if not data:
                raise ConnectionResetError("the server has ended the connection")
            self._data = self._data + data if self._data else data

    def _whole(self) -> list[bytes]:
        data, at, end = self._data, 0, len(self._data)
        found: list[bytes] = []
        begun = at
        pieces: list[bytes] = []
        while at + _HEADER_BYTES <= end:
            size = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            first = at + _HEADER_BYTES
            at = first + size
            if at > end:
                break
            if size == _MOST:
                pieces.append(data[first:at])
                continue
            found.append(b"".join((*pieces, data[first:at])) if pieces else data[first:at])
            pieces, begun = [], at
        self._data = data[begun:] if begun else data
        return found


def is_end(packet: bytes) -> bool:
    """Return whether a packet ends a result. Raises what PyMySQL raises for one that is an error."""
    if packet[:1] == b"\xff":
        raise_mysql_exception(packet)
    return packet[0] == _END and len(packet) < _MOST_END
