"""Change lines through sockets into the spool: we listen and agents connect, or we connect and reconnect."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from contextlib import suppress
from typing import Any

import structlog

from integrator.channel.addresses import listening
from integrator.errors import OF_DISKS, EnvironmentFault, Place
from integrator.names.numbers import are, counted
from integrator.sources.sockets.connection import Connection
from integrator.sources.sockets.endpoint import Endpoint, Limits, Refused
from integrator.sources.sockets.incoming import BACKLOG, READ_BYTES, Unknown, accept, keep_alive, peer_of, streams
from integrator.sources.sockets.line_gate import LineGate
from integrator.sources.spool import Spool

_MOST_UNKNOWN = 16
"""Connections that have no name yet, where the limit of senders is lower: who comes again is one for a moment."""
"""Errors that no connection has."""


class Receiver:
    """Receives in a thread of its own, until it is closed."""

    def __init__(
        self, endpoint: Endpoint, spool: Spool, limits: Limits, channel: str, door: LineGate | None = None
    ) -> None:
        self.endpoint, self.spool, self.limits, self.door = endpoint, spool, limits, door or LineGate()
        self.log = structlog.get_logger().bind(channel=channel)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._unknown = Unknown(max(limits.connections, _MOST_UNKNOWN))
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
            where = Place(self.endpoint.host, int(self.endpoint.port))
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
        servers = listening(self.endpoint.host, self.endpoint.port, BACKLOG)
        for one in servers:
            one.setblocking(False)
        self.port = servers[0].getsockname()[1]
        self.log.info("listening", host=self.endpoint.host, port=self.port)
        self._ready.set()
        try:
            await asyncio.gather(*(accept(server, self._accepted) for server in servers))
        finally:
            for server in servers:
                server.close()

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
                keep_alive(writer.get_extra_info("socket"))
                peer = ":".join(str(part) for part in writer.get_extra_info("peername", ("?",))[:2])
                await asyncio.wait({asyncio.create_task(self._serve(peer, reader, writer))})
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30.0)

    async def _accepted(self, accepted: socket.socket) -> None:
        """Serve a connection, which has a place among the unknown until it says who it is."""
        peer, tls = peer_of(accepted), self.endpoint.tls
        try:
            if tls is not None:  # whose handshake may take as long as the other side likes
                self._unknown.add()
            reader, writer = await streams(accepted, tls, self.limits.line_seconds)
            if tls is None:
                self._unknown.add()
            await self._serve(peer, reader, writer)
        except OSError as error:
            self.log.info("connection lost", peer=peer, error=str(error))
        except asyncio.CancelledError:
            if (reason := self._unknown.reason()) is None:
                raise
            self._note(peer, "", 1, Refused(reason))
            with suppress(OSError):  # what was not read would have TCP drop what it was told
                accepted.recv(READ_BYTES)
        finally:
            self._unknown.remove()

    async def _serve(self, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, refused = Connection(self, peer, reader, writer), False
        try:
            await connection.serve()
        except Refused as error:
            refused = True
            self._note(peer, connection.sender, connection.line, error)
            await connection.refuse(error)
        except asyncio.CancelledError:  # others came after it, its sender connected again, or we end
            if reason := self._unknown.reason():
                refused = True
                connection.send_refusal(Refused(reason, retry=True))
                raise
            self.log.info("connection closed", peer=peer, sender=connection.sender)
        except (OSError, asyncio.IncompleteReadError) as error:
            if isinstance(error, OSError) and error.errno in OF_DISKS:
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
            connection.end(refused=refused)

    def _note(self, peer: str, sender: str, line: int, refused: Refused) -> None:
        self.spool.refuse(peer, sender, line, str(refused), refused.begins)
        self.log.warning("refused", peer=peer, sender=sender, line=line, reason=str(refused))

    async def enter(self, sender: str) -> str:
        """Give a connection its sender's name: one that is connected already is closed; a nameless one gets a name.

        Raises Refused where there are too many.
        """
        if not sender:
            sender = next(name for at in itertools.count(1) if (name := f"anonymous-{at}") not in self._tasks)
        while (known := self._tasks.get(sender)) is not None:  # half-open, perhaps: whoever comes last is the sender
            known.cancel()
            await asyncio.wait([known])
        if len(self._tasks) >= (most := self.limits.connections):
            reason = f"{counted(most, 'sender')} {are(most)} connected; no more are accepted (connections: …)"
            raise Refused(reason, retry=True)
        task = asyncio.current_task()
        if task is not None:
            self._tasks[sender] = task
        self._unknown.remove()
        return sender

    def leave(self, sender: str) -> None:
        """Forget a connection."""
        if self._tasks.get(sender) is asyncio.current_task():
            del self._tasks[sender]
