"""One sender's connection: its hello, its lines into the spool, the answers to it, and why it is refused.

    {"hello": {"sender": "shop-1", "secret": "…", "from": 1001}}   its name, the secret, its first line's number
    {"received": 1000}      from us: so many of its lines are durable
    {"refused": "…"}        from us: why the connection is closed; with "retry": true, it may be made again as it is

Lines that it sends again (`from` at or below what is received) are passed over. Senders without a hello are taken where
the channel has no secret, and get no answer. I2, I4: a line counts as received only when it is on disk. Of two lines
that are one change (`LineGate.waits`), the first is received with the second.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import Any, Protocol

from integrator.names.numbers import counted
from integrator.sources.sockets.endpoint import Endpoint, Limits, Refused
from integrator.sources.sockets.handshake import hello_of, is_hello
from integrator.sources.sockets.incoming import READ_BYTES
from integrator.sources.sockets.line_gate import LineGate
from integrator.sources.spool import MOST_SENDERS, Spool, Writer

_FULL_POLL_S = 0.05
_REFUSING_S = 1.0
_MOST_UNREAD = 64 * 1024
_MOST_HELLO = 64 * 1024
_SHOWN = 200
_WAITING = "the last line is the before image of an update, and its after image does not follow"


class Host(Protocol):
    """Who has connections: where and how they come, the spool, what is taken, and who is connected."""

    endpoint: Endpoint
    limits: Limits
    spool: Spool
    door: LineGate
    log: Any

    async def enter(self, sender: str) -> str:
        """Give a connection its sender's name. Raises Refused where there are too many."""
        ...

    def leave(self, sender: str) -> None:
        """Forget a connection."""
        ...


