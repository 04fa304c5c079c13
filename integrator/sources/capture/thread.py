"""Captures a database in a thread: connects to its log, and again after each failure, for as long as that takes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import structlog

from integrator.errors import Defect, IntegratorError, SourceAway
from integrator.sources.capture.marks import Marks

_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 10.0


class Stream(Protocol):
    """One connection to a database's log, from where the spool ends. streamed: whether changes were received."""

    @property
    def streamed(self) -> bool:
        """Whether what was received is in the spool."""

    def capture(self) -> None:
        """Capture until the end, or what exists now. Raises IntegratorError, OSError."""


class Capture:
    """Captures in a thread of its own, until it is closed; it connects again for as long as that takes.

    log: of the channel. failure: why nothing is captured, where somebody must act. away: why nothing is captured now,
    where that passes; empty while all is well. marks: up to where all is in segments.
    """

    def __init__(self, connect: Callable[[Capture, bool], Stream], channel: str, shown: str) -> None:
        """Take what makes a stream. Its second argument: it ends when all is there that was committed at its start."""
        self._connect = connect
        self.log = structlog.get_logger().bind(channel=channel, database=shown)
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self.marks = Marks()
        self.failure: IntegratorError | None = None
        self.away = ""

    def connected(self) -> None:
        """Take note that a stream receives: whatever kept it from that has passed."""
        self.failure, self.away = None, ""

    def start(self) -> None:
        """Start to capture."""
        self._thread = threading.Thread(target=self._run, name="capture", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End; what was captured is durable, and sealed."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def catch_up(self) -> None:
        """Capture what is committed now, in this thread. Raises IntegratorError."""
        self._connect(self, True).capture()

    def _run(self) -> None:
        pause = _PAUSE_S
        while not self._ending.is_set():
            received = False
            try:
                stream = self._connect(self, False)
                try:
                    stream.capture()
                finally:
                    received = stream.streamed
            except SourceAway as away:
                self.away = str(away)
                self.log.warning("not captured, tries again", reason=self.away, seconds=pause)
            except IntegratorError as fault:
                self.log.error("not captured", reason=str(fault))  # noqa: TRY400 - no defect that a traceback would explain
                self.failure = fault
            except OSError as error:
                self.away = f"the spool cannot be written: {error}"
                self.log.error("not captured: the spool cannot be written", reason=str(error))  # noqa: TRY400 - likewise
            except Exception as error:  # noqa: BLE001 - the thread must not end while the channel continues
                self.failure = Defect.of(error, "capturing")
                self.log.error("not captured", reason=str(self.failure))  # noqa: TRY400 - the text has the traceback
            pause = _PAUSE_S if received else min(2 * pause, _LONGEST_PAUSE_S)
            self._ending.wait(pause)

    @property
    def ending(self) -> bool:
        """Whether the end was asked for."""
        return self._ending.is_set()
