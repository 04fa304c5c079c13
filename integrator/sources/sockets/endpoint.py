"""Where a channel's socket is, what its senders may do, and why one is refused."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """What a sender may do, and how its lines are kept.

    line_bytes: of one line. line_seconds: for a line that has begun. idle_seconds: without a line; 0 is any time.
    spool_bytes: what may wait to be sent before senders have to. segment_bytes, segment_seconds: when one is sealed.
    """

    line_bytes: int = 16 * 1024 * 1024
    line_seconds: float = 60.0
    idle_seconds: float = 0.0
    connections: int = 16
    spool_bytes: int = 1024 * 1024 * 1024
    segment_bytes: int = 16 * 1024 * 1024
    segment_seconds: float = 0.25
    sync_seconds: float = 0.02


@dataclass(frozen=True)
class Endpoint:
    """Where senders come from: we listen there, or connect to it."""

    host: str
    port: int
    listen: bool
    secret: str | None = field(default=None, repr=False)  # I7
    tls: ssl.SSLContext | None = None


class Refused(Exception):
    """The connection is closed: the sender must change what it does, or (`retry`) connect again."""

    def __init__(self, reason: str, begins: bytes = b"", *, retry: bool = False) -> None:
        self.begins, self.retry = begins, retry
        super().__init__(reason)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name or address alone; no name is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
