"""Which action applies where: table before table group before `*`, then location before location group before `*`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from integrator.channel.actions import Action
from integrator.channel.actions.environment import PROPERTIES, Environment
from integrator.channel.base import Scoped
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.channel.topics import TopicsLocation
from integrator.names import meant, nearest

SCOPE_KEYS = frozenset({"group", "table", "action", "Name", "DatatypeMatch", "Context"})
VARIABLE = re.compile(r"\{hvr_var_([A-Za-z_]\w*)\}")

AT_SOURCE: dict[str, frozenset[str]] = {
    "Capture": frozenset(
        {"NoBeforeUpdate", "NoTruncate", "AugmentIncomplete", "Coalesce", "IgnoreCondition", "IgnoreUpdateCondition"}
    ),
    "ColumnProperties": frozenset(
        {"BaseName", "Absent", "CaptureExpression", "CaptureExpressionType", "TrimDatatype", "IgnoreDuringCompare"}
    ),
    "TableProperties": frozenset(
        {"BaseName", "Schema", "Absent", "Partitions", "TrimWhiteSpace", "TrimTime", "CharacterMapping"}
    ),
    "Restrict": frozenset(
        {"CaptureCondition", "AddressTo", "RefreshCondition", "SliceCountCondition", "SliceSeriesCondition"}
    ),
}
"""The parameters that do something at the source."""
NAMED_AT_SOURCE = frozenset({"BaseName", "Schema", "Absent"})
"""Of those, the ones that mean another thing there, and so only where an action names the source or its group."""
HVR_WANTS = ("Capture", "Integrate")
"""Every channel of HVR has these actions, without parameters too: they say which location is which."""
GENERAL = "GENERAL"
"""HVR's table group of all tables that are in no other."""
CONDITIONS = frozenset({"CaptureCondition", "IgnoreCondition", "IgnoreUpdateCondition"})
"""Conditions over change rows, in SQL."""
ONLY_AT_SOURCE = AT_SOURCE["Restrict"] | CONDITIONS | {"CaptureExpression", "CaptureExpressionType", "Partitions"}


def is_of_several(action: Scoped, channel: Channel) -> bool:
    """Return whether an action says that it is for several tables: for a table group, or for * that is written out."""
    several = action.table in ("*", GENERAL) or action.table in channel.table_groups
    return several and "table" in action.model_fields_set


def holds(action: Scoped, channel: Channel, table: str) -> bool:
    """Return whether an action is for a table, at whatever location."""
    return action.table in tables_of(channel, table)


def tables_of(channel: Channel, table: str) -> dict[str, int]:
    """Return what actions may name to mean a table, and how specific that is."""
    groups = {name for name, members in channel.table_groups.items() if table in members}
    return {"*": 0, table: 2} | dict.fromkeys(groups or {GENERAL}, 1)


def check_idle_actions(channel: Channel, kafka: str, cap_loc: str, problems: Problems) -> None:
    """Add a problem for each action that would do nothing: it applies elsewhere, or sets no parameter."""
    at_kafka, at_source = (channel.locations[kafka].group, kafka), (channel.locations[cap_loc].group, cap_loc)
    for place, action in enumerate(channel.actions):
        given = action.model_fields_set - SCOPE_KEYS
        if not given and action.action not in HVR_WANTS:
            known = ", ".join(name for name in type(action).model_fields if name not in SCOPE_KEYS)
            problems.add(("actions", place), f"has no effect: none of its parameters is set; they are {known}")
        idle: frozenset[str] | set[str] = set()
        if action.group in at_source:
            idle, there = given - _at_source(action, channel.locations[cap_loc]), at_kafka
        elif action.group in at_kafka:
            idle, there = given & ONLY_AT_SOURCE, at_source
        if idle:
            do = "do" if len(idle) > 1 else "does"
            text = f"{', '.join(sorted(idle))} {do} nothing at {action.group!r}; write {there[0]}, {there[1]} or *"
            problems.add(("actions", place, "group"), text)


def _at_source(action: Action, location: object) -> frozenset[str]:
    """Return the parameters of an action that do something at a source."""
    if isinstance(action, Environment):
        return frozenset({"Value"} if isinstance(location, TopicsLocation) and action.Name == PROPERTIES else ())
    return AT_SOURCE.get(action.action, frozenset())


def check_words(channel: Channel, problems: Problems) -> None:
    """Add a problem for each context and variable of the run that no action uses."""
    contexts = {(getattr(action, "Context", None) or "").removeprefix("!") for action in channel.actions} - {""}
    texts = [str(value) for action in channel.actions for value in action.model_dump(exclude_unset=True).values()]
    variables = {name for text in texts for name in VARIABLE.findall(text)}
    source = problems.source
    for what, given, known in (("context", source.contexts, contexts), ("variable", source.variables, variables)):
        for name in sorted(set(given) - known):
            problems.add_general(f"no action uses the {what} {name!r}; {meant(name, sorted(known), 'those are')}")


def check_scopes(channel: Channel, tables: Iterable[str], problems: Problems, *, complete: bool) -> None:
    """Add a problem for each scope that names nothing.

    complete: these are all tables of the channel; else what is like none of them may be one that could not be read.
    """
    names = sorted(tables)
    known_tables = ["*", GENERAL, *names, *channel.table_groups]
    known_places = ["*", *channel.locations, *sorted({location.group for location in channel.locations.values()})]
    for place, action in enumerate(channel.actions):
        is_known = action.table in known_tables or problems.removed.lacks(("table_groups",))
        if not is_known and (complete or nearest(action.table, names)):
            text = f"{action.table!r} is no table or table group; {_table_meant(action.table, known_tables)}"
            problems.add(("actions", place, "table"), text)
        if action.group not in known_places and not problems.removed.lacks(("locations",)):
            text = (
                f"{action.group!r} is no location or location group; {meant(action.group, known_places, 'known are')}"
            )
            problems.add(("actions", place, "group"), text)
    for group, members in channel.table_groups.items():
        for index, member in enumerate(members):
            if member not in names and (complete or nearest(member, names)):
                text = f"{member!r} is no table; {_table_meant(member, names)}"
                problems.add(("table_groups", group, index), text)


def _table_meant(given: str, known: list[str]) -> str:
    """Return which table may be meant: one may be written with its schema."""
    bare = given.rpartition(".")[2]
    return meant(bare if nearest(bare, known) else given, known, "known are")
