"""All problems of a channel, collected while its plan is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from integrator.channel.load import Path_, Source
from integrator.errors import ConfigurationError, Problem

Report = Callable[[str, str], None]
"""Takes a parameter, and what is wrong with it and what is accepted."""


class Problems:
    """The problems of the channel in `source`, each once, in the order in which they were found."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._found: dict[Problem, None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def extend(self, found: Iterable[Problem]) -> None:
        """Add problems."""
        self._found.update(dict.fromkeys(found))

    def add(self, path: Path_, text: str) -> None:
        """Add a problem at a path of the channel's file."""
        self._found[self.source.problem(path, text)] = None

    def add_general(self, text: str) -> None:
        """Add a problem that no line of the channel's file causes alone."""
        self._found[Problem(self.source.file, 0, "", text)] = None

    def at_location(self, name: str) -> Report:
        """Return what takes the problems of a location."""
        return lambda key, text: self.add(("locations", name, key), text)

    def at_actions(self, places: Mapping[str, int], prefix: str = "") -> Report:
        """Return what takes the problems of parameters. places: the action that sets each, by the parameter's name.

        A problem of a parameter that none sets is at the channel as a whole.
        """
        return lambda parameter, text: self.add_at(places.get(parameter), parameter, prefix + text)

    def add_at(self, place: int | None, parameter: str, text: str) -> None:
        """Add a problem of a parameter of the action at `place`; None for the channel as a whole."""
        self.add(() if place is None else ("actions", place, parameter), text)

    def raise_any(self) -> None:
        """Raise ConfigurationError with all problems, if there are any."""
        if self._found:
            raise ConfigurationError(list(self._found))
