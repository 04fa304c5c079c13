"""The HTTP endpoint of a process: GET alone, read-only, without authentication; on loopback unless asked otherwise."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_LATEST

from integrator.channel.addresses import is_loopback
from integrator.channel.model import DEFAULT_LISTEN
from integrator.errors import ConfigurationError, Defect, EnvironmentFault
from integrator.monitor.monitor import Monitor
from integrator.monitor.page import SCRIPT_HASH, page
from integrator.plan import Plan
from integrator.run.seen.observer import Observer

_PATIENCE_S = 10
"""How long a client may take to ask, and then to take the answer."""
_MOST = 64
"""Connections at once, each of which has a thread and a descriptor."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; "
    f"script-src '{SCRIPT_HASH}'; connect-src 'self'",
    "X-Content-Type-Options": "nosniff",
}
_PATHS = "/, /status, /metrics, /health, /ready"


@contextmanager
def serving(plans: Sequence[Plan]) -> Iterator[Observer]:
    """Serve what is seen of the channels while they run; yield the observer that is to see it.

    Raises ConfigurationError if channels of the process name different addresses, EnvironmentFault if the address that
    they name cannot be had.
    """
    named = {plan.monitor.listen for plan in plans if plan.monitor.listen is not None}
    if len(named) > 1:
        raise ConfigurationError(
            f"monitor.listen: channels of one process share one endpoint, and theirs differ: {', '.join(sorted(named))}"
            "; give one of them, or the same in all"
        )
    if not named and not all(plan.monitor.enabled for plan in plans):
        yield Observer()
        return
    monitor = Monitor(plans)
    with _server(named.pop() if named else None, monitor) as server:
        thread = threading.Thread(target=server.serve_forever, name="monitor", daemon=True)
        thread.start()
        try:
            yield monitor
        finally:
            server.shutdown()
            thread.join()


def _server(named: str | None, monitor: Monitor) -> _Server:
    """Return the server at the address that is named; without one, at the default port, or any if that is taken."""
    host, _, port = (named or DEFAULT_LISTEN).rpartition(":")
    try:
        return _Server(host.strip("[]"), int(port), monitor)
    except EnvironmentFault:
        if named is not None:
            raise
        return _Server(host, 0, monitor)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, monitor: Monitor) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.monitor, self.loopback = monitor, is_loopback(host)
        self._open: list[socket.socket] = []
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise EnvironmentFault(
                f"monitor.listen: {host}:{port} cannot be listened on: {error.strerror}; end the process that has the "
                "port, or name another one"
            ) from error
        log = structlog.get_logger()
        shown = f"[{host}]" if ":" in host else host
        log.info("monitor", url=f"http://{shown}:{self.server_address[1]}/")
        if not self.loopback:
            log.warning(
                "anyone who reaches the monitor's address can read the status: it has no authentication", host=host
            )

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; of too many connections, the oldest one gives way."""
        self._open.append(request)
        if len(self._open) > _MOST:
            with contextlib.suppress(OSError):  # it ends meanwhile
                self._open.pop(0).shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with contextlib.suppress(ValueError):  # it has given way
            self._open.remove(request)
        super().shutdown_request(request)

    def handle_error(self, *_: Any) -> None:
        """Log a defect. What a client does with its connection is nobody's matter."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            structlog.get_logger().error("no answer", error=str(Defect.of(error, "monitor")))


class _Bounded(io.RawIOBase):
    """What a client asks, all of which must come within a time: however slowly its bytes come."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._until = connection, time.monotonic() + _PATIENCE_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is. Raises TimeoutError."""
        self._connection.settimeout(max(self._until - time.monotonic(), 0.001))
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(_PATIENCE_S)


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "integrator", ""

    def setup(self) -> None:
        """Take a connection."""
        super().setup()
        self.rfile = io.BufferedReader(_Bounded(self.connection))

    def do_GET(self) -> None:
        """Answer."""
        server = self.server
        assert isinstance(server, _Server)  # noqa: S101
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if server.loopback and not is_loopback(host.strip("[]")):  # a page of another site, by a name of its own
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, "this endpoint answers to names of loopback only\n")
            return
        monitor, path = server.monitor, self.path.partition("?")[0]
        if path == "/":
            self._answer(HTTPStatus.OK, page(monitor), "text/html; charset=utf-8")
        elif path == "/metrics":
            self._answer(HTTPStatus.OK, monitor.metrics.text().decode(), CONTENT_TYPE_LATEST)
        elif path == "/status":
            self._json(HTTPStatus.OK, monitor.status())
        elif path in ("/health", "/ready"):
            problems = monitor.problems(ready=path == "/ready")
            code = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
            self._json(code, {"ok": not problems, "channels": [*monitor.channels], "problems": problems})
        else:
            self._answer(HTTPStatus.NOT_FOUND, f"there are {_PATHS}\n")

    do_HEAD = do_GET  # noqa: N815 - http.server's

    def _json(self, code: HTTPStatus, content: dict[str, Any]) -> None:
        self._answer(code, json.dumps(content, ensure_ascii=False) + "\n", "application/json")

    def _answer(self, code: HTTPStatus, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        body = text.encode()
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: probes come each few seconds."""