class Connection:
    """One sender's connection."""

    def __init__(self, host: Host, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection that `host` has accepted."""
        self._host, self._reader, self._writer = host, reader, writer
        self._endpoint, self._limits, self._spool = host.endpoint, host.limits, host.spool
        self._log = host.log.bind(peer=peer)
        self.sender = ""
        self._answers = False
        self._skip = 0
        self._reading: asyncio.Task[bytes] | None = None
        self._out: Writer | None = None
        self._rest = bytearray()
        self._waiting = b""
        self._opened = self._begun = self._last_line = self._synced_at = time.monotonic()

    @property
    def line(self) -> int:
        """The number of the line that is being received."""
        return (self._out.received if self._out else 0) + 1

    async def serve(self) -> None:
        """Take lines until the sender ends."""
        while True:
            data = await self._read()
            if data is None:
                await self._settle()
                continue
            if not data:
                if self._rest:
                    self._log.warning("the last line has no newline, and is not received", sender=self.sender)
                if self._waiting:
                    self._log.warning(f"{_WAITING}, and is not received", sender=self.sender)
                await self._settle(sealing=True)
                return
            await self._take(data)

    async def _read(self) -> bytes | None:
        """Return what comes; None if nothing came for a while. Raises Refused where it takes too long."""
        busy = self._out is not None and self._out.lines > 0
        if self._reading is None:  # over several waits, so that a wait that is cancelled takes no data with it
            self._reading = asyncio.create_task(self._reader.read(READ_BYTES))
        await asyncio.wait({self._reading}, timeout=self._limits.sync_seconds if busy else 1.0)
        if self._reading.done():
            done, self._reading = self._reading, None
            return done.result()
        self._check_time()
        quiet = time.monotonic() - self._last_line
        if self._limits.idle_seconds and quiet > self._limits.idle_seconds:
            raise Refused(f"no line for {_seconds(quiet)} (idle_seconds)", retry=True)
        return None

    def _check_time(self) -> None:
        """Raise Refused where a line takes too long, however steadily its bytes come."""
        now = time.monotonic()
        if self._rest and now - self._begun > self._limits.line_seconds:
            reason = f"a line has no end after {_seconds(now - self._begun)} (line_seconds)"
            raise Refused(reason, self._shown(self._rest))
        if self._waiting and now - self._last_line > self._limits.line_seconds:
            reason = f"{_WAITING} after {_seconds(now - self._last_line)} (line_seconds): send both at once"
            raise Refused(reason, self._shown(self._waiting), retry=True)
        silent = self._endpoint.listen and not self.sender
        if silent and now - self._opened > self._limits.line_seconds:
            raise Refused(f"no first line after {_seconds(now - self._opened)} (line_seconds)", retry=True)

    async def _take(self, data: bytes) -> None:
        end = data.rfind(b"\n") + 1
        if not self._rest or end:
            self._begun = time.monotonic()
        if not end:
            self._rest += data
            self._check_length(self._rest)
            self._check_time()
            return
        lines = bytes(self._rest) + data[:end] if self._rest else data[:end]
        self._rest = bytearray(data[end:])
        self._last_line = time.monotonic()
        if not self.sender:
            lines = await self._first(lines)
        lines, self._waiting = self._divided(self._waiting + lines)
        if lines:
            self._check_lengths(lines)
            while self._spool.waiting_bytes > self._limits.spool_bytes:  # the sender waits: nothing more is read
                await self._settle(sealing=True)
                await asyncio.sleep(_FULL_POLL_S)
            self._write(lines)
            if self._out is not None and self._out.size >= self._limits.segment_bytes:
                await self._settle(sealing=True)
            elif time.monotonic() - self._synced_at >= self._limits.sync_seconds:
                await self._settle()
        self._check_length(self._rest)

    def _divided(self, lines: bytes) -> tuple[bytes, bytes]:
        """Return the lines to receive now, and the last one where it is to be received with the next one."""
        at = lines.rfind(b"\n", 0, -1) + 1
        return (lines[:at], lines[at:]) if self._host.door.waits(lines[at:]) else (lines, b"")

    def _check_length(self, line: bytes | bytearray) -> None:
        unknown = self._endpoint.secret is not None and not self.sender
        most = min(_MOST_HELLO, self._limits.line_bytes) if unknown else self._limits.line_bytes
        if len(line) > most:
            reason = (
                f"a first line of more than {most} bytes"
                if unknown
                else f"a line of more than {most} bytes (line_bytes)"
            )
            raise Refused(reason, self._shown(line))

    def _shown(self, line: bytes | bytearray) -> bytes:
        """Return how a line begins, to be written down; nothing of a first one, which may be a hello with a secret."""
        return bytes(line[:_SHOWN]) if self.sender and not self._host.door.hidden else b""

    def _check_lengths(self, lines: bytes) -> None:
        if len(lines) > self._limits.line_bytes:
            for line in lines.split(b"\n"):
                self._check_length(line)

    async def _first(self, lines: bytes) -> bytes:
        """Take a hello, if there is one; return the lines after it. Raises Refused."""
        line, _, rest = lines.partition(b"\n")
        if not is_hello(line):
            if self._endpoint.secret is not None:
                raise Refused("the first line is no hello, and the channel has a secret")
            await self._enter("")
            return lines
        self._answers = True
        hello = hello_of(line, self._endpoint.secret)
        if not self._spool.takes(hello.sender):
            raise Refused(f"{MOST_SENDERS} senders have sent lines before; no further names are accepted")
        await self._enter(hello.sender)
        received = self._out.received if self._out is not None else 0
        if hello.first is not None and hello.first > received + 1:
            raise Refused(
                f"it begins with line {hello.first}, and we have {counted(received, 'line')}: some would be lost"
            )
        self._skip = 0 if hello.first is None else received + 1 - hello.first
        self.answer({"received": received})
        return rest

    async def _enter(self, sender: str) -> None:
        self.sender = await self._host.enter(sender)
        self._out = self._spool.writer(self.sender)
        self._log.info("connected", sender=self.sender, received=self._out.received)

    def _write(self, lines: bytes) -> None:
        begin = 0
        while self._skip and begin < len(lines):
            begin = lines.index(b"\n", begin) + 1
            self._skip -= 1
        lines = lines[begin:]
        if not lines or self._out is None:
            return
        wrong = self._host.door.first_refused(lines)
        if wrong is not None:
            start, reason = wrong
            self._keep(lines[:start])
            raise Refused(reason, self._shown(lines[start : start + _SHOWN].partition(b"\n")[0]))
        self._keep(lines)

    def _keep(self, lines: bytes) -> None:
        if lines and self._out is not None:
            if not self._out.lines:
                self._opened = self._synced_at = time.monotonic()
            self._out.write(lines)

    async def _settle(self, *, sealing: bool = False) -> None:
        """Make lines durable, acknowledge them to the sender, and seal the segment when its time has come.

        It has, too, where nothing else waits to be sent.
        """
        if self._out is None:
            return
        if self._out.unsynced:
            received = await asyncio.to_thread(self._out.sync)
            self._synced_at = time.monotonic()
            self.answer({"received": received})
        is_due = time.monotonic() - self._opened >= self._limits.segment_seconds
        if sealing or is_due or not self._spool.waiting_bytes:
            await asyncio.to_thread(self._out.seal)

    def answer(self, reply: dict[str, object]) -> None:
        """Answer the hello of a sender."""
        if self._answers:
            self._send(reply)

    def _send(self, reply: dict[str, object]) -> None:
        if self._writer.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() < _MOST_UNREAD:  # a later one says as much
            self._writer.write(json.dumps(reply).encode() + b"\n")

    def send_refusal(self, refused: Refused) -> None:
        """Send why the connection is closed, to whoever it is."""
        self._send({"refused": str(refused)} | ({"retry": True} if refused.retry else {}))

    async def refuse(self, refused: Refused) -> None:
        """Send what is durable and why the connection is closed, and read on for a moment: else TCP may drop both."""
        with suppress(OSError):  # `end` reports it
            await self._settle()
        self.send_refusal(refused)
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()
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

    def end(self, *, refused: bool) -> None:
        """Seal what was received, and close; where it is refused, without waiting for the other side, as TLS would."""
        try:
            if self._out is not None:
                unsynced = self._out.unsynced
                received = self._out.sync()
                if unsynced:
                    self.answer({"received": received})
                self._out.seal()
        except OSError as error:  # it is not acknowledged, and the sender has it still
            self._log.error("the spool cannot be written", sender=self.sender, error=str(error))
        finally:
            self._host.leave(self.sender)
            if self._reading is not None:
                self._reading.cancel()
            self._writer.transport.abort() if refused else self._writer.close()


def _seconds(seconds: float) -> str:
    return counted(round(seconds), "second")
