"""A channel's YAML -> the model, every problem with its line; unknown and duplicate keys are problems."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from integrator.channel import paths
from integrator.channel.actions import ABSENT_ACTIONS, ACTIONS, ELSEWHERE
from integrator.channel.model import Channel, TableFile
from integrator.channel.secret import HIDDEN, SENSITIVE, Secrets
from integrator.channel.sources import SocketLocation
from integrator.errors import ConfigurationError, Problem

Path_ = tuple[str | int, ...]
_MOST_VALUES, _MOST_DEEP = 1_000_000, 50
"""Limits of a channel: aliases of aliases multiply values (https://en.wikipedia.org/wiki/Billion_laughs_attack)."""


@dataclass(frozen=True)
class RunOptions:
    """What is given on the command line: contexts that actions ask for, and values for {hvr_var_NAME}.

    secrets: filled while the channel is read, so that whatever goes wrong meanwhile can be shown without them.
    """

    contexts: frozenset[str] = frozenset()
    variables: tuple[tuple[str, str], ...] = ()
    secrets: Secrets = field(default_factory=Secrets, compare=False, repr=False)


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


def load(file: str, run: RunOptions, dialects: Sequence[str]) -> tuple[Channel, Source]:
    """Read the channel in `file`, for `run`; `dialects` are the names that a source's dialect may have.

    Raises ConfigurationError with every problem that its text alone shows.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError([Problem(file, 0, "", f"the channel cannot be read: {error}")]) from error
    source = Source(file, {}, run.secrets, contexts=run.contexts, variables=dict(run.variables))
    problems: list[Problem] = []
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ConfigurationError([Problem(file, line, "", f"broken YAML: {error.problem}")]) from error
    except yaml.YAMLError as error:
        raise ConfigurationError([Problem(file, 0, "", f"broken YAML: {error}")]) from error
    except RecursionError:
        raise ConfigurationError([Problem(file, 0, "", "broken YAML: its values are nested too deeply")]) from None
    if root is None:
        raise ConfigurationError([Problem(file, 1, "", "is empty; a channel has channel, locations and tables")])
    try:
        data = _Reader(source, problems).value(root, ())
    except _TooMany as error:
        raise ConfigurationError([source.problem(error.path, str(error))]) from None
    try:
        channel = Channel.model_validate(data, context={"dialects": dialects, paths.DIRECTORY: source.directory})
    except ValidationError as error:
        for found in error.errors():
            path = _path(data, found["loc"])
            hidden = any(SENSITIVE.search(str(step)) for step in path)
            problems.append(source.problem(path, _explained(dict(found), data, hidden=hidden)))
        problems += _table_problems(data, source)
        raise ConfigurationError(problems) from None
    state = str(data.get("state", Channel.model_fields["state"].default))
    movable = not any(isinstance(one, SocketLocation) for one in channel.locations.values())
    if text := paths.state_elsewhere(state, channel.state, channel.channel, movable=movable):
        problems.append(source.problem(("state",), text))
    if problems:
        raise ConfigurationError(problems)
    return channel, source


class _TooMany(ValueError):
    """The channel has more values than are read, or deeper ones. path: where."""

    def __init__(self, path: Path_, text: str) -> None:
        super().__init__(text)
        self.path = path


class _Reader:
    """YAML nodes -> plain data, with the line of each path noted. Aliases are bounded by the number of values."""

    def __init__(self, source: Source, problems: list[Problem]) -> None:
        self._source = source
        self._problems = problems
        self._scalars = yaml.SafeLoader("")
        self._values = 0

    def value(self, node: yaml.Node, path: Path_) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise _TooMany(path[:2], f"the channel has more than {_MOST_VALUES} values; use fewer aliases (*name)")
        if len(path) > _MOST_DEEP:
            text = f"values are nested more than {_MOST_DEEP} deep; an alias may not stand in the value that it names"
            raise _TooMany(path[:2], text)
        self._source.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            scalar = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self._problems.append(self._source.problem(path, f"{node.value!r} cannot be read: {error}"))
            return node.value
        if not isinstance(scalar, str):
            return scalar
        try:
            scalar = self._source.secrets.resolve(scalar, self._source.directory)
        except LookupError as error:
            self._problems.append(self._source.problem(path, str(error)))
        self._source.secrets.add_of_url(scalar)
        return scalar

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in result:
                self._source.lines[(*path, key)] = key_node.start_mark.line + 1
                first = "the key is given twice; remove one of them"
                self._problems.append(self._source.problem((*path, key), first))
            self._source.lines[(*path, key)] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, (*path, key))
            if isinstance(result[key], str) and SENSITIVE.search(key):
                self._source.secrets.add(result[key])  # I7: before a problem can show what is around it
        return result


def _path(data: Any, loc: tuple[str | int, ...]) -> Path_:
    """Drop from pydantic's `loc` the names of union branches, which the file does not have."""
    path: list[str | int] = []
    for index, step in enumerate(loc):
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            if index == len(loc) - 1 and isinstance(data, dict):
                path.append(step)
            continue
        path.append(step)
    return tuple(path)


def _explained(found: dict[str, Any], data: Any, *, hidden: bool) -> str:
    given = HIDDEN if hidden else found.get("input")  # I7
    match found["type"]:
        case "extra_forbidden":
            return f"this key is not known here{_instead(found['loc'], data)}"
        case "missing":
            return "this key is missing"
        case "union_tag_not_found":
            return f"the key for the kind is missing: {found['ctx']['discriminator']}".replace("class_", "class")
        case "union_tag_invalid":
            tag = found["ctx"]["tag"]
            why = f"; HVR's {tag} {ABSENT_ACTIONS[tag]}" if tag in ABSENT_ACTIONS else ""
            return f"{tag!r} is not one of {found['ctx']['expected_tags']}{why}"
        case "literal_error":
            return f"{given!r} is not one of {found['ctx']['expected']}"
        case "string_type" if isinstance(given, int | float):
            return f"text is wanted here: write {json.dumps(str(given))}, in quotes"
        case "value_error":
            return str(found["ctx"]["error"])
        case _:
            return f"{found['msg']}; found {given!r}"


def _instead(loc: tuple[str | int, ...], data: Any) -> str:
    """Return what may be meant by a key that is not known: of an action, HVR's or one that looks like it."""
    *path, key = loc
    if path[:1] != ["actions"] or not isinstance(data["actions"][path[1]], dict):
        return ""
    kind = data["actions"][path[1]].get("action")
    if key in ELSEWHERE:
        return f"; it is in HVR: {ELSEWHERE[key]}"
    known = list(ACTIONS[kind].model_fields) if kind in ACTIONS else []
    near = difflib.get_close_matches(str(key), known, 1, 0.6)
    listed = f"accepted are {', '.join(known)}" if known else ""
    return f"; do you mean {near[0]}? {listed}" if near else f"; {listed}"


def _table_problems(data: Any, source: Source) -> list[Problem]:
    """Also read the table definitions of a channel whose other parts are wrong, so that one run reports everything."""
    from integrator import tables  # noqa: PLC0415 - only this road needs them here

    listed = data.get("tables") if isinstance(data, dict) else None
    problems: list[Problem] = []
    for entry in listed if isinstance(listed, list) else []:
        try:
            written = {"file": entry} if isinstance(entry, str) else entry
            item = TableFile.model_validate(written, context={paths.DIRECTORY: source.directory})
        except ValidationError:
            continue
        problems += tables.read(paths.as_known(item.file), item.sql_dialect).problems
    return problems
