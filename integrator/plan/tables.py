"""Table definitions and the actions that hold for each table -> its recipe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from integrator import messages
from integrator import tables as definitions
from integrator.channel import scope
from integrator.channel.actions import Capture, ColumnProperties, Integrate, Restrict, TableProperties
from integrator.channel.base import Scoped
from integrator.channel.load import Path_, Source
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel, TableFile
from integrator.envelopes import ENVELOPES
from integrator.errors import Problem
from integrator.expression import ExpressionError, constant_text, parse
from integrator.formats.contract import refusals
from integrator.formats.keys import KEYS
from integrator.fragments import Shape
from integrator.messages import format_of
from integrator.plan.capture import Said, Saying, capture_of
from integrator.plan.datatype_match import matcher
from integrator.plan.fields import DISTRIBUTION_KEY_LIMIT, Merged, Rules, distribution_key, fields_of, implicit_key
from integrator.plan.message_key import headers_of, key_of
from integrator.plan.registry import DEFAULT_STRATEGY, Strategies
from integrator.properties.coerce import TYPES
from integrator.recipe import CaptureRecipe, Coercion, Layout, Recipe, TableRecipe
from integrator.schema import Bytes, Table

TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic


def read_tables(channel: Channel, source: Source, problems: list[Problem]) -> list[Table]:
    """Read the channel's table definitions; what is wrong is added to `problems`."""
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


@dataclass(frozen=True)
class Scene:
    """What the recipes of all tables of a channel depend on."""

    channel: Channel
    source: Source
    kafka: str
    location: KafkaLocation
    cap_loc: str
    layout: Layout
    problems: list[Problem]

    @property
    def registry(self) -> bool:
        """Whether there is a schema registry."""
        return self.location.Kafka_Schema_Registry is not None


def table_recipe(scene: Scene, table: Table, strategies: Strategies) -> TableRecipe | None:
    """Return how `table` is sent, or None where a problem stands in the way; its subject strategies are noted."""
    problems, before = scene.problems, len(scene.problems)
    merged = column_properties(scene, table, scene.kafka)
    properties, set_at = _merged_of(scene, table, TableProperties)
    table = replace(table, schema=properties.get("Schema") or table.schema)
    coercion = _coercion(scene, table, properties, set_at)
    rules = Rules(coercion, scene.location.Expression_Scopes == "APPLY", deletes=_style(merged) != "Standard")
    fields = fields_of(table, merged, rules, scene.source, problems)
    keyed = replace(table, key=_key(table, merged))
    key = keyed.key
    integrate, places = _merged_of(scene, table, Integrate)
    limit = properties.get("DistributionKeyLimit", DISTRIBUTION_KEY_LIMIT)
    avoid = properties.get("DistributionKeyAvoidPattern")

    def report(parameter: str, text: str) -> None:
        place = places.get(parameter)
        path = ("actions", place, parameter) if place is not None else ()
        problems.append(scene.source.problem(path, text))

    named = replace(keyed, base_name=properties.get("BaseName") or table.base_name)
    topic = _topic(scene, named, integrate.get("Topic"), places.get("Topic"))
    message_key = key_of(integrate, keyed, fields, scene.layout, report, registry=scene.registry)
    headers = headers_of(integrate, keyed, report)
    for part, parameter in (("key", "KeySubjectStrategy"), ("value", "ValueSubjectStrategy")):
        if parameter in integrate and not scene.registry:
            report(parameter, f"{parameter} needs a schema registry (Kafka_Schema_Registry)")
        elif parameter in integrate and part == "key" and not KEYS[message_key.serializer].schema_type:
            report(parameter, f"{message_key.serializer} keys have no schema, and so no subject")
        strategies[table.name, part] = integrate.get(parameter) or DEFAULT_STRATEGY
    keyless = message_key.serializer == "NONE"
    if integrate.get("OnDeleteSendTombstone") and keyless:
        report("OnDeleteSendTombstone", "a tombstone is for a key, and messages have none")
    envelope = ENVELOPES.get(scene.layout.envelope)
    tombstones = integrate.get("OnDeleteSendTombstone")
    binary = properties.get("MapBinary")
    if binary and scene.layout.format not in ("JSON", "CSV"):
        path = ("actions", set_at["MapBinary"], "MapBinary")
        problems.append(
            scene.source.problem(path, f"belongs to plain JSON and Csv; the format is {scene.layout.format}")
        )
    made = TableRecipe(
        table=named,
        topic=topic,
        style="TimeKey" if envelope else _style(merged),  # an envelope says every change
        key=key,
        distribution_key=distribution_key(merged, key, limit, avoid),
        fields=fields,
        message_key=message_key,
        headers=headers,
        tombstones=tombstones if tombstones is not None else bool(envelope and envelope.tombstones and not keyless),
        truncates=not capture_flag(scene, table, "NoTruncate"),
        before_updates=not capture_flag(scene, table, "NoBeforeUpdate"),
        missing_as_null=scene.location.Missing_Values == "NULL",
        capture=_captured(scene, keyed, merged, properties, set_at),
        coercion=coercion,
        midnight_is_date=properties.get("TrimTime") == "MIDNIGHT",
        binary=binary or "",
    )
    _check_sayable(scene, made)
    if not made.distribution_key:
        text = f"table {table.name}: no column can be its key; give it one (Key)"
        problems.append(Problem(scene.source.file, 0, "", text))
    return made if len(problems) == before else None


