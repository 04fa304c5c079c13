"""Global transaction identifiers (GTIDs), and sets of them: by these, transactions are known at each server.

MySQL's set has, of each source, a UUID or UUID:TAG, the intervals of its numbers
(https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html). MariaDB has DOMAIN-SERVER-NUMBER, and numbers
ascend: a set has the last one of each server in each domain (https://mariadb.com/kb/en/gtid/), as gtid_binlog_state.
Here a source is what is before the number. MariaDB's have the second of the last transaction, too, after an @: servers
without a common history have the same numbers there. A set of captured
transactions of MariaDB records where it began in each domain, as the number of a server 0, which does not exist: those
of servers that the set does not have count as captured up to that number only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN = "-0"
"""Of the server 0, after the domain."""
_SHOWN = 12
"""So many intervals of a set are named in a message."""


class Gtid(NamedTuple):
    """A transaction. source: UUID, UUID:TAG, or DOMAIN-SERVER. seconds: since 1970; 0 where it does not matter."""

    source: str
    number: int
    seconds: int = 0

    @property
    def domain(self) -> str:
        """MariaDB's domain."""
        return self.source.partition("-")[0]

    @property
    def text(self) -> str:
        """The transaction as `Gtids` has it in text."""
        if ":" in self.source or self.source.count("-") > 1:
            return f"{self.source}:{self.number}"
        return f"{self.source}-{self.number}" + (f"@{self.seconds}" if self.seconds else "")

    def of_rows(self, seconds: int) -> Gtid:
        """Return the transaction with the second of its last rows: replicas keep it, and not that of its commit."""
        return self._replace(seconds=seconds) if self.seconds else self

    def is_same(self, other: Gtid | None) -> bool:
        """Return whether it is a transaction."""
        return other is not None and self[:2] == other[:2]


def gtid_in(text: str, *, is_mariadb: bool) -> Gtid:
    """Return a transaction by its text."""
    gtid, _, seconds = text.partition("@")
    source, _, number = gtid.rpartition("-" if is_mariadb else ":")
    return Gtid(source, int(number), int(seconds or 0))


