"""The plan: all that a run will do, decided, as plain frozen data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from integrator.channel import reader
from integrator.channel.created_topics import Creation, creation_of
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel, Monitor, Restart
from integrator.channel.reader import Path_
from integrator.channel.resolved import Resolved
from integrator.channel.secret import Secrets
from integrator.contracts.recipe import Recipe
from integrator.errors import Problem
from integrator.names import meant
from integrator.plan.definitions import Definitions
from integrator.plan.ends import AnySource
from integrator.plan.registry import Registration, RegistrySettings, Strategies, registrations
from integrator.plan.restrict import Conditions
from integrator.plan.schedule import Schedule
from integrator.plan.source import table_sources
from integrator.sources.contract import Source
from integrator.sources.tables import TableSource


@dataclass(frozen=True)
class Origin:
    """What a plan is made of, as it was read: the channel, its tables, and the file of the channel.

    changes: the sources of changes, by the names of their locations. timezone: the IANA name of the zone that
    `%[localtime]` means. refreshing: the plan is to refresh tables, not to integrate changes.
    """

    channel: Channel
    changes: dict[str, Source]
    definitions: Definitions
    file: reader.Source
    timezone: str
    refreshing: bool


@dataclass(frozen=True)
class Plan:
    """All that a run will do, decided: what to read, what to send, and where the progress is kept.

    kafka: the Kafka location's name. state: the channel's state directory. origin: what the plan is made of. aside: why
    tables are set aside, which are not sent, by their names.
    """

    source: AnySource
    kafka: str
    cycle_bytes: int
    delay: int
    schedule: Schedule
    restart: Restart
    notes: tuple[str, ...]
    state: str
    recipe: Recipe
    registry: RegistrySettings | None
    conditions: dict[str, Conditions]
    strategies: Strategies = field(repr=False)
    origin: Origin = field(repr=False)
    aside: Mapping[str, str] = field(default_factory=dict)

    @property
    def channel(self) -> str:
        """The channel's name."""
        return self.origin.channel.channel

    @property
    def changes(self) -> Source:
        """Where changes come from, in a plan that is to integrate them."""
        if isinstance(self.source, TableSource):
            raise TypeError("a plan that is for refreshing")
        return self.source

    @property
    def tables_at(self) -> TableSource:
        """Where tables come from, in a plan that is to refresh them."""
        if not isinstance(self.source, TableSource):
            raise TypeError("a plan that is for changes")
        return self.source

    def named(self, tables: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the names in the channel of tables that are named so, or as in the database; and what is wrong."""
        known = {table.table.name: table.table.name for table in self.recipe.tables}
        names = {table.table.full_name: table.table.name for table in self.recipe.tables}
        alone = Counter(table.table.base_name for table in self.recipe.tables)
        names |= {
            one.base_name: one.name
            for one in (table.table for table in self.recipe.tables)
            if alone[one.base_name] == 1
        }
        names |= known
        asked = list(tables)
        unknown = [name for name in asked if name not in names]
        wrong = [f"--table {name!r} is no table that is sent; {meant(name, known, 'those are')}" for name in unknown]
        return [names[name] for name in asked if name in names], wrong

    @property
    def refreshes(self) -> bool:
        """Whether the channel has a location, beside the plan's source, from which tables are refreshed."""
        return not self.origin.refreshing and bool(table_sources(self.origin.channel))

    @property
    def brokers(self) -> str:
        """The brokers' addresses, with commas between."""
        return self.recipe.send.producer["bootstrap.servers"]

    @property
    def create_topics(self) -> Creation:
        """How topics are created that are not there."""
        location = self.origin.channel.locations[self.kafka]
        return creation_of(location.Create_Topics if isinstance(location, KafkaLocation) else None)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the channel writes to, but for those that rows name."""
        dead = (self.recipe.messages.oversized.dead_letters, self.recipe.tolerance.topic)
        marks = self.recipe.transactions
        of_tables = (table.topic for table in self.recipe.tables if not table.message_topic)
        resolved = self.resolved
        beside = (*dead, marks.topic if marks else "", resolved.topic if resolved else "")
        return tuple(sorted({*of_tables, *filter(None, beside)}))

    @property
    def resolved(self) -> Resolved | None:
        """The messages that publish how far all is in the topics."""
        return self.origin.channel.resolved

    @property
    def dead_letter_topic(self) -> dict[str, int]:
        """The topic of rejected lines, which is made if it is not there, and its replication factor."""
        topic = self.recipe.tolerance.topic
        return {topic: self.origin.channel.errors.replication} if topic else {}

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """The schemas that the registry is to know."""
        return registrations(self.recipe, self.strategies) if self.registry else ()

    @property
    def monitor(self) -> Monitor:
        """Where the process shows what its channels do."""
        return self.origin.channel.monitor

    @property
    def secrets(self) -> Secrets:
        """The secrets of the channel's file, which are in nothing that is shown."""
        return self.origin.file.secrets

    @property
    def directory(self) -> str:
        """The directory of the channel's file."""
        return self.origin.file.directory

    def of_state(self, identity: str) -> Plan:
        """Return the plan for the channel's state of this identity."""
        return replace(self, recipe=self.recipe.of_state(identity))

    def problem(self, path: Path_, text: str) -> Problem:
        """Return a problem at a path of the channel's file."""
        return self.origin.file.problem(path, text)
