"""Channel + table definitions -> Plan and Recipe, or every problem at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TypeVar

from integrator import tables as definitions
from integrator.channel import load as loading
from integrator.channel import scope
from integrator.channel.load import Source
from integrator.channel.model import (
    DEFAULT_CYCLE_BYTES,
    Channel,
    ColumnProperties,
    FilesLocation,
    Integrate,
    KafkaLocation,
    TableFile,
    TopicCreation,
)
from integrator.channel.secret import Secrets
from integrator.errors import ConfigurationError, Problem
from integrator.expression import ExpressionError, constant_text, parse
from integrator.plan.fields import distribution_key, fields_of, implicit_key
from integrator.plan.kafka import kafka_settings
from integrator.recipe import Recipe, TableRecipe
from integrator.schema import Table

TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic

_Location = TypeVar("_Location", FilesLocation, KafkaLocation)


@dataclass(frozen=True)
class Plan:
    """All that a run will do, decided: what to read, what to send, and where the progress is kept."""

    channel: str
    source: FilesLocation
    brokers: str
    create_topics: TopicCreation | None
    cycle_bytes: int
    state: str
    recipe: Recipe
    secrets: Secrets = field(compare=False, repr=False)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the channel writes to."""
        return tuple(sorted({table.topic for table in self.recipe.tables}))


def make(file: str, timezone: str) -> Plan:
    """Make the plan of the channel in `file`. Raises ConfigurationError with all of its problems.

    `timezone` is the IANA name of the zone that `%[localtime]` means.
    """
    channel, source = loading.load(file)
    problems: list[Problem] = []
    tables = _tables(channel, source, problems)
    problems += scope.unknown_scopes(channel, (table.name for table in tables), source)
    files = _one(channel, FilesLocation, "files", source, problems)
    kafka = _one(channel, KafkaLocation, "kafka", source, problems)
    if files is None or kafka is None:
        raise ConfigurationError(problems)
    source_name, files_location = files
    kafka_name, kafka_location = kafka
    problems += scope.idle_actions(channel, kafka_name, source)
    names = {table.name for table in tables}
    if files_location.table is not None and files_location.dialect != "hvr":
        text = f"records of the {files_location.dialect} dialect name their tables: leave it out"
        problems.append(source.problem(("locations", source_name, "table"), text))
    if files_location.table is not None and files_location.table not in names:
        text = f"{files_location.table!r} is no table; known are {', '.join(sorted(names))}"
        problems.append(source.problem(("locations", source_name, "table"), text))
    settings = kafka_settings(channel, kafka_name, kafka_location, source, problems)
    recipes = []
    for table in tables:
        table_recipe = _table_recipe(channel, table, kafka_name, source_name, source, problems)
        if table_recipe is not None:
            recipes.append(table_recipe)
    cycle_bytes = _cycle_bytes(channel, kafka_name, source, problems)
    if problems:
        raise ConfigurationError(problems)
    recipe = Recipe(
        channel=channel.channel,
        cap_loc=source_name,
        dialect=files_location.dialect,
        tables=tuple(recipes),
        default_table=files_location.table or (tables[0].name if len(tables) == 1 else None),
        ignore_unknown_tables=files_location.unknown_tables == "ignore",
        decimals=kafka_location.Json_Decimals,
        times=kafka_location.Json_Times,
        timezone=timezone,
        max_bytes=settings.max_bytes,
        delivery_timeout_s=settings.delivery_timeout_s,
        producer=settings.producer,
    )
    return Plan(
        channel=channel.channel,
        source=files_location,
        brokers=settings.producer["bootstrap.servers"],
        create_topics=kafka_location.Create_Topics,
        cycle_bytes=cycle_bytes,
        state=f"{channel.state}/{channel.channel}",
        recipe=recipe,
        secrets=source.secrets,
    )


def _tables(channel: Channel, source: Source, problems: list[Problem]) -> list[Table]:
    tables: dict[str, Table] = {}
    for index, entry in enumerate(channel.tables):
        item = TableFile(file=entry) if isinstance(entry, str) else entry
        read, wrong = definitions.read(item.file, item.sql_dialect)
        problems += wrong
        for name in item.only or []:
            if name not in {table.name for table in read}:
                problems.append(source.problem(("tables", index, "only"), f"{item.file} defines no table {name!r}"))
        for table in read:
            if item.only is not None and table.name not in item.only:
                continue
            if table.name in tables:
                problems.append(source.problem(("tables", index), f"table {table.name!r} is defined twice"))
            tables[table.name] = table
    return list(tables.values())


