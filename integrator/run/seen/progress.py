"""What the operator sees: structured logs on stderr; I7: nothing secret in them."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO, cast

import structlog

from integrator.channel.secret import Secrets
from integrator.errors import shortened

DEBUG = "INTEGRATOR_DEBUG"
"""The environment variable that has every line of Spark's JVM logged, traces included: --debug sets it."""


class _Stderr(io.TextIOBase):
    """The process's stderr as it is at the moment: where bars are shown, what writes above them."""

    def write(self, text: str) -> int:
        """Write text."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Have what was written shown."""
        sys.stderr.flush()


_STDERR = _Stderr()


class _OfLibraries(logging.Handler):
    """Makes events of what libraries log: Python would print it as text, with traces over several lines.

    What py4j logs of a failed cycle is left out: whoever handles the failure reports it.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record; its trace with --debug alone."""
        if record.name.startswith("py4j"):
            return
        error = record.exc_info[1] if record.exc_info else None
        more = {} if error is None else {"error": shortened(f"{type(error).__name__}: {error}")}
        if record.exc_info and os.environ.get(DEBUG):
            more["trace"] = logging.Formatter().formatException(record.exc_info)
        text = shortened(record.getMessage())
        structlog.get_logger().warning("a library's message", library=record.name, text=text, **more)


_LIBRARIES = _OfLibraries(logging.WARNING)


Sink = Callable[[Mapping[str, Any]], None]


def configure(
    *secrets: Secrets,
    json_lines: bool | None = None,
    level: int = logging.INFO,
    sink: Sink | None = None,
    of_libraries: bool = True,
) -> None:
    """Log to stderr, from `level` on: for people where that is a terminal, else one JSON object a line.

    Secrets are stars. sink: takes each event, in the place of stderr. of_libraries: what libraries log by Python's
    `logging` is logged so, too, as is right where the process is the integrator's own.
    """

    def sunk(_logger: Any, _method: str, event: Any) -> Any:
        if sink is not None:
            sink(event)
        raise structlog.DropEvent

    def hide(_logger: Any, _method: str, event: Any) -> Any:
        return {key: masked(value) for key, value in event.items()}

    def masked(value: Any) -> Any:
        if isinstance(value, dict):
            return {masked(key): masked(inside) for key, inside in value.items()}
        if isinstance(value, list | tuple):
            return [masked(inside) for inside in value]
        for known in secrets if isinstance(value, str) else ():
            value = known.mask(value)
        return value

    if of_libraries:
        logging.getLogger().addHandler(_LIBRARIES)  # once, however often it is added
    as_json = not sys.stderr.isatty() if json_lines is None else json_lines
    colors = not os.environ.get("NO_COLOR")  # https://no-color.org
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if as_json
        else structlog.dev.ConsoleRenderer(colors=colors)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            hide,
            renderer if sink is None else sunk,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _STDERR)),
    )


class Overdue:
    """Warns of a cycle that is under way for long: first after five minutes, then after each doubling."""

    FIRST_S = 300.0

    def __init__(self, channel: str) -> None:
        self._log = structlog.get_logger().bind(channel=channel)
        self._next_s = self.FIRST_S

    def check(self, seconds: float) -> None:
        """Take how long the cycle that is under way has taken; 0 where none is."""
        if seconds < self.FIRST_S:
            self._next_s = self.FIRST_S
        if seconds >= self._next_s:
            self._next_s *= 2
            self._log.warning(
                "cycle not synced for long",
                seconds=round(seconds),
                remedy="see that the brokers answer (check --connect) and are fast enough, and that Spark's tasks go "
                "on; a smaller Integrate CycleByteLimit makes shorter cycles",
            )
