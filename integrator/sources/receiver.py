"""Change lines through sockets into the spool: we listen and agents connect, or we connect and reconnect.

A line is a JSON record. A sender may begin with a hello and then knows what it may forget:

    {"hello": {"sender": "shop-1", "secret": "…", "from": 1001}}   its name, the secret, its first line's number
    {"received": 1000}      from us: so many of its lines are durable
    {"refused": "…"}        from us: why the connection is closed

Lines that it sends again (`from` at or below what is received) are passed over. Senders without a hello are taken where
the channel has no secret, and get no answer. I2, I4: a line counts as received only when it is on disk.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import re
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any

import structlog

from integrator.errors import EnvironmentFault
from integrator.sources.spool import Spool, Writer

READ_BYTES = 256 * 1024
_NO_RECORD = re.compile(rb"^(?![ \t]*(?:\{.*\}|null)?[ \t\r]*$)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HELLO = b'{"hello"'
_FULL_POLL_S = 0.05
_REFUSING_S = 1.0
_MOST_UNREAD = 64 * 1024
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


@dataclass(frozen=True)
class Limits:
    """What a sender may do, and how its lines are kept.

    line_bytes: of one line. line_seconds: for a line that has begun. idle_seconds: without a line; 0 is any time.
    spool_bytes: what may wait to be sent before senders have to. segment_bytes, segment_seconds: when one is sealed.
    """

    line_bytes: int = 16 * 1024 * 1024
    line_seconds: float = 60.0
    idle_seconds: float = 0.0
    connections: int = 16
    spool_bytes: int = 1024 * 1024 * 1024
    segment_bytes: int = 16 * 1024 * 1024
    segment_seconds: float = 0.25
    sync_seconds: float = 0.02


@dataclass(frozen=True)
class Endpoint:
    """Where senders come from: we listen there, or connect to it."""

    host: str
    port: int
    listen: bool
    secret: str | None = None
    tls: ssl.SSLContext | None = None


class Refused(Exception):
    """The connection is closed: the sender must change what it does."""

    def __init__(self, reason: str, begins: bytes = b"") -> None:
        self.begins = begins
        super().__init__(reason)


class Receiver:
    """Receives in a thread of its own, until it is closed."""

    def __init__(self, endpoint: Endpoint, spool: Spool, limits: Limits, channel: str) -> None:
        self._endpoint, self._spool, self._limits = endpoint, spool, limits
        self._log = structlog.get_logger().bind(channel=channel)
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._main: asyncio.Task[None] | None = None
        self._ready = threading.Event()
        self._failed: OSError | None = None
        self.port = endpoint.port
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)

    def start(self) -> None:
        """Start to receive. Raises EnvironmentFault where we cannot listen."""
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            where = f"{self._endpoint.host}:{self._endpoint.port}"
            raise EnvironmentFault(f"{where}: cannot be listened on: {self._failed}") from self._failed

    def close(self) -> None:
        """End all connections; what was received is durable, and sealed."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: self._main and self._main.cancel())
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._main = self._loop.create_task(self._listen() if self._endpoint.listen else self._connect())
        try:
            self._loop.run_until_complete(self._main)
        except asyncio.CancelledError:
            pass
        except OSError as error:
            self._failed = error
        finally:
            self._ready.set()
            self._loop.run_until_complete(self._end_all())
            self._loop.close()

    async def _end_all(self) -> None:
        while tasks := [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _listen(self) -> None:
        server = await asyncio.start_server(
            self._accepted, self._endpoint.host, self._endpoint.port, ssl=self._endpoint.tls, limit=READ_BYTES
        )
        self.port = server.sockets[0].getsockname()[1]
        self._log.info("listening", host=self._endpoint.host, port=self.port)
        self._ready.set()
        async with server:
            await server.serve_forever()

    async def _connect(self) -> None:
        self._ready.set()
        pause = 0.5
        while True:
            try:
                reader, writer = await asyncio.open_connection(
                    self._endpoint.host, self._endpoint.port, ssl=self._endpoint.tls, limit=READ_BYTES
                )
            except OSError as error:
                self._log.warning("cannot connect, tries again", error=str(error), seconds=pause)
            else:
                pause = 0.5
                await asyncio.wait({asyncio.create_task(self._accepted(reader, writer))})
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30.0)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = ":".join(str(part) for part in writer.get_extra_info("peername", ("?",))[:2])
        _keep_alive(writer.get_extra_info("socket"))
        connection = _Connection(self, peer, reader, writer)
        try:
            await connection.serve()
        except Refused as error:
            self._spool.refuse(peer, connection.sender, connection.line, str(error), error.begins)
            self._log.warning("refused", peer=peer, sender=connection.sender, line=connection.line, reason=str(error))
            await connection.refuse(str(error))
        except asyncio.CancelledError:  # its sender connected again, or we end
            self._log.info("connection closed", peer=peer, sender=connection.sender)
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError) as error:
            self._log.info("connection lost", peer=peer, sender=connection.sender, error=str(error))
        finally:
            connection.end()

    async def enter(self, sender: str) -> str:
        """Give a connection its sender's name: one that is connected already is closed; a nameless one gets a name.

        Raises Refused where there are too many.
        """
        if not sender:
            sender = next(name for at in itertools.count(1) if (name := f"anonymous-{at}") not in self._tasks)
        while (known := self._tasks.get(sender)) is not None:  # half-open, perhaps: whoever comes last is the sender
            known.cancel()
            await asyncio.wait([known])
        if len(self._tasks) >= self._limits.connections:
            raise Refused(f"{self._limits.connections} senders are connected; no more are taken (connections: …)")
        task = asyncio.current_task()
        if task is not None:
            self._tasks[sender] = task
        return sender

    def leave(self, sender: str) -> None:
        """Forget a connection."""
        if self._tasks.get(sender) is asyncio.current_task():
            del self._tasks[sender]


