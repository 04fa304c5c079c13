"""Channel + table definitions -> Plan and Recipe, or every problem at once."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from integrator.channel import load as loading
from integrator.channel import scope as scopes
from integrator.channel.actions import ColumnProperties, Integrate
from integrator.channel.load import RunOptions
from integrator.channel.locations import KafkaLocation, TopicCreation
from integrator.channel.model import Channel, Restart
from integrator.channel.monitor import Monitor
from integrator.channel.problems import Problems
from integrator.channel.secret import Secrets
from integrator.channel.sources import FilesLocation, JdbcLocation, SnapshotLocation, SocketLocation, SourceLocation
from integrator.contracts.recipe import Messages, Recipe, Send
from integrator.decode.dialects import DIALECTS
from integrator.plan import kafka_access
from integrator.plan.bundling import check_tables, oversized_of
from integrator.plan.definitions import read_tables
from integrator.plan.identity import check_names, in_database
from integrator.plan.kafka import kafka_settings
from integrator.plan.layout import layout_of
from integrator.plan.parameters import ChannelScope, absent_tables
from integrator.plan.refresh import Conditions, conditions_of
from integrator.plan.registry import Registration, RegistrySettings, Strategies, clashes, registrations, settings_of
from integrator.plan.schedule import Schedule, schedule_of
from integrator.plan.source import AnySource, check_source, money_notes, read_of, socket_notes
from integrator.plan.tables import table_recipe
from integrator.plan.tolerance import restart_of, tolerance_of
from integrator.schema import Table
from integrator.tables import discovered_columns as adding

DEFAULT_CYCLE_BYTES = 256 * 1024 * 1024


_Location = TypeVar("_Location")
CHANGES: tuple[type[AnySource], ...] = (FilesLocation, SocketLocation)
TABLES: tuple[type[AnySource], ...] = (SnapshotLocation, JdbcLocation)


@dataclass(frozen=True)
class Plan:
    """All that a run will do, decided: what to read, what to send, and where the progress is kept.

    again: makes the plan anew, of what was read then, with the columns that came since.
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
    again: Callable[[adding.Added], Plan] = field(compare=False, repr=False)

    @property
    def changes(self) -> FilesLocation | SocketLocation:
        """Where changes come from, in a plan that is to integrate them."""
        if isinstance(self.source, SnapshotLocation | JdbcLocation):
            raise TypeError("a plan that is for refreshing")
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


def make(file: str, timezone: str, run: RunOptions | None = None, *, refreshing: bool = False) -> Plan:
    """Make the plan of the channel in `file` for a run. Raises ConfigurationError with all of its problems.

    `timezone` is the IANA name of the zone that `%[localtime]` means. refreshing: the plan is to refresh tables, not to
    integrate changes.
    """
    channel, source = loading.load(file, run or RunOptions(), tuple(DIALECTS))
    problems = Problems(source)
    tables, notes = read_tables(channel, problems)
    _check_environment(problems)
    came = adding.read(f"{channel.state}/{channel.channel}") if _adds(channel) else {}
    return _planned(_Read(timezone, channel, tables, notes, refreshing), came, problems)


@dataclass(frozen=True)
class _Read:
    """A channel and its tables, as they were read."""

    timezone: str
    channel: Channel
    tables: list[Table]
    notes: list[str]
    refreshing: bool


