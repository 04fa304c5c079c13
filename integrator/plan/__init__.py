"""Channel + table definitions -> Plan and Recipe, or every problem at once.

In come the channel's file and a timezone; out goes a Plan, plain frozen data, or a ConfigurationError with all that is
wrong.

ends, source, definitions, identity     where changes come from, where they go, and the tables
parameters, tables, fields, keys, capture, restrict, message_key, topic     actions -> a table's recipe
kafka, kafka_access, kafka_properties, registry     the Kafka location -> librdkafka's properties, and schemas
bundling, layout, tombstones, tolerance, schedule, refresh, notes     what else a run does, and remarks

A new action is a file in channel/actions, and a function here that reads it; a problem is added to `Problems`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

from integrator.channel import load as loading
from integrator.channel import scope as scopes
from integrator.channel.actions import Integrate
from integrator.channel.load import RunOptions
from integrator.channel.locations import TopicCreation
from integrator.channel.model import Channel, Restart
from integrator.channel.monitor import Monitor
from integrator.channel.problems import Problems
from integrator.channel.reader import Path_
from integrator.channel.secret import Secrets
from integrator.contracts.recipe import Messages, Recipe, Send
from integrator.decode.dialects import DIALECTS
from integrator.errors import Problem
from integrator.plan import kafka_access
from integrator.plan.bundling import check_tables, oversized_of
from integrator.plan.definitions import Definitions, read_tables
from integrator.plan.ends import AnySource, adds_columns, check_environment, ends_of
from integrator.plan.identity import check_names, in_database
from integrator.plan.kafka import Client, kafka_settings
from integrator.plan.layout import layout_of
from integrator.plan.notes import notes_of, notes_of_added, notes_of_compaction, notes_of_deletes, notes_of_partitions
from integrator.plan.parameters import ChannelScope, absent_tables
from integrator.plan.refresh import Conditions, conditions_of
from integrator.plan.registry import Registration, RegistrySettings, Strategies, clashes, registrations, settings_of
from integrator.plan.schedule import Schedule, schedule_of
from integrator.plan.source import check_sources, money_notes, read_of, read_of_tables, table_sources
from integrator.plan.tables import table_recipe
from integrator.plan.tolerance import restart_of, tolerance_of
from integrator.plan.topic import check_partitions
from integrator.sources.contract import Source
from integrator.sources.tables import TableSource
from integrator.tables import discovered_columns as adding

DEFAULT_CYCLE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Plan:
    """All that a run will do, decided: what to read, what to send, and where the progress is kept.

    again: makes the plan anew, of what was read then, with the columns that came since. kafka: the Kafka location's
    name. located: makes a problem at a path of the channel's file. directory: of that file. refreshes: whether the
    channel has a location, beside its source, from which tables are refreshed.
    """

    channel: str
    source: AnySource
    brokers: str
    create_topics: TopicCreation | None
    cycle_bytes: int
    delay: int
    schedule: Schedule
    restart: Restart
    monitor: Monitor
    notes: tuple[str, ...]
    state: str
    reject_replication: int
    recipe: Recipe
    registry: RegistrySettings | None
    conditions: dict[str, Conditions]
    strategies: Strategies = field(repr=False)
    secrets: Secrets = field(compare=False, repr=False)
    kafka: str
    located: Callable[[Path_, str], Problem] = field(compare=False, repr=False)
    directory: str = field(compare=False)
    refreshes: bool = field(compare=False)
    again: Callable[[adding.Added], Plan] = field(compare=False, repr=False)

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

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the channel writes to."""
        dead = (self.recipe.messages.oversized.dead_letters, self.recipe.tolerance.topic)
        return tuple(sorted({*(table.topic for table in self.recipe.tables), *filter(None, dead)}))

    @property
    def dead_letter_topic(self) -> dict[str, int]:
        """The topic of rejected lines, which is made if it is not there, and its replication factor."""
        topic = self.recipe.tolerance.topic
        return {topic: self.reject_replication} if topic else {}

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """The schemas that the registry is to know."""
        return registrations(self.recipe, self.strategies) if self.registry else ()


def make(
    file: str,
    timezone: str,
    run: RunOptions | None = None,
    *,
    refreshing: bool = False,
    client: Client = lambda _: (),
) -> Plan:
    """Make the plan of the channel in `file` for a run. Raises ConfigurationError with all of its problems.

    `timezone` is the IANA name of the zone that `%[localtime]` means. refreshing: the plan is to refresh tables, not to
    integrate changes. client: looks at the properties of the producer.
    """
    loaded = loading.load(file, run or RunOptions(), tuple(DIALECTS))
    channel, problems = loaded.channel, Problems(loaded.source, loaded.removed)
    problems.extend(loaded.problems)
    found = read_tables(channel, problems)
    problems.tables = [table.name for table in found.tables]
    problems.everywhere = frozenset(place for place, one in enumerate(channel.actions) if one.table == "*")
    check_environment(problems)
    came = adding.read(channel.place) if adds_columns(channel) else {}
    return _planned(_Read(timezone, channel, found, refreshing, client), came, problems)


