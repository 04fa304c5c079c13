"""Sends the lines of a growing file into a channel's socket, and continues after what was received, however it ends.

For programs that write their changes to a file, such as pg_recvlogical: a crash of theirs, of ours or of the integrator
loses no line and sends none twice, for a line is sent until the receiver says that it is durable there.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from integrator.cli.growing import Growing
from integrator.errors import EnvironmentFault
from integrator.names.numbers import counted
from integrator.sources.sockets.incoming import keep_alive

_POLL_S = 0.05
_ANSWER_S = 30.0
_REFUSED_S = 2.0
_ENDING_S = 5.0
_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.2, 10.0


@dataclass(frozen=True)
class Target:
    """Where lines go: the receiver's address, our name, its secret, and TLS if it wants that."""

    host: str
    port: int
    sender: str
    secret: str | None = field(default=None, repr=False)  # I7
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True)
class How:
    """How a file is sent. follow: it grows, and is rotated. remove: rotated files are removed when received."""

    follow: bool = True
    remove: bool = False


FOLLOWED = How()


def send(path: Path, target: Target, ended: threading.Event, how: How = FOLLOWED) -> int:
    """Send the lines of a file until `ended` is set, or (not followed) all are received; return how many were.

    A file that is rotated is followed. Connections that break are made again. Raises EnvironmentFault where the
    receiver refuses us, and DataError where lines are lost, or the file is not the one of which lines were received.
    """
    received, pause = 0, _FIRST_PAUSE_S
    growing = Growing(path, target.sender, follow=how.follow, remove=how.remove)
    try:
        while not ended.is_set():
            begun = time.monotonic()
            try:
                received = _session(growing, target, ended)
                if not how.follow:
                    return received
            except OSError as error:
                pause = _FIRST_PAUSE_S if time.monotonic() - begun > _MOST_PAUSE_S else pause
                structlog.get_logger().warning("connection lost, tries again", error=str(error), seconds=pause)
            ended.wait(pause)
            pause = min(pause * 2, _MOST_PAUSE_S)
    finally:
        growing.close()
    return received


def _session(growing: Growing, target: Target, ended: threading.Event) -> int:
    with socket.create_connection((target.host, target.port), _ANSWER_S) as plain:
        keep_alive(plain)
        connected = plain
        if target.tls is not None:
            connected = target.tls.wrap_socket(plain, server_hostname=target.host)
        hello = {"sender": target.sender} | ({"secret": target.secret} if target.secret else {})
        connected.sendall(json.dumps({"hello": hello}).encode() + b"\n")
        answers, done = _Answers(connected), threading.Event()
        threading.Thread(target=_cut_off, args=(connected, ended, done), daemon=True).start()
        try:
            return _sent(growing, connected, answers, ended)
        finally:
            done.set()
            connected.close()


def _cut_off(connected: socket.socket, ended: threading.Event, done: threading.Event) -> None:
    """Once the end is asked for, close a connection that is not done soon: a receiver without room takes nothing."""
    while not ended.wait(1.0):
        if done.is_set():
            return
    if not done.wait(_ENDING_S):
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)


def _sent(growing: Growing, connected: socket.socket, answers: _Answers, ended: threading.Event) -> int:
    sent = answers.first()
    growing.begin(sent)
    try:
        while not (ended.is_set() or answers.closed):
            data = growing.lines()
            growing.acknowledged(answers.received)
            if data is None:
                break
            if data:
                connected.sendall(data)
                sent += data.count(b"\n")
            else:
                ended.wait(_POLL_S)
        whole = not answers.closed
        connected.shutdown(socket.SHUT_WR)
    except OSError:
        answers.check(_REFUSED_S)
        raise
    try:
        answers.wait_for(sent)
    finally:
        growing.acknowledged(answers.received, now=True)
    if not whole and not ended.is_set():
        raise ConnectionError("the receiver ended the connection")
    return answers.received


class _Answers:
    """What the receiver says, read in a thread of its own."""

    def __init__(self, connected: socket.socket) -> None:
        self.received, self.refused, self.retry, self.closed = -1, "", False, False
        connected.settimeout(None)
        self._answers = connected.makefile("rb")
        self._heard = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in self._answers:
                answer = json.loads(line)
                with self._heard:
                    self.received = answer.get("received", self.received)
                    self.refused = answer.get("refused", self.refused)
                    self.retry = answer.get("retry", False)
                    self._heard.notify_all()
        except (OSError, ValueError):
            pass
        finally:
            with suppress(OSError):
                self._answers.close()
            with self._heard:
                self.closed = True
                self._heard.notify_all()

    def first(self) -> int:
        """Return how many lines were received before."""
        self.wait_for(0)
        return self.received

    def check(self, seconds: float) -> None:
        """Raise EnvironmentFault if we are refused, which the receiver answers within so many seconds.

        Raises OSError where another try may be received.
        """
        self._thread.join(seconds)
        if self.refused and self.retry:
            raise ConnectionError(f"the receiver refuses for now: {self.refused}")
        if self.refused:
            raise EnvironmentFault(f"the receiver refuses: {self.refused}")

    def wait_for(self, count: int) -> None:
        """Wait until so many lines are received. Raises OSError if they are not, EnvironmentFault if we are refused."""
        deadline = time.monotonic() + _ANSWER_S
        with self._heard:
            while self.received < count and not self.closed and time.monotonic() < deadline:
                self._heard.wait(1.0)
        self.check(0)
        if self.received < count:
            raise ConnectionError(f"{counted(count, 'line')} sent, and {self.received:,} received")
