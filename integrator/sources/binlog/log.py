"""What the events of a log mean: what of them goes into the spool, and the position after each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from integrator.errors import EnvironmentFault
from integrator.sources.binlog import events
from integrator.sources.binlog.events import Event
from integrator.sources.binlog.history import History
from integrator.sources.binlog.statements import (
    CHANGES,
    begins_transaction,
    emptied_by,
    ends_transaction,
    first_word,
    is_elsewhere,
    is_of_system,
    meaning_of,
)
from integrator.sources.binlog.tables import Tables
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.frames import begin, commit
from integrator.sources.capture.intake import TRUNCATED, Intake
from integrator.sources.capture.record import ANEW

_OF_TRANSACTIONS = frozenset(("begin", "savepoint", "release", "rollback", "xa", "create", "drop", ""))
"""First words of statements in transactions of rows: with a table's rows may come that it is created."""
_REFUSED = {
    **dict.fromkeys(events.LOADED, "changes are in the log as a statement (load data), and not as rows"),
    events.XA_PREPARE: "prepares an XA transaction, which is not captured",
    events.INCIDENT: "the server says that its log has lost changes",
    events.PARTIAL: "changes have parts of JSON only: a client has set binlog_row_value_options",
}
_OF_SKIPPED = frozenset((*events.GTIDS, events.QUERY, events.QUERY_COMPRESSED, events.FORMAT))
"""What is read of transactions that are skipped: where they end."""
_MICROS_TO_2000 = 946_684_800_000_000


class Spooling(Protocol):
    """What a connection does with the spool when events ask for it."""

    def copy(self) -> None:
        """Write the rows that are due; their changes follow them."""

    def seal(self) -> None:
        """Make what was received durable, and hand it to the cycles."""

    def seal_where_due(self) -> None:
        """Seal what is large, or has waited."""


