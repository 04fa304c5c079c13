"""Records the failures of a channel: in the log, for the observer, and in failure.json until another one comes.

It is kept after it was mended, so that whoever reads it in the morning sees what happened at night.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import structlog

from integrator import durable
from integrator.channel.secret import Secrets
from integrator.errors import PROCESS, IntegratorError
from integrator.run.seen.failure import FILE, Failure, read
from integrator.run.seen.observer import Observer


class Failures:
    """Records the failures of one channel."""

    def __init__(self, directory: Path, channel: str, secrets: Secrets, observer: Observer) -> None:
        self._directory, self._channel, self._secrets, self._observer = directory, channel, secrets, observer
        self._log = structlog.get_logger().bind(channel=channel)
        self._last = read(directory)
        if self._last is not None:
            observer.failure(channel, self._last, new=False)

    def again(self, error: BaseException, seconds: float) -> None:
        """Record a failure after which the channel starts again in so many seconds."""
        failure = self._record(error, round(seconds, 1))
        self._log.warning(
            "failed, starts again",
            error=str(error),
            seconds=failure.again_in,
            failure=failure.in_a_row,
            kind=failure.kind,
        )

    def final(self, error: IntegratorError) -> None:
        """Record a failure after which the channel does not start again by itself."""
        self._record(error, None)
        self._log.error("failed", error=str(error), kind=error.kind.name, who=error.kind.who)

    def synced(self, cycle: int) -> None:
        """Take note of a synced cycle: what had failed is mended."""
        if self._last is not None and not self._last.mended:
            self._keep(dataclasses.replace(self._last, mended=_now()))
            self._log.info("failure mended", cycle=cycle)

    def _record(self, error: BaseException, again_in: float | None) -> Failure:
        known = error if isinstance(error, IntegratorError) else None
        kind, has_values = (known.kind, known.has_values) if known else (PROCESS, True)
        before = self._last.in_a_row if self._last is not None and not self._last.mended else 0
        text = self._secrets.mask(str(error))  # I7
        failure = Failure(_now(), kind.name, kind.action, text, has_values, before + 1, again_in)
        self._keep(failure)
        return failure

    def _keep(self, failure: Failure) -> None:
        self._last = failure
        self._observer.failure(self._channel, failure, new=not failure.mended)
        recorded: dict[str, Any] = dataclasses.asdict(failure)
        try:
            durable.replace(self._directory / FILE, json.dumps(recorded, ensure_ascii=False).encode())
        except OSError as error:  # a full disk is itself what failed, perhaps
            self._log.warning("failure.json is not written", error=str(error))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
