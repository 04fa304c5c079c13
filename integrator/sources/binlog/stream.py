"""What a server's log has goes into the spool, and is made durable; the next one begins at the position after it (I9).

https://mariadb.com/kb/en/com_binlog_dump/. The server keeps no position for us: it removes its log by its own rules.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from integrator.channel.databases import BinlogLocation
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.binlog import dump, events, failover, settings
from integrator.sources.binlog.catalogue import Captured
from integrator.sources.binlog.events import Event
from integrator.sources.binlog.history import History
from integrator.sources.binlog.log import Log
from integrator.sources.binlog.packets import Packets, is_end
from integrator.sources.binlog.product import NAMES
from integrator.sources.binlog.server import Server, Session
from integrator.sources.binlog.snapshot import ReadPoints, SnapshotPoints
from integrator.sources.binlog.tables import Tables
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.record import ANEW, Record
from integrator.sources.capture.rows_only import RowsOnly
from integrator.sources.capture.stream import SEAL_S, SpoolingStream, SpoolTarget
from integrator.sources.capture.thread import Capture
from integrator.sources.spool import Spool

SENDER = "binlog"
_FATAL = 1236
"""ER_MASTER_FATAL_ERROR_READING_BINLOG."""
_CONFIRM_S, _WAIT_S, _SILENT_S = 5.0, 0.05, 60.0


@dataclass(frozen=True)
class Captures:
    """What is captured: a location, and its server."""

    location: BinlogLocation
    server: Server

    def capture(self, spool: Spool, channel: str) -> Capture:
        """Return the capture into a spool that is open."""
        number = self.location.server_id or zlib.crc32(channel.encode()) or 1

        def connect(one: Capture, until_now: bool) -> Stream | TableRows:
            if self.location.captures_changes:
                return Stream(one, self, spool, number, until_now=until_now)
            return TableRows(one, self, spool, until_now=until_now)

        return Capture(connect, channel, self.server.shown)

    def into(self, spool: Spool) -> SpoolTarget:
        """Return where what is captured is written."""
        return SpoolTarget(spool, SENDER, self.location.spool_bytes, events.position_text, self.location.signal_table)


class Stream(SpoolingStream):
    """One connection to the log, from where the spool ends."""

    def __init__(self, capture: Capture, at: Captures, spool: Spool, number: int, *, until_now: bool) -> None:
        """Take a spool that is open. number: ours among replicas. until_now: it ends with what is committed now."""
        super().__init__(capture, at.server, at.into(spool), until_now=until_now)
        self._location, self._server, self._number = at.location, at.server, number
        self._rested = time.monotonic()
        self._target = 0
        self._of_server_log: Log | None = None
        self._packets: Packets | None = None
        self._is_taking = False
        self._of_tables: Tables | None = None

    @property
    def _server_log(self) -> Log:
        if self._of_server_log is None:
            raise RuntimeError("no session")
        return self._of_server_log

    @property
    def _there(self) -> Sequence[Captured]:
        return self._of_tables.there if self._of_tables else ()

    @property
    def _tables(self) -> Tables:
        if self._of_tables is None:
            raise RuntimeError("no session")
        return self._of_tables

    def capture(self) -> None:
        """Capture until the end, or what exists now. Raises IntegratorError, OSError."""
        try:
            with self._server.session() as session:
                self._begin(session)
                if self._until_now:
                    self._target = events.position_of(*settings.end_of_log(session), self._first_rows.record.files)
                with self._server.session() as dumping:
                    self._capture.connected()
                    self._receive(self._dumped(dumping))
                self.seal()
                self._confirm()
        finally:
            if self._rows is not None:
                self._rows.close()

    def _begin(self, session: Session) -> None:
        """Find where to begin, and read the rows that tables have as of there, where they were not read."""
        record = self._recorded()
        waits = settings.with_names(session)
        if waits:
            self._log.warning(
                f"was run at the server, until its end: {settings.METADATA}; put it into its configuration"
            )
        if reasons := list(settings.problems(session, self._location)):
            raise EnvironmentFault(f"{self._server.shown}: {'; '.join(reasons)}")
        file, _ = settings.end_of_log(session)
        system, base = settings.identity(session), file.rpartition(".")[0]
        known = Record(system, base, "") if record is None or record.creating else record
        history = History(self._intake.history(), known, is_mariadb=session.product.name == NAMES["mariadb"])
        if (known.system, known.database) == (system, base):
            failover.check_log(session, known, history, max(self._intake.end, known.confirmed))
        else:
            if known.system == system or history.known is None:
                _check_same(session, record, system, base)
            self._continue_at_another(session, known, history, base)
        points = SnapshotPoints(self._server, self._location, known, self._log)
        points.until_named, points.waits = waits, self._until_now
        rows = self._rows = FirstRows(points, known, self._spool.path, self._intake, self._log, self._location)
        tables = self._of_tables = Tables(session, self._location, rows, self._intake, self._log)
        self._of_server_log = Log(self._server.shown, self, self._intake, rows, tables, history)
        if known.creating and (start := self._location.start_position):
            position = events.position_at(start, base)
            if position > events.position_of(*settings.end_of_log(session)):
                raise EnvironmentFault(
                    f"{self._server.shown}: start_position: the log does not reach {start}: it is that of another "
                    "server, or was reset; leave it out, and the rows that tables have are read"
                )
            if waits:
                raise EnvironmentFault(
                    f"{self._server.shown}: start_position: the log after {start} has no names of columns; from now on "
                    "it has: run the other program again until transactions that are open now have ended, stop it, and "
                    "give the position that it has then"
                )
            self._server_log.position = position
            self._learn(session, position)
            rows.continue_at(position, tables.inspect())
            self._begin_segments()
            return
        if known.creating:
            self._server_log.position = rows.begin_with(tables.inspect(), lambda at: self._learn(session, at))
            self._begin_segments()
            self.copy()
            return
        self._server_log.position = max(self._intake.end, known.confirmed)
        self._server_log.log_of = known.log
        if self._learn(session, self._server_log.position):
            known.write(self._spool.path)
        self._begin_segments()
        if self._intake.is_open:
            tables.replayed = set(known.numbers)
        self._intake.read = {one.to_bytes(4, "big") for one in known.read.values()}
        tables.find(self._server_log.least)

    def _shown(self, position: int) -> str:
        """Return a position as the server that is captured now writes it: its files are numbered onward here."""
        return events.position_text(position, self._rows.record.files if self._rows else 0)

    @property
    def _numbered_by(self) -> str:
        return self._rows.record.system.partition(" ")[2] if self._rows else ""

    def _continue_at_another(self, session: Session, record: Record, history: History, base: str) -> None:
        """Continue at a server that has taken the place of the captured one. Raises as `failover.Successor`."""
        highest = max(self._intake.lsn, self._intake.end, record.confirmed, record.followed, record.copied_at)
        successor = failover.Successor(session, history, self._number, lambda: self._capture.ending)
        before = record.system
        successor.take(record, base, max(highest, record.inherited_until))
        record.write(self._spool.path)
        self._log.warning(
            "another server has taken the place of the one that was captured: it is continued with",
            server=record.system,
            before=before,
            log=f"{base}.{events.file_and_offset(record.confirmed)[0] - record.files:06d}",
        )

    def _learn(self, session: Session, position: int) -> bool:
        """Note in the record the GTIDs of all that is before a position; return whether there were any to note.

        They are durable as soon as the position is: at the next start, another server may be there.
        """
        history, record = self._server_log.history, self._first_rows.record
        if history.known is not None or not settings.has_gtids(session):
            return False
        number, offset = events.file_and_offset(position)
        known = failover.executed_at(session, self._number, f"{record.database}.{number - record.files:06d}", offset)
        if known is None:
            self._log.warning("what was captured has not all GTIDs: another server could not be continued with")
        else:
            history.learn(known)
            record.gtids = history.text
        return known is not None

    def _begin_segments(self) -> None:
        """Have segments begin with the GTIDs of what was captured."""
        self._intake.history = self._server_log.history.kept
        self._intake.seal()

    def _dumped(self, session: Session) -> Packets:
        if settings.identity(session) != self._first_rows.record.system:
            raise SourceAway(f"{self._server.shown}: the address leads to another server now")
        number, offset = events.file_and_offset(self._server_log.position)
        base, number = self._first_rows.record.database, number - self._first_rows.record.files
        if offset >> 32:  # the protocol has no such position
            if not dump.is_last(session, f"{base}.{number:06d}", offset):
                raise EnvironmentFault(
                    f"{self._server.shown}: the log cannot be read from {self._server_log.at}: the protocol has "
                    f"no position beyond 4 GiB of a file, and transactions follow there; {ANEW}"
                )
            number, offset = number + 1, events.FIRST_EVENT
        self._server_log.file = f"{base}.{number:06d}"
        packets, self._server_log.checksums = dump.begun(session, self._server_log.file, offset, self._number)
        return packets

    def _receive(self, packets: Packets) -> None:
        """Read events until the end is asked for, or all is read that is to be read."""
        self._packets, heard = packets, time.monotonic()
        while not self._capture.ending:
            with self._server.asked():
                read = packets.read(SEAL_S if self._intake.size else _WAIT_S)
            now = time.monotonic()
            heard = now if read else heard
            if now - heard > _SILENT_S:
                raise SourceAway(f"{self._server.shown}: the server says nothing for {_SILENT_S:.0f} s")
            self._is_taking = bool(read)
            for packet in read:
                self._server_log.take(self._event(packet))
            self._is_taking = False
            self.seal_where_due()
            if self._tables.is_due and not self._intake.is_open:
                self._tables.find_again(self._server_log.least)
            elif not self._intake.is_open and self._is_next():
                self._tables.find_next(self._server_log.least)
            self._rest(now)
            if self._until_now and self._is_done():
                return
            if not self._until_now and self._spool.waiting_bytes > self._spool_bytes:
                self._wait_for_room()
                heard = time.monotonic()

    def _event(self, packet: bytes) -> Event:
        if packet[:1] == b"\xff" and int.from_bytes(packet[1:3], "little") == _FATAL:
            reason = packet[9:].decode(errors="replace")
            raise EnvironmentFault(
                f"{self._server.shown}: the log cannot be read from {self._server_log.file}, {self._server_log.at}: "
                f"{reason}. Where the server has removed its log (binlog_expire_logs_seconds), changes are gone; {ANEW}"
                ". Where another replica has our number, give another `server_id`"
            )
        with self._server.asked():
            if is_end(packet):
                raise SourceAway(f"{self._server.shown}: the server has ended the log")
        try:
            return events.event_of(packet, checksums=self._server_log.checksums)
        except EnvironmentFault as error:
            raise EnvironmentFault(
                f"{self._server.shown}: {self._server_log.file} after {self._server_log.at}: {error}"
            ) from None

    def has_changes(self) -> bool:
        """Return whether the server has sent something that is not taken yet."""
        return self._is_taking or (self._packets is not None and self._packets.has_more)

    def _rest(self, now: float) -> None:
        """Read tables that are due at a position that is reached; note, now and then, that nothing before is ours."""
        if self._intake.is_held:
            return
        if (position := self._first_rows.position) is not None and self._server_log.position >= position:
            self.copy()
        self._note(self._server_log.whole)
        if now - self._rested > _CONFIRM_S:
            self._rested = now
            self._confirm()

    def _confirm(self) -> None:
        """Record the position up to which all that is ours is durable, and which log it is in."""
        record, is_held = self._first_rows.record, self._intake.is_held or not self._server_log.is_between
        is_new = self._server_log.position > record.confirmed or self._server_log.log_of != record.log
        if self._first_rows.position is None and not is_held and is_new:
            record.confirmed, record.log = self._server_log.position, self._server_log.log_of
            record.gtids = self._server_log.history.text
            record.write(self._spool.path)

    def _is_done(self) -> bool:
        """Return whether all is captured that was committed at the start, of the log that was captured before."""
        is_whole = not (self._intake.is_open or self._first_rows.is_left) and self._first_rows.position is None
        return is_whole and self._server_log.position >= self._target and self._server_log.is_same


class TableRows(RowsOnly["Captures"]):
    """Reads the rows that tables have: the server needs no log."""

    def _find(self, record: Record | None) -> Sequence[Captured]:
        with self._at.server.session() as session:
            if reasons := list(settings.problems(session, self._at.location)):
                raise EnvironmentFault(f"{self._at.server.shown}: {'; '.join(reasons)}")
            system = settings.identity(session)
            _check_same(session, record, system, record.database if record else "")
            known = record or Record(system, "", "")
            rows = self._begin(ReadPoints(self._at.server, self._at.location, known.numbers, self._next), known)
            return Tables(session, self._at.location, rows, self._intake, self._log).inspect()


def _check_same(session: Session, record: Record | None, system: str, base: str) -> None:
    """Raise EnvironmentFault where another server was captured before, or another log. base: of its files' names."""
    if record is not None and (record.system, record.database or base) != (system, base):
        raise EnvironmentFault(
            f"{session.server.shown}: is another server than the one that was captured: {system}, log {base}, and "
            f"not {record.system}, {record.database}, and nobody knows by GTIDs whether it has what was captured; mend "
            f"the address, or, {ANEW}"
        )
