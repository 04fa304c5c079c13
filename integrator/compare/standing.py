"""Up to which position of a database's log topics have all changes: what is captured, and what of that is synced."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from integrator.contracts.log_positions import order_of
from integrator.errors import ConfigurationError, EnvironmentFault, command
from integrator.run.state.directory import State
from integrator.sources.capture import record as records
from integrator.sources.capture.asked import asked
from integrator.sources.capture.source import CapturedSource
from integrator.sources.journal.journal import Journal
from integrator.sources.spool import number_of, sealed_in

_POLL_S = 0.1
_SILENT_S = 120.0
"""For so long nothing may be captured, and nothing synced, while the channel runs."""


@dataclass
class Standing:
    """Asks the state of a channel, and its source. shown: returns a position as the database writes it."""

    channel: str
    source: CapturedSource
    state: State
    shown: Callable[[int], str]

    def wait_for(self, position: int) -> set[str]:
        """Wait until topics have all changes before a position. Raises EnvironmentFault where they will not.

        Return the tables, by their names at the database, whose rows are being read: topics may lack some of these.
        """
        last, since, target, unread = (-1, -1), time.monotonic(), -1, set[str]()
        while True:
            runs = self.state.holder() is not None
            captured = self.source.captured()
            has_all = captured >= position or (not runs and self.source.has_all(position))
            if has_all and target < 0:
                unread = self._unread()  # first: rows that were read are in segments up to the last one
                target = self._last_segment()
            if has_all and self._synced_segment() >= target:
                return unread
            if not runs:
                what = "are captured, and not sent" if has_all else f"are in the log after {self.shown(captured)}"
                raise EnvironmentFault(
                    f"channel {self.channel} does not run, and changes {what}, up to {self.shown(position)}, where its "
                    f"tables were read: start it, or have it send existing changes: {command()} --channel FILE --once"
                )
            now = (captured, self.state.last_slice())
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() - since > _SILENT_S:
                raise EnvironmentFault(
                    f"channel {self.channel} has neither captured nor sent anything for {_SILENT_S:.0f} s, and topics "
                    f"have changes up to {self.shown(captured)}; its tables were read at {self.shown(position)}: see "
                    f"{command()} state --channel FILE --connect"
                )
            time.sleep(_POLL_S)

    def wait_until_captured(self, position: str) -> None:
        """Wait until the log is captured up to a position. Raises EnvironmentFault where it is not in two minutes.

        Raises ConfigurationError for another product's position.
        """
        since, wanted = time.monotonic(), order_of(position)
        here = self.shown(self.source.captured())
        if ("/" in here) != ("/" in position):
            raise ConfigurationError(f"--at {position}: is no position of this database; one is {here}")
        while order_of(self.shown(captured := self.source.captured())) < wanted:
            if self.state.holder() is None or time.monotonic() - since > _SILENT_S:
                raise EnvironmentFault(
                    f"channel {self.channel} has captured the log up to {self.shown(captured)}, and not up to "
                    f"{position} (--at): start it, or give a position that the database has reached"
                )
            time.sleep(_POLL_S)

    def wait_for_refreshes(self, tables: Sequence[str]) -> None:
        """Wait until refreshes of tables, by their names at the database, are done that were asked for.

        Raises EnvironmentFault where the channel does not run.
        """
        reported = False
        while names := self._refreshed() & set(tables):
            if self.state.holder() is None:
                raise EnvironmentFault(
                    f"channel {self.channel} does not run, and refreshes of {', '.join(sorted(names))} are asked for: "
                    f"start it, or have it send them: {command()} --channel FILE --once"
                )
            if not reported:
                reported = True
                structlog.get_logger().info("waits for refreshes that were asked for", tables=sorted(names))
            time.sleep(_POLL_S)

    def _refreshed(self) -> set[str]:
        """Return the tables of which refreshes are asked for, and not done."""
        waiting = {name for _, name, _ in asked(self.state.path)}  # first: what is taken is in the record then
        record = records.read(self.state.spool)
        if record is None:
            return waiting
        return record.asked.keys() | (waiting - record.reading.keys() - record.refused.keys())  # which wait themselves

    def _unread(self) -> set[str]:
        record = records.read(self.state.spool)
        return {*record.reading, *record.again, *record.asked} if record else set()

    def _last_segment(self) -> int:
        """Return the number of the last segment of the spool; 0 where there is none."""
        segments = sealed_in(self.state.spool)
        return number_of(segments[-1].name) if segments else 0

    def _synced_segment(self) -> int:
        """Return the number of the last segment that is in a synced cycle: segments are taken without a gap."""
        synced = self.state.last_slice()
        journal = Journal(self.state.journal)
        count = len(journal)
        if not count or journal.compacted == count:
            return 0
        [(_, entry)] = journal.between(count - 1, count)
        return number_of(entry.path) - (count - synced)
