"""YAML nodes -> plain data, with the line of each path; secrets are put in meanwhile, and known from then on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from integrator.channel import paths
from integrator.channel.secret import SENSITIVE, TOO_SHORT, Secrets, is_too_short, passwords_of
from integrator.errors import Problem

Path_ = tuple[str | int, ...]
_MOST_VALUES, _MOST_DEEP = 1_000_000, 50
"""Limits of a channel: aliases of aliases multiply values (https://en.wikipedia.org/wiki/Billion_laughs_attack)."""
_MOST_WRITTEN = 100


@dataclass(frozen=True)
class Source:
    """The file a channel was read from: which line each path of it stands on; and the run's contexts and variables."""

    file: str
    lines: dict[Path_, int]
    secrets: Secrets = field(default_factory=Secrets, compare=False, repr=False)
    contexts: frozenset[str] = frozenset()
    variables: dict[str, str] = field(default_factory=dict)

    @cached_property
    def directory(self) -> str:
        """Where the file is: what its relative paths are relative to."""
        return paths.directory_of(self.file)

    def problem(self, path: Path_, text: str) -> Problem:
        """Return a Problem at `path`, on the line of its nearest known ancestor."""
        known = next((path[:size] for size in range(len(path), 0, -1) if path[:size] in self.lines), ())
        shown = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        return Problem(self.file, self.lines.get(known, 1), shown, self.secrets.mask(text))


class TooMany(ValueError):
    """The channel has more values than are read, or deeper ones. path: where."""

    def __init__(self, path: Path_, text: str) -> None:
        super().__init__(text)
        self.path = path


class Reader:
    """Reads the nodes of a file's text. Aliases are bounded by the number of values."""

    def __init__(self, source: Source, problems: list[Problem], text: str) -> None:
        """Read into plain data; what is wrong is added to `problems`, and lines and secrets to `source`."""
        self._source = source
        self._problems = problems
        self._text = text
        self._scalars = yaml.SafeLoader("")
        self._values = 0
        self.written: dict[Path_, str] = {}
        """What the author wrote for values that YAML does not take for text: numbers, words, and values in braces."""

    def value(self, node: yaml.Node, path: Path_) -> Any:
        """Return what a node says. Raises TooMany."""
        self._values += 1
        if self._values > _MOST_VALUES:
            raise TooMany(path[:2], f"the channel has more than {_MOST_VALUES} values; use fewer aliases (*name)")
        if len(path) > _MOST_DEEP:
            text = f"values are nested more than {_MOST_DEEP} deep; an alias may not stand in the value that it names"
            raise TooMany(path[:2], text)
        self._source.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            self._note(node, path)
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            scalar = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self._add(path, f"{node.value!r} cannot be read: {error}; write it in quotes, if it is text")
            return node.value
        if not isinstance(scalar, str):
            self._note(node, path)
            return scalar
        try:
            scalar = self._source.secrets.resolve(scalar, self._source.directory)
        except LookupError as error:
            self._add(path, str(error))
        self._source.secrets.add_of_url(scalar)
        if any(map(is_too_short, passwords_of(scalar))):
            self._add(path, TOO_SHORT)
        return scalar

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in result:
                first, self._source.lines[(*path, key)] = self._source.lines[(*path, key)], line
                self._add((*path, key), f"the key is given twice, in line {first} too; remove one of them")
            self._source.lines[(*path, key)] = line
            result[key] = self.value(value_node, (*path, key))
            if isinstance(result[key], str) and SENSITIVE.search(key):
                self._source.secrets.add(result[key])  # I7: before a problem can show what is around it
                if is_too_short(result[key]):
                    self._add((*path, key), TOO_SHORT)
        return result

    def _add(self, path: Path_, text: str) -> None:
        self._problems.append(self._source.problem(path, text))

    def _note(self, node: yaml.Node, path: Path_) -> None:
        written = self._text[node.start_mark.index : node.end_mark.index].strip()
        if len(written) <= _MOST_WRITTEN and "\n" not in written:
            self.written[path] = written
