"""Captures a database in a thread: connects to its slot, and again after each failure, for as long as that takes."""

from __future__ import annotations

import threading

import structlog

from integrator.channel.databases import PostgresLocation
from integrator.errors import Defect, IntegratorError, SourceAway
from integrator.sources.postgres.server import Server
from integrator.sources.postgres.slot import Names
from integrator.sources.postgres.stream import Stream
from integrator.sources.spool import Spool

_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 10.0


class Capture:
    """Captures in a thread of its own, until it is closed; it connects again for as long as that takes."""

    def __init__(self, location: PostgresLocation, names: Names, spool: Spool, channel: str) -> None:
        self._location, self.names, self._spool = location, names, spool
        self.server = Server(location.address, f"integrator {channel}")
        self.log = structlog.get_logger().bind(channel=channel, database=self.server.shown)
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self.failure: IntegratorError | None = None

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
        Stream(self, self._location, self._spool, until_now=True).capture()

    def _run(self) -> None:
        pause = _PAUSE_S
        while not self._ending.is_set():
            received = False
            try:
                stream = Stream(self, self._location, self._spool, until_now=False)
                try:
                    stream.capture()
                finally:
                    received = stream.streamed
            except SourceAway as away:
                self.log.warning("not captured, tries again", reason=str(away), seconds=pause)
            except IntegratorError as fault:
                self.log.error("not captured", reason=str(fault))  # noqa: TRY400 - no defect that a traceback would explain
                self.failure = fault
            except OSError as error:
                self.log.error("not captured: the spool cannot be written", reason=str(error))  # noqa: TRY400 - likewise
            except Exception as error:  # noqa: BLE001 - the thread must not end while the channel goes on
                self.failure = Defect.of(error, "capturing")
                self.log.error("not captured", reason=str(self.failure))  # noqa: TRY400 - the text has the traceback
            pause = _PAUSE_S if received else min(2 * pause, _LONGEST_PAUSE_S)
            self._ending.wait(pause)

    @property
    def ending(self) -> bool:
        """Whether the end was asked for."""
        return self._ending.is_set()
