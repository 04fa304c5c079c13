"""The two ends of a channel: where changes or tables come from, and the Kafka they go to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from integrator.channel.locations import KafkaLocation, class_of
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.channel.sources import SourceLocation
from integrator.channel.topics import TopicsLocation
from integrator.plan.several import several_of
from integrator.plan.source import change_sources, table_sources
from integrator.sources.by_class import SOURCES
from integrator.sources.contract import Source
from integrator.sources.files.source import Files
from integrator.sources.tables import TABLE_SOURCES, Snapshot, TableSource

AnySource: TypeAlias = Source | TableSource
_End = TypeVar("_End")
_REFRESH = "the command is refresh, and check and plan have the option --refresh"
_APART = (
    ", or give each a channel of its own: they may send to the same topics, and {hvr_cap_loc} distinguishes their rows"
)
_KAFKA_EXAMPLE = "{class: kafka, Kafka_Brokers: [HOST:PORT]}"

JOINED: dict[str, Callable[[Channel, Mapping[str, Source], Problems], dict[str, Source] | None]] = {"files": several_of}
"""How several source locations are one source; None where they cannot be that."""


def ends_of(
    channel: Channel, changes: Mapping[str, Source], problems: Problems, *, refreshing: bool
) -> tuple[tuple[str, AnySource], tuple[str, KafkaLocation]]:
    """Return the source and the Kafka location, with their names: the first, where there are several.

    changes: the sources of changes, by name. refreshing: the source is of whole tables. Raises ConfigurationError
    where one of them is missing.
    """
    of_tables = table_sources(channel)
    more = "" if refreshing or not of_tables else f"; or refresh the tables of {', '.join(of_tables)} alone: {_REFRESH}"
    source: tuple[str, AnySource] | None
    if refreshing:
        source = _one(of_tables, TABLE_SOURCES, Snapshot.example, problems)
    else:
        joined = (join(channel, changes, problems) for join in JOINED.values())
        found = next(filter(None, joined), changes)
        source = _one(found, map(_named, SOURCES), f"{Files.example}{more}", problems, apart=_APART)
    locations = {name: one for name, one in channel.locations.items() if isinstance(one, KafkaLocation)}
    kafka = _one(locations, ["kafka"], f"{_KAFKA_EXAMPLE}{more}", problems)
    if source is None or kafka is None:
        problems.raise_any()
        raise AssertionError("a location that is missing is a problem")
    return source, kafka


def _one(
    found: Mapping[str, _End], classes: Iterable[str], example: str, problems: Problems, apart: str = ""
) -> tuple[str, _End] | None:
    """Return the one location that is found, or the first; others and none are a problem. apart: what else serves."""
    if len(found) != 1:
        names = ", ".join(found)
        text = f"found {names}: leave one of them out{apart}" if found else f"found none: add one, such as {example}"
        problems.add(("locations",), f"a channel has one location of class {' or '.join(classes)}; {text}")
    return next(iter(found.items()), None)


def _named(kind: type[SourceLocation]) -> str:
    """Return how a location of a source is written: those of class kafka have topics."""
    return f"{class_of(kind)}{' with topics' if kind is TopicsLocation else ''}"


def adds_columns(channel: Channel) -> bool:
    """Return whether columns are added that the definitions of tables do not have."""
    return any(source.location.unknown_columns == "add" for source in change_sources(channel).values())


def check_environment(problems: Problems) -> None:
    """Report of HVR's variables in the process's environment, which an action of the channel would have to set."""
    for name in sorted(os.environ):
        if name.startswith("HVR_KAFKA_"):
            text = (
                f"the process's environment has {name}, which has no effect there: a channel's file has all settings; "
            )
            action = f"unset it, and write - {{action: Environment, Name: {name}, Value: …}} below actions"
            problems.add_general(text + action)
