"""Which transactions were captured, by their GTIDs: kept with what is captured, and asked at another server.

What is kept in segments, and opaque there, is KNOWN|OPEN: the set of those that are durable, and the transaction of
which some changes are. A note before a transaction has the same: what is known with it, and once it has ended.
"""

from __future__ import annotations

from integrator.sources.binlog.gtids import Gtid, Gtids, gtid_in
from integrator.sources.capture.record import Record

_UNKNOWN = "?"
"""In KNOWN: GTIDs do not tell what was captured, for there was a transaction without one."""


class History:
    """The GTIDs of what was captured. known: None where they do not tell it.

    open: the transaction whose changes are in the spool, and its end is not.
    """

    def __init__(self, kept: bytes, record: Record, *, is_mariadb: bool) -> None:
        """Take what segments and the record have: the latter what has no change of ours."""
        known, _, begun = kept.decode().partition("|")
        self.is_mariadb = is_mariadb
        self._was_known = bool(record.gtids) or _UNKNOWN in known
        self.known: Gtids | None = None
        if record.gtids and _UNKNOWN not in known:
            self.known = Gtids(f"{record.gtids},{known}", is_mariadb=is_mariadb)
        self.open = gtid_in(begun, is_mariadb=is_mariadb) if begun else None
        self.inherit(record)
        self._since = Gtids(is_mariadb=is_mariadb)
        self._own: Gtid | None = None

    def learn(self, known: Gtids) -> None:
        """Take what was captured."""
        if known.is_mariadb:
            known.begin_here()
        self.known, self._was_known = known, True

    def inherit(self, record: Record) -> None:
        """Have transactions be skipped that come again from another server, as the record has them."""
        self._inherited = Gtids(record.inherited, is_mariadb=self.is_mariadb)
        self._until = record.inherited_until

    def is_inherited(self, gtid: Gtid | None, position: int) -> bool:
        """Return whether a transaction that begins at a position was captured from another server.

        Raises ValueError for one without a GTID, of which nobody knows that.
        """
        if position >= self._until:
            return False
        if gtid is None:
            raise ValueError
        return gtid in self._inherited

    def begin(self, gtid: Gtid | None) -> None:
        """Note which transaction comes. gtid: None for one of a server without GTIDs."""
        self._own = gtid
        if gtid is None:
            self.known = None

    def note(self) -> bytes:
        """Return the note that is before the changes of the transaction that comes."""
        if self.known is None or self._own is None:
            return self._of_none
        return f"{self._since.text}|{self._own.of_rows(0).text}".encode()  # its rows are yet to come

    def noted(self) -> None:
        """Take note that the note is there, and the transaction is open."""
        self.open = self._own
        self._since.clear()

    def end(self, seconds: int = 0) -> None:
        """Take note that the transaction has ended. seconds: of its last rows; 0 where it has none."""
        own, self._own = self._own, None
        if own is None:
            return
        own = own.of_rows(seconds) if seconds else own
        is_ours = own.is_same(self.open)
        self.open = None if is_ours else self.open
        if self.known is not None:
            self.known.add(own)
            if not is_ours:
                self._since.add(own)

    @property
    def _of_none(self) -> bytes:
        return f"{_UNKNOWN}|".encode() if self._was_known else b""

    @property
    def text(self) -> str:
        """What is known, as the record has it."""
        return self.known.text if self.known is not None else ""

    def kept(self) -> bytes:
        """Return what a segment begins with, which is after all notes before it."""
        self._since.clear()
        if self.known is None:
            return self._of_none
        return f"{self.text}|{self.open.text if self.open else ''}".encode()
