"""Which parameters of actions hold for a table of the channel, at its source and at Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from integrator.channel import scope as scopes
from integrator.channel.actions import (
    Capture,
    ColumnProperties,
    FileFormat,
    Integrate,
    Restrict,
    TableProperties,
)
from integrator.channel.base import Scoped
from integrator.channel.locations import KafkaLocation
from integrator.channel.merge import Kind, Parameters, Target, merge, of_kind, unset, whole_location
from integrator.channel.model import Channel
from integrator.channel.problems import Problems, named
from integrator.channel.reader import Path_
from integrator.contracts.message_format import MessageFormat
from integrator.errors import Reason
from integrator.names import listed, nearest
from integrator.plan.datatype_match import matcher
from integrator.schema import Table

ColumnParameters = dict[str, Parameters[ColumnProperties]]
"""The parameters by column name."""
UNSET = unset(ColumnProperties)
"""Those of a column of which no action gives any."""


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

    table_scopes: dict[str, TableScope] = field(default_factory=dict)
    """What actions give for tables, by their names, as far as it was asked for."""

    def of(self, table: Table) -> TableScope:
        """Return what actions give for a table."""
        return self.table_scopes.setdefault(table.name, TableScope(self, table))

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

    def no_column(self, name: str, table: Table, accepted: str) -> Reason:
        """Return that a name is no column of a table, and which one may be meant, of this table or another.

        accepted: what to write where none is, and the table's columns follow.
        """
        if name not in self.elsewhere:
            self.elsewhere[name] = self._column_elsewhere(name)
        columns = [column.name for column in table.columns]
        near = nearest(name, columns)
        meant = f"do you mean {near}?" if near else self.elsewhere[name] or listed(columns, accepted)
        text = f"{name!r} is no column"
        return Reason(f"{text}; {meant}", text, narrows=not near and bool(self.having(name)))

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

    @cached_property
    def file_format(self) -> Parameters[FileFormat]:
        """What FileFormat gives for the Kafka location."""
        return whole_location(FileFormat, self.channel, self.kafka, self.problems)

    @property
    def registry(self) -> bool:
        """Whether there is a schema registry."""
        return self.location.Kafka_Schema_Registry is not None


@dataclass(frozen=True)
class TableScope:
    """What actions give for one table: at its source, at Kafka, and at either of them."""

    scope: ChannelScope
    table: Table

    @cached_property
    def source(self) -> ActionsAt:
        """What they give at the source."""
        names = (self.scope.cap_loc,)
        return ActionsAt(self, Target(self.scope.channel, names, self.table.name, only_named=scopes.NAMED_AT_SOURCE))

    @cached_property
    def kafka(self) -> ActionsAt:
        """What they give at the Kafka location."""
        return ActionsAt(self, Target(self.scope.channel, (self.scope.kafka,), self.table.name))

    @cached_property
    def either(self) -> ActionsAt:
        """What they give wherever they are defined: of parameters that mean the same at either location."""
        names = (self.scope.cap_loc, self.scope.kafka)
        return ActionsAt(self, Target(self.scope.channel, names, self.table.name, ignored=scopes.NAMED_AT_SOURCE))

    @cached_property
    def actions(self) -> list[tuple[int, Scoped]]:
        """The actions that are for the table, at whatever location, with their places in the channel."""
        names = scopes.tables_of(self.scope.channel, self.table.name)
        return [(place, one) for place, one in enumerate(self.scope.channel.actions) if one.table in names]

    @cached_property
    def column_actions(self) -> dict[str, list[tuple[int, ColumnProperties]]]:
        """The ColumnProperties among them, by the names of the columns that they mean."""
        by_column: dict[str, list[tuple[int, ColumnProperties]]] = {}
        for place, action in of_kind(ColumnProperties, self.actions):
            for name in self._meant(place, action):
                by_column.setdefault(name, []).append((place, action))
        return by_column

    def _meant(self, place: int, action: ColumnProperties) -> list[str]:
        """Return the columns that an action means."""
        if action.DatatypeMatch is None:
            return [action.Name] if action.Name is not None and not self._is_of_others(action) else []
        try:
            matches = matcher(action.DatatypeMatch)
        except ValueError as error:
            self.scope.problems.add(("actions", place, "DatatypeMatch"), str(error))
            return []
        return [column.name for column in self.table.columns if matches(column)]

    def _is_of_others(self, action: ColumnProperties) -> bool:
        """Return whether an action is for several tables, and names a column that only others of them have."""
        name, channel = action.Name or "", self.scope.channel
        if not scopes.is_of_several(action, channel) or name in self.scope.extra or self.table.column(name) is not None:
            return False
        return any(scopes.holds(action, channel, other) for other in self.scope.having(name))

    def report(self, place: int | None, parameter: str, reason: str | Reason) -> None:
        """Add a problem of a parameter of the action at `place`."""
        self.scope.problems.add_at(place, parameter, reason, self.table.name)


@dataclass(frozen=True)
class ActionsAt:
    """What the actions of each kind give for a table at one place."""

    of: TableScope
    target: Target

    @cached_property
    def properties(self) -> Parameters[TableProperties]:
        """What TableProperties give."""
        return self._merged(TableProperties)

    @cached_property
    def integrate(self) -> Parameters[Integrate]:
        """What Integrate gives."""
        return self._merged(Integrate)

    @cached_property
    def capture(self) -> Parameters[Capture]:
        """What Capture gives."""
        return self._merged(Capture)

    @cached_property
    def restrict(self) -> Parameters[Restrict]:
        """What Restrict gives."""
        return self._merged(Restrict)

    @cached_property
    def columns(self) -> ColumnParameters:
        """What ColumnProperties give, by the names of the columns for which they give something."""
        problems = self.of.scope.problems
        merged = {
            name: merge(ColumnProperties, actions, self.target, problems)
            for name, actions in self.of.column_actions.items()
        }
        return {name: parameters for name, parameters in merged.items() if parameters.places}

    def _merged(self, kind: type[Kind]) -> Parameters[Kind]:
        return merge(kind, of_kind(kind, self.of.actions), self.target, self.of.scope.problems)


def absent_tables(scope: ChannelScope) -> tuple[Table, ...]:
    """Return the tables that TableProperties Absent says are not at the source, or not at Kafka."""
    return tuple(table for table in scope.tables if _is_absent(scope.of(table)))


def _is_absent(table: TableScope) -> bool:
    return any(at.properties.values.Absent for at in (table.source, table.kafka))
