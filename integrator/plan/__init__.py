"""Channel + table definitions -> Plan and Recipe, or every problem at once.

In come the channel's file and a timezone; out goes a Plan, plain frozen data, or a ConfigurationError with all that is
wrong.

ends, source, asked, definitions, identity     where changes come from, where they go, and the tables
parameters, tables, fields, keys, capture, restrict     actions -> a table's recipe
message_key, message_place, topic, record_names     what its messages are called and where they go
kafka, kafka_properties, registry     the Kafka location -> librdkafka's properties, and schemas
bundling, layout, compaction, tombstones, tolerance, schedule, refresh, notes     what else a run does, and remarks
contract     the plan itself

A parameter of an action is a field of its model in channel/actions, and the use of it here, as an attribute of what
`TableScope` or `whole_location` give for its action; a problem is added to `Problems`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrator.channel import kafka_access
from integrator.channel import load as loading
from integrator.channel import scope as scopes
from integrator.channel.actions import Integrate
from integrator.channel.databases import DatabaseLocation
from integrator.channel.load import RunOptions
from integrator.channel.locations import KafkaLocation
from integrator.channel.merge import whole_location
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.contracts.recipe import Messages, Read, Recipe, Send, TransactionTopic
from integrator.decode.dialects import CHOSEN
from integrator.errors import SchemasFound
from integrator.plan.asked import check_source
from integrator.plan.bundling import check_tables, oversized_of
from integrator.plan.compaction import check_compaction, notes_of_compaction
from integrator.plan.contract import Origin, Plan
from integrator.plan.definitions import read_tables
from integrator.plan.ends import AnySource, adds_columns, check_environment, ends_of
from integrator.plan.identity import check_names, in_database
from integrator.plan.kafka import Client, KafkaSettings, kafka_settings, with_properties
from integrator.plan.layout import layout_of
from integrator.plan.notes import notes_of, notes_of_added, notes_of_deletes, notes_of_partitions
from integrator.plan.parameters import ChannelScope, absent_tables
from integrator.plan.registry import RegistrySettings, Strategies, clashes, registrations, settings_of
from integrator.plan.restrict import conditions_of
from integrator.plan.schedule import schedule_of
from integrator.plan.source import (
    check_not_read,
    check_sources,
    defined_tables,
    known_sources,
    money_notes,
    read_of,
    read_of_tables,
    table_sources,
)
from integrator.plan.tables import table_recipe
from integrator.plan.tolerance import restart_of, tolerance_of
from integrator.plan.topic import (
    check_creation,
    check_row_topics,
    check_underscores,
    notes_of_creation,
    notes_of_shared_topics,
)
from integrator.plan.whole_event import notes_of_events
from integrator.schema import Table
from integrator.sources.contract import Refreshable
from integrator.sources.tables import TableSource
from integrator.tables import discovered_columns as adding

__all__ = ["Plan", "as_kept", "build", "learned", "replan", "sets_aside"]

NONE: Mapping[str, str] = {}
DEFAULT_CYCLE_BYTES = 256 * 1024 * 1024


def build(
    file: str,
    timezone: str,
    run: RunOptions | None = None,
    *,
    refreshing: bool | None = False,
    client: Client = lambda _: (),
) -> Plan:
    """Make the plan of the channel in `file` for a run. Raises ConfigurationError with all of its problems.

    `timezone` is the IANA name of the zone that `%[localtime]` means. refreshing: the plan is to refresh tables, not to
    integrate changes; None: so it is unless the source of changes can refresh its own tables, and the channel has no
    location of tables. client: checks the properties of the producer.
    """
    loaded = loading.load(file, run or RunOptions(), CHOSEN)
    channel, problems = loaded.channel, Problems(loaded.source, loaded.removed)
    problems.extend(loaded.problems)
    changes = with_properties(channel, known_sources(channel), problems, client)
    definitions = read_tables(channel, problems)
    if not channel.tables:
        changes, defined = defined_tables(changes, problems)
        definitions = dataclasses.replace(definitions, tables=defined)
    if refreshing is None:
        refreshing = bool(table_sources(channel)) or not any(isinstance(one, Refreshable) for one in changes.values())
    origin = Origin(channel, changes, definitions, loaded.source, timezone, refreshing)
    check_environment(problems)
    return _build_plan(origin, _came(channel), problems, client)


def _came(channel: Channel) -> adding.Added:
    """Return the columns that came while the channel ran, or have another type since."""
    return adding.read(channel.place) if adds_columns(channel) or not channel.tables else {}


def replan(plan: Plan, came: adding.Added, aside: Mapping[str, str] | None = None) -> Plan:
    """Make a plan again, of what was read for it, with the columns that came since.

    aside: the tables that are set aside; None for those that the plan has. Raises ConfigurationError where they do not
    go together with the channel.
    """
    aside = plan.aside if aside is None else aside
    return _build_plan(plan.origin, came, Problems(plan.origin.file), lambda _: (), aside)


def sets_aside(plan: Plan) -> bool:
    """Return whether a table that cannot be sent is set aside, while there are others."""
    return _sets_aside(plan.origin) and len(plan.recipe.tables) > 1


def _sets_aside(origin: Origin) -> bool:
    channel = origin.channel
    is_captured = all(isinstance(channel.locations[name], DatabaseLocation) for name in origin.changes)
    return channel.errors.tables == "set_aside" and is_captured and not origin.refreshing


def as_kept(plan: Plan, aside: Mapping[str, str]) -> Plan:
    """Make a plan again, with the definitions that the channel's state keeps, and nothing that its source has now.

    aside: the tables that are set aside, as the state keeps them. Raises ConfigurationError as `replan`, and
    EnvironmentFault for a state that is damaged.
    """
    channel, origin = plan.origin.channel, plan.origin
    if channel.tables:
        return plan
    found = {name: one.known_in(Path(channel.place)) for name, one in origin.changes.items()}
    changes = {name: one.defines(asks=False) or one for name, one in found.items()}
    tables = [table for one in changes.values() for table in one.tables()]
    definitions = dataclasses.replace(origin.definitions, tables=tables)
    origin = dataclasses.replace(origin, changes=changes, definitions=definitions)
    return replan(dataclasses.replace(plan, origin=origin), _came(channel), aside)


def learned(plan: Plan, found: SchemasFound, came: adding.Added) -> Plan:
    """Make a plan again, with schemas that records were found to have, and the tables of topics that came since.

    Raises IntegratorError where they cannot be asked for, or do not go together with the channel.
    """
    channel, name = plan.origin.channel, plan.recipe.messages.cap_loc
    source = plan.changes.learned(found, tolerant=plan.recipe.tolerance.rejects)
    definitions = plan.origin.definitions
    if not channel.tables:
        source = source.defines(found.topic) or source
        definitions = dataclasses.replace(definitions, tables=list(source.tables()))
    changes = {**plan.origin.changes, name: source}
    origin = dataclasses.replace(plan.origin, changes=changes, definitions=definitions)
    return replan(dataclasses.replace(plan, origin=origin), came)


@dataclass(frozen=True)
class _Ends:
    """Where changes come from and where they go, and how that is reached and written."""

    source: AnySource
    kafka: KafkaLocation
    settings: KafkaSettings
    registry: RegistrySettings | None
    scope: ChannelScope


def _build_plan(
    origin: Origin, came: adding.Added, problems: Problems, client: Client, aside: Mapping[str, str] = NONE
) -> Plan:
    """Make the plan, with the columns that came while the channel ran; `problems` are those found before.

    aside: the tables that are set aside, and why. Others that cannot be sent are, too, where the channel has it.
    """
    channel = origin.channel
    tables = [adding.with_columns(table, came) for table in origin.definitions.tables]
    problems.tables = [table.name for table in tables]
    problems.everywhere = frozenset(place for place, one in enumerate(channel.actions) if one.table == "*")
    ends = _ends(origin, tables, problems, client)
    scope, strategies = ends.scope, Strategies()
    recipe = _recipe(origin, ends, came, strategies, aside)
    restart, schedule = restart_of(channel, problems), schedule_of(channel, scope.kafka, problems)
    limits = whole_location(Integrate, channel, scope.kafka, problems, ["CycleByteLimit", "Delay"]).values
    if ends.registry is not None and not len(problems):  # else not all schemas can be made
        for text in clashes(registrations(recipe, strategies)):
            problems.add(("locations", scope.kafka, "Kafka_Schema_Registry"), text)
    wrong = problems.of_tables()
    if (
        wrong
        and _sets_aside(origin)
        and len(wrong.keys() | aside.keys()) < len(tables)
        and not wrong.keys() & aside.keys()
    ):
        problems.forget_tables()
        return _build_plan(origin, came, problems, client, {**aside, **wrong})
    problems.raise_any()
    return Plan(
        source=ends.source,
        kafka=scope.kafka,
        cycle_bytes=limits.CycleByteLimit if limits.CycleByteLimit is not None else DEFAULT_CYCLE_BYTES,
        delay=limits.Delay or 0,
        schedule=schedule,
        restart=restart,
        notes=(
            *origin.definitions.notes,
            *scope.notes,
            *_notes(ends, recipe),
            *notes_of_added(came),
            *map(_aside, aside.items()),
        ),
        state=channel.place,
        recipe=recipe,
        registry=ends.registry,
        conditions={table.name: conditions_of(scope.of(table)) for table in tables},
        strategies=strategies,
        origin=origin,
        aside=aside,
    )


def _aside(one: tuple[str, str]) -> str:
    name, why = one
    return f"table {name} is set aside, and the others continue: {why}"


def _ends(origin: Origin, tables: Sequence[Table], problems: Problems, client: Client) -> _Ends:
    """Return the two ends of the channel; what is wrong with them, and with what actions name, is added to `problems`.

    Raises ConfigurationError where there is no source or no Kafka location.
    """
    channel = origin.channel
    scopes.check_words(channel, problems)
    scopes.check_scopes(channel, (table.name for table in tables), problems, complete=origin.definitions.complete)
    (source_name, source), (kafka_name, kafka) = ends_of(
        channel, origin.changes, problems, refreshing=origin.refreshing
    )
    scopes.check_idle_actions(channel, kafka_name, source_name, problems)
    check_sources(channel, origin.changes, tables, problems)
    settings = kafka_settings(channel, kafka_name, kafka, problems, client)
    registry = settings_of(kafka, kafka_name, problems)
    layout = layout_of(channel, kafka_name, kafka, settings.max_bytes, problems)
    files = origin.definitions.files
    scope = ChannelScope(channel, kafka_name, kafka, source_name, layout, problems, tuple(tables), files)
    return _Ends(source, kafka, settings, registry, scope)


def _recipe(
    origin: Origin, ends: _Ends, came: adding.Added, strategies: Strategies, aside: Mapping[str, str]
) -> Recipe:
    """Return what executors do; the subject strategies of tables are noted, and what is wrong is a problem."""
    scope, channel, settings = ends.scope, origin.channel, ends.settings
    check_names(scope, [table for table in scope.tables if table.name not in aside])
    absent = (*_absent(scope), *(table for table in scope.tables if table.name in aside))
    made = [table_recipe(scope, table, strategies) for table in scope.tables if table not in absent]
    recipes = [table for table in made if table is not None]
    at_kafka = scope.problems.at_location(scope.kafka)
    check_tables(scope.layout, recipes, at_kafka)
    check_row_topics(scope, recipes, strategies)
    check_underscores(scope, recipes)
    check_compaction(scope, recipes)
    check_source(scope, ends.source, recipes)
    table_topics = [table.topic for table in recipes]
    oversized = oversized_of(ends.kafka, scope.layout, table_topics, at_kafka)
    tolerance = tolerance_of(channel, [*table_topics, oversized.dead_letters], scope.problems)
    sent = [*table_topics, *_beside_rows(channel, ends.kafka, oversized.dead_letters), tolerance.topic]
    check_not_read(channel, sent, settings.producer.get("bootstrap.servers", ""), scope.problems)
    if len(made) == len(recipes) and not any(table.message_topic for table in recipes):
        check_creation(scope, [*table_topics, *_beside_rows(channel, ends.kafka, oversized.dead_letters)])
    return Recipe(
        read=_read(scope, ends.source, tuple(in_database(scope.of(table)) for table in absent)),
        tables=tuple(dataclasses.replace(one, added=adding.places(one.in_source, came)) for one in recipes),
        messages=Messages(
            channel=channel.channel,
            cap_loc=scope.cap_loc,
            layout=scope.layout,
            timezone=origin.timezone,
            max_bytes=settings.max_bytes,
            oversized=oversized,
        ),
        send=Send(settings.rate_limit, settings.producer, settings.exactly_once),
        tolerance=tolerance,
        transactions=None if ends.kafka.Transaction_Topic is None else TransactionTopic(ends.kafka.Transaction_Topic),
    )


def _beside_rows(channel: Channel, kafka: KafkaLocation, dead_letters: str) -> tuple[str, ...]:
    """Return the topics of messages that are no rows; empty for what the channel does not have."""
    return dead_letters, kafka.Transaction_Topic or "", channel.resolved.topic if channel.resolved else ""


def _read(scope: ChannelScope, source: AnySource, absent: tuple[Table, ...]) -> Read:
    """Return how the source is read. absent: tables not to be sent."""
    if isinstance(source, TableSource):
        return read_of_tables(scope.channel, absent)
    channel = scope.channel
    return read_of(source, scope.tables, channel.place, absent, are_defined=bool(channel.tables))


def _absent(scope: ChannelScope) -> tuple[Table, ...]:
    """Return the tables that are not sent; that all are is a problem."""
    absent = absent_tables(scope)
    if scope.tables and len(absent) == len(scope.tables):
        text = "no table is sent: all of them are Absent; leave TableProperties Absent out for one"
        scope.problems.add(("tables",), text)
    return absent


def _notes(ends: _Ends, recipe: Recipe) -> Iterator[str]:
    """Yield what is to be known of a plan and is not wrong."""
    channel, tables = ends.scope.channel, recipe.tables
    if not isinstance(ends.source, TableSource):
        yield from money_notes(ends.source, tables)
        yield from ends.source.notes()
    yield from kafka_access.access_notes(ends.settings.producer)
    yield from notes_of(channel, ends.kafka)
    yield from notes_of_deletes(tables)
    yield from notes_of_events(ends.scope)
    yield from notes_of_shared_topics(ends.kafka, tables)
    if not isinstance(location := channel.locations[ends.scope.cap_loc], DatabaseLocation):  # which says whose rows are
        yield from notes_of_partitions(tables, location.group)
    beside = _beside_rows(channel, ends.kafka, recipe.messages.oversized.dead_letters)
    yield from notes_of_creation(ends.kafka, [*(table.topic for table in tables), *beside])
    yield from notes_of_compaction(ends.kafka, tables)