def _one(
    channel: Channel, kind: type[_Location], name: str, source: Source, problems: list[Problem]
) -> tuple[str, _Location] | None:
    found = [(key, location) for key, location in channel.locations.items() if isinstance(location, kind)]
    if len(found) != 1:
        text = f"a channel has one location of class {name}; found {len(found)}"
        problems.append(source.problem(("locations",), text))
        return None
    return found[0]


def _table_recipe(
    channel: Channel, table: Table, kafka: str, cap_loc: str, source: Source, problems: list[Problem]
) -> TableRecipe | None:
    """Return how `table` is sent, or None where a problem stands in the way."""
    before = len(problems)
    merged = _column_properties(channel, table, kafka, source, problems)
    fields = fields_of(table, merged, source, problems)
    added = tuple(name for name, (values, _) in merged.items() if values.get("Key"))
    key = (*table.key, *(name for name in added if name not in table.key)) or implicit_key(table)
    if any(values.get("TimeKey") for values, _ in merged.values()):
        style = "TimeKey"
    elif any(values.get("SoftDelete") for values, _ in merged.values()):
        style = "SoftDelete"
    else:
        style = "Standard"
    topic = _topic(channel, table, kafka, cap_loc, source, problems)
    if len(problems) > before:
        return None
    hashed = distribution_key(merged, key)
    if not hashed:
        problems.append(Problem(source.file, 0, "", f"table {table.name}: no column can be its key; give it one (Key)"))
    return TableRecipe(replace(table, key=key), topic, style, key, hashed, fields)


def _column_properties(
    channel: Channel, table: Table, kafka: str, source: Source, problems: list[Problem]
) -> dict[str, tuple[dict[str, object], dict[str, int]]]:
    """Return for each column name the merged properties that hold for it in messages, and their places."""
    names: dict[str, list[tuple[int, ColumnProperties]]] = {}
    for place, action in enumerate(channel.actions):
        if isinstance(action, ColumnProperties):
            names.setdefault(action.Name, []).append((place, action))
    merged = {}
    for name, actions in names.items():
        values, places, disagreements = scope.merge(actions, channel, kafka, table.name, source)
        problems += disagreements
        if values:
            merged[name] = (values, places)
    return merged


def _topic(channel: Channel, table: Table, kafka: str, cap_loc: str, source: Source, problems: list[Problem]) -> str:
    location = channel.locations[kafka]
    if not isinstance(location, KafkaLocation):
        raise TypeError(kafka)
    place = ("locations", kafka, "Kafka_Default_Topic")
    values: dict[str, str | None] = {
        "hvr_tbl_name": table.name,
        "hvr_tbl_base_name": table.base_name,
        "hvr_schema": table.schema,
        "hvr_cap_loc": cap_loc,
        "hvr_chn_name": channel.channel,
    }
    try:
        topic = constant_text(parse(location.Kafka_Default_Topic, table, "topic"), values)
    except ExpressionError as error:
        problems.append(source.problem(place, str(error)))
        return ""
    if not TOPIC.fullmatch(topic) or topic in (".", ".."):
        text = f"the topic of table {table.name} would be {topic!r}; accepted are 1 to 249 of a-z A-Z 0-9 . _ -"
        problems.append(source.problem(place, text))
    return topic


def _cycle_bytes(channel: Channel, kafka: str, source: Source, problems: list[Problem]) -> int:
    actions = [(place, action) for place, action in enumerate(channel.actions) if isinstance(action, Integrate)]
    problems += [
        source.problem(("actions", place, "table"), "CycleByteLimit holds for the whole location: table must be *")
        for place, action in actions
        if action.table != "*"
    ]
    values, _, disagreements = scope.merge(actions, channel, kafka, "*", source)
    problems += disagreements
    limit = values.get("CycleByteLimit")
    return DEFAULT_CYCLE_BYTES if limit is None else int(limit)
