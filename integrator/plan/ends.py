"""The two ends of a channel: where changes or tables come from, and the Kafka they go to."""

from __future__ import annotations

import os
from typing import TypeVar

from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.channel.sources import FilesLocation, JdbcLocation, SnapshotLocation, SocketLocation, SourceLocation
from integrator.plan.source import AnySource

_Location = TypeVar("_Location")
_Ends = tuple[tuple[type[_Location], ...], str, str]
"""Kinds of location, their classes, and one as it may be written."""
_CHANGES: _Ends[AnySource] = ((FilesLocation, SocketLocation), "files or socket", "{class: files, path: DIRECTORY}")
_TABLES: _Ends[AnySource] = (
    (SnapshotLocation, JdbcLocation),
    "snapshot or jdbc",
    '{class: snapshot, path: "full/{hvr_tbl_name}.csv", format: csv}',
)
_REFRESH = "the command is refresh, and check and plan have the option --refresh"
_KAFKA: _Ends[KafkaLocation] = ((KafkaLocation,), "kafka", "{class: kafka, Kafka_Brokers: [HOST:PORT]}")


def ends_of(
    channel: Channel, problems: Problems, *, refreshing: bool
) -> tuple[tuple[str, AnySource], tuple[str, KafkaLocation]]:
    """Return the source and the Kafka location, with their names: the first, where there are several.

    refreshing: the source is of whole tables. Raises ConfigurationError where one of them is missing.
    """
    source = _one(channel, *(_TABLES if refreshing else _CHANGES), problems)
    kafka = _one(channel, *_KAFKA, problems)
    if source is None or kafka is None:
        problems.raise_any()
        raise AssertionError("a location that is missing is a problem")
    return source, kafka


def _one(
    channel: Channel, kinds: tuple[type[_Location], ...], name: str, example: str, problems: Problems
) -> tuple[str, _Location] | None:
    found = [(key, location) for key, location in channel.locations.items() if isinstance(location, kinds)]
    if len(found) != 1:
        names = ", ".join(key for key, _ in found)
        of_tables = [] if kinds == _TABLES[0] else refresh_locations(channel)
        more = f"; or refresh the tables of {', '.join(of_tables)} alone: {_REFRESH}" if of_tables else ""
        text = f"found {names}: leave one of them out" if found else f"found none: add one, such as {example}{more}"
        problems.add(("locations",), f"a channel has one location of class {name}; {text}")
    return found[0] if found else None


def refresh_locations(channel: Channel) -> list[str]:
    """Return the names of the locations from which tables are refreshed."""
    return [key for key, location in channel.locations.items() if isinstance(location, _TABLES[0])]


def adds_columns(channel: Channel) -> bool:
    """Return whether columns are added that the definitions of tables do not have."""
    return any(isinstance(one, SourceLocation) and one.unknown_columns == "add" for one in channel.locations.values())


def check_environment(problems: Problems) -> None:
    """Report of HVR's variables in the process's environment, which an action of the channel would have to set."""
    for name in sorted(os.environ):
        if name.startswith("HVR_KAFKA_"):
            text = f"the process's environment has {name}, which has no effect there: a channel says all of itself; "
            action = f"unset it, and write - {{action: Environment, Name: {name}, Value: …}} below actions"
            problems.add_general(text + action)
