"""Up to where all that a database committed is in segments, and for which tables that holds (I12)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from integrator.contracts.sequence import SEQUENCE_WIDTHS
from integrator.sources.capture.definitions import matches
from integrator.sources.capture.first_rows import due
from integrator.sources.capture.points import Captured
from integrator.sources.capture.record import Record

_MICROS_TO_2000 = 946_684_800_000_000
_BEFORE_ROWS, _ANY = 2, (1 << 64) - 1
"""Rows that tables have at a position stand at the number before it (`Standing.is_of_rows`); transactions are below."""


@dataclass(frozen=True)
class Mark:
    """What the segments up to one have: each change whose transaction is below a position, of tables that are read.

    segment: the number of that segment. position, server: as of `Reached`. through: the commit and the transaction of
    the greatest {hvr_integ_seq} that they have. committed: when the last whole transaction was, in microseconds since
    2000; 0: that is not known. names: the tables that are captured. unread: those of them of which not all rows are in
    the segments.
    """

    segment: int
    lsn: int
    position: str
    through: tuple[int, int]
    committed: int
    names: frozenset[str]
    unread: frozenset[str]
    server: str = ""


class Marks:
    """The marks of a capture, in order, until the segments that they are of are synced."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Mark] = deque()
        self._last: Mark | None = None

    def add(self, mark: Mark) -> None:
        """Add a mark; it replaces one of the same segment."""
        with self._lock:
            if self._waiting and self._waiting[-1].segment == mark.segment:
                self._waiting.pop()
            self._waiting.append(mark)

    def before(self, segment: int) -> Mark | None:
        """Return the last mark of segments before one; those before that mark are forgotten."""
        with self._lock:
            while self._waiting and self._waiting[0].segment < segment:
                self._last = self._waiting.popleft()
            return self._last


def through(lsn: int, record: Record) -> tuple[int, int]:
    """Return up to which commit and transaction all is there that is below a position, and what was read at it.

    Rows that are read at it later, for the log stays there, are of later transactions.
    """
    of_rows = (lsn - 1, record.copies), (max(lsn - _BEFORE_ROWS, 0), _ANY)
    return of_rows[0] if record.copied_at == lsn - 1 else of_rows[1]


class Unread:
    """Which tables are captured, and of which of them not all rows were read: found anew where these may be others."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._found = frozenset[str](), frozenset[str]()

    def of(self, tables: Sequence[Captured], record: Record) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of both. Called for each segment: nothing is done for each table."""
        of_record = (record.followed, *record.again, "", *record.reading, "", *record.asked)
        known = self._of[:2]
        if not known or known[0] is not tables or known[1] is not record.read or self._of[2:] != of_record:
            self._of = (tables, record.read, *of_record)
            self._found = frozenset(one.name for one in tables), _unread(tables, record)
        return self._found


def _unread(tables: Sequence[Captured], record: Record) -> frozenset[str]:
    """Return the tables of which not all rows were read, or whose names stand for others since."""
    read, numbers = record.read, record.numbers
    others = (one.name for one in tables if numbers.get(one.name, one.relation.oid) != read.get(one.name))
    return frozenset((*(one.name for one in due(tables, record)), *others))


@dataclass(frozen=True)
class ReachedMark:
    """A mark all of whose segments are in synced cycles. held: the tables that are set aside, by SCHEMA.TABLE."""

    mark: Mark
    held: frozenset[str]

    @property
    def position(self) -> str:
        """The position as the database writes it."""
        return self.mark.position

    @property
    def server(self) -> str:
        """Whose position it is."""
        return self.mark.server

    @property
    def integ_seq(self) -> str:
        """What no {hvr_integ_seq} of a change below the position is above, nor one of the rows that were read at it."""
        (commit, transaction), (wide, narrow, row) = self.mark.through, SEQUENCE_WIDTHS
        return f"{commit:0{wide}X}|{transaction:0{narrow}X}|{'F' * row}"

    @property
    def committed(self) -> int:
        """When the last transaction was committed, in microseconds since 1970; 0: that is not known."""
        return self.mark.committed + _MICROS_TO_2000 if self.mark.committed else 0

    def lacks(self, names: Sequence[str]) -> str:
        """Return why it does not hold for a table; empty where it does."""
        own, *partitions = names
        if own in self.held:
            return "it is set aside"
        found = {own} & self.mark.names
        if partitions:
            found |= {one for one in self.mark.names if matches(one, partitions)}
        if not found:
            return "it is not captured yet"
        return "its rows are being read" if found & self.mark.unread else ""
