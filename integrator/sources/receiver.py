"""Change lines through sockets into the spool: we listen and agents connect, or we connect and reconnect."""

from __future__ import annotations

import asyncio
import errno
import itertools
import socket
import ssl
import threading
from typing import Any

import structlog

from integrator.errors import EnvironmentFault
from integrator.sources.connection import READ_BYTES, Connection
from integrator.sources.endpoint import Endpoint, Limits, Refused
from integrator.sources.line_check import Door
from integrator.sources.spool import Spool

_MOST_UNKNOWN = 16
"""Connections that have sent nothing yet, where the limit of senders is lower: who comes again is one for a moment."""
_OF_DISKS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
"""Errors that no connection has."""
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


class Receiver:
    """Receives in a thread of its own, until it is closed."""

    def __init__(
        self, endpoint: Endpoint, spool: Spool, limits: Limits, channel: str, door: Door | None = None
    ) -> None:
        self.endpoint, self.spool, self.limits, self.door = endpoint, spool, limits, door or Door()
        self.log = structlog.get_logger().bind(channel=channel)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._unknown = 0
        """Connections that have no sender's name yet."""
        self._main: asyncio.Task[None] | None = None
        self._ready = threading.Event()
        self._failed: OSError | None = None
        self.port = endpoint.port
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start to receive. Raises EnvironmentFault where we cannot listen."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(self._loop,), name="receiver", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            where = f"{self.endpoint.host}:{self.endpoint.port}"
            raise EnvironmentFault(f"{where}: cannot be listened on: {self._failed}") from self._failed

    def close(self) -> None:
        """End all connections; what was received is durable, and sealed."""
        if self._loop is not None and self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: self._main and self._main.cancel())
            self._thread.join()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        self._main = loop.create_task(self._listen() if self.endpoint.listen else self._connect())
        try:
            loop.run_until_complete(self._main)
        except asyncio.CancelledError:
            pass
        except OSError as error:
            self._failed = error
        finally:
            self._ready.set()
            loop.run_until_complete(self._end_all())
            loop.close()

    async def _end_all(self) -> None:
        while tasks := [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _listen(self) -> None:
        server = await asyncio.start_server(
            self._accepted, self.endpoint.host, self.endpoint.port, ssl=self.endpoint.tls, limit=READ_BYTES
        )
        self.port = server.sockets[0].getsockname()[1]
        self.log.info("listening", host=self.endpoint.host, port=self.port)
        self._ready.set()
        async with server:
            await server.serve_forever()

    async def _connect(self) -> None:
        self._ready.set()
        pause = 0.5
        while True:
            try:
                reader, writer = await asyncio.open_connection(
                    self.endpoint.host, self.endpoint.port, ssl=self.endpoint.tls, limit=READ_BYTES
                )
            except OSError as error:
                self.log.warning("cannot connect, tries again", error=str(error), seconds=pause)
            else:
                pause = 0.5
                await asyncio.wait({asyncio.create_task(self._accepted(reader, writer))})
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30.0)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = ":".join(str(part) for part in writer.get_extra_info("peername", ("?",))[:2])
        _keep_alive(writer.get_extra_info("socket"))
        connection = Connection(self, peer, reader, writer)
        try:
            self._admit()
            await connection.serve()
        except Refused as error:
            self.spool.refuse(peer, connection.sender, connection.line, str(error), error.begins)
            self.log.warning("refused", peer=peer, sender=connection.sender, line=connection.line, reason=str(error))
            await connection.refuse(str(error))
        except asyncio.CancelledError:  # its sender connected again, or we end
            self.log.info("connection closed", peer=peer, sender=connection.sender)
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError) as error:
            if isinstance(error, OSError) and error.errno in _OF_DISKS:
                self.log.error(  # noqa: TRY400 - no defect that a traceback would explain
                    "lines are not received: the spool cannot be written",
                    spool=str(self.spool.path),
                    sender=connection.sender,
                    error=str(error),
                    remedy="make room on that disk; senders send again what is not acknowledged",
                )
                return
            self.log.info("connection lost", peer=peer, sender=connection.sender, error=str(error))
        finally:
            if not connection.sender:
                self._unknown -= 1
            connection.end()

    def _admit(self) -> None:
        """Count a connection that has no sender's name yet. Raises Refused where there are too many."""
        self._unknown += 1
        if self._unknown > max(self.limits.connections, _MOST_UNKNOWN):
            raise Refused(f"{self._unknown - 1} others have not sent their hello yet")

    async def enter(self, sender: str) -> str:
        """Give a connection its sender's name: one that is connected already is closed; a nameless one gets a name.

        Raises Refused where there are too many.
        """
        if not sender:
            sender = next(name for at in itertools.count(1) if (name := f"anonymous-{at}") not in self._tasks)
        while (known := self._tasks.get(sender)) is not None:  # half-open, perhaps: whoever comes last is the sender
            known.cancel()
            await asyncio.wait([known])
        if len(self._tasks) >= self.limits.connections:
            raise Refused(f"{self.limits.connections} senders are connected; no more are taken (connections: …)")
        task = asyncio.current_task()
        if task is not None:
            self._tasks[sender] = task
        self._unknown -= 1
        return sender

    def leave(self, sender: str) -> None:
        """Forget a connection."""
        if self._tasks.get(sender) is asyncio.current_task():
            del self._tasks[sender]


def _keep_alive(connected: socket.socket | None) -> None:
    """Have the system find out that a peer is gone without a word."""
    if connected is None:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
