"""The receiver of a channel's socket, and the spool between it and the cycles."""

from __future__ import annotations

import json
import ssl
from collections import deque
from pathlib import Path

from integrator.channel.sources import SocketLocation, SocketTls
from integrator.errors import EnvironmentFault
from integrator.sources.contract import Feed
from integrator.sources.journal.journal import Journal
from integrator.sources.journal.lines import header_of
from integrator.sources.sockets.endpoint import Endpoint, Limits
from integrator.sources.sockets.line_gate import LineGate
from integrator.sources.sockets.receiver import Receiver
from integrator.sources.sockets.spool import Spool, number_of


class Spooled(Feed):
    """Receives while the channel is integrated; segments are removed when no cycle that is kept has them any more."""

    def __init__(
        self,
        location: SocketLocation,
        directory: str,
        journal: Path,
        kept_cycles: int,
        channel: str,
        door: LineGate | None = None,
    ) -> None:
        """Open the spool in `directory`. door: which lines are taken; those in JSON without it."""
        door = door or LineGate()
        self._spool = Spool(Path(directory), door.waits)
        self._journal, self._kept_cycles = journal, kept_cycles
        self._ends: deque[int] = deque()
        self._synced = self._followed = self._number = 0
        self._taken: deque[tuple[int, str]] = deque()
        self._follow()
        if self._taken:
            self._spool.go_on_after(number_of(self._taken[-1][1]))
        self._receiver = Receiver(endpoint_of(location), self._spool, limits_of(location), channel, door)

    def start(self, synced: int) -> None:
        """Start to receive; `synced` is the number of the last segment that is in a synced cycle."""
        self.synced(synced)
        self._receiver.start()

    def synced(self, last: int) -> None:
        """Take note of a synced cycle, which ends with segment number `last` of the journal."""
        self._follow()
        self._spool.synced([name for number, name in self._taken if self._synced < number <= last])
        self._synced = max(self._synced, last)
        self._ends.append(last)
        while len(self._ends) > self._kept_cycles:
            gone, names = self._ends.popleft(), []
            while self._taken and self._taken[0][0] <= gone:
                names.append(self._taken.popleft()[1])
            if names:
                self._spool.remove(names)

    def compact(self, journal: Journal, synced: int) -> None:
        """Compact the journal, see `Journal.compact`, when the segments that it forgets are removed. No stream runs."""
        entries = journal.compactable(synced)
        if not entries:
            return
        self._follow()
        self._spool.remove([Path(entry.path).name for entry in entries])
        journal.compact(synced)
        while self._taken and self._taken[0][0] <= journal.compacted:
            self._taken.popleft()
        self._followed = self._journal.stat().st_size

    def _follow(self) -> None:
        """Read on in the journal, which the stream's process writes."""
        if not self._journal.exists():
            return
        with self._journal.open("rb") as journal:
            journal.seek(self._followed)
            data = journal.read()
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not self._followed and lines and (header := header_of(lines[0])) is not None:
            self._number = int(header["compacted"])
            lines = lines[1:]
        self._followed += len(whole)
        for line in lines:
            self._number += 1
            self._taken.append((self._number, json.loads(line)["path"].rpartition("/")[2]))

    def close(self) -> None:
        """End to receive."""
        self._receiver.close()
        self._spool.close()

    @property
    def port(self) -> int:
        """The port that we listen on."""
        return self._receiver.port


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
