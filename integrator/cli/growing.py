"""The lines of a growing file, numbered over all files that had its name, after those that were received.

A record beside it (FILE.SENDER.sent) says where lines were received up to, and in which file: see rotated.
"""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path
from typing import BinaryIO

import structlog

from integrator.cli import rotated
from integrator.cli.rotated import SHOWN, Mark, Opened, PackedError, Place, identity, read
from integrator.errors import DataError
from integrator.names.numbers import counted

CHUNK = 256 * 1024
LONGEST = 1 << 30
"""Bytes of a line: the most that `line_bytes` of a socket may be."""
_NOTED_S = 1.0
_WARNED_S = 60.0


class Growing:
    """A growing file, as one sender sends it."""

    def __init__(self, path: Path, sender: str, *, follow: bool, remove: bool = False) -> None:
        """Take the file; follow: it grows, and is rotated; remove: rotated files are removed when they are received."""
        self._path, self._sender, self._follow, self._remove = path, sender, follow, remove
        self._record = path.with_name(f"{path.name}.{sender}.sent")
        self._received: Place | None = None
        """Up to which lines were received, at least."""
        self._at: Place | None = None
        self._sent: deque[Place] = deque()
        """Places up to which lines were sent, and perhaps not received yet."""
        self._skip, self._scanned, self._ended = 0, 0, False
        self._done: dict[tuple[int, int, int], int] = {}
        """Files that were read, as `rotated.next_after` knows them, and the number of the last line of each."""
        self._files: list[BinaryIO] = []
        self._noted: Mark | None = None
        self._noted_at = self._warned_at = 0.0

    def begin(self, received: int) -> None:
        """Go to the line after those that were received. Raises DataError where no file has it."""
        place = self._received or self._recorded(received)
        if received < place.of.before:
            raise DataError(
                f"{self._path}: begins with line {place.of.before + 1} of {self._sender}, and the receiver has "
                f"{counted(received, 'line')}: it has lost some; send the file with another --sender"
            )
        if received < place.line:  # an older copy of the receiver's state
            place = Place(place.of, place.of.before, 0, b"")
        self._received = self._at = place
        self._done = {file: line for file, line in self._done.items() if line <= place.of.before}
        self._sent.clear()
        self._close_others()
        self._skip, self._scanned, self._ended = received - place.line, place.offset, False

    def _recorded(self, received: int) -> Place:
        """Return the place that the record says; without one, the beginning of the file."""
        mark = rotated.read_mark(self._record)
        if mark is None:
            if received:
                raise DataError(
                    f"{self._record}: is not there, and the receiver has {counted(received, 'line')} of "
                    f"{self._sender}: it is unknown in which file they are; restore it, or send the file with "
                    "another --sender"
                )
            file = rotated.opened(self._path)
            if file is None:
                raise DataError(f"{self._path}: there is no such file")
            self._files.append(file)
            return Place(Opened(file, 0, b""), 0, 0, b"")
        file = rotated.found(self._path, mark)
        if file is None:
            raise DataError(
                f"{self._path}: neither it nor a file beside it ({self._path.name}.*, {self._path.name}-*) is the one "
                f"of which lines up to {mark.line} were received as {self._sender} ({self._record}): put that one "
                "back, unpacked, or send this one with another --sender"
            )
        self._files.append(file)
        self._noted = mark
        start = max(mark.offset - SHOWN, 0)
        tail = os.pread(file.fileno(), mark.offset - start, start)
        return Place(Opened(file, mark.before, os.pread(file.fileno(), mark.size, 0)), mark.line, mark.offset, tail)

    def lines(self) -> bytes | None:
        """Return the next whole lines; nothing where there are none yet; None at the end where it is not followed.

        Raises DataError where lines are lost: the file was cut, and none beside it has what was in it.
        """
        while True:
            data = self._whole() or self._end_of_file()
            if not data:
                self._check_skipped()
                return data
            data = self._not_received(data)
            if data:
                at = self._place()
                os.fdatasync(at.of.file.fileno())  # what a power cut took back would be received and be in no file
                if self._noted is None:  # without a record, nobody would know in which file the first lines were
                    self._note(Place(at.of, at.of.before, 0, b""))
                return data

    def _not_received(self, data: bytes) -> bytes:
        """Return those of some lines that were not received before."""
        count = data.count(b"\n")
        if self._skip >= count:
            self._skip -= count
            return b""
        begin = 0
        for _ in range(self._skip):
            begin = data.index(b"\n", begin) + 1
        self._skip = 0
        return data[begin:]

    def _check_skipped(self) -> None:
        """Raise DataError where fewer lines are there than were received; a last one may have no end yet."""
        if self._skip > (1 if self._follow and self._rest() else 0):
            line = self._place().line
            raise DataError(
                f"{self._path}: has lines up to {line}, of which {line + self._skip} were received as {self._sender}: "
                "it is another file, or was cut; send it with another --sender"
            )

    def acknowledged(self, received: int, *, now: bool = False) -> None:
        """Take note of how many lines were received; now: write it down at once, not each second."""
        while self._sent and self._sent[0].line <= received:
            before, self._received = self._received, self._sent.popleft()
            now = now or before is None or before.of.file is not self._received.of.file
        if self._received is not None and (now or time.monotonic() - self._noted_at > _NOTED_S):
            self._note(self._received)
            self._close_others()
            if self._remove:
                self._remove_received(self._received.of.before)

    def _remove_received(self, line: int) -> None:
        """Remove the rotated files whose lines, up to this one, are received: the record is in a later file."""
        received = {file for file, last in self._done.items() if last <= line}
        for one in rotated.beside(self._path) if received else ():
            status = one.stat()
            if (status.st_dev, status.st_ino, status.st_mtime_ns) in received:
                one.unlink()
                structlog.get_logger().info("removed, for its lines are received", file=str(one))
        self._done = {file: last for file, last in self._done.items() if file not in received}

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def _close_others(self) -> None:
        """Close the files that are read to their end, and received."""
        used = [place.of.file for place in (self._received, self._at, *self._sent) if place is not None]
        for file in [one for one in self._files if one not in used]:
            file.close()
            self._files.remove(file)

    def _note(self, place: Place) -> None:
        self._noted_at = time.monotonic()
        if place.of.head and (mark := place.mark) != self._noted:
            os.fsync(place.of.file.fileno())  # a record of lines that a power cut takes back would be of no file
            rotated.write_mark(self._record, mark)
            self._noted = mark

    def _place(self) -> Place:
        if self._at is None:
            raise DataError(f"{self._path}: is not open")
        return self._at

    def _go(self, data: bytes, lines: int) -> bytes:
        """Continue after these bytes, which have so many lines."""
        at = self._place()
        of = at.of
        if at.offset < SHOWN and at.offset == len(of.head):
            of = Opened(of.file, of.before, (of.head + data)[:SHOWN])
        tail = data[-SHOWN:] if len(data) >= SHOWN else (at.tail + data)[-SHOWN:]
        self._at = Place(of, at.line + lines, at.offset + len(data), tail)
        self._scanned = self._at.offset
        self._sent.append(self._at)
        return data

    def _whole(self) -> bytes:
        """Return whole lines that follow, and continue after them; nothing where the next one has no end yet."""
        at = self._place()
        file, size = at.of.file.fileno(), len(at.tail)
        data = os.pread(file, size + CHUNK, at.offset - size)
        if data[:size] != at.tail:
            self._cut()
            return self._whole()
        end = data.rfind(b"\n") + 1
        if end > size:
            return self._go(data[size:end], data.count(b"\n", size, end))
        if len(data) < size + CHUNK:
            return b""
        while block := os.pread(file, CHUNK, self._scanned):  # a long line is scanned once, and read once
            end = block.find(b"\n")
            self._scanned += len(block) if end < 0 else end + 1
            if self._scanned - at.offset > LONGEST:
                raise DataError(
                    f"{self._path}: line {at.line + 1} has more than {LONGEST} bytes, which no socket takes"
                )
            if end >= 0:
                return self._go(read(file, at.offset, self._scanned), 1)
        return b""

    def _end_of_file(self) -> bytes | None:
        """Continue with the file that follows, or say that there is none: nothing, or None where it is not followed."""
        following = self._following()
        if following is None:
            if self._follow:
                self._warn_of_gone()
                return b""
            if self._ended:
                return None
            self._ended = True  # the last line has no end, and may get one later: the record stays before it
            rest = self._rest()
            return rest + b"\n" if rest else None
        data = self._whole()  # what was written before the next file was begun
        if data:
            return data
        at, rest = self._place(), self._rest()
        if rest:
            return self._go(rest, 1) + b"\n"
        status = os.fstat(at.of.file.fileno())
        file = rotated.opened(following)
        if file is None:
            return b""
        self._files.append(file)
        done = status.st_dev, status.st_ino, status.st_mtime_ns
        self._done[done] = at.line
        self._at, self._scanned = Place(Opened(file, at.line, b""), at.line, 0, b""), 0
        lines = self._whole() or self._end_of_file()
        if lines == b"" and self._scanned < CHUNK:  # it may be copied and cut before anything says which file it is
            del self._done[done]
            self._at, self._scanned = at, at.offset
            self._close_others()
        elif lines:
            structlog.get_logger().info("continues with the next file", file=str(following), line=at.line + 1)
        return lines

    def _following(self) -> Path | None:
        at = self._place()
        try:
            return rotated.next_after(self._path, at.of.file, at.mark, self._done)
        except PackedError as error:
            if not self._follow or self._skip:
                raise
            self._warn(str(error))  # it may be the file that is read, just being packed
            return None

    def _warn_of_gone(self) -> None:
        if not self._path.exists():
            self._warn(f"{self._path}: is gone, and was not written anew yet")

    def _warn(self, reason: str) -> None:
        if time.monotonic() - self._warned_at > _WARNED_S:
            self._warned_at = time.monotonic()
            structlog.get_logger().warning("waits", reason=reason)

    def _rest(self) -> bytes:
        at = self._place()
        file = at.of.file.fileno()
        return read(file, at.offset, os.fstat(file).st_size)

    def _cut(self) -> None:
        """Continue in a copy of the file, which was cut. Raises DataError if there is none."""
        at = self._place()
        copy = rotated.found(self._path, at.mark, but=identity(at.of.file)) if at.of.head else None
        if copy is None:
            raise DataError(
                f"{self._path}: was cut or written over after line {at.line}, and no file beside it ("
                f"{self._path.name}.*, {self._path.name}-*) has its lines up to then: lines after that one may be "
                "lost; send the file as it is now with another --sender"
            )
        self._files.append(copy)
        self._at = Place(Opened(copy, at.of.before, at.of.head), at.line, at.offset, at.tail)
        self._sent.append(self._at)
