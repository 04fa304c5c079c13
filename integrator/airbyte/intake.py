"""Standard input -> segments of a spool, which cycles read; the source waits while too much is not synced."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import structlog

from integrator.airbyte.catalog import Descriptor
from integrator.airbyte.lines import FILE, Passed, Records, classified
from integrator.airbyte.states import States
from integrator.errors import Defect, EnvironmentFault, Fault, IntegratorError, Place, PublicDataError
from integrator.sources.contract import Feed
from integrator.sources.spool import PATTERN, Spool, number_of

SEGMENT_BYTES = 8 * 1024 * 1024
_BLOCK_BYTES = 4 * 1024 * 1024
_MOST_LINE = 256 * 1024 * 1024
_READ_BYTES = 1024 * 1024
_QUIET_S, _OLDEST_S, _POLL_S = 0.05, 1.0, 0.05
_STATES_BYTES = 64 * 1024 * 1024
_SENDER = "stdin"


@dataclass(frozen=True)
class Limits:
    """What an intake may keep: so many bytes of records on disk that are not synced."""

    buffer_bytes: int


class Intake(Feed):
    """Reads standard input while the channel is integrated, and sets `stopping` when there is nothing left to do."""

    def __init__(
        self,
        descriptor: int,
        streams: AbstractSet[Descriptor],
        states: States,
        limits: Limits,
        stopping: threading.Event,
    ) -> None:
        """Take what is read, the streams of the catalog, and the messages that wait."""
        self._descriptor, self._streams, self._states = descriptor, streams, states
        self._limits, self._stopping = limits, stopping
        self._directory = Path()
        self._lines, self._sealed, self._opened_at = 0, 0, 0.0
        self._passed: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run, name="stdin", daemon=True)
        self._room = threading.Condition()
        self.error: IntegratorError | None = None
        self.is_done = False

    def opened(self, directory: Path) -> Intake:
        """Open the spool in a directory, which has no segments yet; return the same."""
        self._directory, self._spool = directory, Spool(directory)
        self._writer = self._spool.writer(_SENDER)
        return self

    def start(self, synced: int) -> None:
        """Start to read. Called once."""
        self.synced(synced)
        self._thread.start()

    def synced(self, last: int, *, ends_cycle: bool = True) -> None:  # noqa: ARG002 - of the contract
        """Give back what waited for segments up to this one, and remove these: Airbyte has the progress (I1)."""
        self._states.synced(last)
        names = [path.name for path in self._directory.glob(PATTERN) if number_of(path.name) <= last]
        with self._room:
            self._spool.synced(names)
            self._spool.remove(names)
            self._room.notify_all()

    def close(self) -> None:
        """End to read, and give back nothing more."""
        self._states.close()
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._spool.close()

    def _run(self) -> None:
        try:
            for block in self._blocks():
                self._take(block)
            self._seal()
            self._wait(lambda: self._states.synced_segment >= self._sealed)
            self.is_done = not self._stopping.is_set()
        except IntegratorError as error:
            self.error = error
        except OSError as error:
            self.error = EnvironmentFault(
                f"{self._directory}: records of standard input cannot be kept there: {error}; make room, have another "
                "directory as TMPDIR, or lower buffer_bytes"
            )
        except Exception as error:  # noqa: BLE001 - raised where the run ends
            self.error = Defect.of(error, FILE)
        if self._passed:
            structlog.get_logger().info("messages that a destination passes over", counts=dict(self._passed))
        self._stopping.set()

    def _wait(self, ready: Callable[[], bool]) -> None:
        """Wait until something holds, or the end is asked for."""
        with self._room:
            while not self._stopping.is_set() and not ready():
                self._room.wait(_POLL_S)

    def _blocks(self) -> Iterator[bytes]:
        """Yield whole lines, as many as there are for the moment, until the end; seal what becomes old."""
        pieces, size, last, is_whole = list[bytes](), 0, time.monotonic(), False
        while not self._stopping.is_set():
            is_there, _, _ = select.select([self._descriptor], [], [], _QUIET_S)
            data = os.read(self._descriptor, _READ_BYTES) if is_there else None
            if data:
                pieces.append(data)
                size += len(data)
                is_whole |= b"\n" in data
            if data != b"" and is_there and size < _BLOCK_BYTES and time.monotonic() - last < _QUIET_S:
                continue
            if data != b"" and not is_whole:
                self._check_line(size)
                self._seal_old(is_quiet=not is_there)
                continue
            whole = b"".join(pieces)
            end = len(whole) if data == b"" else whole.rfind(b"\n") + 1
            if end:
                yield whole[:end] if whole.endswith(b"\n", 0, end) else whole[:end] + b"\n"
            pieces, size = [whole[end:]] if end < len(whole) else [], len(whole) - end
            last, is_whole = time.monotonic(), False
            if data == b"":
                return
            self._check_line(size)
            self._seal_old(is_quiet=not is_there)

    def _check_line(self, size: int) -> None:
        """Raise DataError for a line without an end that has become too long."""
        if size > _MOST_LINE:
            raise PublicDataError(Fault(Place(FILE, self._lines + 1), f"the line has more than {_MOST_LINE:,} bytes"))

    def _take(self, block: bytes) -> None:
        """Write the records of whole lines, and have what is given back wait for them."""
        for found in classified(block, self._lines, self._streams):
            if isinstance(found, Records):
                if not self._writer.lines:
                    self._opened_at = time.monotonic()
                self._writer.write(found.data)
                self._states.count(found.counts)
            elif isinstance(found, Passed):
                self._passed += found.counts
            else:
                segment = self._sealed + (self._writer.lines > 0)
                (self._states.add_state if found.is_state else self._states.add)(found.line, segment)
        self._lines += block.count(b"\n")
        if self._writer.size >= SEGMENT_BYTES:
            self._seal()
        self._wait(self._has_room)

    def _has_room(self) -> bool:
        few = self._spool.waiting_bytes < self._limits.buffer_bytes and self._states.waiting_bytes < _STATES_BYTES
        return few or not self._spool.waiting_bytes

    def _seal_old(self, *, is_quiet: bool) -> None:
        if self._writer.lines and (is_quiet or time.monotonic() - self._opened_at > _OLDEST_S):
            self._seal()

    def _seal(self) -> None:
        """Hand what was written over to the cycles; segments are numbered from 1."""
        if self._writer.lines:
            with self._room:
                self._writer.seal()
                self._sealed += 1
