"""All problems of a channel, collected while its plan is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from integrator.channel.reader import Path_, Source
from integrator.errors import ConfigurationError, Problem, Reason


@dataclass
class Removed:
    """What was removed from a channel: paths, and the columns that the actions name of which something was removed."""

    paths: set[Path_] = field(default_factory=set)
    columns: set[str] = field(default_factory=set)

    def is_consequence(self, path: Path_) -> bool:
        """Return whether a problem at a path is one of what was removed there, or from the whole that it is of."""
        return any(path[: len(one)] == one for one in self.paths) or (path != () and self.lacks(path))

    def lacks(self, path: Path_) -> bool:
        """Return whether something was removed from the mapping or the list at a path."""
        return any(one[:-1] == path for one in self.paths)


class Report(Protocol):
    """Takes a parameter, and what is wrong with it and what is accepted; of a table, where one is named."""

    def __call__(self, parameter: str, reason: str | Reason, table: str = "") -> None:
        """Add a problem."""


_NAMED = 3
"""How many tables a problem names; the others are counted."""


class Problems:
    """The problems of the channel in `source`, each once, in the order in which they were found.

    Tables that are wrong in the same way at one place are one problem, with the first table's text.

    removed: what was taken out of the channel, which causes problems that are not the author's.
    tables: the names of the channel's tables. everywhere: the places of the actions that hold for all of them.
    """

    def __init__(self, source: Source, removed: Removed | None = None) -> None:
        self.source = source
        self.removed = removed or Removed()
        self._found: dict[Problem, None] = {}
        self._of_tables: dict[tuple[Path_, str], tuple[Reason, dict[str, None]]] = {}
        self._caused = 0
        self.tables: list[str] = []
        self.everywhere: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self._found) + sum(len(tables) for _, tables in self._of_tables.values()) + self._caused

    def extend(self, found: Iterable[Problem]) -> None:
        """Add problems."""
        self._found.update(dict.fromkeys(found))

    def add(self, path: Path_, reason: str | Reason, table: str = "") -> None:
        """Add a problem at a path of the channel's file; of a table, where one is named."""
        given = Reason.of(reason)
        if self.removed.is_consequence(path):
            self._caused += 1
        elif table:
            _, tables = self._of_tables.setdefault((path, given.alike or given.text), (given, {}))
            tables[table] = None
        else:
            self._found[self.source.problem(path, given.text)] = None

    def add_general(self, text: str) -> None:
        """Add a problem that no line of the channel's file causes alone."""
        self._found[Problem(self.source.file, 0, "", text)] = None

    def at_location(self, name: str) -> Report:
        """Return what takes the problems of a location's parameters; one of a group is given as GROUP/PARAMETER."""

        def report(parameter: str, reason: str | Reason, table: str = "") -> None:
            self.add(("locations", name, *parameter.split("/")), reason, table)

        return report

    def at_actions(self, places: Mapping[str, int]) -> Report:
        """Return what takes the problems of parameters. places: the action that sets each, by the parameter's name.

        A problem of a parameter that none sets is at the channel as a whole.
        """

        def report(parameter: str, reason: str | Reason, table: str = "") -> None:
            self.add_at(places.get(parameter), parameter, reason, table)

        return report

    def add_at(self, place: int | None, parameter: str, reason: str | Reason, table: str = "") -> None:
        """Add a problem of a parameter of the action at `place`; None for the channel as a whole."""
        self.add(() if place is None else ("actions", place, parameter), reason, table)

    def of_tables(self) -> dict[str, str]:
        """Return what is wrong with single tables, by their names."""
        found: dict[str, list[str]] = {}
        for reason, tables in self._of_tables.values():
            for table in tables:
                found.setdefault(table, []).append(reason.text)
        return {table: "; ".join(texts) for table, texts in found.items()}

    def forget_tables(self) -> None:
        """Forget what is wrong with single tables."""
        self._of_tables.clear()

    def raise_any(self) -> None:
        """Raise ConfigurationError with all problems, if there are any."""
        if self._found or self._of_tables:
            raise ConfigurationError([*self._found, *self._of_some_tables()])

    def _of_some_tables(self) -> Iterator[Problem]:
        for (path, _), (reason, tables) in self._of_tables.items():
            right = [name for name in self.tables if name not in tables]
            narrow = f"; for {named(right)} it is right: write table: {right[0]}" if right else ""
            is_narrow = path[:1] != ("actions",) or path[1] not in self.everywhere or reason.narrows
            which = named(list(tables), len(self.tables))
            yield self.source.problem(path, f"{which}: {reason.text}{'' if is_narrow else narrow}")


def named(tables: list[str], every: int = 0) -> str:
    """Return which tables something holds for: the names of up to three, and how many more; or that it is all."""
    if len(tables) == every > _NAMED:
        return f"all {every} tables"
    more = f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
    return f"table{'' if len(tables) == 1 else 's'} {', '.join(tables[:_NAMED])}{more}"
