"""The spool: what is received, lines of a socket or frames of a database, durable before it counts as received.

Each sender writes a segment of its own, NAME.FIRST.open, which is sealed (named NUMBER.NAME.FIRST.jsonl) when a cycle
may take it: from then on it is a change file like any other. FIRST is the number of its first line among all of that
sender, so that the files alone say how many lines of each sender are here, whenever a crash comes. Frames are counted
in bytes, and their segments end in .frames (`Framing`).

senders.json   how many lines of each sender there were, for those whose segments are gone
refused.jsonl  connections that were closed for what they sent
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from io import FileIO
from pathlib import Path

from integrator import durable
from integrator.errors import EnvironmentFault
from integrator.sources.files.listing import Listing
from integrator.sources.slices import Slice


@dataclass(frozen=True)
class Framing:
    """What is in segments.

    suffix: of their names. whole: returns how many bytes of what a crash left are whole. count: returns how many items
    there are in whole bytes; None where bytes are counted.
    """

    suffix: str
    whole: Callable[[bytes], int]
    count: Callable[[bytes], int] | None

    @property
    def pattern(self) -> str:
        """What names of sealed segments match."""
        return f"[0-9]*.{self.suffix}"

    def counted(self, data: bytes) -> int:
        """Return how many items there are in whole bytes."""
        return len(data) if self.count is None else self.count(data)

    def counted_in(self, path: Path) -> int:
        """Return how many items a sealed segment has."""
        if self.count is None:
            return path.stat().st_size
        with path.open("rb") as file:
            return sum(map(self.count, iter(lambda: file.read(1 << 20), b"")))


SPOOL = "spool"
"""Where in a channel's state directory segments are kept."""
LINES = Framing("jsonl", lambda data: data.rfind(b"\n") + 1, lambda data: data.count(b"\n"))
PATTERN = LINES.pattern
_SEALED = re.compile(r"(\d{12})\.([A-Za-z0-9_-]+)\.(\d+)\.[a-z]+")
_OPEN = re.compile(r"([A-Za-z0-9_-]+)\.(\d+)\.open")
_MOST_REFUSED = 1024 * 1024
MOST_SENDERS = 10_000
"""Names of senders whose lines are counted, for ever: whoever invents names fills memory and disk."""


def never(_line: bytes) -> bool:
    """Return that a line does not wait for the next one."""
    return False


def number_of(path: str) -> int:
    """Return the number of a segment."""
    return int(path.rpartition("/")[2].partition(".")[0])


def is_segment(name: str) -> bool:
    """Return whether a file's name is one of a sealed segment."""
    return _SEALED.fullmatch(name) is not None


def sealed_in(directory: Path) -> list[Path]:
    """Return the sealed segments in the directory of a spool, in order."""
    return sorted(path for path in directory.glob("[0-9]*") if is_segment(path.name))


@dataclass(frozen=True)
class Segments(Listing):
    """Finds the sealed segments of a spool: each sender is a stream, and their numbers have no gap."""

    def stream_of(self, path: str) -> str:
        """Return the sender of a segment."""
        found = _SEALED.fullmatch(path.rpartition("/")[2])
        return found[2] if found else ""

    @property
    def number_of(self) -> Callable[[str], int] | None:
        """What gives the number of a segment."""
        return number_of


def segments(directory: str, delay_s: int = 0, framing: Framing = LINES) -> Segments:
    """Return what finds the segments in the directory of a spool that are at least `delay_s` seconds old."""
    return Segments(directory, framing.pattern, (), "name", delay_s)


