"""Which parameters of actions hold for a table of the channel, at its source and at Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from integrator.channel import scope as scopes
from integrator.channel.actions import ColumnProperties, TableProperties
from integrator.channel.base import Scoped
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel
from integrator.channel.problems import Problems, named
from integrator.channel.reader import Path_
from integrator.contracts.message_format import MessageFormat
from integrator.names import listed, nearest
from integrator.plan.datatype_match import matcher
from integrator.schema import Table

Parameters = tuple[dict[str, Any], dict[str, int]]
"""Parameters that hold, and the places in the channel that set them."""

ColumnParameters = dict[str, Parameters]
"""The parameters by column name."""


@dataclass(frozen=True)
class PlacedParameters:
    """The parameters of a kind of action that hold at the source, at Kafka, and at either of them."""

    source: Parameters
    kafka: Parameters
    either: Parameters

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter that means the same wherever it is defined."""
        return self.either[0].get(name, default)

    def place(self, name: str) -> int | None:
        """Return where `get` found it."""
        return self.either[1].get(name)


@dataclass(frozen=True)
class TableParameters:
    """The parameters of one table. keyed: it has a key of its own, or was given one."""

    table: Table
    keyed: bool
    columns_at_source: ColumnParameters
    columns: ColumnParameters
    extra: frozenset[str]
    properties: PlacedParameters
    capture: PlacedParameters
    restrict: PlacedParameters
    actions: list[Scoped]
    problems: Problems

    def report(self, place: int | None, parameter: str, text: str) -> None:
        """Add a problem of a parameter of the action at `place`."""
        self.problems.add_at(place, parameter, text, self.table.name)


At = Literal["source", "kafka", "either"]
PLACES: tuple[At, ...] = ("source", "kafka", "either")
"""Where an action is to hold. Either: for what means the same wherever it is defined."""


@dataclass(frozen=True)
class ChannelScope:
    """What the recipes of all tables of a channel depend on."""

    channel: Channel
    kafka: str
    location: KafkaLocation
    cap_loc: str
    layout: MessageFormat
    problems: Problems
    tables: tuple[Table, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    """Where each table is defined: the place of its file in the channel's tables."""
    owners: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Which tables have a column, by the names that were asked for."""
    elsewhere: dict[str, str] = field(default_factory=dict)
    """What is reported of columns that a table has not, and others may: by their names, for many tables."""
    notes: list[str] = field(default_factory=list)
    """What is to be known of the plan and is not wrong."""

    def definition(self, table: str) -> Path_:
        """Return the path of the channel at which a table is defined."""
        return ("tables", self.files[table]) if table in self.files else ("tables",)

    @cached_property
    def extra(self) -> frozenset[str]:
        """The names of columns that only messages have."""
        actions = (one for one in self.channel.actions if isinstance(one, ColumnProperties))
        return frozenset(one.Name for one in actions if one.Extra and one.Name is not None)

    def having(self, name: str) -> tuple[str, ...]:
        """Return the tables that have a column."""
        if name not in self.owners:
            self.owners[name] = tuple(one.name for one in self.tables if one.column(name) is not None)
        return self.owners[name]

    def column_meant(self, name: str, table: Table, accepted: str) -> str:
        """Return which column may be meant by a name that `table` has not, or that of another table.

        accepted: what to write where none is, and the table's columns follow.
        """
        if name not in self.elsewhere:
            self.elsewhere[name] = self._column_elsewhere(name)
        columns = [column.name for column in table.columns]
        near = nearest(name, columns)
        return f"do you mean {near}?" if near else self.elsewhere[name] or listed(columns, accepted)

    def _column_elsewhere(self, name: str) -> str:
        """Return which other tables have a column, or one that is like it; nothing where none does."""
        having = self.having(name)
        if len(having) > 1:
            return f'{named([*having])} have it: write table: "*" for all that have it, or table: {having[0]}'
        if having:
            return f"{named([*having])} has it: write table: {having[0]}"
        of_table = {column.name: one.name for one in reversed(self.tables) for column in one.columns}
        near = nearest(name, of_table)
        return f"do you mean {near}, of table {of_table[near]}?" if near else ""

    @property
    def registry(self) -> bool:
        """Whether there is a schema registry."""
        return self.location.Kafka_Schema_Registry is not None


def column_properties(scope: ChannelScope, table: Table, at: At) -> ColumnParameters:
    """Return for each column name the merged properties that hold for it, and their places."""
    names: dict[str, list[tuple[int, ColumnProperties]]] = {}
    scoped = scopes.tables_of(scope.channel, table.name)
    for place, action in enumerate(scope.channel.actions):
        if not isinstance(action, ColumnProperties) or action.table not in scoped:
            continue
        for name in _meant(scope, table, place, action):
            names.setdefault(name, []).append((place, action))
    merged = {name: _merged(scope, table, actions, at) for name, actions in names.items()}
    return {name: (values, places) for name, (values, places) in merged.items() if values}


def _meant(scope: ChannelScope, table: Table, place: int, action: ColumnProperties) -> list[str]:
    """Return the columns that an action means."""
    if action.DatatypeMatch is None:
        return [action.Name] if action.Name is not None and not _is_of_others(scope, table, action) else []
    try:
        matches = matcher(action.DatatypeMatch)
    except ValueError as error:
        scope.problems.add(("actions", place, "DatatypeMatch"), str(error))
        return []
    return [column.name for column in table.columns if matches(column)]


def _is_of_others(scope: ChannelScope, table: Table, action: ColumnProperties) -> bool:
    """Return whether an action says that it is for several tables, and names a column that only others of them have."""
    name = action.Name or ""
    if not scopes.is_of_several(action, scope.channel) or name in scope.extra or table.column(name) is not None:
        return False
    return any(scopes.holds(action, scope.channel, other) for other in scope.having(name))


def effective(scope: ChannelScope, table: Table, kind: type[Scoped], at: At = "kafka") -> Parameters:
    """Return the parameters of the actions of a kind that hold for `table`, and their places."""
    return _merged(scope, table, [(n, a) for n, a in enumerate(scope.channel.actions) if isinstance(a, kind)], at)


def _merged(scope: ChannelScope, table: Table, actions: Iterable[tuple[int, Scoped]], at: At) -> Parameters:
    locations = {"source": (scope.cap_loc,), "kafka": (scope.kafka,), "either": (scope.cap_loc, scope.kafka)}[at]
    ignored = {"source": scopes.elsewhere, "kafka": lambda _: frozenset(), "either": lambda _: scopes.NAMED_AT_SOURCE}[
        at
    ]
    return scopes.merge(actions, scope.channel, locations, table.name, scope.problems, ignored)


def effective_by_place(scope: ChannelScope, table: Table, kind: type[Scoped]) -> PlacedParameters:
    """Return what the actions of a kind say of `table`, at its source, at Kafka, and at either."""
    return PlacedParameters(*(effective(scope, table, kind, at) for at in PLACES))


def absent_tables(scope: ChannelScope, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables that TableProperties Absent says are not at the source, or not at Kafka."""
    return tuple(
        table
        for table in tables
        if any(effective(scope, table, TableProperties, at)[0].get("Absent") for at in ("source", "kafka"))
    )
