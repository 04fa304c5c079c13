"""Which action applies where: table before table group before `*`, then location before location group before `*`.

HVR does not say which of two overlapping actions wins; here the most specific does, parameter by parameter, and two
equally specific ones that disagree are a problem. A column named is more specific than one whose datatype matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from integrator.channel.base import Scoped
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.channel.reader import Source
from integrator.names import meant, nearest

Rank = tuple[int, int, int]
SCOPE_KEYS = frozenset({"group", "table", "action", "Name", "DatatypeMatch", "Context"})
SQL = "sql:"
_VARIABLE = re.compile(r"\{hvr_var_([A-Za-z_]\w*)\}")

AT_SOURCE: dict[str, frozenset[str]] = {
    "Capture": frozenset({"NoBeforeUpdate", "NoTruncate", "AugmentIncomplete", "Coalesce"}),
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
ONLY_AT_SOURCE = AT_SOURCE["Restrict"] | {"CaptureExpression", "CaptureExpressionType", "Partitions"}


def rank(action: Scoped, channel: Channel, locations: tuple[str, ...], table: str) -> Rank | None:
    """Return how specific `action` is for `table` at one of `locations`, or None where it does not hold."""
    tables = tables_of(channel, table)
    places = {"*": 0} | {channel.locations[name].group: 1 for name in locations} | dict.fromkeys(locations, 2)
    if action.table not in tables or action.group not in places:
        return None
    named = 1 if getattr(action, "Name", None) is not None else 0
    return named, tables[action.table], places[action.group]


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


def elsewhere(action: Scoped) -> frozenset[str]:
    """Return the parameters of an action that mean another thing at the source, and do not mean that."""
    return NAMED_AT_SOURCE if action.group == "*" else frozenset()


def active(action: Scoped, source: Source) -> bool:
    """Return whether the contexts of the run let the action hold."""
    context = getattr(action, "Context", None)
    if context is None:
        return True
    return (context in source.contexts) if not context.startswith("!") else context[1:] not in source.contexts


def merge(
    actions: Iterable[tuple[int, Scoped]],
    channel: Channel,
    locations: tuple[str, ...],
    table: str,
    problems: Problems,
    ignored: Callable[[Scoped], frozenset[str]] = lambda _: frozenset(),
) -> tuple[dict[str, Any], dict[str, int]]:
    """Merge the actions (with their places in the file) that hold for `table` at one of `locations`.

    ignored: parameters of an action that do not count here.
    Returns the winning value of each parameter, and the place of the action which set it; disagreements are problems.
    """
    values: dict[str, Any] = {}
    ranks: dict[str, Rank] = {}
    places: dict[str, int] = {}
    disagreements: list[tuple[str, Rank, int, str]] = []
    for place, action in actions:
        specific = rank(action, channel, locations, table)
        if specific is None or not active(action, problems.source):
            continue
        for name in sorted(action.model_fields_set - SCOPE_KEYS - ignored(action)):
            value = _with_variables(getattr(action, name), problems.source, sql=name == "CaptureCondition")
            if name in ranks and ranks[name] == specific and values[name] != value:
                text = f"{name} is {value!r} here and {values[name]!r} at $.actions[{places[name]}], equally specific"
                disagreements.append((name, specific, place, f"{text}; keep one, or narrow its scope"))
            elif name not in ranks or specific > ranks[name]:
                values[name], ranks[name], places[name] = value, specific, place
    for name, specific, place, text in disagreements:
        if ranks[name] == specific:
            problems.add(("actions", place, name), text)
    return values, places


def whole_location(
    kind: type[Scoped],
    channel: Channel,
    location: str,
    problems: Problems,
    only: Iterable[str] = (),
) -> tuple[dict[str, Any], dict[str, int]]:
    """Merge the actions of a kind of which parameters (or `only` some) hold for the location, whatever the table."""
    actions = [(place, action) for place, action in enumerate(channel.actions) if isinstance(action, kind)]
    names = set(only)
    for place, action in actions:
        whole = sorted(action.model_fields_set - SCOPE_KEYS if not names else action.model_fields_set & names)
        if action.table != "*" and whole:
            text = f"{', '.join(whole)} of {kind.__name__} holds for the whole location: table must be *"
            problems.add(("actions", place, "table"), text)
    return merge(actions, channel, (location,), "*", problems)


def _with_variables(value: Any, source: Source, *, sql: bool) -> Any:
    """Return a text with the run's variables in the place of {hvr_var_NAME}; the parser reports unknown ones.

    In SQL quotes in them are doubled, so that '{hvr_var_NAME}' is the variable's value, whatever that is.
    """
    if not isinstance(value, str):
        return value
    in_sql = sql or value.strip().lower().startswith(SQL)

    def put_in(found: re.Match[str]) -> str:
        given = source.variables.get(found[1])
        return found[0] if given is None else given.replace("'", "''") if in_sql else given

    return _VARIABLE.sub(put_in, value)


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
            idle, there = given - AT_SOURCE.get(action.action, frozenset()), at_kafka
        elif action.group in at_kafka:
            idle, there = given & ONLY_AT_SOURCE, at_source
        if idle:
            do = "do" if len(idle) > 1 else "does"
            text = f"{', '.join(sorted(idle))} {do} nothing at {action.group!r}; write {there[0]}, {there[1]} or *"
            problems.add(("actions", place, "group"), text)


def check_words(channel: Channel, problems: Problems) -> None:
    """Add a problem for each context and variable of the run that no action uses."""
    contexts = {(getattr(action, "Context", None) or "").removeprefix("!") for action in channel.actions} - {""}
    texts = [str(value) for action in channel.actions for value in action.model_dump(exclude_unset=True).values()]
    variables = {name for text in texts for name in _VARIABLE.findall(text)}
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
        if action.table not in known_tables and (complete or nearest(action.table, names)):
            text = f"{action.table!r} is no table or table group; {_table_meant(action.table, known_tables)}"
            problems.add(("actions", place, "table"), text)
        if action.group not in known_places:
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