class Spool:
    """The segments of a channel. One process has it at a time, the one that has the channel's lock."""

    def __init__(self, directory: Path, waits: Callable[[bytes], bool] = never, framing: Framing = LINES) -> None:
        """Open the spool, and seal what a crash left open, cut to whole items.

        waits: whether a line is received with the next one only (`Dialect`): a crash came between them.
        """
        self.path, self._waits, self.framing = directory, waits, framing
        durable.make_directory(directory)
        self._lock = threading.RLock()
        self._writers: dict[str, Writer] = {}
        self._received = self._recorded()
        self._next = 1
        self._more = threading.Event()
        self._waiting: dict[str, Slice] = {}
        self._kept: dict[str, int] = {}
        for path in sorted(directory.glob(framing.pattern)):
            number, sender, first = self._parts(path)
            self._next = max(self._next, number + 1)
            self._received[sender] = max(self._received.get(sender, 0), first - 1 + framing.counted_in(path))
            self._waiting[path.name] = self._slice(path)
        for path in directory.glob("*.open"):
            self._recover(path)

    def _recorded(self) -> dict[str, int]:
        path = self.path / "senders.json"
        if not path.exists():
            return {}
        try:
            return {str(name): int(count) for name, count in json.loads(path.read_text(encoding="utf-8")).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise EnvironmentFault(
                f"{path}: is damaged ({error!r}), and it records how many lines of each sender were received; "
                "restore it, or remove it: then senders that have no lines left in the spool start again with their "
                "first line"
            ) from error

    @staticmethod
    def _parts(path: Path) -> tuple[int, str, int]:
        found = _SEALED.fullmatch(path.name)
        if found is None:
            raise EnvironmentFault(
                f"{os.fsencode(path).decode(errors='backslashreplace')}: is no segment of the spool "
                "(NUMBER.SENDER.FIRST.jsonl or .frames, its number with 12 digits); move it elsewhere"
            )
        return int(found[1]), found[2], int(found[3])

    def _recover(self, path: Path) -> None:
        found = _OPEN.fullmatch(path.name)
        data = path.read_bytes()
        whole = data[: self.framing.whole(data)]
        if self._waits is not never:
            last = whole[whole.rfind(b"\n", 0, -1) + 1 :]
            whole = whole.removesuffix(last) if self._waits(last) else whole
        if found is None or not whole:
            path.unlink()
            return
        durable.cut(path, len(whole))
        self.sealed(path, found[1], int(found[2]), self.framing.counted(whole))

    def continue_after(self, number: int) -> None:
        """Give the next segment a number above `number`, which was taken though its file may be gone."""
        with self._lock:
            self._next = max(self._next, number + 1)

    def received(self, sender: str) -> int:
        """Return how many lines of a sender are durable."""
        return self._received.get(sender, 0)

    def takes(self, sender: str) -> bool:
        """Return whether a sender is known, or may become so."""
        with self._lock:
            return sender in self._received or len(self._received) < MOST_SENDERS

    @property
    def last(self) -> int:
        """The number of the last segment; 0 where there was none."""
        with self._lock:
            return self._next - 1

    @property
    def first_waiting(self) -> int:
        """The number of the first segment that is not synced; of the next one where all are."""
        with self._lock:
            return min(map(number_of, self._waiting), default=self._next)

    @property
    def waiting_bytes(self) -> int:
        """How much is sealed and not synced."""
        with self._lock:
            return self._waiting_bytes

    @property
    def _waiting_bytes(self) -> int:
        return sum(one.size for one in self._waiting.values())

    def _slice(self, path: Path) -> Slice:
        status = path.stat()
        return Slice(str(self.path / path.name), status.st_size, status.st_mtime_ns)

    def waiting(self) -> list[Slice]:
        """Return the segments that are sealed and not synced, in order."""
        with self._lock:
            self._more.clear()
            return list(self._waiting.values())

    def wait(self, seconds: float) -> None:
        """Wait until a segment is sealed since `waiting` was asked last."""
        self._more.wait(seconds)

    @property
    def sealed_bytes(self) -> int:
        """How much is sealed, with what is synced and kept."""
        with self._lock:
            return self._waiting_bytes + sum(self._kept.values())

    def writer(self, sender: str) -> Writer:
        """Return the writer of a sender's segments; a sender has one connection at a time."""
        with self._lock:
            return self._writers.setdefault(sender, Writer(self, sender))

    def sealed(self, path: Path, sender: str, first: int, lines: int) -> None:
        """Name a segment that is whole, and durable, so that cycles find it. Raises OSError; it may be named then."""
        with self._lock:
            name = f"{self._next:012d}.{sender}.{first}.{self.framing.suffix}"
            try:
                durable.rename(path, self.path / name)
            finally:
                if (self.path / name).exists():
                    self._next += 1
                    self._received[sender] = max(self.received(sender), first - 1 + lines)
                    self._waiting[name] = self._slice(self.path / name)
                    self._more.set()

    def synced(self, names: list[str]) -> None:
        """Take note of segments that are in a synced cycle: they wait no longer."""
        with self._lock:
            self._kept.update((name, self._waiting.pop(name).size) for name in names if name in self._waiting)

    def remove(self, names: list[str]) -> None:
        """Remove segments that no cycle will be gone back to for."""
        with self._lock:
            # before the segments that have it are gone
            durable.replace(self.path / "senders.json", json.dumps(self._received).encode())
            last = f"{self._next - 1:012d}."
            for name in names:
                if not name.startswith(last):  # it says which number is next
                    (self.path / name).unlink(missing_ok=True)
                    self._kept.pop(name, None)

    def close(self) -> None:
        """Close the files; what is not sealed, the next one that opens the spool seals."""
        with self._lock:
            for writer in self._writers.values():
                writer.close()

    def refuse(self, peer: str, sender: str, line: int, reason: str, begins: bytes) -> None:
        """Write down why a connection was closed: the number of the line, and how it begins."""
        path = self.path / "refused.jsonl"
        if path.exists() and path.stat().st_size > _MOST_REFUSED:
            path.replace(path.with_suffix(".old.jsonl"))
        entry = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "peer": peer,
            "sender": sender,
            "line": line,
            "reason": reason,
            "begins": begins[:200].decode("utf-8", "backslashreplace"),
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


class Writer:
    """Writes the lines of one sender, segment after segment; one thread writes, and any may seal."""

    def __init__(self, spool: Spool, sender: str) -> None:
        self._spool, self._sender = spool, sender
        self._lock = threading.Lock()
        self._file: FileIO | None = None
        self._first, self._lines, self._durable = 0, 0, 0
        self._torn = False
        self.size = self._durable_size = 0

    @property
    def lines(self) -> int:
        """How many lines the segment has that is not sealed."""
        return self._lines if self._file is not None else 0

    @property
    def unsynced(self) -> bool:
        """Whether lines were written that are not durable yet."""
        return self._file is not None and self._lines > self._durable

    @property
    def received(self) -> int:
        """How many lines of the sender are written, since its first one."""
        return self._first - 1 + self._lines if self._file is not None else self._spool.received(self._sender)

    def write(self, data: bytes) -> None:
        """Write whole lines. Raises OSError; then the segment ends with what is durable."""
        with self._lock:
            if self._file is None:
                self._first, self._lines, self._durable = self._spool.received(self._sender) + 1, 0, 0
                self.size = self._durable_size = 0
                path = self._spool.path / f"{self._sender}.{self._first}.open"
                self._file = path.open("wb", buffering=0)
                durable.sync_directory(self._spool.path)
            if self._torn:
                self._cut()
            try:
                left = memoryview(data)
                while left:
                    left = left[self._file.write(left) :]
            except OSError:
                self._cut()
                raise
            self._lines += self._spool.framing.counted(data)
            self.size += len(data)

    def sync(self) -> int:
        """Make what was written durable; return how many lines of the sender are. Raises OSError as `write`."""
        with self._lock:
            return self._sync()

    def _sync(self) -> int:
        if self._torn:
            self._cut()
        if self._file is not None and self._lines > self._durable:
            try:
                os.fsync(self._file.fileno())
            except OSError:
                self._cut()
                raise
            self._durable, self._durable_size = self._lines, self.size
        return self.received

    def _cut(self) -> None:
        """Cut the segment to what is durable, for nobody knows how much of the rest was written."""
        self._torn = True
        self._lines, self.size = self._durable, self._durable_size  # first: none is acknowledged
        if self._file is not None:
            os.ftruncate(self._file.fileno(), self._durable_size)
            os.lseek(self._file.fileno(), 0, os.SEEK_END)
            os.fsync(self._file.fileno())
        self._torn = False

    def close(self) -> None:
        """Make what was written durable, and close the file."""
        with self._lock:
            self._sync()
            if self._file is not None:
                self._file.close()
                self._file = None

    def seal(self) -> None:
        """Hand the segment over to the cycles. Raises OSError; then that is to be done before anything else."""
        with self._lock:
            self._sync()
            if self._file is None:
                return
            path = Path(self._file.name)
            try:
                if self._lines:
                    self._spool.sealed(path, self._sender, self._first, self._lines)
                else:
                    path.unlink()
            finally:
                if not path.exists():
                    self._file.close()
                    self._file = None