class Gtids:
    """A set. is_mariadb: whether it is one of MariaDB, where what is before the last number is in it."""

    def __init__(self, text: str = "", *, is_mariadb: bool) -> None:
        """Take it as servers write it, or as `text` has it. Raises ValueError for what is none."""
        self.is_mariadb = is_mariadb
        self._ranges: dict[str, list[tuple[int, int]]] = {}
        self._seconds: dict[str, int] = {}
        for one in "".join(text.split()).strip("[]").split(","):
            if one and is_mariadb:
                self.add(gtid_in(one, is_mariadb=True))
            elif one:
                self._add_ranges(one.lower().split(":"))

    def _add_ranges(self, parts: list[str]) -> None:
        """Add what MySQL writes of a UUID: intervals, and with a tag before them those of that."""
        source = uuid = parts[0]
        for part in parts[1:]:
            if part[0].isalpha() or part[0] == "_":
                source = f"{uuid}:{part}"
                continue
            first, _, last = part.partition("-")
            self._add(source, int(first), int(last or first))

    def add(self, one: Gtid) -> None:
        """Add a transaction; in MariaDB it is the last one of its domain then."""
        if not self.is_mariadb:
            self._add(one.source, one.number, one.number)
            return
        if one.source in self._ranges and one.number <= self._ranges[one.source][0][1]:
            return
        self._ranges.pop(one.source, None)
        self._ranges[one.source], self._seconds[one.source] = [(1, one.number)], one.seconds

    def _add(self, source: str, first: int, last: int) -> None:
        ranges = self._ranges.setdefault(source, [])
        if ranges and ranges[-1][1] + 1 == first:
            ranges[-1] = (ranges[-1][0], last)
            return
        ranges.append((first, last))
        if len(ranges) > 1 and ranges[-2][1] >= first - 1:
            ranges.sort()
            joined = ranges[:1]
            for one in ranges[1:]:
                if one[0] <= joined[-1][1] + 1:
                    joined[-1] = (joined[-1][0], max(joined[-1][1], one[1]))
                else:
                    joined.append(one)
            ranges[:] = joined

    def update(self, other: Gtids) -> None:
        """Add what another set has."""
        if self.is_mariadb:
            for source, [(_, number)] in other._ranges.items():
                self.add(Gtid(source, number, other._seconds.get(source, 0)))
            return
        for source, ranges in other._ranges.items():
            for one in ranges:
                self._add(source, *one)

    def clear(self) -> None:
        """Leave nothing."""
        self._ranges, self._seconds = {}, {}

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __contains__(self, one: Gtid) -> bool:
        """Return whether a transaction is in the set.

        In MariaDB that is so, too, of a server of which the set has nothing, up to where the set began, or, where it
        does not know that, up to the last number of the domain.
        """
        ranges = self._ranges.get(one.source)
        if ranges is None:
            return self.is_mariadb and one.number <= self._highest(one.domain)
        at = bisect_right(ranges, one.number, key=lambda found: found[0]) - 1
        return at >= 0 and one.number <= ranges[at][1]

    def begin_here(self) -> None:
        """Have the set of MariaDB begin with what it has."""
        for domain, one in self.last().items():
            self.add(Gtid(f"{domain}{_BEGIN}", one.number))
        self.add(Gtid(f"0{_BEGIN}", 0))

    def _highest(self, domain: str) -> int:
        of_domain = {source: one[-1][1] for source, one in self._ranges.items() if source.partition("-")[0] == domain}
        if any(source.endswith(_BEGIN) for source in self._ranges):
            return of_domain.get(f"{domain}{_BEGIN}", 0)
        return max(of_domain.values(), default=0)

    def has_exactly(self, one: Gtid) -> bool:
        """Return whether a transaction is the last one that the set has of a server of MariaDB."""
        return self._ranges.get(one.source) == [(1, one.number)]

    def newest(self) -> Gtid | None:
        """Return the last transaction of all in a set of MariaDB; None where there is none."""
        own = [source for source in self._ranges if not source.endswith(_BEGIN)]
        return Gtid(own[-1], self._ranges[own[-1]][0][1], self._seconds[own[-1]]) if own else None

    def last(self) -> dict[str, Gtid]:
        """Return the last transaction of each domain of MariaDB."""
        found = (Gtid(source, one[-1][1], self._seconds.get(source, 0)) for source, one in self._ranges.items())
        return {one.domain: one for one in found if not one.source.endswith(_BEGIN)}

    def lacking(self, other: Gtids) -> str:
        """Return what another set has and this one lacks, as people read it; nothing where it lacks nothing."""
        named = list(self._lacking(other))
        more = len(named) - _SHOWN
        return ", ".join(named[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

    def _lacking(self, other: Gtids) -> Iterator[str]:
        if self.is_mariadb:
            for source, [(_, number)] in other._ranges.items():
                if not source.endswith(_BEGIN) and Gtid(source, number) not in self:
                    least = (self._ranges.get(source) or [(1, self._highest(source.partition("-")[0]))])[0][1] + 1
                    yield f"{source}-{number}" if least == number else f"{source}-{least} to {source}-{number}"
            return
        for source, ranges in other._ranges.items():
            own = self._ranges.get(source, [])
            for low, last in ranges:
                first = low
                for begin, end in own:
                    if end < first or begin > last:
                        continue
                    if begin > first:
                        yield _interval(source, first, begin - 1)
                    first = end + 1
                if first <= last:
                    yield _interval(source, first, last)

    @property
    def text(self) -> str:
        """The set in text, from which another one is made."""
        if self.is_mariadb:
            return ",".join(Gtid(source, one[0][1], self._seconds[source]).text for source, one in self._ranges.items())
        return ",".join(
            source + "".join(f":{first}-{last}" if last > first else f":{first}" for first, last in ranges)
            for source, ranges in self._ranges.items()
        )


def _interval(source: str, first: int, last: int) -> str:
    return f"{source}:{first}-{last}" if last > first else f"{source}:{first}"
