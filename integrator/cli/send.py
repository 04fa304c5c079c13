"""Sends the lines of a growing file into a channel's socket, and goes on after what was received, however it ends.

For programs that write their changes to a file, such as pg_recvlogical: a crash of theirs, of ours or of the integrator
loses no line and sends none twice, for a line is sent until the receiver says that it is durable there.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import structlog

from integrator import durable
from integrator.errors import DataError, EnvironmentFault

CHUNK = 256 * 1024
_POLL_S = 0.05
_ANSWER_S = 30.0
_REFUSED_S = 2.0


@dataclass(frozen=True)
class Target:
    """Where lines go: the receiver's address, our name, its secret, and TLS if it wants that."""

    host: str
    port: int
    sender: str
    secret: str | None = field(default=None, repr=False)  # I7
    tls: ssl.SSLContext | None = None


def send(path: Path, target: Target, ended: threading.Event, *, follow: bool = True) -> int:
    """Send the lines of a file until `ended` is set, or (not `follow`) all are received; return how many were.

    Connections that break are made again. Raises EnvironmentFault where the receiver refuses us, and DataError where
    the file is not the one of which lines were received, or was replaced.
    """
    received, pause = 0, 0.2
    while not ended.is_set():
        try:
            received = _session(path, target, ended, follow=follow)
            if not follow:
                return received
        except OSError as error:
            structlog.get_logger().warning("connection lost, tries again", error=str(error), seconds=pause)
        ended.wait(pause)
        pause = min(pause * 2, 10.0)
    return received


def _session(path: Path, target: Target, ended: threading.Event, *, follow: bool) -> int:
    with socket.create_connection((target.host, target.port), _ANSWER_S) as plain:
        connected = plain
        if target.tls is not None:
            connected = target.tls.wrap_socket(plain, server_hostname=target.host)
        hello = {"sender": target.sender} | ({"secret": target.secret} if target.secret else {})
        connected.sendall(json.dumps({"hello": hello}).encode() + b"\n")
        answers = _Answers(connected)
        start = answers.first()
        sent = start
        whole = False
        try:
            for data in _lines(path, start, target, ended, answers, follow=follow):
                connected.sendall(data)
                sent += data.count(b"\n")
            whole = not answers.closed
            connected.shutdown(socket.SHUT_WR)
        except OSError:
            answers.check(_REFUSED_S)
            raise
        answers.wait_for(sent)
        if not whole and not ended.is_set():
            raise ConnectionError("the receiver ended the connection")
        return answers.received


def _lines(
    path: Path, skip: int, target: Target, ended: threading.Event, answers: _Answers, *, follow: bool
) -> Iterator[bytes]:
    """Yield whole lines after the first `skip`, as they come. Raises DataError where it is not the file any more."""
    with path.open("rb") as file:
        _check_same(path, file.readline(), target)
        file.seek(0)
        passed = 0
        while passed < skip and file.readline().endswith(b"\n"):
            passed += 1
        if passed < skip:
            raise DataError(f"{path}: has {passed} lines, of which {skip} were received: it is another file")
        rest, gone = b"", False
        while not ended.is_set() and not answers.closed:
            data = file.read(CHUNK)
            end = data.rfind(b"\n") + 1
            if end:
                yield rest + data[:end]
                rest = data[end:]
            else:
                rest += data
            if not data:
                if not follow:
                    if rest:
                        yield rest + b"\n"  # the last line has no end, and the file will have no more
                    return
                if gone:
                    raise DataError(
                        f"{path}: was replaced, cut or removed while it was sent; its lines up to then are sent; send "
                        "the new file with another --sender"
                    )
                gone = _is_gone(path, file)  # what was written before is read once more
                ended.wait(0 if gone else _POLL_S)


def _check_same(path: Path, first_line: bytes, target: Target) -> None:
    """Raise DataError if it is not the file whose lines were sent before: its first line shows that."""
    if not first_line.endswith(b"\n"):
        return
    record = path.with_name(f"{path.name}.{target.sender}.sent")
    begins = hashlib.sha256(first_line).hexdigest()
    if not record.exists():
        try:
            durable.replace(record, f"{begins}\n".encode("ascii"))
        except OSError as error:
            raise EnvironmentFault(f"{record}: cannot be written, and names the file that was sent: {error}") from error
    elif record.read_text(encoding="ascii").strip() != begins:
        raise DataError(
            f"{path}: does not begin like the file that was sent as {target.sender} ({record}): it is "
            "another file; send it with another --sender"
        )


def _is_gone(path: Path, file: BinaryIO) -> bool:
    """Return whether the file that is read is another one now, or was cut: what is written from now on is not in it."""
    now = path.stat() if path.exists() else None
    return now is None or now.st_ino != os.fstat(file.fileno()).st_ino or now.st_size < file.tell()


class _Answers:
    """What the receiver says, read in a thread of its own."""

    def __init__(self, connected: socket.socket) -> None:
        self.received, self.refused, self.closed = -1, "", False
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
                    self._heard.notify_all()
        except (OSError, ValueError):
            pass
        finally:
            with self._heard:
                self.closed = True
                self._heard.notify_all()

    def first(self) -> int:
        """Return how many lines were received before."""
        self.wait_for(0)
        return self.received

    def check(self, seconds: float) -> None:
        """Raise EnvironmentFault if we are refused, which the receiver answers within so many seconds."""
        self._thread.join(seconds)
        if self.refused:
            raise EnvironmentFault(f"the receiver refuses: {self.refused}")

    def wait_for(self, count: int) -> None:
        """Wait until so many lines are received. Raises OSError if they are not, EnvironmentFault if we are refused."""
        deadline = time.monotonic() + _ANSWER_S
        with self._heard:
            while self.received < count and not self.closed and time.monotonic() < deadline:
                self._heard.wait(1.0)
        if self.refused:
            raise EnvironmentFault(f"the receiver refuses: {self.refused}")
        if self.received < count:
            raise ConnectionError(f"{count} lines were sent, and {self.received} are received")
