"""Where a channel's socket is, what its senders may do, and why one is refused."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from integrator.channel.sources import SocketLocation, SocketTls
from integrator.errors import EnvironmentFault


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


def limits_of(location: SocketLocation) -> Limits:
    """Return what senders of a location may do."""
    return Limits(
        line_bytes=location.line_bytes,
        line_seconds=location.line_seconds,
        idle_seconds=location.idle_seconds,
        connections=location.connections,
        spool_bytes=location.spool_bytes,
    )


def endpoint_of(location: SocketLocation) -> Endpoint:
    """Return where senders come from. Raises EnvironmentFault where a certificate cannot be used."""
    address = location.listen or location.connect or ""
    host, _, port = address.rpartition(":")
    listen = location.listen is not None
    tls = context_of(location.tls, listen=listen) if location.tls else None
    return Endpoint(host.strip("[]"), int(port), listen, location.secret, tls)


def context_of(tls: SocketTls, *, listen: bool) -> ssl.SSLContext:
    """Return the context of one side. Raises EnvironmentFault where a certificate cannot be used."""
    purpose = ssl.Purpose.CLIENT_AUTH if listen else ssl.Purpose.SERVER_AUTH
    try:
        context = ssl.create_default_context(purpose, cafile=tls.authority)
        if tls.certificate:
            context.load_cert_chain(tls.certificate, tls.private_key)
    except (OSError, ssl.SSLError) as error:
        raise EnvironmentFault(f"{tls.certificate or tls.authority}: cannot be used for TLS: {error}") from error
    if listen and tls.authority:
        context.verify_mode = ssl.CERT_REQUIRED
    return context
