"""What a server's log has goes into the spool, and is made durable; the next one begins at the place after it (I9).

https://mariadb.com/kb/en/com_binlog_dump/. The server keeps no place for us: it removes its log by its own rules.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from integrator.channel.databases import BinlogLocation
from integrator.engine.pgoutput import TRUNCATE
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.binlog import events, settings
from integrator.sources.binlog.catalogue import Captured
from integrator.sources.binlog.events import Event
from integrator.sources.binlog.packets import Packets, is_end
from integrator.sources.binlog.server import Server, Session
from integrator.sources.binlog.snapshot import ReadPoints, SnapshotPoints
from integrator.sources.binlog.statements import (
    CHANGES,
    DEFINES,
    begins_transaction,
    ends_transaction,
    first_word,
    is_of_system,
    meaning_of,
)
from integrator.sources.binlog.tables import Tables
from integrator.sources.capture import record as records
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.frames import LEFT, begin, commit
from integrator.sources.capture.record import ANEW, Record
from integrator.sources.capture.rows_only import RowsOnly
from integrator.sources.capture.stream import SpoolEnd, SpoolingStream
from integrator.sources.capture.thread import Capture
from integrator.sources.spool import Spool

SENDER = "binlog"
_DUMP = 0x12
_FATAL = 1236
"""ER_MASTER_FATAL_ERROR_READING_BINLOG."""
_CONFIRM_S, _WAIT_S, _SILENT_S = 5.0, 0.05, 60.0
_OF_TRANSACTIONS = frozenset(("begin", "savepoint", "release", "rollback", "xa", "create", "drop", ""))
"""First words of statements in transactions of rows: with a table's rows may come that it is created."""
_REFUSED = {
    **dict.fromkeys(events.LOADED, "changes are in the log as a statement (load data), and not as rows"),
    events.XA_PREPARE: "prepares an XA transaction, which is not captured",
    events.INCIDENT: "the server says that its log has lost changes",
    events.PARTIAL: "changes have parts of JSON only: a client has set binlog_row_value_options",
}
_MICROS_TO_2000 = 946_684_800_000_000
_TRUNCATED = struct.pack(">BIB", TRUNCATE, 1, 0)


@dataclass(frozen=True)
class Captures:
    """What is captured: a location, and its server."""

    location: BinlogLocation
    server: Server

    def capture(self, spool: Spool, channel: str) -> Capture:
        """Return the capture into a spool that is open."""
        number = self.location.server_id or zlib.crc32(channel.encode()) or 1

        def connect(one: Capture, until_now: bool) -> Stream | TableRows:
            if self.location.follows:
                return Stream(one, self, spool, number, until_now=until_now)
            return TableRows(one, self, spool, until_now=until_now)

        return Capture(connect, channel, self.server.shown)

    def into(self, spool: Spool) -> SpoolEnd:
        """Return where what is captured is written."""
        return SpoolEnd(spool, SENDER, self.location.spool_bytes, events.place_text)


