"""Several source locations of a channel -> one source, or why they cannot be that."""

from __future__ import annotations

from collections.abc import Mapping

from integrator.channel.actions import Integrate
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.channel.sources import SourceLocation
from integrator.sources.contract import Source
from integrator.sources.files.source import Files
from integrator.sources.several import Several

_TOPIC = "{hvr_cap_loc} is another in each of several source locations, and a topic is that of a table: leave it out"
_SUBDIRS = "{hvr_cap_subdirs} is below one directory, and there are several source locations: leave it out"


def several_of(channel: Channel, changes: Mapping[str, Source], problems: Problems) -> dict[str, Source] | None:
    """Return the source that all locations of change files are together, by the name of the first.

    None where there is one location, or where not all are of change files. What does not go together is a problem.
    """
    files = [(name, one) for name, one in changes.items() if isinstance(one, Files)]
    if len(changes) < 2 or len(files) < len(changes):
        return None
    first, of_first = files[0]
    for name, one in files[1:]:
        for key in SourceLocation.model_fields:
            here, there = getattr(one.location, key), getattr(of_first.location, key)
            if here != there:
                text = (
                    f"is {here!r} here and {there!r} at {first}: several source locations differ in their files alone"
                )
                problems.add(("locations", name, key), text)
    _check_actions(channel, [name for name, _ in files], of_first.location.group, problems)
    _check_substitutions(channel, problems)
    return {first: Several(tuple(files))}


def _check_actions(channel: Channel, names: list[str], group: str, problems: Problems) -> None:
    """Add a problem for each action that is for one of several source locations alone."""
    for place, action in enumerate(channel.actions):
        if action.group in names:
            text = f"{action.group!r} is one of several source locations, and what is captured is the same in all"
            problems.add(("actions", place, "group"), f"{text}: write {group}")


def _check_substitutions(channel: Channel, problems: Problems) -> None:
    """Add a problem for each substitution that depends on the location where that cannot be."""
    for name, location in channel.locations.items():
        if isinstance(location, KafkaLocation) and "{hvr_cap_loc" in location.Kafka_Default_Topic:
            problems.add(("locations", name, "Kafka_Default_Topic"), _TOPIC)
    for place, action in enumerate(channel.actions):
        if isinstance(action, Integrate) and "{hvr_cap_loc" in (action.Topic or ""):
            problems.add(("actions", place, "Topic"), _TOPIC)
        for key, value in action.model_dump(exclude_unset=True).items():
            if isinstance(value, str) and "{hvr_cap_subdirs" in value:
                problems.add(("actions", place, key), _SUBDIRS)
