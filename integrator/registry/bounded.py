"""Bounds on what a schema registry may answer: bytes, seconds, numbers, and text that reaches a terminal."""

from __future__ import annotations

import contextlib
import importlib
import socket
import threading
import uuid
from typing import Any

from integrator.errors import shortened

MOST_BYTES = 16 * 1024 * 1024
"""Of one answer. Confluent's registry takes schemas of up to 1 MB by default; nothing that is asked for is larger."""
MOST_ID = 2**31 - 1
"""Ids are signed numbers of 32 bits in the registries, and four bytes before each message."""
_MOST_CHARACTERS = 1000
_MOST_LINES = 100


class AnswerTooLarge(Exception):
    """The registry's answer has more bytes than are read."""


class BoundedSession:
    """An HTTP session of the vendor's client, for its `request` alone: answers are bounded in bytes and in time.

    HTTP clients limit the wait for the next byte only; here the answer must be whole within `seconds`. Redirects are
    not followed, so that credentials reach no other host.
    """

    def __init__(self, session: Any, seconds: float) -> None:
        self._session, self._seconds = session, seconds
        self._http = importlib.import_module(type(session).__module__.partition(".")[0])  # httpx or its successor
        self._streams: list[Any] = []

    def request(self, method: str, url: str, **words: Any) -> Any:
        """Return the answer. Raises AnswerTooLarge, and the HTTP library's TransportError for no whole answer."""
        late = threading.Event()
        self._streams.clear()
        # each request has a connection of its own, so that its streams are known
        words["headers"] = {**(words.get("headers") or {}), "Connection": "close"}
        timer = threading.Timer(self._seconds, self._end, [late])
        timer.daemon = True
        timer.start()
        try:
            with self._session.stream(
                method, url, follow_redirects=False, extensions={"trace": self._trace}, **words
            ) as answer:
                content = bytearray()
                for chunk in answer.iter_bytes(64 * 1024):
                    content += chunk
                    if len(content) > MOST_BYTES:
                        raise AnswerTooLarge(f"an answer of more than {MOST_BYTES:,} bytes")
                if late.is_set():
                    raise self._http.ReadTimeout("")
                return self._http.Response(answer.status_code, content=bytes(content))
        except self._http.TransportError:
            if late.is_set():
                raise self._http.ReadTimeout(f"no whole answer within {self._seconds:g} s") from None
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """Close the session."""
        self._session.close()

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Note a connection's streams: https://www.encode.io/httpcore/extensions/#trace."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._streams.append(info["return_value"])

    def _end(self, late: threading.Event) -> None:
        late.set()
        for stream in list(self._streams):
            with contextlib.suppress(OSError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def printable(text: object) -> str:
    """Return what a registry says as it may be printed: limited, without control characters."""
    return shortened("".join(one if one.isprintable() else " " for one in str(text)), _MOST_CHARACTERS)


def printable_lines(text: str) -> str:
    """Return a registry's text of several lines as it may be printed: each limited, and so many."""
    lines = text.split("\n")
    more = [f"… ({len(lines):,} lines)"] if len(lines) > _MOST_LINES else []
    return "\n".join([*map(printable, lines[:_MOST_LINES]), *more])


def is_id(value: object) -> bool:
    """Return whether `value` can be a schema's id."""
    return type(value) is int and 0 < value <= MOST_ID


def is_guid(value: object) -> bool:
    """Return whether `value` can be a schema's GUID."""
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
