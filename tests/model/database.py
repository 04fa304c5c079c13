"""A database in memory: its tables, and a log of transactions. Each product writes the log in its own form."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from integrator.decode.encodings.pgoutput import Relation
from integrator.engine.pgoutput import DELETE, INSERT, TRUNCATE, UPDATE
from integrator.sources.capture.marks import Mark
from integrator.sources.capture.ranges import Part
from tests.model.schedule import Choices

FEW_KEYS, MANY_KEYS = 3, 6
"""How many rows a table has at most: with many, keys change, too."""
SCHEMA = "public"
Row = tuple[int, str]
"""A key and a value, which has the number of the change that made it."""
CURRENT: list[Any] = []
"""The schedule that runs, which has a `world`."""


def step(label: str) -> None:
    """Have another actor continue."""
    CURRENT[-1].world.step(label)


@dataclass
class Table:
    """A table of the database, and its rows by their keys."""

    relation: Relation
    rows: dict[int, str] = field(default_factory=dict)
    shape: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its schema and name."""
        return self.relation.full_name


@dataclass(frozen=True)
class Change:
    """A change of a table as it was then. row: what it is then, or, of one that is deleted, was. before: of an update."""

    relation: Relation
    action: int
    row: Row | None = None
    before: Row | None = None

    @property
    def table(self) -> str:
        """Its schema and name."""
        return self.relation.full_name


@dataclass(frozen=True)
class Committed:
    """A transaction in the log: where it begins and ends, and its changes."""

    lsn: int
    end: int
    changes: tuple[Change, ...]


class Database(ABC):
    """The server. quiet: nothing but changes is written into its log. keys: rows that a table has at most.

    first_shape: that of a table that is new.
    """

    first_shape: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, choices: Choices, *, quiet: bool, keys: int) -> None:
        self.choices, self.quiet, self._keys = choices, quiet, keys
        self.log: list[Committed] = []
        self.tables: list[Table] = []
        self.connections = 0
        self.read_again = set[str]()
        self.rewritten = set[str]()
        self.by_range = keys > FEW_KEYS
        self.is_another = False
        """Whether another server has taken the place of the first one: positions are of its log then."""
        self.marks: list[Mark] = []
        self._changes = 0
        self.shown = "memory"

    @property
    @abstractmethod
    def end(self) -> int:
        """The position at which the log ends."""

    @abstractmethod
    def relation(self, number: int) -> Relation:
        """Return the relation of a new table: its name is t and the number, in the schema."""

    @abstractmethod
    def make_anew(self, table: Table) -> None:
        """Drop a table, and create another one of its name, which has no rows."""

    @abstractmethod
    def commit(self, changes: tuple[Change, ...]) -> None:
        """Write a transaction into the log."""

    @abstractmethod
    def capture(self, running: Any, location: Any, spool: Any, *, until_now: bool) -> None:
        """Run the product's `Stream` to its end."""

    def make_table(self) -> None:
        """Create a table, with some rows before anybody can look at it."""
        table = Table(self.relation(len(self.tables) + 1), shape=dict(self.first_shape))
        self.tables.append(table)
        for _ in range(self.choices.below(self._keys)):
            self.change(table)

    def change(self, table: Table) -> None:
        """Commit a transaction of one to four changes, which others of another table may follow."""
        changes = [self._one(table) for _ in range(1 + self.choices.below(4))]
        if self.choices.below(3) == 1:
            other = self.choices.one(self.tables)
            changes += [self._one(other) for _ in range(1 + self.choices.below(2))]
        self.commit(tuple(changes))

    def rewrite(self, table: Table) -> None:
        """Have all rows become others, or go, or the table be another one: the log has no changes of that."""
        self._changes += 1
        self.rewritten.add(table.name)
        if self.choices.below(3) == 1:
            table.rows = {}
            self.make_anew(table)
        else:
            table.rows = {key: f"w{self._changes}" for key in table.rows if self.choices.below(2)}
            self.alter(table)

    @abstractmethod
    def alter(self, table: Table) -> None:
        """Have the rows of a table become others, as the server notes it."""

    def truncate(self, table: Table) -> None:
        """Commit that a table has no rows."""
        self.read_again.add(table.name)  # so to say: its rows go by a truncate
        table.rows = {}
        self.commit((Change(table.relation, TRUNCATE),))

    def _one(self, table: Table) -> Change:
        self._changes += 1
        key, value = self.choices.below(self._keys), f"v{self._changes}"
        other = self.choices.below(self._keys)
        if self.by_range and key in table.rows and other not in table.rows and self.choices.below(3) == 1:
            before, table.rows[other] = table.rows.pop(key), value
            return Change(table.relation, UPDATE, (other, value), (key, before))
        if key not in table.rows:
            table.rows[key] = value
            return Change(table.relation, INSERT, (key, value))
        if self.choices.below(3) == 1:
            del table.rows[key]
            return Change(table.relation, DELETE, (key, value))  # with the number of this change
        before, table.rows[key] = table.rows[key], value
        return Change(table.relation, UPDATE, (key, value), (key, before))

    def few(self) -> int:
        """Return how many messages come at once, less one."""
        return self.choices.below(4)

    def restart(self) -> None:
        """End all connections."""
        self.connections += 1

    def promote(self) -> bool:
        """Have a replica take the server's place; return whether there is one."""
        return False

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Do nothing: what is refused is raised as what it becomes."""
        yield


class Point:
    """A snapshot at the end of the log."""

    def __init__(self, server: Database) -> None:
        """Take what tables have now."""
        self._rows = {table.name: dict(table.rows) for table in server.tables}
        self._tables, self.lsn = [replace(table) for table in server.tables], server.end

    def tables(self, names: set[str]) -> list[Any]:
        """Return tables by their names."""
        return [one for one in self._tables if one.name in names]

    def order(self, _table: Any) -> str:
        """Return nothing."""
        return ""

    def key(self, _table: Any) -> list[str]:
        """Return the key."""
        return ["k"]

    def copy(self, table: Any, part: Part, take: Callable[[bytes, int], None]) -> None:
        """Read rows, each as a piece of its own."""
        rows = sorted(self._rows[table.name].items())
        for key, value in [one for one in rows if part.last is None or one[0] > int(part.last[0])]:
            step(f"read row {key} of {table.name}")
            take(f"{key}\t{value}\n".encode(), 1)

    def estimate(self, _table: Any) -> int:
        """Return that nothing is known."""
        return 0

    def close(self) -> None:
        """Nothing is held."""
