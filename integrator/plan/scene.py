"""Which actions hold for a table of the channel, at its source and at Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from integrator.channel import scope
from integrator.channel.actions import Capture, ColumnProperties, TableProperties
from integrator.channel.base import Scoped
from integrator.channel.load import Source
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel
from integrator.errors import Problem
from integrator.plan.datatype_match import matcher
from integrator.plan.saying import Merged
from integrator.recipe import Layout
from integrator.schema import Table


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


def merged_of(
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
        if any(merged_of(scene, table, TableProperties, at)[0].get("Absent") for at in (scene.cap_loc, scene.kafka))
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