class _Connection:
    """One sender's connection."""

    def __init__(
        self, receiver: Receiver, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._receiver, self._reader, self._writer = receiver, reader, writer
        self._endpoint, self._limits, self._spool = receiver._endpoint, receiver._limits, receiver._spool  # noqa: SLF001
        self._log = receiver._log.bind(peer=peer)  # noqa: SLF001
        self.sender = ""
        self._answers = False
        self._skip = 0
        self._reading: asyncio.Task[bytes] | None = None
        self._out: Writer | None = None
        self._rest = bytearray()
        self._opened = self._last_line = self._synced_at = time.monotonic()

    @property
    def line(self) -> int:
        """The number of the line that is being received."""
        return (self._out.received if self._out else 0) + 1

    async def serve(self) -> None:
        """Take lines until the sender ends."""
        if self._endpoint.secret is None and self._endpoint.listen is False:
            await self._enter("")
        while True:
            data = await self._read()
            if data is None:
                await self._settle()
                continue
            if not data:
                if self._rest:
                    self._log.warning("the last line has no end, and is not received", sender=self.sender)
                await self._settle(sealing=True)
                return
            await self._take(data)
            while self._spool.waiting_bytes > self._limits.spool_bytes:  # the sender waits: nothing is read
                await self._settle(sealing=True)
                await asyncio.sleep(_FULL_POLL_S)

    async def _read(self) -> bytes | None:
        """Return what comes; None if nothing came for a while. Raises Refused where it takes too long."""
        busy = self._out is not None and self._out.lines > 0
        if self._reading is None:  # goes on over several waits, so that a wait that is cancelled takes no data with it
            self._reading = asyncio.create_task(self._reader.read(READ_BYTES))
        await asyncio.wait({self._reading}, timeout=self._limits.sync_seconds if busy else 1.0)
        if self._reading.done():
            done, self._reading = self._reading, None
            return done.result()
        quiet = time.monotonic() - self._last_line
        if self._rest and quiet > self._limits.line_seconds:
            raise Refused(f"a line has no end after {quiet:.0f} seconds (line_seconds)", bytes(self._rest))
        if self._endpoint.secret and not self.sender and quiet > self._limits.line_seconds:
            raise Refused(f"no first line after {quiet:.0f} seconds (line_seconds)")
        if self._limits.idle_seconds and quiet > self._limits.idle_seconds:
            raise Refused(f"no line for {quiet:.0f} seconds (idle_seconds)")
        return None

    async def _take(self, data: bytes) -> None:
        end = data.rfind(b"\n") + 1
        if not end:
            self._rest += data
            self._check_length(self._rest)
            return
        lines = bytes(self._rest) + data[:end] if self._rest else data[:end]
        self._rest = bytearray(data[end:])
        self._last_line = time.monotonic()
        if not self.sender:
            lines = await self._first(lines)
        if lines:
            self._check_lengths(lines)
            self._write(lines)
            if self._out is not None and self._out.size >= self._limits.segment_bytes:
                await self._settle(sealing=True)
            elif time.monotonic() - self._synced_at >= self._limits.sync_seconds:
                await self._settle()
        self._check_length(self._rest)

    def _check_length(self, line: bytes | bytearray) -> None:
        if len(line) > self._limits.line_bytes:
            reason = f"a line of more than {self._limits.line_bytes} bytes (line_bytes)"
            raise Refused(reason, bytes(line[:200]))

    def _check_lengths(self, lines: bytes) -> None:
        if len(lines) > self._limits.line_bytes:
            for line in lines.split(b"\n"):
                self._check_length(line)

    async def _first(self, lines: bytes) -> bytes:
        """Take a hello, if there is one; return the lines behind it. Raises Refused."""
        line, _, behind = lines.partition(b"\n")
        if not line.replace(b" ", b"").startswith(_HELLO):
            if self._endpoint.secret is not None:
                raise Refused("the first line is no hello, and the channel has a secret")
            await self._enter("")
            return lines
        self._answers = True
        try:
            hello = json.loads(line)["hello"]
            name, first = str(hello.get("sender", "")), int(hello.get("from", 0))
        except (ValueError, TypeError, AttributeError) as error:
            raise Refused(f"a hello that cannot be read: {error}") from None
        secret = str(hello.get("secret", ""))
        if self._endpoint.secret is not None and not hmac.compare_digest(
            secret.encode(), self._endpoint.secret.encode()
        ):
            raise Refused("the secret is another")
        if not _NAME.fullmatch(name):
            raise Refused("a sender's name has 1 to 64 letters, digits, - and _")
        await self._enter(name)
        received = self._out.received if self._out is not None else 0
        if first > received + 1:
            raise Refused(f"it begins with line {first}, and {received} lines are received: some would be lost")
        self._skip = received + 1 - first if first else 0
        self.answer({"received": received})
        return behind

    async def _enter(self, sender: str) -> None:
        self.sender = await self._receiver.enter(sender)
        self._out = self._spool.writer(self.sender)
        self._log.info("connected", sender=self.sender, received=self._out.received)

    def _write(self, lines: bytes) -> None:
        for _ in range(min(self._skip, lines.count(b"\n")) if self._skip else 0):
            lines = lines[lines.find(b"\n") + 1 :]
            self._skip -= 1
        if not lines or self._out is None:
            return
        wrong = _NO_RECORD.search(lines)
        try:
            lines.decode()
            bad = wrong.start() if wrong else -1
            reason = "no JSON record in one line"
        except UnicodeDecodeError as error:
            bad, reason = error.start, "not UTF-8"
        if bad >= 0:
            start = lines.rfind(b"\n", 0, bad) + 1
            self._keep(lines[:start])
            raise Refused(reason, lines[start : start + 200])
        self._keep(lines)

    def _keep(self, lines: bytes) -> None:
        if lines and self._out is not None:
            if not self._out.lines:
                self._opened = self._synced_at = time.monotonic()
            self._out.write(lines)

    async def _settle(self, *, sealing: bool = False) -> None:
        """Make lines durable, tell the sender, and seal the segment when its time has come."""
        if self._out is None:
            return
        if self._out.unsynced:
            received = await asyncio.to_thread(self._out.sync)
            self._synced_at = time.monotonic()
            self.answer({"received": received})
        if sealing or time.monotonic() - self._opened >= self._limits.segment_seconds:
            await asyncio.to_thread(self._out.seal)

    def answer(self, said: dict[str, object]) -> None:
        """Tell a sender that said hello."""
        if not self._answers or self._writer.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() < _MOST_UNREAD:  # a later one says as much
            self._writer.write(json.dumps(said).encode() + b"\n")

    async def refuse(self, reason: str) -> None:
        """Tell why the connection is closed, and read on for a moment: else TCP may drop what was told."""
        self.answer({"refused": reason})
        if not self._answers:
            return
        reading, self._reading = self._reading or asyncio.create_task(self._reader.read(READ_BYTES)), None
        until = time.monotonic() + _REFUSING_S
        while (left := until - time.monotonic()) > 0:
            await asyncio.wait({reading}, timeout=left)
            if not reading.done():
                reading.cancel()
            elif reading.exception() is None and reading.result():
                reading = asyncio.create_task(self._reader.read(READ_BYTES))
                continue
            return

    def end(self) -> None:
        """Seal what was received, and close."""
        if self._out is not None:
            unsynced = self._out.unsynced
            received = self._out.sync()
            if unsynced:
                self.answer({"received": received})
            self._out.seal()
        self._receiver.leave(self.sender)
        if self._reading is not None:
            self._reading.cancel()
        self._writer.close()


def _keep_alive(connected: socket.socket | None) -> None:
    """Have the system find out that a peer is gone without a word."""
    if connected is None:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