@dataclass(frozen=True)
class _Read:
    """A channel and its tables, as they were read."""

    timezone: str
    channel: Channel
    found: Definitions
    refreshing: bool
    client: Client


def _planned(read: _Read, came: adding.Added, problems: Problems) -> Plan:
    """Make the plan, with the columns that came while the channel ran; `problems` are those found before."""
    channel, written = read.channel, problems.source
    tables = [adding.with_columns(table, came) for table in read.found.tables]
    scopes.check_words(channel, problems)
    scopes.check_scopes(channel, (table.name for table in tables), problems, complete=read.found.complete)
    source_end, kafka_end = ends_of(channel, problems, refreshing=read.refreshing)
    (source_name, source), (kafka_name, kafka_location) = source_end, kafka_end
    state = channel.place
    scopes.check_idle_actions(channel, kafka_name, source_name, problems)
    check_sources(channel, tables, problems)
    settings = kafka_settings(channel, kafka_name, kafka_location, problems, read.client)
    registry = settings_of(kafka_location, kafka_name, problems)
    layout = layout_of(channel, kafka_name, kafka_location, settings.max_bytes, problems)
    scope = ChannelScope(
        channel, kafka_name, kafka_location, source_name, layout, problems, tuple(tables), read.found.files
    )
    strategies: Strategies = {}
    check_names(scope, tables)
    absent = absent_tables(scope, tables)
    if tables and len(absent) == len(tables):
        problems.add(("tables",), "no table is sent: all of them are Absent; leave TableProperties Absent out for one")
    made = [table_recipe(scope, table, strategies) for table in tables if table not in absent]
    recipes = [table for table in made if table is not None]
    at_kafka = problems.at_location(kafka_name)
    check_tables(layout, recipes, at_kafka)
    if adds_columns(channel) and layout.bundling.mode == "TRANSACTION":
        text = "unknown_columns: add at the source would leave rows that wait for their transaction's end without them"
        at_kafka("Kafka_Message_Bundling", f"{text}; say ROW, CHANGE or THRESHOLD, or unknown_columns: error")
    oversized = oversized_of(kafka_location, layout, [table.topic for table in recipes], at_kafka)
    topics = [*(table.topic for table in recipes), oversized.dead_letters]
    if len(made) == len(recipes):
        check_partitions(scope, [table.topic for table in recipes])
    tolerance, restart = tolerance_of(channel, topics, problems), restart_of(channel, problems)
    limit, _ = scopes.whole_location(Integrate, channel, kafka_name, problems, ["CycleByteLimit", "Delay"])
    schedule = schedule_of(channel, kafka_name, problems)
    not_sent = tuple(in_database(scope, table) for table in absent)
    recipe = Recipe(
        read=read_of_tables(channel, not_sent)
        if isinstance(source, TableSource)
        else read_of(source, tables, state, not_sent),
        tables=tuple(dataclasses.replace(made, added=adding.places(made.in_source, came)) for made in recipes),
        messages=Messages(
            channel=channel.channel,
            cap_loc=source_name,
            layout=layout,
            timezone=read.timezone,
            max_bytes=settings.max_bytes,
            oversized=oversized,
        ),
        send=Send(settings.rate_limit, settings.delivery_timeout_s, settings.producer, settings.exactly_once),
        tolerance=tolerance,
    )
    if registry is not None and not len(problems):  # else not all schemas can be made
        for text in clashes(registrations(recipe, strategies)):
            problems.add(("locations", kafka_name, "Kafka_Schema_Registry"), text)
    problems.raise_any()
    return Plan(
        channel=channel.channel,
        source=source,
        brokers=settings.producer["bootstrap.servers"],
        create_topics=kafka_location.Create_Topics,
        delay=limit.get("Delay") or 0,
        schedule=schedule,
        restart=restart,
        monitor=channel.monitor,
        reject_replication=channel.errors.replication,
        notes=(
            *read.found.notes,
            *scope.notes,
            *(() if isinstance(source, TableSource) else money_notes(source, recipes)),
            *kafka_access.access_notes(settings.producer),
            *(() if isinstance(source, TableSource) else source.notes()),
            *notes_of(channel, kafka_location),
            *notes_of_deletes(recipes),
            *notes_of_partitions(recipes, channel.locations[scope.cap_loc].group),
            *notes_of_compaction(kafka_location, recipes),
            *notes_of_added(came),
        ),
        cycle_bytes=limit["CycleByteLimit"] if limit.get("CycleByteLimit") is not None else DEFAULT_CYCLE_BYTES,
        state=state,
        recipe=recipe,
        registry=registry,
        conditions={table.name: conditions_of(scope, table) for table in tables},
        strategies=strategies,
        secrets=written.secrets,
        kafka=kafka_name,
        located=written.problem,
        directory=written.directory,
        refreshes=not read.refreshing and bool(table_sources(channel)),
        again=lambda more: _planned(read, more, _anew(problems)),
    )


def _anew(problems: Problems) -> Problems:
    made = Problems(problems.source)
    made.tables, made.everywhere = problems.tables, problems.everywhere
    return made
