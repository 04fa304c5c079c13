"""A MySQL or MariaDB server as a source: its changes are captured into the spool, whose segments are the slices."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from integrator.channel.databases import BinlogLocation
from integrator.channel.problems import Report
from integrator.errors import EnvironmentFault, IntegratorError, SourceAway
from integrator.schema import Table
from integrator.sources.binlog import catalogue, events, settings
from integrator.sources.binlog.packets import pymysql
from integrator.sources.binlog.product import NAMES
from integrator.sources.binlog.server import Server, Session
from integrator.sources.binlog.snapshot import SnapshotPoints
from integrator.sources.binlog.stream import Captures
from integrator.sources.capture import record as records
from integrator.sources.capture.frames import standing_in
from integrator.sources.capture.record import Record
from integrator.sources.capture.source import CapturedSource, feed_of
from integrator.sources.contract import Feed, Opening, Problems, ServerLog
from integrator.sources.spool import SPOOL, sealed_in


@dataclass(frozen=True)
class BinlogSource(CapturedSource):
    """A server. cautions: what of its tables cannot be captured."""

    location: BinlogLocation
    cautions: tuple[str, ...] = ()
    example = "{class: mysql, address: mysql://USER@HOST/DATABASE}"

    @property
    def _server(self) -> Server:
        return Server(self.location.address)

    def defines(self, *topics: str, asks: bool = True) -> BinlogSource:
        """Return the source with the definitions that the server's catalogue has now, or, unasked, with those known.

        topics: the first segment whose changes are read now. Where the server does not answer, and none is given, it
        has those that are known, if any are. Raises IntegratorError.
        """
        if not asks or self._server.problem:  # which `check` reports, with all other problems
            return self
        try:
            with self._server.session() as session:
                found = catalogue.found(session, self.location, {})
                sees_none = not (found.tables or found.left_out or found.others)
                lacks = settings.why_none(session) if sees_none else ""
                now, known = catalogue.definition(session, found.tables), self.known
                if found.tables:
                    known = known.with_versions(now, catalogue.unaltered(session, self.location, found.tables))
                if topics and (undefined := known.undefined()):
                    gone = self._relations(topics[0], undefined)
                    known = catalogue.as_announced(known, gone, found.tables, now)
        except SourceAway:
            if topics or not self.known.texts:
                raise
            return self
        return replace(
            self, known=known, left_out=found.left_out, cautions=found.notes, others=found.others, lacks=lacks
        )

    def describe(self) -> str:
        """Return which server is captured, and which of its tables."""
        location, server = self.location, self._server
        but = f" but {', '.join(location.exclude)}" if location.exclude else ""
        of = f"/{server.database}" if server.database else ""
        return f"{NAMES[location.class_]} at {server.shown}{of}, tables {', '.join(location.tables)}{but}"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of an address that is none, and of what the location says in vain. Raises EnvironmentFault."""
        super().check(tables, report)
        pymysql.load()
        if problem := self._server.problem:
            report("address", problem)

    def notes(self) -> Iterator[str]:
        """Yield which tables are left out, and what of others cannot be captured."""
        yield from super().notes()
        yield from self.cautions

    def reach(self, directory: str) -> Problems:  # noqa: ARG002 - of the contract
        """Yield why the server cannot be captured, and the statements that somebody with the rights must run."""
        try:
            with self._server.session() as session:
                for text in settings.problems(session, self.location, is_check=True):
                    yield "address", text
        except IntegratorError as error:
            yield "address", str(error)

    def open(self, opening: Opening) -> Feed:
        """Open the spool. Raises EnvironmentFault where segments are gone."""
        at, listing = Captures(self.location, self._server), self.listing(opening.recipe.read.path)
        return feed_of(opening, lambda spool: at.capture(spool, opening.channel), listing, self.location.spool_bytes)

    def _try(self, table: str, where: str) -> None:
        with self._server.session() as session:
            session.try_condition(table, where)

    def points(self) -> SnapshotPoints:
        """Return what makes positions: sessions of their own."""
        record = records.read(self.state / SPOOL) if self.state else None
        return SnapshotPoints(self._server, self.location, record or Record("", "", ""), structlog.get_logger())

    def captured(self) -> int:
        """Return the position that the spool has, or the record beside it."""
        spool = self.state / SPOOL if self.state else None
        record, standing = (records.read(spool), standing_in(spool)) if spool else (None, None)
        return max(record.confirmed if record else 0, standing.end if standing else 0)

    def _log(self) -> ServerLog | None:
        """Return how far the log is after what is durable here; None before the first start. Raises IntegratorError.

        The server keeps nothing for a channel: it removes its log by its own rules.
        """
        spool = self.state / SPOOL if self.state else None
        record = records.read(spool) if spool else None
        if spool is None or record is None or record.creating:
            return None
        with self._server.session() as session:
            return _log_after(session, record, spool)


def _log_after(session: Session, record: Record, spool: Path) -> ServerLog:
    """Return the log after what is durable: the bytes of its files from there on."""
    standing, segments = standing_in(spool), sealed_in(spool)
    position = max(record.confirmed, standing.end if standing else 0)
    number, offset = events.file_and_offset(position)
    number -= record.files
    files = [(int(str(name).rpartition(".")[2]), int(size)) for name, size, *_ in session.rows("show binary logs")]
    after = max(sum(size for file, size in files if file >= number) - offset, 0)
    many, oldest = 0, None
    with suppress(EnvironmentFault):  # without the right PROCESS
        [(many, oldest)] = session.rows(
            "select count(*), timestampdiff(second, min(trx_started), convert_tz(now(), '+00:00', 'SYSTEM')) "
            "from information_schema.innodb_trx"
        )
    waits_since = segments[-1].stat().st_mtime if segments else time.time()
    return ServerLog(
        status="kept by binlog_expire_logs_seconds",
        position=events.position_text(position, record.files),
        kept_bytes=after,
        behind_bytes=after,
        behind_s=max(time.time() - waits_since, 0.0) if after else 0.0,
        left_bytes=None,
        transactions=int(many),
        oldest_s=None if oldest is None else float(oldest),
    )
