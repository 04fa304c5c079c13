"""Lines through a socket as a source: they are spooled, and the segments of the spool are the slices."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrator import durable
from integrator.channel.addresses import is_loopback, why_not_listened
from integrator.channel.paths import as_known, no_file
from integrator.channel.problems import Report
from integrator.channel.sources import SocketLocation
from integrator.decode.contract import reading_of
from integrator.decode.dialects import DIALECTS
from integrator.errors import IntegratorError
from integrator.schema import Table
from integrator.sources.contract import Feed, FixedSchemas, Opening, Problems
from integrator.sources.files.reader import FileReader
from integrator.sources.location import check_table
from integrator.sources.sockets.endpoint import endpoint_of, limits_of
from integrator.sources.sockets.line_gate import line_gate_of
from integrator.sources.sockets.receiver import Receiver
from integrator.sources.spool import SPOOL, Segments, Spool, number_of, segments
from integrator.sources.spooled import Kept, Spooled

_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Socket(FixedSchemas):
    """Lines through a socket; each segment of the spool is a slice."""

    location: SocketLocation
    reader = FileReader()
    whole_transactions = True
    example = "{class: socket, listen: 127.0.0.1:7010}"

    def describe(self) -> str:
        """Return where lines come from, and their dialect."""
        location = self.location
        where = f"listens on {location.listen}" if location.listen else f"connects to {location.connect}"
        return f"{where} ({location.dialect})"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of addresses that cannot be, of what is unsafe, and of files that are not there."""
        check_table(self.location, tables, report)
        _check_addresses(self.location, report)
        _check_access(self.location, report)

    def notes(self) -> Iterator[str]:
        """Yield that a secret goes over the network as it is."""
        location = self.location
        if location.listen and location.secret and not location.tls and not is_loopback(_host(location.listen)):
            yield f"listen {location.listen} without TLS: the secret and the lines can be read on their way; set tls"

    def inspect(self, directory: str, *, is_free: bool) -> Problems:  # noqa: ARG002 - of the contract
        """Yield why the address cannot be listened on."""
        if self.location.listen and is_free and (reason := why_not_listened(self.location.listen)):
            yield "listen", reason

    def reach(self, directory: str) -> Problems:  # noqa: ARG002 - of the contract
        """Yield why nobody answers at the address that we connect to."""
        if self.location.connect:
            yield from _answered(self.location.connect)

    def place(self, state: Path) -> str:
        """Return the directory of the spool."""
        return str((state / SPOOL).absolute())

    def listing(self, place: str, delay_s: int = 0) -> Segments:
        """Return what finds the sealed segments."""
        return segments(place, delay_s)

    def prepare(self, place: str) -> None:
        """Make the directory of the spool."""
        durable.make_directory(Path(place))

    def open(self, opening: Opening) -> Feed:
        """Open the spool. Raises EnvironmentFault where segments are gone, or a certificate cannot be used."""
        read = opening.recipe.read
        gate = line_gate_of(DIALECTS[read.dialect], reading_of(opening.recipe))
        spool = Spool(Path(read.path), gate.waits)
        receiver = Receiver(endpoint_of(self.location), spool, limits_of(self.location), opening.channel, gate)
        kept = Kept(opening.kept_cycles, self.location.spool_bytes, opening.ends)
        feed = Spooled(spool, receiver, opening.journal_path, kept)
        try:
            opening.journal.begin_with(segments(read.path).slices(), number_of)
        except IntegratorError:
            feed.close()
            raise
        return feed


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def _check_addresses(location: SocketLocation, report: Report) -> None:
    if (location.listen is None) == (location.connect is None):
        report("listen", "either listen or connect is needed, and not both; leave one of them out")
    for key, address, least in (("listen", location.listen, 0), ("connect", location.connect, 1)):
        if address is not None and not least <= int(address.rpartition(":")[2]) <= 65535:
            report(key, f"{address} has no port that can be; a port is {least} to 65535, such as 7010")


def _check_access(location: SocketLocation, report: Report) -> None:
    if location.listen is not None and not location.secret and not (location.tls and location.tls.authority):
        host = _host(location.listen)
        if not is_loopback(host):
            port = location.listen.rpartition(":")[2]
            text = f"anyone who can reach {host} could send changes: set a secret, or tls with an authority"
            report("listen", f"{text}; or listen on 127.0.0.1:{port}, for this machine alone")
    if location.listen is not None and location.tls is not None and not location.tls.certificate:
        report("tls", "to listen with TLS, a certificate is needed; write certificate: FILE, a PEM file")
    if location.connect is not None and location.secret:
        report("secret", "with `connect` no hello is received, and so no secret; use tls with an authority")
    for key, file in (location.tls.model_dump() if location.tls else {}).items():
        if file is not None and (why := no_file(file)):
            report("tls", f"{key}: {why} {as_known(file)}")


def _answered(address: str) -> Problems:
    """Yield why nobody answers at an address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        yield "connect", f"{address} does not answer: {reason}; start what sends the lines, or mend `connect`"