def _planned(read: _Read, came: adding.Added, problems: Problems) -> Plan:
    """Make the plan, with the columns that came while the channel ran; `problems` are those found before."""
    channel, source = read.channel, problems.source
    tables = [adding.with_columns(table, came) for table in read.tables]
    problems.extend(scopes.unknown_words(channel, source))
    problems.extend(scopes.unknown_scopes(channel, (table.name for table in tables), source))
    kinds, named = (TABLES, "snapshot or jdbc") if read.refreshing else (CHANGES, "files or socket")
    changes = _one(channel, kinds, named, problems)
    kafka = _one(channel, (KafkaLocation,), "kafka", problems)
    if changes is None or kafka is None:
        problems.raise_any()
        raise AssertionError("a location that is missing is a problem")
    (source_name, source_location), (kafka_name, kafka_location) = changes, kafka
    if "://" in channel.state or channel.state.startswith("file:"):
        problems.add(("state",), f"{channel.state} is no local path; the state is on a disk of the driver: a directory")
    state = f"{channel.state}/{channel.channel}"
    problems.extend(scopes.idle_actions(channel, kafka_name, source_name, source))
    check_source(source_location, source_name, {table.name for table in tables}, problems)
    settings = kafka_settings(channel, kafka_name, kafka_location, problems)
    registry = settings_of(kafka_location, kafka_name, problems)
    layout = layout_of(channel, kafka_name, kafka_location, settings.max_bytes, problems)
    scope = ChannelScope(channel, kafka_name, kafka_location, source_name, layout, problems)
    strategies: Strategies = {}
    check_names(scope, tables)
    absent = absent_tables(scope, tables)
    made = [table_recipe(scope, table, strategies) for table in tables if table not in absent]
    recipes = [table for table in made if table is not None]
    at_kafka = problems.at_location(kafka_name)
    check_tables(layout, recipes, at_kafka)
    if _adds(channel) and layout.bundling.mode == "TRANSACTION":
        text = "unknown_columns: add at the source would leave rows that wait for their transaction's end without them"
        at_kafka("Kafka_Message_Bundling", f"{text}; say ROW, CHANGE or THRESHOLD, or unknown_columns: error")
    oversized = oversized_of(kafka_location, layout, [table.topic for table in recipes], at_kafka)
    topics = [*(table.topic for table in recipes), oversized.dead_letters]
    tolerance, restart = tolerance_of(channel, topics, problems), restart_of(channel, problems)
    limit, _ = scopes.whole_location(Integrate, channel, kafka_name, problems, ["CycleByteLimit", "Delay"])
    schedule = schedule_of(channel, kafka_name, problems)
    problems.raise_any()
    recipe = Recipe(
        read=read_of(source_location, tables, state, tuple(in_database(scope, table) for table in absent)),
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
    plan = Plan(
        channel=channel.channel,
        source=source_location,
        brokers=settings.producer["bootstrap.servers"],
        create_topics=kafka_location.Create_Topics,
        delay=limit.get("Delay") or 0,
        schedule=schedule,
        restart=restart,
        monitor=channel.monitor,
        reject_replication=channel.errors.replication,
        notes=(
            *read.notes,
            *scope.notes,
            *money_notes(source_location, recipes),
            *kafka_access.access_notes(settings.producer),
            *socket_notes(source_location),
            *notes_of(channel, kafka_location),
            *_notes_of_added(came),
        ),
        cycle_bytes=limit["CycleByteLimit"] if limit.get("CycleByteLimit") is not None else DEFAULT_CYCLE_BYTES,
        state=state,
        recipe=recipe,
        registry=registry,
        conditions={table.name: conditions_of(scope, table) for table in tables},
        strategies=strategies,
        secrets=source.secrets,
        again=lambda more: _planned(read, more, Problems(source)),
    )
    for text in clashes(plan.registrations):
        problems.add_general(text)
    problems.raise_any()
    return plan


def _one(
    channel: Channel, kinds: tuple[type[_Location], ...], name: str, problems: Problems
) -> tuple[str, _Location] | None:
    found = [(key, location) for key, location in channel.locations.items() if isinstance(location, kinds)]
    if len(found) != 1:
        problems.add(("locations",), f"a channel has one location of class {name}; found {len(found)}")
        return None
    return found[0]


def _adds(channel: Channel) -> bool:
    return any(isinstance(one, SourceLocation) and one.unknown_columns == "add" for one in channel.locations.values())


def _notes_of_added(came: adding.Added) -> Iterator[str]:
    for table, columns in came.items():
        for name, (datatype, _, _) in columns.items():
            yield f"{table}.{name} ({datatype}) was added when records came that had it"


def _check_environment(problems: Problems) -> None:
    """Report of HVR's variables in the process's environment, which an action of the channel would have to set."""
    for name in sorted(os.environ):
        if name.startswith("HVR_KAFKA_"):
            text = f"the process's environment has {name}, which has no effect there: a channel says all of itself; "
            action = f"unset it, and write - {{action: Environment, Name: {name}, Value: …}} below actions"
            problems.add_general(text + action)


def notes_of(channel: Channel, location: KafkaLocation) -> Iterator[str]:
    """Yield what the channel says and has no effect, as in HVR."""
    for place, action in enumerate(channel.actions):
        if isinstance(action, ColumnProperties) and action.IgnoreDuringCompare:
            yield f"$.actions[{place}].IgnoreDuringCompare has no effect: nothing is compared"
        if isinstance(action, ColumnProperties) and action.ExpressionScope and location.Expression_Scopes == "IGNORE":
            yield f"$.actions[{place}].ExpressionScope has no effect, as in HVR but for Burst (Expression_Scopes)"
