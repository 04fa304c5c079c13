"""What a slot sends goes into the spool, is made durable, and only then confirmed to the server (I9).

Rows of tables that were not read yet are read at a position in the log: changes before it are in them and are left out,
and those after it follow. So each change is there once, whatever is interrupted, and when a table comes later, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from integrator.channel.databases import PostgresLocation
from integrator.decode.encodings.pgoutput import message_at, relation_of
from integrator.engine.pgoutput import BEGIN, HEADER_BYTES, RELATION
from integrator.errors import EnvironmentFault
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.frames import standing_in
from integrator.sources.capture.intake import OWN_PREFIX
from integrator.sources.capture.record import ANEW, Record
from integrator.sources.capture.rows_only import RowsOnly
from integrator.sources.capture.stream import SEAL_S, SpoolingStream, SpoolTarget
from integrator.sources.capture.thread import Capture
from integrator.sources.postgres.announced import Announced
from integrator.sources.postgres.answers import Answers, silence_of
from integrator.sources.postgres.catalogue import Captured, found
from integrator.sources.postgres.identity import identity, timeline
from integrator.sources.postgres.publication import published_tables
from integrator.sources.postgres.replication import Replication
from integrator.sources.postgres.server import END, MissingFault, Server, Session, is_standby, lsn_of, lsn_text, quoted
from integrator.sources.postgres.slot import (
    Names,
    check_continued,
    check_slot,
    log_of,
    options_of,
    problems,
    slot_of,
    version_of,
)
from integrator.sources.postgres.snapshot import ReadPoints, SlotPoints
from integrator.sources.postgres.tables import PublishedTables
from integrator.sources.spool import Spool
from integrator.tables.sql.postgres_catalogue import literal

_TABLES_S, _CONFIRM_S, _WAIT_S, _SETTLE_S = 10.0, 5.0, 0.05, 10.0
_NO_POSITION = (1 << 63) - 1


@dataclass(frozen=True)
class Captures:
    """What is captured: a location, its server, and what is made there."""

    location: PostgresLocation
    server: Server
    names: Names

    def capture(self, spool: Spool, channel: str) -> Capture:
        """Return the capture into a spool that is open."""
        kind = Stream if self.location.captures_changes else TableRows
        return Capture(lambda one, until_now: kind(one, self, spool, until_now=until_now), channel, self.server.shown)

    def into(self, spool: Spool) -> SpoolTarget:
        """Return where what is captured is written."""
        return SpoolTarget(spool, self.names.slot, self.location.spool_bytes, lsn_text, self.location.signal_table)


class Stream(SpoolingStream):
    """One connection to the slot, from where the spool ends."""

    def __init__(self, capture: Capture, at: Captures, spool: Spool, *, until_now: bool) -> None:
        """Take a spool that is open. until_now: it ends when all is there that was committed at its start."""
        super().__init__(capture, at.server, at.into(spool), until_now=until_now)
        self._location, self._server, self._names = at.location, at.server, at.names
        self._target = 0
        self._rested = time.monotonic()
        self._session: Session | None = None
        self._confirmed = self._start = 0
        self._is_taking = False
        self._announced: Announced | None = None
        self._replication: Replication | None = None
        self._answers: Answers | None = None
        self._published: PublishedTables | None = None

    def capture(self) -> None:
        """Capture until the end, or what exists now. Raises IntegratorError, OSError."""
        try:
            with self._server.session() as self._session:
                version = version_of(self._session)
                self._begin()
                try:
                    options = options_of(version, self._names.publication)
                    start = 0 if self._intake.end else self._start  # which the slot may be behind
                    replication = self._replication = Replication(self._server, self._names.slot, start, options)
                    record, silent_s = self._first_rows.record, silence_of(self._session)
                    answers = self._answers = Answers(
                        replication, record, self._spool.path, self._intake, self._server.shown, silent_s
                    )
                    self._capture.connected()
                    self._receive(replication, answers)
                except MissingFault as fault:  # from PostgreSQL 18 on it is passed over
                    raise EnvironmentFault(
                        f"{fault}: it was not there when changes were made that the log has, so that the server sends "
                        f"neither them nor any after them; {ANEW}"
                    ) from None
                finally:
                    if self._replication is not None:
                        self._replication.close()
        finally:
            if self._rows is not None:
                self._rows.close()

    @property
    def _asked(self) -> Session:
        if self._session is None:
            raise RuntimeError("no session")
        return self._session

    @property
    def _there(self) -> Sequence[Captured]:
        return self._published.there if self._published else ()

    @property
    def _tables(self) -> PublishedTables:
        if self._published is None:
            raise RuntimeError("no tables")
        return self._published

    def _begin(self) -> None:
        """Make publication and slot where they are not there, and read the rows of tables as of that time."""
        session, names = self._asked, self._names
        found = self._recorded()
        record = found if found is not None and found.slot else None  # else rows alone were read, and no slot is ours
        slot = slot_of(session, names.slot)
        if record is not None and record.creating and slot is not None:
            session.rows("select pg_drop_replication_slot(%s)", [names.slot])
            slot = None
        if reasons := list(problems(session, names, creates=slot is None)):
            raise EnvironmentFault(f"{self._server.shown}: {'; '.join(reasons)}")
        system, database = identity(session, found)
        durable_lsn, durable = self._intake.end if record else 0, standing_in(self._spool.path)
        has_rows_at = durable.lsn + 1 if record and durable is not None and durable.is_of_rows else 0
        self._confirmed = max(durable_lsn, record.confirmed) if record else 0
        continued: set[str] | None = None
        start = lsn_of(self._location.start_position or "0/0")
        if found is None and start:
            check_continued(slot, names, start)
            continued, self._confirmed = published_tables(session, names), start
            record = Record(system, database, names.slot, creating=False, confirmed=start)
        self._start = start if start <= self._confirmed else 0
        now = timeline(self._server, record.timeline if record else 0, max(durable_lsn, has_rows_at, self._start))
        check_slot(slot, record, names, self._confirmed)
        if names.failover and slot is not None and not slot.failover:
            self._server.replicate(f"ALTER_REPLICATION_SLOT {quoted(names.slot)} (FAILOVER)")
        published = self._published = PublishedTables(session, self._location, names, self._log, self._spool.path)
        tables = published.inspect(record)
        known = record if record is not None and slot is not None else Record(system, database, names.slot)
        known.timeline, known.unpublished = now, published.unpublished
        rows = self._rows = FirstRows(
            SlotPoints(self._server, self._location, names, self._alive, waits=self._until_now),
            known,
            self._spool.path,
            self._intake,
            self._log,
            self._location,
        )
        inspect, leave = self._inspect_tables, self._leave
        self._announced = Announced(published, rows, self._intake, inspect, leave, self._log)
        if slot is None:
            self._confirmed = rows.begin_with(tables)
            self.copy()
        else:
            if continued is not None:
                rows.continue_at(self._confirmed, [one for one in tables if one.name in continued])
            self._intake.read = {one.to_bytes(4, "big") for one in known.read.values()}
            rows.tables.write()  # the timeline, too
            if durable is not None and durable.last and durable.lsn >= slot.confirmed and not durable.is_of_rows:
                self._intake.expect(durable.last)
            self._leave(published.left(known))
            rows.note_rewritten(published.rewritten(known))
            rows.make_due(tables)
        if self._until_now:
            end = END if is_standby(session) else f"pg_logical_emit_message(true, {literal(OWN_PREFIX)}, '')"
            [(now,)] = session.rows(f"select ({end}) - '0/0'")
            self._target = int(now)

    def _receive(self, replication: Replication, answers: Answers) -> None:
        """Read messages until the end is asked for, or all is read that is to be read."""
        inspected = time.monotonic()
        while True:
            idle = self._read_some(replication)
            now = time.monotonic()
            self.seal_where_due()
            if self._capture.ending:
                self.seal()
                return
            if idle:
                self._rest(answers, now)
                if self._until_now and self._is_done(answers):
                    self.seal()
                    self._confirm_idle(answers)
                    self._settle()
                    return
                if self._until_now and not self._intake.is_held:
                    answers.ask()
                replication.wait(SEAL_S if self._intake.size else _WAIT_S)
            elif not self._until_now and self._spool.waiting_bytes > self._spool_bytes:
                self._wait_for_room()
            answers.alive(reads=True)
            if self._intake.is_open:
                continue
            if now - inspected > _TABLES_S:
                inspected = now
                self._inspect_tables()
            elif self._is_next():
                self._first_rows.make_due(self._tables.there, is_next=True)

    def _read_some(self, replication: Replication) -> bool:
        """Take messages that have come; return whether none have."""
        frames, at, announced = replication.read(), 0, self._announced
        if announced is None:
            raise RuntimeError("no tables")
        self._is_taking = bool(len(frames))
        while at < len(frames):
            position = self._first_rows.position
            if announced.waits:
                announced.settle(message_at(frames, at))
            begin = at
            at = self._intake.take_changes(frames, at, _NO_POSITION if position is None else position)
            if at > begin:
                announced.passed()
            if at < len(frames):
                message = message_at(frames, at)
                if message[0] == RELATION:
                    announced.take(relation_of(message))
                else:
                    announced.passed()
                    if message[0] == BEGIN:
                        self._copy_before(int.from_bytes(message[1:9], "big"))
                self._intake.take(message)
                at += HEADER_BYTES + len(message)
        self._is_taking = False
        return not len(frames)

    def _copy_before(self, lsn: int) -> None:
        """Read tables that are due before a transaction, by its commit, that their rows do not have."""
        if (position := self._first_rows.position) is not None and lsn >= position:
            self.copy()

    def _inspect_tables(self) -> None:
        record = self._first_rows.record
        tables = self._tables.inspect(record)
        self._leave(self._tables.left(record))
        self._first_rows.note_rewritten(self._tables.rewritten(record))
        self._first_rows.make_due(tables)

    def _leave(self, tables: Mapping[str, int]) -> None:
        """Leave out changes of tables from now on; their rows are read again should they be captured again."""
        if tables:
            self._log.warning(
                "tables are not captured any more: excluded, renamed, unlogged, or without columns", tables=[*tables]
            )
            self.seal()  # changes that were received are not left out, should they come again
            self._first_rows.tables.forget(set(tables.values()))

    def seal(self) -> None:
        """Make what was received durable, hand it to the cycles, and confirm it to the server, in this order (I9)."""
        super().seal()
        if self._intake.end > self._confirmed:
            self._confirm(self._intake.end)

    def _confirm(self, lsn: int) -> None:
        self._confirmed = lsn
        if self._answers is not None:
            self._answers.confirm(lsn)

    def _alive(self) -> None:
        """Answer the server while nothing is read."""
        if self._answers is not None:
            self._answers.alive(reads=False)

    def has_changes(self) -> bool:
        """Return whether the server has sent something that is not taken yet."""
        return self._is_taking or (self._replication is not None and self._replication.has_more)

    def _rest(self, answers: Answers, now: float) -> None:
        """Read tables that are due at a position that is reached; confirm, now and then: a quiet table keeps no log."""
        if self._intake.is_held:
            return
        if (position := self._first_rows.position) is not None and answers.seen >= position:
            self.copy()
        self._note(answers.seen)
        if answers.is_asked or now - self._rested > _CONFIRM_S:
            self._rested = now
            self._confirm_idle(answers)

    def _confirm_idle(self, answers: Answers) -> None:
        """Confirm what the server has sent up to now, where all that is ours of it is durable."""
        if self._first_rows.position is None and not self._intake.is_held and answers.seen > self._confirmed:
            self._confirm(answers.seen)

    def _settle(self) -> None:
        """Wait until the server has what was confirmed: it may not read it once the connection is closed."""
        deadline = time.monotonic() + _SETTLE_S
        while time.monotonic() < deadline:
            slot = slot_of(self._asked, self._names.slot)
            if slot is None or slot.confirmed >= self._confirmed:
                return
            time.sleep(SEAL_S)

    def _is_done(self, answers: Answers) -> bool:
        """Return whether all is captured that was committed at the start."""
        seen = max(self._intake.end, answers.seen)
        rows = self._first_rows
        return not (self._intake.is_open or rows.is_left) and rows.position is None and seen >= self._target

    def _kept(self) -> Mapping[str, object]:
        """Return what the slot keeps."""
        kept = log_of(self._asked, self._names.slot)
        return {"log_kept_bytes": kept.kept_bytes, "wal_status": kept.status} if kept else {}


class TableRows(RowsOnly["Captures"]):
    """Reads the rows that tables have: neither a slot nor a publication is made, and a standby will do."""

    def _find(self, record: Record | None) -> Sequence[Captured]:
        with self._at.server.session() as session:
            system, database = identity(session, record)
            known = record or Record(system, database, "")
            self._begin(ReadPoints(self._at.server, self._at.location, self._next), known)
            return found(session, self._at.location).tables
