"""How the tables of a captured database are defined: by its catalogue, as it was while changes came.

Where the log says what a table was at that time (a relation of PostgreSQL), each version of it has a definition of its
own, and a change is read by the one of its own moment (I11).
"""

from __future__ import annotations

import fnmatch
import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from integrator import durable
from integrator.decode.encodings.pgoutput import Relation, relations_of
from integrator.decode.rows.without_form import MAY_LACK
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.schema import Column, Float, String, Table
from integrator.sources.spool import sealed_in
from integrator.tables import read_sql
from integrator.tables.contract import group_by_table

FILE = "captured.json"


class Wanting(Protocol):
    """A location that is for tables of these patterns."""

    @property
    def tables(self) -> Sequence[str]:
        """Those that it is for."""

    @property
    def exclude(self) -> Sequence[str]:
        """Those of them that it is not for."""


def is_wanted(name: str, location: Wanting) -> bool:
    """Return whether a location is for a table, SCHEMA.TABLE."""
    return matches(name, location.tables) and not matches(name, location.exclude)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a table, SCHEMA.TABLE, matches one of some patterns; those without a dot are for any schema."""
    short = name.partition(".")[2]
    return any(fnmatch.fnmatchcase(name if "." in one else short, one) for one in patterns)


def as_text(tables: Sequence[Table], patterns: Sequence[str]) -> list[Table]:
    """Return tables whose columns of these patterns, TABLE.COLUMN or SCHEMA.TABLE.COLUMN, are text."""
    return [
        replace(
            table,
            columns=tuple(
                replace(one, type=String()) if any(_is_of(one, table, each) for each in patterns) else one
                for one in table.columns
            ),
        )
        for table in tables
    ]


def with_forms(tables: Sequence[Table], values_without_form: str) -> list[Table]:
    """Return tables whose columns that may have values without a form have them as a location says.

    Numbers of MySQL and MariaDB are never NaN, nor infinite.
    """
    if values_without_form == "stop":
        return list(tables)

    def of(column: Column, table: Table) -> Column:
        if not isinstance(column.type, MAY_LACK) or (isinstance(column.type, Float) and table.database != "postgres"):
            return column
        if values_without_form == "text":
            return replace(column, type=String())
        return column if column.name in table.key else replace(column, nullable=True, without_form="null")

    return [replace(table, columns=tuple(of(one, table) for one in table.columns)) for table in tables]


def without_column(tables: Sequence[Table], patterns: Sequence[str]) -> list[str]:
    """Return the patterns that no column of the tables has."""
    return [each for each in patterns if not any(_is_of(one, table, each) for table in tables for one in table.columns)]


def _is_of(column: Column, table: Table, pattern: str) -> bool:
    of_table, _, name = pattern.rpartition(".")
    return fnmatch.fnmatchcase(column.name, name) and matches(table.full_name, [of_table])


@dataclass(frozen=True)
class Definition:
    """Definitions of tables at one time. sql: of all, in a dialect. columns: those that are captured, by SCHEMA.TABLE.

    partitions: whether rows of a partitioned table are of that, or of its partitions.
    """

    sql: str
    dialect: str
    columns: Mapping[str, Sequence[str]]
    partitions: Literal["root", "leaf"] = "root"


@dataclass(frozen=True)
class Definitions:
    """What is known of the tables.

    texts: their definitions, as SQL, the latest last. versions: of relations, which of the texts define their tables,
    the latest last. current: of each table, SCHEMA.TABLE, the relation by which its changes are read now.
    """

    texts: tuple[str, ...] = ()
    versions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    current: Mapping[str, int] = field(default_factory=dict)

    @property
    def read(self) -> frozenset[int]:
        """The relations whose changes are read by these definitions."""
        return frozenset(self.current.values())

    def with_text(self, definition: Definition) -> Definitions:
        """Return these, and what a database's catalogue has now."""
        made = json.dumps(asdict(definition))
        return self if made in self.texts[-1:] else replace(self, texts=(*self.texts, made))

    def with_versions(self, definition: Definition, relations: Iterable[Relation]) -> Definitions:
        """Return these, and a text that defines the tables of relations; a table that is new is read by it."""
        made = self.with_text(definition)
        number = len(made.texts) - 1
        versions, current = dict(made.versions), dict(made.current)
        for one in relations:
            if number not in versions.get(one.digest, ()):
                versions[one.digest] = (*versions.get(one.digest, ()), number)
            current.setdefault(one.full_name, one.digest)
        return replace(made, versions=versions, current=current)

    def with_current(self, relations: Iterable[Relation]) -> Definitions:
        """Return these, by which the changes of relations are read."""
        return replace(self, current={**self.current, **{one.full_name: one.digest for one in relations}})

    def undefined(self) -> set[int]:
        """Return the relations that changes are read by, and that no text defines."""
        return set(self.current.values()) - self.versions.keys()

    def tables(self) -> list[Table]:
        """Return the tables by their names in the channel.

        Of a relation a column may be null if it might be in any text that defines it: PostgreSQL's log does not say
        that.
        """
        made, since = dict[str, Table](), dict[str, int]()
        for number, text in enumerate(self.texts):
            for table in _tables(text):
                name = table.full_name
                digest = self.current.get(name, 0)
                before, _ = made.setdefault(name, table), since.setdefault(name, number)
                if number in (versions := self.versions.get(digest, ())):
                    made[name] = table if number == versions[0] else _merged(before, table)
        return named(made, since)

    def known_of(self, name: str) -> list[Table]:
        """Return all definitions of a table, SCHEMA.TABLE, the latest last."""
        return [table for text in self.texts for table in _tables(text) if table.full_name == name]

    def write(self, state: Path) -> None:
        """Keep them in a state directory."""
        durable.make_directory(state)
        data = {
            "texts": self.texts,
            "versions": {str(digest): numbers for digest, numbers in self.versions.items()},
            "current": dict(self.current),
        }
        durable.replace(state / FILE, json.dumps(data).encode())


