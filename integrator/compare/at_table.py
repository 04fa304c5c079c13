"""The rows of tables at positions of the log, as the messages that a refresh would send: by the plan, in this process.

A large table is read in ranges of its key, each at a position of its own, so that no transaction is open for long. One
without a usable key is read at one position.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from integrator.compare.as_messages import AsMessages, Taken
from integrator.compare.at_topic import NotComparable
from integrator.errors import EnvironmentFault
from integrator.sources.capture.points import Captured, NotYet, Point, Points, RowsRefused
from integrator.sources.capture.ranges import Part, Reading, last_row

_POSITION_S, _MOST_S, _TIMES_THE_POSITION = 5.0, 50.0, 20
"""For so long rows are read at one position, at least and at most; and so many times as long as it took to have it."""
_WAIT_S = 120.0
"""For so long a position is waited for, while transactions are open, or it is before what is captured."""
_SEGMENT_BYTES = 8 * 1024 * 1024
_GONE = "the table is not there any more, or our user may not see it"


@dataclass(frozen=True)
class Reached:
    """A position at which rows are read. number: of the position; ends: where topics ended before it was taken."""

    point: Point
    number: int
    seconds: float = 0.0


class _OverError(Exception):
    """The time at a position is over."""


@dataclass
class Positions:
    """Takes positions of the log. begun: returns the position before which all is that is captured.

    note: is called before a position is taken, with its number: it notes the ends of topics. All that is captured
    afterwards, and so all that topics have before these ends, must be before the position.
    """

    points: Points
    begun: Callable[[], int]
    note: Callable[[int], None]
    count: int = 0

    def next(self) -> Reached:
        """Return a position. Raises EnvironmentFault, SourceAway."""
        began = time.monotonic()
        deadline, number = began + _WAIT_S, self.count
        self.count += 1
        while True:
            self.note(number)
            least, began = self.begun(), time.monotonic()
            try:
                point = self.points.later()
            except NotYet as reason:
                if time.monotonic() > deadline:
                    raise EnvironmentFault(
                        f"no position of the log can be had at which tables are read: {reason}; compare again when "
                        "these transactions have ended"
                    ) from None
                time.sleep(min(reason.again_s, 1.0))
                continue
            if point.lsn >= least:
                return Reached(point, number, time.monotonic() - began)
            point.close()
            if time.monotonic() > deadline:
                raise EnvironmentFault("the log at which tables are read stays behind what is captured of it")


Take = Callable[[str, int, "list[bytes]", Taken], None]
"""Takes rows: the table's name in the channel, the number of the position, texts of keys, and messages.

The texts are none where the table has no key by which rows can be found again.
"""


@dataclass(frozen=True)
class Wanted:
    """A table that is read: its name in the channel, and at the database; and the topic of its messages."""

    name: str
    at_source: str
    topic: str


@dataclass
class TableRows:
    """Reads tables, one after another, whole ones: in ranges. per_second: how many rows, at most; 0: any.

    last: the last position at which rows were read.
    """

    positions: Positions
    messages: AsMessages
    per_second: int = 0
    last: int = 0
    _not_before: float = field(default=0.0)

    def read(self, tables: Sequence[Wanted], take: Take) -> dict[str, str]:
        """Read tables; return the names of those that cannot be compared, and why. Raises IntegratorError."""
        left, why, last = list(tables), dict[str, str](), None
        while left:
            reached = self.positions.next()
            point, until = reached.point, time.monotonic() + self._seconds(reached)
            self.last = max(self.last, point.lsn)
            try:
                there = {one.name: one for one in point.tables({one.at_source for one in left})}
                is_over = False
                while left and not is_over:
                    wanted = left[0]
                    if (table := there.get(wanted.at_source)) is None:
                        why[wanted.name] = _GONE
                    else:
                        reading = Reading(table.relation.oid, [*point.key(table)], [0, 0], last)
                        try:
                            last = self._range(reached, table, reading, (wanted, until, take))
                        except (NotComparable, RowsRefused) as reason:
                            why[wanted.name], last = str(reason), None
                            until = 0.0  # the session has not read what it was asked for
                    is_over = time.monotonic() >= until or last is not None
                    if last is None:
                        left.pop(0)
            finally:
                point.close()
        return why

    def chosen(self, point: Point, table: Captured, where: str, topic: str) -> tuple[list[bytes], Taken]:
        """Return the rows for which a condition is true: texts of their keys, and messages."""
        rows = list[bytes]()
        reading = Reading(table.relation.oid, [*point.key(table)], [0, 0])
        point.copy(table, Part(reading.key, None, where), lambda piece, _many: rows.append(piece))
        text = b"".join(rows)
        taken = self.messages.of(table, text, point.lsn, topic) if text else Taken([], [])
        return keys_of(table, reading, text), taken

    def _seconds(self, reached: Reached) -> float:
        return max(_POSITION_S, min(_TIMES_THE_POSITION * reached.seconds, _MOST_S))

    def _range(
        self, reached: Reached, table: Captured, reading: Reading, of: tuple[Wanted, float, Take]
    ) -> list[str] | None:
        """Read a table from where it was read to; return the key of the last row where the time is over; else None."""
        (wanted, until, take), gathered, size = of, list[bytes](), 0

        def hand_over() -> bytes:
            nonlocal size
            rows, size = b"".join(gathered), 0
            gathered.clear()
            if rows:
                taken = self.messages.of(table, rows, reached.point.lsn, wanted.topic)
                take(wanted.name, reached.number, keys_of(table, reading, rows), taken)
            return rows

        def gather(rows: bytes, many: int) -> None:
            nonlocal size
            gathered.append(rows)
            size += len(rows)
            self._keep_to_the_rate(many)
            is_over = bool(reading.key) and time.monotonic() >= until
            if size >= _SEGMENT_BYTES or is_over:
                whole = hand_over()
                if is_over:
                    raise _OverError(reading.values(table.relation, last_row(whole)))

        take(wanted.name, reached.number, [], Taken([], []))  # that a range begins
        try:
            reached.point.copy(table, Part(reading.key, reading.last), gather)
        except _OverError as over:
            return list(over.args[0])
        hand_over()
        return None

    def _keep_to_the_rate(self, rows: int) -> None:
        if self.per_second:
            now = time.monotonic()
            self._not_before = max(self._not_before, now) + rows / self.per_second
            time.sleep(max(self._not_before - now - 1.0, 0.0))


def keys_of(table: Captured, reading: Reading, rows: bytes) -> list[bytes]:
    """Return the texts of the key of each row, as COPY writes them, with tabs between; none where it has no key."""
    if not reading.key:
        return []
    at = {one.name: place for place, one in enumerate(table.relation.columns)}
    places = [at[name] for name in reading.key]
    cells = (row.split(b"\t") for row in rows.split(b"\n")[:-1])
    return [b"\t".join([one[place] for place in places]) for one in cells]
