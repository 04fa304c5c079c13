"""What exists and is not synced: slices, bytes, and records by stream. Asked for by whoever scrapes, not by the cycle.

The journal and the directory are not read again before a second, nor before ten times as long as that took, has passed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from integrator.durable import Damaged
from integrator.errors import IntegratorError
from integrator.names.numbers import counted, size
from integrator.plan import Plan
from integrator.run.state.directory import State
from integrator.sources.contract import ServerLog
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import SliceListing

NO_STREAM = "#"
"""How a stream begins that has no records: topics begin otherwise, see `sources.kafka.listing`."""
_EVERY_S = 1.0
_REST = 10
_WAIT_S = 2.0
"""How long who asks waits: brokers that are away answer nothing for longer, and metrics are wanted then."""


@dataclass(frozen=True)
class Lag:
    """What is not synced: how many slices, and their bytes; of ranges how many offsets, by stream.

    log: what a database keeps for the channel; None where it does not, or cannot be asked now.
    """

    files: int = 0
    bytes: int = 0
    records: Mapping[str, int] = field(default_factory=dict)
    log: ServerLog | None = None


class Backlog:
    """The backlog of one channel."""

    def __init__(
        self, state: Path, listing: Callable[[], SliceListing], log: Callable[[], ServerLog | None] = lambda: None
    ) -> None:
        self._state, self._listing, self._log = State(str(state)), listing, log
        self._lock = threading.Lock()
        self._last, self._again = Lag(), 0.0
        self._reading: threading.Thread | None = None

    def now(self) -> Lag:
        """Return what is not synced; where that cannot be read, or not soon, what it was before."""
        with self._lock:
            if self._reading is None and time.monotonic() >= self._again:
                self._reading = threading.Thread(target=self._renew, daemon=True)
                self._reading.start()
            reading = self._reading
        if reading is not None:
            reading.join(_WAIT_S)
        return self._last

    def read(self) -> Lag:
        """Return what is not synced, as of now. Raises IntegratorError, Damaged, OSError."""
        return replace(self._read(), log=self._log())

    def _renew(self) -> None:
        began = time.monotonic()
        try:
            with contextlib.suppress(IntegratorError, Damaged, OSError):  # the channel itself fails with it
                self._last = replace(self._read(), log=self._last.log)
            self._last = replace(self._last, log=self._asked())
        finally:
            with self._lock:
                took = time.monotonic() - began
                self._again, self._reading = began + max(_EVERY_S, took * _REST), None

    def _asked(self) -> ServerLog | None:
        try:
            return self._log()
        except IntegratorError:
            return None

    def _read(self) -> Lag:
        synced = self._state.last_slice()
        journal = Journal(self._state.journal)
        left = [entry for _, entry in journal.between(synced, len(journal))]
        listing = self._listing()
        left += journal.untaken(listing.slices(journal.ends), listing.number_of)
        records = Counter(dict.fromkeys((one for one in journal.ends if not one.startswith(NO_STREAM)), 0))
        for one in left:
            if one.stream and not one.stream.startswith(NO_STREAM):
                records[one.stream] += one.length
        return Lag(len(left), sum(one.size for one in left), dict(records))


def backlog_of(plan: Plan) -> Backlog:
    """Return the backlog of a channel."""
    changes = plan.changes
    return Backlog(
        Path(plan.state).absolute(),
        lambda: changes.listing(plan.recipe.read.path, plan.delay),
        changes.server_log,
    )


def shown(log: ServerLog) -> list[tuple[str, str]]:
    """Return what people are shown of the log that a database keeps for a channel: names and figures."""
    lag = "not connected" if log.behind_s is None else f"{log.behind_s:.1f} s"
    oldest = "" if log.oldest_s is None else f" ({log.oldest_s:,.0f} s)"
    found = [
        (f"log kept by the database ({log.status})", size(log.kept_bytes)),
        (f"not captured, after {log.position}", f"{size(log.behind_bytes)}, {lag}"),
        ("open transactions there", f"{log.transactions:,}{oldest}"),
    ]
    if log.left_bytes is not None:
        found.append(("until the database gives up our place", size(log.left_bytes)))
    if log.snapshot_table:
        of = f"{log.snapshot_rows:,} of about {log.snapshot_about_rows:,}, {log.snapshot_seconds_left:,.0f} s left"
        more = f", and {counted(log.snapshot_tables_left or 0, 'table')} after it" if log.snapshot_tables_left else ""
        found.append((f"snapshot of {log.snapshot_table}: rows", f"{of}{more}"))
    if log.refreshes:
        found.append(("refreshes that have not ended", ", ".join(log.refreshes)))
    found += [(f"table {name} is not sent", why) for name, why in log.unsent.items()]
    return found