def read(state: Path) -> Definitions:
    """Return the definitions that a state directory keeps. Raises EnvironmentFault for a file that is damaged."""
    path = state / FILE
    if not path.exists():
        return Definitions()
    try:
        given = json.loads(path.read_bytes())
        versions = {int(digest): tuple(map(int, numbers)) for digest, numbers in given["versions"].items()}
        current = {str(name): int(digest) for name, digest in given["current"].items()}
        return Definitions(tuple(map(str, given["texts"])), versions, current)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it has the definitions of tables; restore it, or remove it: they are "
            "asked of the database again"
        ) from error


def tables_of(definition: Definition) -> Sequence[Table]:
    """Return the tables that a text defines. Raises ConfigurationError."""
    return _tables(json.dumps(asdict(definition)))


@lru_cache(maxsize=64)
def _tables(text: str) -> tuple[Table, ...]:
    given = Definition(**json.loads(text))
    definition = read_sql("the catalogue", given.sql, given.dialect)
    if definition.problems:
        raise ConfigurationError(definition.problems)
    found = []
    for table in group_by_table(definition.tables, given.partitions):
        columns = given.columns.get(table.full_name)
        if columns is not None:
            own = tuple(one for one in table.columns if one.name in columns)
            found.append(replace(table, columns=own, database=given.dialect))
    return tuple(found)


def relations_in(spool: Path, since: str, digests: Collection[int]) -> list[Relation]:
    """Return relations that segments of a spool announce, by their digests. Raises EnvironmentFault if one is gone.

    since: the name of the first segment that may have them.
    """
    left, found = set(digests), list[Relation]()
    for path in (one for one in sealed_in(spool) if one.name >= since):
        for one in relations_of(path):
            if one.digest in left:
                left.remove(one.digest)
                found.append(one)
        if not left:
            return found
    raise EnvironmentFault(f"{spool}: segments that changes are read from are gone; restore them, or go back to before")


def _merged(before: Table, after: Table) -> Table:
    """Return a definition of a relation, of which a column may be null if it might be by another one, too."""
    nullable = {one.name for one in before.columns if one.nullable}
    columns = [replace(one, nullable=one.nullable or one.name in nullable) for one in after.columns]
    return replace(after, columns=tuple(columns))


def named(tables: dict[str, Table], since: Mapping[str, int]) -> list[Table]:
    """Return tables by names that no two of them have, whatever their case: SCHEMA_TABLE where another one has it.

    A table keeps its name, whatever tables come later. Of those that come together, one that has such a name in the
    database goes before those that have it in other case. since: the number of the text that first has each.
    """
    found: dict[str, Table] = {}
    for table in sorted(tables.values(), key=lambda one: (since[one.full_name], one.base_name != one.name)):
        key = next(one for one in _names_of(table) if one not in found)
        found[key] = replace(table, name=key)
    places = {full_name: place for place, full_name in enumerate(tables)}
    return sorted(found.values(), key=lambda table: places[table.full_name])


def _names_of(table: Table) -> Iterator[str]:
    """Yield what a table may be called, the simplest first."""
    yield table.name
    of_schema = f"{table.schema}_{table.name}"
    yield of_schema
    for number in itertools.count(2):
        yield f"{of_schema}_{number}"
