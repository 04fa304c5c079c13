"""Positions of a database's log at which the rows of tables are read, as each product makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from integrator.decode.encodings.pgoutput import Relation
from integrator.errors import EnvironmentFault
from integrator.sources.capture.ranges import Part


class Captured(Protocol):
    """A table that is captured, at a database."""

    @property
    def name(self) -> str:
        """Its schema and name."""

    @property
    def relation(self) -> Relation:
        """Its number, names and columns."""

    @property
    def shape(self) -> Mapping[str, Any]:
        """What tells, as JSON, whether its rows became others without a change in the log; nothing where that does."""

    def condition(self, key: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Return the condition in SQL that a row is one of those whose values of the key are given as text."""


class Point(Protocol):
    """A position in the log, and a session that sees the rows of that time: what is committed before it, no more."""

    @property
    def lsn(self) -> int:
        """The position."""

    def tables(self, names: set[str]) -> Sequence[Any]:
        """Return the tables of these names as they are at the position: columns may have come since they were found."""

    def key(self, table: Any) -> Sequence[str]:
        """Return the columns of the key in whose order a table can be read; none where it has no such key."""

    def order(self, table: Any) -> str:
        """Return what else the order of the key's values is by, where that may change beside the key; else nothing."""

    def copy(self, table: Any, part: Part, take: Callable[[bytes, int], None]) -> None:
        """Read a part of a table; `take` gets whole rows as COPY writes them, a megabyte at once, and how many.

        Raises SourceAway, and RowsRefused, after which other parts can be read.
        """

    def estimate(self, table: Any) -> int:
        """Return about how many rows a table has."""

    def close(self) -> None:
        """End the session."""


class RowsRefused(EnvironmentFault):
    """The database does not give rows of a table: its file is damaged or gone, or a condition fails at a row."""


class ConditionRefused(RowsRefused):
    """The database refuses a condition on the rows of a table: another name, another type, or no SQL."""


class NotYet(Exception):
    """A position cannot be had now: transactions are open, or the server has no slot or sender for it.

    again_s: so many seconds are to pass before the next try, for the log waits for each.
    """

    def __init__(self, text: str, again_s: float) -> None:
        """Take what was waited for."""
        super().__init__(text)
        self.again_s = again_s


class Points(Protocol):
    """Makes positions of a database's log."""

    def first(self) -> Point:
        """Return the position at which the capture begins. Raises SourceAway, EnvironmentFault."""

    def later(self) -> Point:
        """Return a position for tables that come later. Raises as `first`, and NotYet."""

    def shown(self, lsn: int) -> str:
        """Return a position as the database writes it."""
