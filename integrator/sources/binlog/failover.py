"""A server that takes the place of the one that was captured: continued with, where its log has all that follows.

Its log is another one: files and offsets are none of those before, and its transactions have the same GTIDs. It is read
from the last file before which it has nothing that was not captured; what was captured is skipped. A server that was
captured before is read by file and offset, as one without GTIDs is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.binlog import dump, events, settings
from integrator.sources.binlog.gtids import Gtid, Gtids
from integrator.sources.binlog.history import History
from integrator.sources.binlog.product import NAMES
from integrator.sources.binlog.server import Session
from integrator.sources.capture.record import ANEW, Record

APPLIES_S = 30.0
"""For so long a server that is promoted may still apply what it has received."""
_POLL_S = 0.5
_FIRST_EVENTS = 4
"""In which each file has what is before it; encryption has one of its own."""
_BEFORE_FILES = frozenset(("Previous_gtids", "Gtid_list"))
_PURGED = (
    "transactions that were not captured are in the server's log no more ({}): changes are gone. Give the address of a "
    "server whose log has them, or, {}"
)


def executed_at(session: Session, number: int, file: str, offset: int) -> Gtids | None:
    """Return what a log has before a position; None where that cannot be had, or is not all. number: as of `dump`.

    Raises SourceAway.
    """
    with suppress(EnvironmentFault):
        found = _before(session, file)  # which does not list what a restore brought
        if found.is_mariadb:
            logged, found = found, _restored(session)  # the latest ones are the last
            found.update(logged)
        else:
            found.update(_purged(session, ()))
        if offset <= events.FIRST_EVENT:
            return found
        with dump.reading(session) as own:
            for one in dump.transactions(own, number, file, events.position_of(file, offset)):
                if one is None:
                    return None
                found.add(one)
        return found
    return None


def check_log(session: Session, record: Record, history: History, position: int) -> None:
    """Raise EnvironmentFault where the log of the captured server lacks what was captured, or what follows it."""
    if record.creating or history.known is None:
        return
    if events.position_of(*settings.end_of_log(session), record.files) < position:
        lacking = _executed(session).lacking(history.known)
        raise EnvironmentFault(
            f"{session.server.shown}: the log ends before {events.position_text(position, record.files)}, up to "
            f"which it was captured: the log was reset, or the server was put back to an earlier state. It lacks "
            f"{lacking or 'nothing by its GTIDs'}; {ANEW}"
        )
    purged = ""
    with suppress(EnvironmentFault):  # a file may be removed just now
        purged = history.known.lacking(_purged(session, _files(session)))
    if purged:
        raise EnvironmentFault(f"{session.server.shown}: {_PURGED.format(purged, ANEW)}")


class Successor:
    """A server that has taken the place of the one that was captured. number: as of `dump`."""

    def __init__(self, session: Session, history: History, number: int, is_ending: Callable[[], bool]) -> None:
        """Take what was captured, which is known. is_ending: whether nothing is to be waited for any more."""
        if history.known is None:
            raise RuntimeError("nobody knows what was captured")
        self._session, self._number, self._is_ending = session, number, is_ending
        self._shown, self._captured, self._open = session.server.shown, history.known, history.open
        self._history = history

    def take(self, record: Record, base: str, highest: int) -> None:
        """Have a record continue there. base: of its files. highest: the highest position that anything has.

        Raises SourceAway, and EnvironmentFault where it lacks transactions.
        """
        self._check_executed(record)
        files = _files(self._session)
        if purged := self._captured.lacking(_purged(self._session, files)):
            raise EnvironmentFault(f"{self._shown}: {_PURGED.format(purged, ANEW)}")
        file, end = self._first_file(files), settings.end_of_log(self._session)
        if self._captured.is_mariadb:
            self._check_history(file, events.position_of(*end))
        number = int(file.rpartition(".")[2])
        record.files = max(events.file_and_offset(highest)[0] + 1 - number, 0)
        record.system, record.database = settings.identity(self._session), base
        record.confirmed, record.log = events.position_of(file, events.FIRST_EVENT, record.files), ""
        record.gtids = record.inherited = self._history.text
        record.inherited_until = events.position_of(*end, record.files)
        self._history.inherit(record)

    def _check_executed(self, record: Record) -> None:
        """Raise EnvironmentFault where the server has not what was captured, and does not get it."""
        needed = Gtids(self._captured.text, is_mariadb=self._captured.is_mariadb)
        if self._open is not None:
            needed.add(self._open)
        if needed.is_mariadb:  # what is before the last one of a domain was there before it
            last, needed = needed.last(), Gtids(is_mariadb=True)
            for one in last.values():
                needed.add(one)
        deadline = time.monotonic() + APPLIES_S
        while lacking := _executed(self._session).lacking(needed):
            if self._is_ending():
                raise SourceAway(f"{self._shown}: the server lacks what was captured: {lacking}")
            if time.monotonic() > deadline:
                raise EnvironmentFault(
                    f"{self._shown}: is another server than the one that was captured "
                    f"({settings.identity(self._session)}, and not {record.system}), and lacks transactions that were "
                    f"captured: {lacking}. It was promoted before it had them, has another history, or does not log "
                    "what it replicates (log_replica_updates). Promote a server that has them, or mend the address; "
                    f"or, {ANEW}"
                )
            time.sleep(_POLL_S)

    def _first_file(self, files: Sequence[str]) -> str:
        """Return the file to begin with: the last one before which is nothing that was not captured.

        Of MariaDB it is before the transaction that was captured last, where there is such a file.
        """
        found, newest = "", self._captured.newest() if self._captured.is_mariadb else None
        for file in reversed(files):
            before = _before(self._session, file)
            if self._captured.lacking(before):
                continue
            found = file
            if newest is None or not before.has_exactly(newest):
                break
        if not found:
            purged = self._captured.lacking(_before(self._session, files[0]))
            raise EnvironmentFault(f"{self._shown}: {_PURGED.format(purged, ANEW)}")
        return found

    def _check_history(self, file: str, until: int) -> None:
        """Raise EnvironmentFault where the log does not have the last transactions that were captured of each domain.

        Servers of MariaDB that have nothing to do with one another have the same GTIDs, and numbers may be left out.
        """
        before, sought = _before(self._session, file), self._captured.last()
        rested = _restored(self._session)  # domains in which nothing came since the server was made from a backup
        found = {domain for domain, one in sought.items() if before.has_exactly(one) or rested.has_exactly(one)}
        with dump.reading(self._session) as own:
            for one in dump.transactions(own, self._number, file, until):
                last = sought.get(one.domain) if one else None
                if one is None or last is None:
                    continue
                if one.is_same(last):
                    found.add(one.domain)
                    if last.seconds and last.seconds != one.seconds:
                        self._refuse(last, f"it is another transaction there, of {_shown_time(one.seconds)}")
                elif (one in self._captured) == (one.domain in found):
                    self._refuse(last, f"{one.source}-{one.number} is not in its order")
        for domain in sought.keys() - found:
            self._refuse(sought[domain], "it is not in the log (log_slave_updates)")

    def _refuse(self, last: Gtid, why: str) -> None:
        raise EnvironmentFault(
            f"{self._shown}: the server has another history than the one that was captured: of domain {last.domain} "
            f"{last.source}-{last.number} of {_shown_time(last.seconds)} was captured last, and {why}; mend the "
            f"address, or, {ANEW}"
        )


def _shown_time(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _executed(session: Session) -> Gtids:
    """Return what a server has."""
    is_mariadb = session.product.name == NAMES["mariadb"]
    variable = "@@global.gtid_binlog_state" if is_mariadb else "@@global.gtid_executed"
    [(text,)] = session.rows(f"select {variable}")
    found = Gtids(str(text), is_mariadb=is_mariadb)
    if is_mariadb:
        found.update(_restored(session))
    return found


def _restored(session: Session) -> Gtids:
    """Return what a server of MariaDB has of domains of which its log has nothing, as after a restore.

    The set is empty for a server that does not log what it replicates: its log may lack anything.
    """
    [(logged, applied, logs)] = session.rows(
        "select @@global.gtid_binlog_state, @@global.gtid_slave_pos, @@global.log_slave_updates"
    )
    if not logs:
        return Gtids(is_mariadb=True)
    domains = Gtids(str(logged), is_mariadb=True).last().keys()
    found = Gtids(str(applied), is_mariadb=True).last()
    return Gtids(",".join(one.text for domain, one in found.items() if domain not in domains), is_mariadb=True)


def _purged(session: Session, files: Sequence[str]) -> Gtids:
    """Return what a server has, and its log has not any more."""
    if session.product.name == NAMES["mariadb"]:
        return _before(session, files[0])
    [(text,)] = session.rows("select @@global.gtid_purged")
    return Gtids(str(text), is_mariadb=False)


def _files(session: Session) -> list[str]:
    return [str(name) for name, *_ in session.rows("show binary logs")]


def _before(session: Session, file: str) -> Gtids:
    """Return what is before a file of the log, as it begins with it. Raises EnvironmentFault where it does not."""
    rows = session.rows(f"show binlog events in %s limit {_FIRST_EVENTS}", [file])
    for _, _, kind, _, _, text in (row[:6] for row in rows):
        if kind in _BEFORE_FILES:
            return Gtids(str(text), is_mariadb=kind == "Gtid_list")
    raise EnvironmentFault(f"{session.server.shown}: the log's file {file} does not say what is before it")
