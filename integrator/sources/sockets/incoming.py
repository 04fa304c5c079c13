"""Connections that were accepted: first those that have not said who they are, TLS handshakes included.

Only so many of them may wait. When there are more, the oldest goes, however many come: so who says hello at once is
heard, and silent ones hold neither places nor file descriptors.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

READ_BYTES = 256 * 1024
BACKLOG = 100
_NONE_LEFT_S = 1.0
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


async def accept(server: socket.socket, come: Callable[[socket.socket], Awaitable[None]]) -> None:
    """Have `come` called with each connection, in a task of its own, until this is cancelled."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    while True:
        try:
            accepted, _ = await loop.sock_accept(server)
        except OSError as error:  # no file descriptor is left, or it is gone already
            structlog.get_logger().warning("cannot accept, tries again", error=str(error), seconds=_NONE_LEFT_S)
            await asyncio.sleep(_NONE_LEFT_S)
            continue
        keep_alive(accepted)
        task = asyncio.ensure_future(come(accepted))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def streams(
    accepted: socket.socket, tls: ssl.SSLContext | None, seconds: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the streams of a connection, after its TLS handshake, which takes at most so many seconds.

    Raises OSError where that fails.
    """
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(READ_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol, accepted, ssl=tls, ssl_handshake_timeout=seconds if tls else None
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def peer_of(connected: socket.socket) -> str:
    """Return the other side's address, for logs."""
    try:
        return ":".join(str(part) for part in connected.getpeername()[:2])
    except OSError:  # it is gone already
        return "?"


class Unknown:
    """The connections that have not named their senders yet, in the order in which they came."""

    def __init__(self, most: int) -> None:
        """Have at most so many of them wait."""
        self._most = most
        self._waiting: dict[asyncio.Task[Any], None] = {}
        self._gone: set[asyncio.Task[Any]] = set()

    def add(self) -> None:
        """Count the connection of this task; where there are too many, the task of the oldest one is cancelled."""
        self._waiting[_current()] = None
        if len(self._waiting) > self._most:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            self._gone.add(oldest)
            oldest.add_done_callback(self._gone.discard)
            oldest.cancel()

    def remove(self) -> None:
        """Forget the connection of this task: it has said who it is, or has ended."""
        self._waiting.pop(_current(), None)

    def reason(self) -> str | None:
        """Return why this task was cancelled here; None where it was not."""
        if _current() not in self._gone:
            return None
        return f"nothing came yet, and {self._most} newer connections have not sent their hello either"


def _current() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("no task runs")
    return task


def keep_alive(connected: socket.socket | None) -> None:
    """Have the system find out that a peer is gone without a word."""
    if connected is None:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
