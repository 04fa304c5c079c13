"""Which tables are captured, and how their rows are read, as the log continues."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from integrator.channel.databases import BinlogLocation
from integrator.decode.encodings.pgoutput import Relation
from integrator.errors import EnvironmentFault
from integrator.sources.binlog.catalogue import Captured, found, is_for, wanted
from integrator.sources.binlog.charsets import Charsets
from integrator.sources.binlog.events import NO_TABLE
from integrator.sources.binlog.logged import OWN_TEXT
from integrator.sources.binlog.product import NAMES
from integrator.sources.binlog.rows import Rows
from integrator.sources.binlog.server import Session
from integrator.sources.binlog.statements import Meaning
from integrator.sources.binlog.table_map import TableMap, table_map
from integrator.sources.capture.first_rows import FirstRows
from integrator.sources.capture.intake import Intake

_INSPECT_S = 60.0
"""Tables are searched for when a statement defines some; beside that, rights may come."""


class Tables:
    """The tables that a location is for. Each has a number, which the record keeps; one that is made anew has another.

    there: what `inspect` returned last. charsets: those of the server. replayed: the tables that had numbers when a
    transaction was interrupted that comes again; changes of others are counted as they were then. None: none does.
    """

    def __init__(self, session: Session, location: BinlogLocation, rows: FirstRows, intake: Intake, log: Any) -> None:
        """Ask by a session. rows: whose record has the numbers. Raises SourceAway, EnvironmentFault."""
        self._session, self._location, self._rows, self._intake, self._log = session, location, rows, intake, log
        self.charsets = Charsets(session)
        self.replayed: set[str] | None = None
        self._inspected, self._is_stale = time.monotonic(), False
        self._maps: dict[bytes, Rows | None] = {}
        self._by_number: dict[bytes, Rows | None] = {}
        self._named: dict[str, TableMap] = {}
        self.there: Sequence[Captured] = ()
        self._reported: set[str] = set()
        self._left_out: Mapping[str, str] = {}
        """The tables that a location is for, and are not captured, and why."""

    def are_of(self, database: str) -> bool:
        """Return whether a location is for tables of a database, also for those that come."""
        return is_for(database, self._location, self._session.server.database, lower=self.charsets.lower_names)

    @property
    def is_due(self) -> bool:
        """Whether tables are to be searched for."""
        return self._is_stale or time.monotonic() - self._inspected > _INSPECT_S

    def inspect(self) -> Sequence[Captured]:
        """Return the tables that there are now. Raises EnvironmentFault for one that cannot be captured any more."""
        self._inspected, self._is_stale = time.monotonic(), False
        record = self._rows.record
        there = found(self._session, self._location, record.numbers)
        self._left_out = there.left_out
        self._leave({name: there.left_out[name] for name in record.numbers.keys() & there.left_out})
        if excluded := [name for name in record.read if not self._is_wanted(name)]:
            self._log.warning("tables are not captured any more: excluded", tables=excluded)
            self._rows.tables.forget({record.read[name] for name in excluded})
        new = [one.name for one in there.tables if one.name not in record.numbers]
        if new:
            self._number(new)
            self._rows.tables.write()
        tables = [
            replace(one, relation=replace(one.relation, oid=record.numbers[one.name]))
            if one.relation.oid != record.numbers[one.name]
            else one
            for one in there.tables
        ]
        if self.charsets.product.name == NAMES["mariadb"] and (types := self._unknown(tables)):
            record.types |= types
            self._rows.tables.write()
        self._maps.clear()
        self.there = tables
        return tables

    def _leave(self, left_out: Mapping[str, str]) -> None:
        """Leave out changes of tables that cannot be captured any more; once they can, their rows are read again.

        Raises EnvironmentFault where the location has that rows are not.
        """
        read = {name: why for name, why in left_out.items() if name in self._rows.record.read}
        for name, why in read.items():
            text = f"table {name} was captured, and cannot be any more: it {why}"
            if self._location.on_rewrite != "read_again":
                raise EnvironmentFault(f"{self._session.server.shown}: {text}; or exclude it")
            self._log.warning(f"{text}; once it can, its rows are read again, after a truncate")
        if read:
            self._rows.tables.forget({self._rows.record.read[name] for name in read})

    def _unknown(self, tables: Sequence[Captured]) -> dict[str, dict[str, str]]:
        """Return the columns that the log has as BINARY, with their types, of tables where they are not known yet."""
        return {
            one.name: {name: kind for name, kind in one.kinds.items() if kind in OWN_TEXT}
            for one in tables
            if one.name not in self._rows.record.types
        }

    def _number(self, names: Sequence[str]) -> None:
        numbers = self._rows.record.numbers
        first = max(numbers.values(), default=0) + 1
        numbers.update({name: number for number, name in enumerate(names, first)})

    def find(self, least: int) -> None:
        """Have the rows of new tables be due, at a position that is not before `least`; else they are listed again.

        A transaction that is in the log may not be in a snapshot yet.
        """
        if not self._rows.make_due(self.inspect(), least):
            self._is_stale = True

    def find_again(self, least: int) -> None:
        """Do as `find`, for tables, too, that were found not to be captured."""
        self._reported.clear()
        self.find(least)

    def find_next(self, least: int) -> None:
        """Have the rows that are left of the tables that were found be due, as `find` does."""
        self._rows.make_due(self.there, least, is_next=True)

    def end_replay(self) -> None:
        """Note that the transaction has ended in which the capture began: tables that came since count."""
        if self.replayed is not None:
            self.replayed = None
            self._maps.clear()

    def begin(self) -> None:
        """Begin a transaction: each of its statements has the maps of its tables."""
        self._by_number.clear()

    def map(self, body: bytes, least: int) -> Rows | None:
        """Return how the rows after a table map are read; None where the table is not captured. least: as of `find`."""
        number, own = body[:6], body[8:]
        if own not in self._maps:
            if self._is_stale:
                self.find(least)
            self._maps[own] = self._rows_of(table_map(body, self.charsets), least)
        rows = self._by_number[number] = self._maps[own]
        return rows

    def maps(self, number: bytes) -> bool:
        """Return whether the map of a number came in this transaction."""
        return number in self._by_number or number == NO_TABLE

    def rows(self, number: bytes) -> Rows | None:
        """Return how rows of a map's number are read; None where they are not captured."""
        return self._by_number.get(number)

    def _rows_of(self, own: TableMap, least: int) -> Rows | None:
        numbers = self._rows.record.numbers
        database, lower = self._session.server.database, self.charsets.lower_names
        if not wanted(own.schema, own.table, self._location, database, lower=lower):
            return None
        if self.replayed is not None and own.name not in self.replayed:
            return None
        if own.name not in numbers and own.name not in self._reported:
            self.find(least)
        oid = numbers.get(own.name)
        if oid is None:
            if own.name not in self._reported:
                self._reported.add(own.name)
                why = self._left_out.get(own.name, "was not found: our user may not read it, or it is gone")
                self._log.warning("changed, and not captured", table=own.name, reason=f"it {why}")
            return None
        if own.columns is None and (known := self._named.get(own.name)) and known.signature == own.signature:
            own = known  # the server was restarted without names; no statement has defined tables since they were there
        if own.columns is not None:
            self._named[own.name] = own
        elif oid.to_bytes(4, "big") not in self._intake.read:
            return None
        try:
            return Rows(own, oid, self._rows.record.types.get(own.name, {}), self.charsets)
        except EnvironmentFault as fault:
            if own.columns is None:
                raise
            if oid.to_bytes(4, "big") in self._intake.read:
                self._leave({own.name: f"has changes in the log that are not read: {fault}"})
                self._is_stale = True
            return None  # its rows are read after them

    def take_back(self, names: Collection[str], text: str) -> None:
        """Have the rows of tables be read again whose changes were taken back after they were in the log.

        Raises EnvironmentFault where the channel is to stop.
        """
        if any(self._rows.is_due(self._rows.record.numbers[name]) for name in names):
            self._rows.close()
        self._rows.note_rewritten(dict.fromkeys(sorted(names), f"{text}: changes that the log has are taken back"))
        self._is_stale = True

    def follow(self, meaning: Meaning, position: int, text: str) -> None:
        """Follow a statement that defines tables. What was read before it is to be durable.

        position: where it begins; one that comes again was followed. Tables of names that stand for others are new.
        Raises EnvironmentFault where the channel is to stop at what the statement does to rows.
        """
        self._is_stale = True
        for kept in (self._maps, self._named, self._reported):
            kept.clear()
        record, others = self._rows.record, self.others(meaning)
        record.types.clear()  # the catalogue of now has those of after the statement
        rewritten = [name for name in self.rewritten(meaning) if name not in others]
        if position > record.followed and meaning.columns_dropped and self.has(meaning.altered):
            record.drop(meaning.altered, meaning.columns_dropped)
            self._rows.tables.write()
        if not (others or rewritten) or position <= record.followed:
            return
        if any(self._rows.is_due(record.numbers[name]) for name in (*others, *rewritten)):
            self._rows.close()
        self._rows.note_rewritten(dict.fromkeys(rewritten, text))
        self._number(others)
        record.followed = position
        self._rows.tables.write()

    def rewritten(self, meaning: Meaning) -> list[str]:
        """Return the tables of ours whose rows are others after a statement.

        A column that was dropped, and comes again, has no value in rows whose messages have one.
        """
        dropped = {*self._rows.record.dropped.get(meaning.altered, ()), *meaning.columns_dropped}
        again = [meaning.altered] if dropped & {*meaning.columns_added} else []
        return [name for name in dict.fromkeys([*meaning.rewritten, *again]) if self.has(name)]

    def others(self, meaning: Meaning) -> list[str]:
        """Return the tables of ours whose names stand for others after a statement."""
        numbers = self._rows.record.numbers
        of_databases = {name for name in numbers if name.partition(".")[0] in meaning.dropped}
        return sorted(({*meaning.gone, *meaning.renamed} & set(numbers)) | of_databases)

    def may_have(self, name: str) -> bool:
        """Return whether a name whose letters are not all known may be that of a captured table or database."""
        pattern = re.compile(".+".join(map(re.escape, re.split("\ufffd+", name))))
        numbers = self._rows.record.numbers
        return any(pattern.fullmatch(one) or pattern.fullmatch(one.partition(".")[0]) for one in numbers)

    def has(self, name: str) -> bool:
        """Return whether a table is captured."""
        return name in self._rows.record.numbers and self._is_wanted(name)

    def _is_wanted(self, name: str) -> bool:
        schema, _, table = name.partition(".")
        database, lower = self._session.server.database, self.charsets.lower_names
        return wanted(schema, table, self._location, database, lower=lower)

    def announced(self, name: str) -> bytes | None:
        """Have a table be announced; return its number in messages. None: its changes are not captured, or not yet."""
        oid = self._rows.record.numbers.get(name)
        if oid is None:
            return None
        number = oid.to_bytes(4, "big")
        if number in self._intake.read and not self._intake.knows(number):
            schema, _, table = name.partition(".")
            self._intake.take(Relation(oid, schema, table, "f", ()).message())
        return number