class Stream(SpoolingStream):
    """One connection to the log, from where the spool ends."""

    def __init__(self, capture: Capture, at: Captures, spool: Spool, number: int, *, until_now: bool) -> None:
        """Take a spool that is open. number: ours among replicas. until_now: it ends with what is committed now."""
        super().__init__(capture, at.server, at.into(spool), until_now=until_now)
        self._location, self._server, self._number = at.location, at.server, number
        self._rested = time.monotonic()
        self._place = self._target = 0
        self._file, self._log_of = "", ""
        self._checksums = self._ends = self._is_same_log = False
        self._standalone: bool | None = None
        self._committed = 0
        self._of_tables: Tables | None = None
        self._begun = 0
        self._is_between = True
        self._begin_message = b""
        self._handlers: dict[int, Callable[[Event], None]] = {
            **dict.fromkeys(events.ROWS, self._changes),
            **dict.fromkeys(events.GTIDS, self._gtid),
            **dict.fromkeys((events.QUERY, events.QUERY_COMPRESSED), self._statement),
            **dict.fromkeys(_REFUSED, self._refuse),
            events.TABLE_MAP: self._map,
            events.XID: self._commit,
            events.PAYLOAD: self._unpack,
            events.FORMAT: self._format,
        }

    @property
    def _tables(self) -> Tables:
        if self._of_tables is None:
            raise RuntimeError("no session")
        return self._of_tables

    @property
    def _least(self) -> int:
        """Up to where the log was read: a snapshot is not to be before it."""
        return self._place if self._is_between else self._begun + 1

    def capture(self) -> None:
        """Capture until the end, or what is there now. Raises IntegratorError, OSError."""
        try:
            with self._server.session() as session:
                self._begin(session)
                if self._until_now:
                    self._target = events.place_of(*settings.end_of_log(session))
                with self._server.session() as dumping:
                    self._capture.failure = None
                    self._receive(self._dumped(dumping))
                self._seal()
                self._confirm()
        finally:
            if self._rows is not None:
                self._rows.close()

    def _begin(self, session: Session) -> None:
        """Find where to begin, and read the rows that tables have as of there, where they were not read."""
        record = records.read(self._spool.path)
        waits = settings.with_names(session)
        if waits:
            self._log.warning(
                f"was run at the server, until its end: {settings.METADATA}; put it into its configuration"
            )
        if reasons := list(settings.problems(session, self._location)):
            raise EnvironmentFault(f"{self._server.shown}: {'; '.join(reasons)}")
        file, _ = settings.end_of_log(session)
        system, base = settings.identity(session), file.rpartition(".")[0]
        _check_same(session, record, system, base)
        known = Record(system, base, "") if record is None or record.creating else record
        points = SnapshotPoints(self._server, self._location, known.numbers, self._log)
        points.until_named, points.waits = waits, self._until_now
        are_wanted = self._location.snapshot != "never"
        rows = self._rows = FirstRows(points, known, self._spool.path, self._intake, self._log, are_wanted=are_wanted)
        tables = self._of_tables = Tables(session, self._location, rows, self._intake, self._log)
        if known.creating:
            self._place = rows.begin_with(tables.look())
            self._copy()
            return
        self._place = max(self._intake.end, known.confirmed)
        self._log_of = known.log
        if self._intake.is_open and not self._in_snapshot:
            tables.replayed = set(known.numbers)
        self._intake.read = {one.to_bytes(4, "big") for one in (*known.read.values(), *known.begun.values())}
        self._continue_snapshot()
        tables.find(self._least)

    def _dumped(self, session: Session) -> Packets:
        number, offset = events.file_and_offset(self._place)
        if offset >> 32:
            raise EnvironmentFault(
                f"{self._server.shown}: the log cannot be read from {events.place_text(self._place)}: the protocol has "
                f"no place beyond 4 GiB of a file; {ANEW}"
            )
        self._file = f"{self._first_rows.record.database}.{number:06d}"
        session.run(session.product.before_dump)
        [(checksum,)] = session.rows("select @master_binlog_checksum")
        self._checksums = checksum != "NONE"
        payload = struct.pack("<IHI", max(offset, events.FIRST_EVENT), 0, self._number) + self._file.encode()
        return session.send(_DUMP, payload)

    def _receive(self, packets: Packets) -> None:
        """Read events until the end is asked for, or all is read that is to be read."""
        heard = time.monotonic()
        while not self._capture.ending:
            with self._server.asked():
                read = packets.read(_WAIT_S)
            now = time.monotonic()
            heard = now if read else heard
            if now - heard > _SILENT_S:
                raise SourceAway(f"{self._server.shown}: the server says nothing for {_SILENT_S:.0f} s")
            for packet in read:
                self._take(self._event(packet))
            self._seal_where_due()
            self._rest(now)
            if self._until_now and self._is_done():
                return
            if not self._until_now and self._spool.waiting_bytes > self._spool_bytes:
                self._wait_for_room()
                heard = time.monotonic()
            if self._tables.is_due and not self._intake.is_open:
                self._tables.find_again(self._least)

    def _event(self, packet: bytes) -> Event:
        if packet[:1] == b"\xff" and int.from_bytes(packet[1:3], "little") == _FATAL:
            reason = packet[9:].decode(errors="replace")
            raise EnvironmentFault(
                f"{self._server.shown}: the log cannot be read from {self._file}, {events.place_text(self._place)}: "
                f"{reason}. Where the server has removed its log (binlog_expire_logs_seconds), changes are gone; {ANEW}"
                ". Where another replica has our number, give another `server_id`"
            )
        with self._server.asked():
            if is_end(packet):
                raise SourceAway(f"{self._server.shown}: the server has ended the log")
        try:
            return events.event_of(packet, checksums=self._checksums)
        except EnvironmentFault as error:
            raise EnvironmentFault(
                f"{self._server.shown}: {self._file} after {events.place_text(self._place)}: {error}"
            ) from None

    def _take(self, event: Event) -> None:
        """Take an event into the spool, and note the place after it."""
        kind = event.kind
        if handle := self._handlers.get(kind):
            handle(event)
        elif kind == events.ROTATE:
            self._file = event.body[8:].decode()
            self._place = events.place_of(self._file, int.from_bytes(event.body[:8], "little"))
            return
        elif kind not in events.IGNORED and kind != events.HEARTBEAT and not event.flags & events.IGNORABLE:
            raise self._fault(event, f"it is of kind {kind}, which is not read")
        if kind == events.HEARTBEAT:
            self._place = max(self._place, events.place_of(self._file, event.end))
        elif not event.is_artificial:
            self._place = self._after(event)
            is_query = kind in (events.QUERY, events.QUERY_COMPRESSED)
            self._is_between |= kind in (events.XID, events.XA_PREPARE) or (is_query and self._ends)

    def _unpack(self, event: Event) -> None:
        """Take the events of a transaction that is compressed."""
        unpacked = events.unpacked(event)
        while True:
            try:
                one = next(unpacked, None)
            except (EnvironmentFault, OSError) as error:
                raise self._fault(event, str(error)) from None
            if one is None:
                return
            self._take(one)

    def _refuse(self, event: Event) -> None:
        """Raise for what cannot be followed; an XA transaction of one phase ends as others do."""
        if event.kind != events.XA_PREPARE or not (event.body[0] or self._begin_message):
            raise self._fault(event, _REFUSED[event.kind])
        self._commit(event)

    def _after(self, event: Event) -> int:
        """Return the place after an event. Events have 32 bits of it, and files may be larger."""
        number, offset = events.file_and_offset(self._place)
        whole = offset >> 32 << 32 | event.end
        return events.place_of(f".{number}", whole if whole >= offset else whole + (1 << 32))

    def _fault(self, event: Event, text: str) -> EnvironmentFault:
        return EnvironmentFault(f"{self._server.shown}: the event before {self._file}:{event.end}: {text}; {ANEW}")

    def _format(self, event: Event) -> None:
        """Note whether events have checksums; a log that was reset has other files of the same names."""
        self._checksums = event.body[-1] == 1
        own = f"{self._file} of {event.seconds}"
        if self._log_of.partition(" ")[0] == self._file and self._log_of != own:
            raise EnvironmentFault(
                f"{self._server.shown}: the log's file {self._file} is another one than was captured: the log was "
                f"reset, and changes may be gone; {ANEW}"
            )
        self._log_of, self._is_same_log = own, True

    def _gtid(self, event: Event) -> None:
        """Begin a transaction; rows of tables that it comes after are read before."""
        if (due := self._first_rows.place) is not None and self._place >= due:
            self._copy()
        gtid = events.gtid_of(event)
        self._standalone = gtid.is_standalone
        self._begun, self._is_between = self._place, False
        self._tables.begin()
        self._committed = gtid.micros - _MICROS_TO_2000
        self._begin_message = begin(self._begun, self._committed, gtid.number)

    def _change(self) -> None:
        """Begin the transaction, where this is its first change of ours."""
        if self._begin_message:
            self._intake.take(self._begin_message)
            self._begin_message = b""

    def _commit(self, event: Event) -> None:
        if not self._begin_message:
            self._tables.replayed = None
            self._intake.take(commit(self._begun, self._after(event), self._committed))

    def _map(self, event: Event) -> None:
        if self._is_between:
            raise self._fault(event, "changes come without the beginning of their transaction")
        rows = self._tables.map(event.body, self._least)
        if rows is not None:
            self._intake.take(rows.announced)  # which is no change, and begins nothing

    def _changes(self, event: Event) -> None:
        number = event.body[:6]
        if not self._tables.maps(number):
            raise self._fault(event, "changes come without the map of their table")
        rows = self._tables.rows(number)
        if rows is None:
            if not self._begin_message:  # once the transaction is ours, for what comes again is counted, too
                self._intake.take(LEFT)
            return
        self._change()
        take = self._intake.take
        for message in rows.messages(event):
            take(message)
        self._seal_where_due()

    def _statement(self, event: Event) -> None:
        statement = events.statement_of(event, self._tables.charsets)
        word = first_word(statement.text)
        if self._standalone is None:
            self._standalone = not begins_transaction(statement.text)
        self._ends = self._standalone or ends_transaction(statement.text)
        if "\ufffd" in statement.text and word in DEFINES:
            raise self._fault(event, f"{statement.text[:80]!r}: its client's character set is not read")
        if word == "commit":
            self._commit(event)
        elif word == "rollback" and not self._begin_message:
            raise self._fault(
                event,
                f"{statement.text[:80]!r}: a transaction is taken back whose changes are in the log, for it has tables "
                "of engines without transactions",
            )
        elif word in CHANGES and is_of_system(statement.text, statement.database, statement.modes):
            pass
        elif word in CHANGES or not (self._standalone or word in _OF_TRANSACTIONS):
            raise self._fault(
                event,
                f"changes are in the log as a statement ({statement.text[:80]!r}), and not as rows: a client has set "
                "binlog_format",
            )
        elif self._standalone or word in ("create", "drop"):
            self._define(event, statement)

    def _define(self, event: Event, statement: events.Statement) -> None:
        """Follow a statement that may define tables: those that are emptied, or are other ones from now on."""
        meaning = meaning_of(
            statement.text, statement.database, lower=self._tables.charsets.lower_names, modes=statement.modes
        )
        for name in filter(self._tables.has, meaning.unlogged):
            raise self._fault(
                event,
                f"{statement.text[:80]!r}: rows of partitions are gone or came without events of their own, so that "
                f"{name} cannot be followed",
            )
        for name in meaning.truncated:  # a transaction of its own
            if (number := self._tables.announced(name)) is not None:
                self._change()
                self._intake.take(_TRUNCATED + number)
                self._commit(event)
        if meaning.defines:
            if self._tables.others(meaning):
                self._seal()
            self._tables.follow(meaning, self._begun)

    def _rest(self, now: float) -> None:
        """Read tables that are due at a place that is reached; note, now and then, that nothing is ours up to here."""
        if self._intake.is_held:
            return
        if (place := self._first_rows.place) is not None and self._place >= place:
            self._copy()
        if now - self._rested > _CONFIRM_S:
            self._rested = now
            self._confirm()

    def _confirm(self) -> None:
        """Record the place up to which all that is ours is durable, and which log it is in."""
        record, is_held = self._first_rows.record, self._intake.is_held or not self._is_between
        is_new = self._place > record.confirmed or self._log_of != record.log
        if self._first_rows.place is None and not is_held and is_new:
            record.confirmed, record.log = self._place, self._log_of
            record.write(self._spool.path)

    def _is_done(self) -> bool:
        """Return whether all is captured that was committed at the start, of the log that was captured before."""
        is_whole = not self._intake.is_open and self._first_rows.place is None
        return is_whole and self._place >= self._target and self._is_same_log


class TableRows(RowsOnly):
    """Reads the rows that tables have: the server needs no log."""

    def __init__(self, capture: Capture, at: Captures, spool: Spool, *, until_now: bool) -> None:
        """Take a spool that is open."""
        super().__init__(capture, at.server, at.into(spool), until_now=until_now)
        self._location, self._server = at.location, at.server

    def _find(self, record: Record | None) -> Sequence[Captured]:
        with self._server.session() as session:
            if reasons := list(settings.problems(session, self._location)):
                raise EnvironmentFault(f"{self._server.shown}: {'; '.join(reasons)}")
            system = settings.identity(session)
            _check_same(session, record, system, "")
            known = record or Record(system, "", "")
            rows = self._begin(ReadPoints(self._server, self._location, known.numbers), known)
            return Tables(session, self._location, rows, self._intake, self._log).look()


def _check_same(session: Session, record: Record | None, system: str, base: str) -> None:
    """Raise EnvironmentFault where another server was captured before, or another log. base: of its files' names."""
    if record is not None and (record.system, record.database or base) != (system, base):
        raise EnvironmentFault(
            f"{session.server.shown}: is another server than the one that was captured: {system}, log {base}, and "
            f"not {record.system}, {record.database}; mend the address, or, {ANEW}"
        )
