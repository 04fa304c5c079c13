"""Messages of PostgreSQL's replication protocol, taken from libpq into frames, without an object each.

XLogData and keep-alives: https://www.postgresql.org/docs/current/protocol-replication.html (START_REPLICATION);
libpq: https://www.postgresql.org/docs/current/libpq-copy.html#LIBPQ-COPY-RECEIVE.
"""

from __future__ import annotations

from typing import NamedTuple

from integrator.engine.arrays import Ints, Octets
from integrator.engine.compiled import compiled, inlined
from integrator.engine.memory import call, copy, int_of_1, int_of_3, load_byte, load_long
from integrator.engine.pgoutput import HEADER_BYTES

_DATA, _ALIVE = b"wk"
_DATA_HEAD, _END_AT, _REPLY_AT = 25, 9, 17
"""Of XLogData: its kind, where it begins and where the log ends, and the time; of a keep-alive: whether it asks."""
USED, SEEN, ASKED, RECEIVED, KEPT, KEPT_SIZE, BUFFER, STATE = range(8)
"""Places in the state of `receive`, and how many: bytes of frames; up to where the server has read; whether it asks
for an answer; messages so far; the address and size of one that had no room; room for an address."""
ALL, FULL, BROKEN, ENDED = range(4)
"""How `receive` ends: nothing more is there, there is no room, the connection is broken, the server has ended."""


class Functions(NamedTuple):
    """Addresses of libpq's functions."""

    consume: int
    get: int
    free: int


@inlined
def _long(address: int) -> int:
    """Return eight bytes, the highest first."""
    found = 0
    for place in range(8):
        found = found << 8 | int(load_byte(address + place))
    return found


@inlined
def _take(message: int, size: int, room: Octets, state: Ints) -> bool:
    """Write the payload of an XLogData as a frame; return False where there is no room."""
    length, at = size - _DATA_HEAD, state[USED]
    if at + HEADER_BYTES + length > len(room):
        return False
    for place in range(HEADER_BYTES):
        room[at + place] = length >> 8 * place & 255
    copy(room.ctypes.data + at + HEADER_BYTES, message + _DATA_HEAD, length)
    state[USED] = at + HEADER_BYTES + length
    return True


@compiled
def receive(connection: int, functions: Functions, room: Octets, state: Ints) -> int:
    """Write what has come as frames, after those that are there; return how it ends.

    connection: the address of a PGconn that is in COPY BOTH mode.
    """
    if state[KEPT] != 0:
        if not _take(state[KEPT], state[KEPT_SIZE], room, state):
            return FULL
        call(functions.free, state[KEPT])
        state[KEPT] = 0
    is_read = False
    while True:
        size = int_of_3(functions.get, connection, state.ctypes.data + 8 * BUFFER, 1)
        if size == 0:
            if is_read:
                return ALL
            is_read = True
            if int_of_1(functions.consume, connection) == 0:
                return BROKEN
            continue
        if size < 0:
            return ENDED if size == -1 else BROKEN
        message = load_long(state.ctypes.data + 8 * BUFFER)
        kind = load_byte(message)
        state[RECEIVED] += 1
        if kind == _DATA and size >= _DATA_HEAD:
            is_read = False
            state[SEEN] = max(state[SEEN], _long(message + _END_AT))
            if not _take(message, size, room, state):
                state[KEPT], state[KEPT_SIZE] = message, size
                return FULL
        elif kind == _ALIVE and size > _REPLY_AT:
            state[SEEN] = max(state[SEEN], _long(message + 1))
            state[ASKED] |= load_byte(message + _REPLY_AT)
        call(functions.free, message)