class Log:
    """A log from a position on.

    position: up to where it was read. file: that it is in. log_of: that file, and when it was begun; empty: it is not
    known. checksums: whether events have them. is_same: whether it was found to be the log that was captured before.
    is_between: whether no transaction is open. history: which transactions were captured.
    """

    def __init__(
        self, shown: str, spooling: Spooling, intake: Intake, rows: FirstRows, tables: Tables, history: History
    ) -> None:
        """Take where events go. shown: what the server is called. rows: those that are read before their changes."""
        self.position, self.file, self.log_of = 0, "", ""
        self.checksums = self.is_same = False
        self.is_between = True
        self._shown, self._spooling, self._intake, self._rows, self._tables = shown, spooling, intake, rows, tables
        self.history = history
        self._ends = self._skips = False
        self._standalone: bool | None = None
        self._begun = self._lsn = self._committed = self._seconds = 0
        self._begin_message = b""
        self._changed: set[str] = set()
        """Tables of which the open transaction has changes of ours."""
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
    def at(self) -> str:
        """The position, as people read it."""
        return events.position_text(self.position, self._rows.record.files)

    @property
    def whole(self) -> int:
        """Up to where transactions are whole that were read."""
        return self.position if self.is_between else self._begun

    @property
    def least(self) -> int:
        """Up to where it was read: a snapshot is not to be before it."""
        return self.position if self.is_between else self._begun + 1

    def take(self, event: Event) -> None:
        """Take an event into the spool, and note the position after it."""
        kind = event.kind
        if handle := self._handlers.get(kind):
            if not self._skips or kind in _OF_SKIPPED:
                handle(event)
        elif kind == events.ROTATE:
            self.file = event.body[8:].decode()
            offset = int.from_bytes(event.body[:8], "little")
            self.position = events.position_of(self.file, offset, self._rows.record.files)
            return
        elif kind not in events.IGNORED and kind != events.HEARTBEAT and not event.flags & events.IGNORABLE:
            raise self._fault(event, f"it is of kind {kind}, which is not read")
        if kind == events.HEARTBEAT:
            self.position = max(self.position, events.position_of(self.file, event.end, self._rows.record.files))
        elif not event.is_artificial:
            self.position = self._after(event)
            is_query = kind in (events.QUERY, events.QUERY_COMPRESSED)
            is_end = kind in (events.XID, events.XA_PREPARE) or (self._skips and kind == events.PAYLOAD)
            if is_end or (is_query and self._ends):
                self.is_between = True
                self.history.end(self._seconds)

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
            self.take(one)

    def _refuse(self, event: Event) -> None:
        """Raise for what cannot be followed; an XA transaction of one phase ends as others do."""
        if self._is_of_others(event):
            return
        if event.kind != events.XA_PREPARE or not (event.body[0] or self._begin_message):
            raise self._fault(event, _REFUSED[event.kind])
        self._commit(event)

    def _is_of_others(self, event: Event) -> bool:
        """Return whether changes that are not followed are of none of our tables."""
        if event.kind == events.PARTIAL:
            number = event.body[:6]
            return self._tables.maps(number) and self._tables.rows(number) is None
        if event.kind in events.LOADED:  # what is loaded is before, in parts; the statement that does it comes last
            return event.kind != events.LOADS or self._is_none_of_ours(
                events.statement_of(event, self._tables.charsets)
            )
        return False

    def _after(self, event: Event) -> int:
        """Return the position after an event. Events have 32 bits of it, and files may be larger."""
        number, offset = events.file_and_offset(self.position)
        whole = offset >> 32 << 32 | event.end
        return events.position_of(f".{number}", whole if whole >= offset else whole + (1 << 32))

    def _fault(self, event: Event, text: str) -> EnvironmentFault:
        return EnvironmentFault(f"{self._shown}: the event before {self.file}:{event.end}: {text}; {ANEW}")

    def _format(self, event: Event) -> None:
        """Note whether events have checksums; a log that was reset has other files of the same names."""
        self.checksums = event.body[-1] == 1
        own = f"{self.file} of {event.seconds}"
        if self.log_of.partition(" ")[0] == self.file and self.log_of != own:
            raise EnvironmentFault(
                f"{self._shown}: the log's file {self.file} is another one than was captured: the log was "
                f"reset, and changes may be gone; {ANEW}"
            )
        self.log_of, self.is_same = own, True

    def _gtid(self, event: Event) -> None:
        """Begin a transaction; rows of tables that it comes after are read before."""
        begun = events.begun_by(event)
        try:
            self._skips = self.history.is_inherited(begun.gtid, self.position)
        except ValueError:
            raise self._fault(
                event,
                "the server has taken the place of the one that was captured, and a transaction of it has no GTID, so "
                "that nobody knows whether it was captured",
            ) from None
        self._begin(begun)

    def _begin(self, begun: events.Begun) -> None:
        if (due := self._rows.position) is not None and self.position >= due:
            self._spooling.copy()
        self._standalone = begun.is_standalone
        self._begun, self.is_between, self._seconds = self.position, False, 0
        self._tables.begin()
        self._changed.clear()
        self._committed = begun.micros - _MICROS_TO_2000
        if begun.gtid is not None and begun.gtid.is_same(self.history.open) and self._intake.is_open:
            self._lsn, self._begin_message = self._intake.lsn, self._intake.begun  # its changes are of that position
        else:
            self._lsn, self._begin_message = self._begun, begin(self._begun, self._committed, begun.number)
        if not self._skips:
            self.history.begin(begun.gtid)

    def _change(self) -> None:
        """Begin the transaction, where this is its first change of ours."""
        if self._begin_message:
            self._intake.note = self.history.note()
            self._intake.take(self._begin_message)
            if not self._intake.note:  # else the transaction is there
                self.history.noted()
            self._begin_message = self._intake.note = b""

    def _commit(self, event: Event) -> None:
        if not self._begin_message:
            self._tables.end_replay()
            self._intake.take(commit(self._lsn, self._after(event), self._committed))
            self.history.end(self._seconds)

    def _map(self, event: Event) -> None:
        if self.is_between:
            raise self._fault(event, "changes come without the beginning of their transaction")
        rows = self._tables.map(event.body, self.least)
        if rows is not None:
            self._intake.take(rows.announced)  # which is no change, and begins nothing

    def _changes(self, event: Event) -> None:
        number, self._seconds = event.body[:6], event.seconds
        if not self._tables.maps(number):
            raise self._fault(event, "changes come without the map of their table")
        rows = self._tables.rows(number)
        if rows is None:
            return
        self._change()
        self._changed.add(rows.map.name)
        take = self._intake.take
        for message in rows.messages(event):
            take(message)
        self._spooling.seal_where_due()

    def _statement(self, event: Event) -> None:
        if self.is_between:  # where a start_position is after its GTID, as Debezium has it
            self._begin(events.Begun(0, event.seconds * 1_000_000))
        statement = events.statement_of(event, self._tables.charsets)
        word = first_word(statement.text)
        if self._standalone is None:
            self._standalone = not begins_transaction(statement.text)
        self._ends = self._standalone or ends_transaction(statement.text)
        if self._skips:
            return
        if word == "commit":
            self._commit(event)
        elif word == "rollback" and not self._begin_message:
            self._tables.take_back(self._changed, statement.text[:80])
            if self._ends:
                self._commit(event)
        elif word in CHANGES and self._is_none_of_ours(statement):
            pass
        elif word in CHANGES or not (self._standalone or word in _OF_TRANSACTIONS):
            raise self._fault(
                event,
                f"changes are in the log as a statement ({statement.text[:80]!r}), and not as rows: a client has set "
                "binlog_format",
            )
        elif self._standalone or word in ("create", "drop"):
            self._define(event, statement)

    def _is_none_of_ours(self, statement: events.Statement) -> bool:
        """Return whether a statement changes rows of none of our tables."""
        text, database, modes = statement.text, statement.database, statement.modes
        if is_of_system(text, database, modes) or is_elsewhere(text, database, self._tables.are_of, modes):
            return True
        emptied = emptied_by(text, database, lower=self._tables.charsets.lower_names, modes=modes)
        return bool(emptied) and not self._tables.has(emptied)

    def _define(self, event: Event, statement: events.Statement) -> None:
        """Follow a statement that may define tables: those that are emptied, or are other ones from now on."""
        meaning = meaning_of(
            statement.text, statement.database, lower=self._tables.charsets.lower_names, modes=statement.modes
        )
        named = (*meaning.truncated, *meaning.gone, *meaning.renamed, *meaning.dropped, *meaning.rewritten)
        if any("\ufffd" in name and self._tables.may_have(name) for name in named):
            raise self._fault(event, f"{statement.text[:80]!r}: its client's character set is not read")
        for name in meaning.truncated:  # a transaction of its own
            if (number := self._tables.announced(name)) is not None:
                self._change()
                self._intake.take(TRUNCATED + number)
                self._commit(event)
        if meaning.defines:
            if self._tables.others(meaning) or self._tables.rewritten(meaning):
                self._spooling.seal()
                if self._standalone:  # it is followed once, at another server, too
                    self.history.end()
                    self._rows.record.gtids = self.history.text
            self._tables.follow(meaning, self._begun, " ".join(statement.text.split())[:80])