def _key(table: Table, merged: Merged) -> tuple[str, ...]:
    """Return the replication key: surrogate columns alone, else the table's and those added, else all columns."""
    surrogate = tuple(name for name, (values, _) in merged.items() if values.get("SurrogateKey"))
    added = tuple(name for name, (values, _) in merged.items() if values.get("Key"))
    return surrogate or (*table.key, *(name for name in added if name not in table.key)) or implicit_key(table, merged)


def _coercion(scene: Scene, table: Table, values: dict[str, Any], places: dict[str, int]) -> Coercion:
    policy, text = values.get("CoerceErrorPolicy", "FATAL"), values.get("CoerceErrorType")
    types = tuple(part.strip() for part in text.split(",")) if text is not None else TYPES
    unknown = [name for name in types if name not in TYPES]
    if unknown or (text is not None and policy == "FATAL"):
        said = f"{', '.join(unknown)}: not known; accepted are {', '.join(TYPES)}"
        said = said if unknown else "says what a CoerceErrorPolicy is for, and that is FATAL"
        place = ("actions", places["CoerceErrorType"], "CoerceErrorType")
        scene.problems.append(scene.source.problem(place, f"table {table.name}: {said}"))
    return Coercion(policy, types)


def _captured(
    scene: Scene, table: Table, merged: Merged, properties: dict[str, Any], places: dict[str, int]
) -> CaptureRecipe:
    def report(place: int | None, parameter: str, text: str) -> None:
        path: Path_ = ("actions", place, parameter) if place is not None else ()
        problem = scene.source.problem(path, f"table {table.name}: {text}")
        if problem not in scene.problems:
            scene.problems.append(problem)

    def said(kind: type[Scoped]) -> Said:
        return Said(_merged_of(scene, table, kind, scene.cap_loc), _merged_of(scene, table, kind))

    saying = Saying(
        table=table,
        columns_at_source=column_properties(scene, table, scene.cap_loc),
        columns_at_kafka=merged,
        properties=Said(said(TableProperties).source, (properties, places)),
        capture=said(Capture),
        restrict=said(Restrict),
        actions=list(scene.channel.actions),
        report=report,
    )
    return capture_of(saying, scene.kafka, scene.location.group)


def _style(merged: Merged) -> str:
    if any(values.get("TimeKey") for values, _ in merged.values()):
        return "TimeKey"
    return "SoftDelete" if any(values.get("SoftDelete") for values, _ in merged.values()) else "Standard"


def _check_sayable(scene: Scene, table: TableRecipe) -> None:
    """Add a problem for what the format cannot say: column, reason and remedy."""
    said, layout = format_of(scene.layout), scene.layout
    probe = Recipe(scene.channel.channel, scene.cap_loc, (table,), layout)
    columns = messages.columns(table, probe, Shape())

    def report(text: str) -> None:
        scene.problems.append(Problem(scene.source.file, 0, "", f"table {table.table.name}, {text}"))

    name = messages.record(table, probe)
    unnamed = said.record_refusal(name)
    if unnamed:
        report(f"{layout.format}, record {name}: {unnamed}")
    options = messages.options_of(table, probe)
    for column, why in refusals(said, columns, options):
        report(f"column {column}, {layout.format}: {why}")
    names = [column.name for column in columns]
    for twice in sorted({name for name in names if names.count(name) > 1}):
        report(f"column {twice}: another would have the same name; choose another BaseName or BeforeUpdateColumns")
    text = layout.options.encoding != "UTF-8" or layout.options.newlines
    if layout.format == "CSV" and options.binary == "COPY" and text:
        for blob in columns:
            if isinstance(blob.type, Bytes):
                report(f"column {blob.name}: bytes copied into CSV cannot be recoded; use MapBinary: BASE64 or HEX")


