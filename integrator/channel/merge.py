"""Actions -> the parameters that hold for a table at a location, each with the action that gives it.

HVR does not say which of two overlapping actions wins; here the most specific does, parameter by parameter, and two
equally specific ones that disagree are a problem. A column named is more specific than one whose datatype matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, cast

from integrator.channel import scope
from integrator.channel.base import Scoped
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.channel.reader import Source

Kind = TypeVar("Kind", bound=Scoped)
Rank = tuple[int, int, int]
SQL = "sql:"


@dataclass(frozen=True)
class Parameters(Generic[Kind]):
    """What the actions of a kind give for a table or a location.

    values: the action's model with the values that win; parameters that no action gives have their defaults. places:
    the places in the channel's actions of those that give them, by parameter; of no other parameters.
    """

    values: Kind
    places: Mapping[str, int]

    def place(self, parameter: str) -> int | None:
        """Return the place of the action that gives a parameter; None where none does."""
        return self.places.get(parameter)


@dataclass(frozen=True)
class Target:
    """The table, and the locations, for which actions are to hold. ignored: parameters that do not count there.

    only_named: parameters that count only in actions that name a location or a group.
    """

    channel: Channel
    locations: tuple[str, ...]
    table: str = "*"
    ignored: frozenset[str] = frozenset()
    only_named: frozenset[str] = frozenset()

    @cached_property
    def _tables(self) -> dict[str, int]:
        return scope.tables_of(self.channel, self.table)

    @cached_property
    def _groups(self) -> dict[str, int]:
        named = {self.channel.locations[name].group: 1 for name in self.locations}
        return {"*": 0} | named | dict.fromkeys(self.locations, 2)

    def rank(self, action: Scoped) -> Rank | None:
        """Return how specific an action is for this target, or None where it does not hold."""
        if action.table not in self._tables or action.group not in self._groups:
            return None
        named = 1 if getattr(action, "Name", None) is not None else 0
        return named, self._tables[action.table], self._groups[action.group]

    def counted(self, action: Scoped) -> list[str]:
        """Return the parameters that an action gives and that count here, in order."""
        skipped = self.ignored | self.only_named if action.group == "*" else self.ignored
        return sorted(action.model_fields_set - scope.SCOPE_KEYS - skipped)


def unset(kind: type[Kind]) -> Parameters[Kind]:
    """Return the parameters of a kind of action where no action gives any."""
    return Parameters(cast(Kind, _defaults(kind)), {})


@cache
def _defaults(kind: type[Scoped]) -> Scoped:
    return kind.model_construct(set())


def merge(
    kind: type[Kind], actions: Iterable[tuple[int, Kind]], target: Target, problems: Problems
) -> Parameters[Kind]:
    """Merge the actions of a kind (with their places in the channel) that hold for `target`.

    Two equally specific actions that disagree are a problem.
    """
    values: dict[str, Any] = {}
    ranks: dict[str, Rank] = {}
    places: dict[str, int] = {}
    disagreements: list[tuple[str, Rank, int, str]] = []
    for place, action in actions:
        specific = target.rank(action)
        if specific is None or not _is_active(action, problems.source):
            continue
        for name in target.counted(action):
            value = _with_variables(getattr(action, name), problems.source, sql=name in scope.CONDITIONS)
            if name in ranks and ranks[name] == specific and values[name] != value:
                text = f"{name} is {value!r} here and {values[name]!r} at $.actions[{places[name]}], equally specific"
                disagreements.append((name, specific, place, f"{text}; keep one, or narrow its scope"))
            elif name not in ranks or specific > ranks[name]:
                values[name], ranks[name], places[name] = value, specific, place
    for name, specific, place, text in disagreements:
        if ranks[name] == specific:
            problems.add(("actions", place, name), text)
    if not values:
        return unset(kind)
    return Parameters(unset(kind).values.model_copy(update=values), places)


def whole_location(
    kind: type[Kind], channel: Channel, location: str, problems: Problems, only: Iterable[str] = ()
) -> Parameters[Kind]:
    """Merge the actions of a kind of which parameters (or `only` some) hold for the location, whatever the table."""
    actions = of_kind(kind, enumerate(channel.actions))
    names = set(only)
    for place, action in actions:
        whole = sorted(action.model_fields_set - scope.SCOPE_KEYS if not names else action.model_fields_set & names)
        if action.table != "*" and whole:
            text = f"{', '.join(whole)} of {kind.__name__} holds for the whole location: table must be *"
            problems.add(("actions", place, "table"), text)
    return merge(kind, actions, Target(channel, (location,)), problems)


def of_kind(kind: type[Kind], actions: Iterable[tuple[int, Scoped]]) -> list[tuple[int, Kind]]:
    """Return the actions of a kind, with their places in the channel."""
    return [(place, action) for place, action in actions if isinstance(action, kind)]


def _is_active(action: Scoped, source: Source) -> bool:
    """Return whether the contexts of the run let the action hold."""
    context = getattr(action, "Context", None)
    if context is None:
        return True
    return (context in source.contexts) if not context.startswith("!") else context[1:] not in source.contexts


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

    return scope.VARIABLE.sub(put_in, value)
