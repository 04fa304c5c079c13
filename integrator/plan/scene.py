"""Which actions hold for a table of the channel, at its source and at Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from integrator.channel import scope
from integrator.channel.actions import ColumnProperties, TableProperties
from integrator.channel.base import Scoped
from integrator.channel.load import Source
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel
from integrator.contracts.layout import Layout
from integrator.errors import Problem
from integrator.plan.datatype_match import matcher
from integrator.plan.saying import Merged, Parameters, Said
from integrator.schema import Table

At = Literal["source", "kafka", "either"]
PLACES: tuple[At, ...] = ("source", "kafka", "either")
"""Where an action is to hold. Either: for what means the same wherever it is said."""


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
    notes: list[str] = field(default_factory=list)
    """What is to be known of the plan and is not wrong."""

    @property
    def registry(self) -> bool:
        """Whether there is a schema registry."""
        return self.location.Kafka_Schema_Registry is not None


def column_properties(scene: Scene, table: Table, at: At) -> Merged:
    """Return for each column name the merged properties that hold for it, and their places."""
    names: dict[str, list[tuple[int, ColumnProperties]]] = {}
    for place, action in enumerate(scene.channel.actions):
        if not isinstance(action, ColumnProperties):
            continue
        for name in _meant(scene, table, place, action):
            names.setdefault(name, []).append((place, action))
    merged = {name: _merged(scene, table, actions, at) for name, actions in names.items()}
    return {name: (values, places) for name, (values, places) in merged.items() if values}


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


def merged_of(scene: Scene, table: Table, kind: type[Scoped], at: At = "kafka") -> Parameters:
    """Return the parameters of the actions of a kind that hold for `table`, and their places."""
    return _merged(scene, table, [(n, a) for n, a in enumerate(scene.channel.actions) if isinstance(a, kind)], at)


def _merged(scene: Scene, table: Table, actions: Iterable[tuple[int, Scoped]], at: At) -> Parameters:
    locations = {"source": (scene.cap_loc,), "kafka": (scene.kafka,), "either": (scene.cap_loc, scene.kafka)}[at]
    ignored = {"source": scope.elsewhere, "kafka": lambda _: frozenset(), "either": lambda _: scope.NAMED_AT_SOURCE}[at]
    values, places, wrong = scope.merge(actions, scene.channel, locations, table.name, scene.source, ignored)
    scene.problems.extend(problem for problem in wrong if problem not in scene.problems)
    return values, places


def said_of(scene: Scene, table: Table, kind: type[Scoped]) -> Said:
    """Return what the actions of a kind say of `table`, at its source, at Kafka, and at either."""
    return Said(*(merged_of(scene, table, kind, at) for at in PLACES))


def absent_tables(scene: Scene, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables that TableProperties Absent says are not at the source, or not at Kafka."""
    return tuple(
        table
        for table in tables
        if any(merged_of(scene, table, TableProperties, at)[0].get("Absent") for at in ("source", "kafka"))
    )
