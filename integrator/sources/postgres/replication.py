"""The stream of a replication slot: its messages as frames, in blocks, and what is reported to the server."""

from __future__ import annotations

import ctypes
import importlib
import select
from typing import Any

import numpy as np

from integrator.engine.arrays import Octets
from integrator.engine.pgoutput import HEADER_BYTES
from integrator.engine.replication import (
    ALL,
    ASKED,
    FULL,
    KEPT,
    KEPT_SIZE,
    RECEIVED,
    SEEN,
    STATE,
    USED,
    Functions,
    receive,
)
from integrator.sources.postgres.server import Server, lsn_text, psycopg2, quoted
from integrator.tables.sql.postgres_catalogue import literal

ROOM_BYTES = 1 << 20
"""Of a block, between two readings of the clock; a larger message has a block of its own."""
_NEVER_S = 1 << 20
"""Between messages that psycopg2 sends by itself."""
_SQLSTATE = ord("C")
"""PG_DIAG_SQLSTATE (https://www.postgresql.org/docs/current/libpq-exec.html#LIBPQ-PQRESULTERRORFIELD)."""


class Replication:
    """Messages of a slot's stream. Used by one thread."""

    def __init__(self, server: Server, slot: str, start: int, options: dict[str, str]) -> None:
        """Start the slot's stream at a position; 0: where the slot is. Raises SourceAway, EnvironmentFault."""
        self._server, self._connection = server, server.replication()
        self._state = np.zeros(STATE, np.int64)
        try:
            with server.asked():
                self._cursor = self._connection.cursor()
                given = ", ".join(f"{quoted(name)} {literal(value)}" for name, value in options.items())
                command = f"START_REPLICATION SLOT {quoted(slot)} LOGICAL {lsn_text(start)} ({given})"
                self._cursor.start_replication_expert(command, decode=False, status_interval=_NEVER_S)
        except BaseException:
            self.close()
            raise
        self._library = _libpq()
        self._address: int = self._connection.pgconn_ptr
        places = ("PQconsumeInput", "PQgetCopyData", "PQfreemem")
        self._functions = Functions(*(_address(getattr(self._library, name)) for name in places))
        self._broken: Exception | None = None
        self._room = np.empty(ROOM_BYTES, np.uint8)

    @property
    def seen(self) -> int:
        """Up to where the server has searched for changes."""
        return int(self._state[SEEN])

    @property
    def is_asked(self) -> bool:
        """Whether the server has asked for an answer since the last one."""
        return bool(self._state[ASKED])

    @property
    def received(self) -> int:
        """How many messages have come."""
        return int(self._state[RECEIVED])

    def read(self) -> Octets:
        """Return whole frames of what has come, until the next call; none where nothing has. Raises as `__init__`."""
        self._check()
        self._state[USED] = 0
        if len(self._room) != ROOM_BYTES:  # a large message had all of it
            self._room = np.empty(ROOM_BYTES, np.uint8)
        how = receive(self._address, self._functions, self._room, self._state)
        if how == FULL and not self._state[USED]:
            self._room = np.empty(HEADER_BYTES + int(self._state[KEPT_SIZE]), np.uint8)
            how = receive(self._address, self._functions, self._room, self._state)
        if how not in (ALL, FULL):
            self._broken = self._failure()
            return self._room[: self._state[USED]] if self._state[USED] else self.read()
        return self._room[: self._state[USED]]

    @property
    def has_more(self) -> bool:
        """Whether something has come that is not read yet."""
        return bool(select.select([self._connection], [], [], 0)[0])

    def wait(self, seconds: float) -> None:
        """Wait until something comes."""
        select.select([self._connection], [], [], seconds)

    def report(self, lsn: int, *, ask: bool = False) -> None:
        """Confirm a position, or the last one again where it is 0. ask: the server is to answer. Raises as `read`."""
        self._state[ASKED] = 0
        self._check()
        with self._server.asked():
            self._cursor.send_feedback(write_lsn=lsn, flush_lsn=lsn, apply_lsn=lsn, reply=ask, force=True)

    def close(self) -> None:
        """End the stream."""
        if kept := int(self._state[KEPT]):
            self._state[KEPT] = 0
            self._library.PQfreemem(kept)
        self._connection.close()

    def _check(self) -> None:
        """Raise why the stream has ended, where it has: libpq has no reason for what is sent or read after that."""
        if self._broken is not None:
            with self._server.asked():
                raise self._broken

    def _failure(self) -> Exception:
        """Return why no more comes, as psycopg2 would raise it."""
        if not (result := self._library.PQgetResult(self._address)):
            return self._ended(self._library.PQerrorMessage(self._address))
        try:
            code = self._library.PQresultErrorField(result, _SQLSTATE)
            text = self._library.PQresultErrorMessage(result)
        finally:
            self._library.PQclear(result)
        if not code:
            return self._ended(text)
        return psycopg2.errors.lookup(code.decode())(text.decode(errors="replace"))  # type: ignore[no-any-return]

    @staticmethod
    def _ended(text: bytes) -> Exception:
        found: Exception = psycopg2.OperationalError(text.decode(errors="replace") or "the server has ended the stream")
        return found


def _libpq() -> Any:
    """Return the libpq that psycopg2 uses, which may be its own."""
    library = ctypes.CDLL(importlib.import_module("psycopg2._psycopg").__file__)
    for name in ("PQerrorMessage", "PQresultErrorMessage", "PQresultErrorField"):
        getattr(library, name).restype = ctypes.c_char_p
    library.PQgetResult.restype = ctypes.c_void_p
    library.PQgetResult.argtypes = library.PQerrorMessage.argtypes = [ctypes.c_void_p]
    library.PQresultErrorMessage.argtypes = library.PQclear.argtypes = [ctypes.c_void_p]
    library.PQfreemem.argtypes = [ctypes.c_void_p]
    library.PQresultErrorField.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