def column_properties(scene: Scene, table: Table, location: str) -> Merged:
    """Return for each column name the merged properties that hold for it at a location, and their places."""
    names: dict[str, list[tuple[int, ColumnProperties]]] = {}
    for place, action in enumerate(scene.channel.actions):
        if not isinstance(action, ColumnProperties):
            continue
        for name in _meant(scene, table, place, action):
            names.setdefault(name, []).append((place, action))
    merged = {}
    for name, actions in names.items():
        values, places, wrong = scope.merge(actions, scene.channel, location, table.name, scene.source)
        scene.problems.extend(problem for problem in wrong if problem not in scene.problems)
        if values:
            merged[name] = (values, places)
    return merged


def _meant(scene: Scene, table: Table, place: int, action: ColumnProperties) -> list[str]:
    """Return the columns that an action means."""
    if action.DatatypeMatch is None:
        return [action.Name] if action.Name is not None else []
    try:
        matches = matcher(action.DatatypeMatch)
    except ValueError as error:
        problem = scene.source.problem(("actions", place, "DatatypeMatch"), str(error))
        scene.problems.extend([problem] if problem not in scene.problems else [])
        return []
    return [column.name for column in table.columns if matches(column)]


def _merged_of(
    scene: Scene, table: Table, kind: type[Scoped], location: str | None = None
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the parameters of the actions of a kind that hold for `table` at a location, Kafka's, and their places."""
    actions = [(place, a) for place, a in enumerate(scene.channel.actions) if isinstance(a, kind)]
    values, places, wrong = scope.merge(actions, scene.channel, location or scene.kafka, table.name, scene.source)
    scene.problems.extend(problem for problem in wrong if problem not in scene.problems)
    return values, places


def absent_tables(scene: Scene, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables that TableProperties Absent says are not at the source, or not at Kafka."""
    return tuple(
        table
        for table in tables
        if any(_merged_of(scene, table, TableProperties, at)[0].get("Absent") for at in (scene.cap_loc, scene.kafka))
    )


def capture_flag(scene: Scene, table: Table, name: str) -> bool:
    """Return whether a Capture parameter holds for `table`: at its source, or at Kafka."""
    actions = [(place, a) for place, a in enumerate(scene.channel.actions) if isinstance(a, Capture)]
    found = False
    for location in (scene.cap_loc, scene.kafka):
        values, _, wrong = scope.merge(actions, scene.channel, location, table.name, scene.source)
        scene.problems.extend(wrong)
        found = found or bool(values.get(name))
    return found


def _topic(scene: Scene, table: Table, own: str | None, action: int | None) -> str:
    """Return the topic of `table`: its `own` template's, which stands at `action`, or the location's."""
    template = scene.location.Kafka_Default_Topic if own is None else own
    place: Path_ = ("locations", scene.kafka, "Kafka_Default_Topic")
    if action is not None:
        place = ("actions", action, "Topic")
    values: dict[str, str | None] = {
        "hvr_tbl_name": table.name,
        "hvr_tbl_base_name": table.base_name,
        "hvr_schema": table.schema,
        "hvr_cap_loc": scene.cap_loc,
        "hvr_chn_name": scene.channel.channel,
    }
    try:
        topic = constant_text(parse(template, table, "topic"), values)
    except ExpressionError as error:
        scene.problems.append(scene.source.problem(place, str(error)))
        return ""
    if not TOPIC.fullmatch(topic) or topic in (".", ".."):
        text = f"the topic of table {table.name} would be {topic!r}; accepted are 1 to 249 of a-z A-Z 0-9 . _ -"
        scene.problems.append(scene.source.problem(place, text))
    return topic
