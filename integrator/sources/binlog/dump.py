"""The log as a server sends it: from a position on, and the transactions that begin there."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.binlog import events
from integrator.sources.binlog.gtids import Gtid
from integrator.sources.binlog.packets import Packets, is_end
from integrator.sources.binlog.server import Session

_DUMP, _SILENT_S, _ROTATED_BYTES = 0x12, 60.0, events.HEADER_BYTES + 8
_KIND_AT, _SIZES = 5, struct.Struct("<II")
"""Of a packet: the kind of its event, and after it and the server's number, how long it is, and where it ends."""


@contextlib.contextmanager
def reading(session: Session) -> Iterator[Session]:
    """Give a session for `transactions`, which ends at the server, too.

    Else the server would have it wait for changes, and remove no file of its log meanwhile.
    """
    with session.server.session() as own:
        [(number,)] = own.rows("select connection_id()")
        try:
            yield own
        finally:
            with contextlib.suppress(EnvironmentFault, SourceAway):  # it may have ended by itself
                session.run(f"kill {number}")


def begun(session: Session, file: str, offset: int, number: int) -> tuple[Packets, bool]:
    """Have a log be sent; return its packets, and whether events have checksums. number: ours among replicas.

    https://mariadb.com/kb/en/com_binlog_dump/. Raises SourceAway, EnvironmentFault.
    """
    session.run(session.product.before_dump)
    [(checksum,)] = session.rows("select @master_binlog_checksum")
    payload = struct.pack("<IHI", max(offset, events.FIRST_EVENT), 0, number) + file.encode()
    return session.send(_DUMP, payload), checksum != "NONE"


def is_last(session: Session, file: str, offset: int) -> bool:
    """Return whether nothing follows a position in a file but what ends it: that it is rotated, or the server stops.

    So it is after a transaction that makes a file larger than max_binlog_size. Raises SourceAway, EnvironmentFault.
    """
    sizes = {str(name): int(size) for name, size, *_ in session.rows("show binary logs")}
    rotated = _ROTATED_BYTES + len(file)
    ends = {0, *(size + more for size in (events.HEADER_BYTES, rotated) for more in (0, events.CHECKSUM_BYTES))}
    return file in sizes and sizes[file] - offset in ends


def transactions(session: Session, number: int, file: str, until: int) -> Iterator[Gtid | None]:
    """Yield the transactions from the beginning of a file up to a position that there is; None: one has no GTID.

    session: nothing else can be asked by it then. Raises as `begun`.
    """
    last: Gtid | None = None
    for kind, seconds, gtid in _timed(session, number, file, until):
        if kind in events.ROWS and last is not None:
            last = last.of_rows(seconds)
        elif kind in events.GTIDS:
            if last is not None:
                yield last
            last = gtid
            if gtid is None:
                yield None
    if last is not None:
        yield last


def _timed(session: Session, number: int, file: str, until: int) -> Iterator[tuple[int, int, Gtid | None]]:
    """Yield the kind of each event, its second, and the transaction that it begins."""
    packets, checksums = begun(session, file, events.FIRST_EVENT, number)
    while True:
        with session.server.asked():
            read = packets.read(_SILENT_S)
            if not read:
                raise SourceAway(f"{session.server.shown}: the server says nothing for {_SILENT_S:.0f} s")
        for packet in read:
            with session.server.asked():
                if is_end(packet):
                    raise SourceAway(f"{session.server.shown}: the server has ended the log")
            kind, (size, end) = packet[_KIND_AT], _SIZES.unpack_from(packet, _KIND_AT + 5)
            if kind == events.ROTATE:
                file = events.event_of(packet, checksums=checksums).body[8:].decode()
                continue
            if end and events.position_of(file, end - size) >= until:
                return
            if kind == events.FORMAT:
                checksums = events.event_of(packet, checksums=checksums).body[-1] == 1
            else:
                is_gtid = kind in events.GTIDS
                own = events.begun_by(events.event_of(packet, checksums=checksums)).gtid if is_gtid else None
                yield kind, int.from_bytes(packet[1:5], "little"), own
            if end and events.position_of(file, end) >= until:
                return
