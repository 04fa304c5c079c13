"""A channel's YAML -> the model, every problem with its line; unknown and duplicate keys are problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from integrator.channel import mistakes, paths
from integrator.channel.mistakes import broken_yaml
from integrator.channel.model import Channel, Progress
from integrator.channel.problems import Removed
from integrator.channel.reader import Path_, Reader, Source, TooMany
from integrator.channel.secret import Secrets
from integrator.errors import ConfigurationError, Problem

__all__ = ["Loaded", "Path_", "RunOptions", "Source", "load", "progress_of"]


@dataclass(frozen=True)
class RunOptions:
    """What is given on the command line: contexts that actions ask for, and values for {hvr_var_NAME}.

    secrets: filled while the channel is read, so that whatever goes wrong meanwhile can be shown without them.
    """

    contexts: frozenset[str] = frozenset()
    variables: tuple[tuple[str, str], ...] = ()
    secrets: Secrets = field(default_factory=Secrets, compare=False, repr=False)


Salvaged = tuple[Channel | None, list[Problem], Removed]
"""What is left of a channel, if anything is; every mistake; and what was removed."""


@dataclass(frozen=True)
class Loaded:
    """A channel as it was read: whole, or, where there are problems, what is left of it."""

    channel: Channel
    source: Source
    problems: Sequence[Problem]
    removed: Removed


def load(file: str, run: RunOptions, dialects: Sequence[str]) -> Loaded:
    """Read the channel in `file`, for `run`; `dialects` are the names that a source's dialect may have.

    Raises ConfigurationError, with every problem that its text alone shows, where nothing is left that could be a
    channel.
    """
    text, root = _read(file)
    source = Source(file, {}, run.secrets, contexts=run.contexts, variables=dict(run.variables))
    problems: list[Problem] = []
    reader = Reader(source, problems, text)
    try:
        data = reader.value(root, ())
    except TooMany as error:
        raise ConfigurationError([source.problem(error.path, str(error))]) from None
    channel, wrong, removed = _channel(data, reader.written, source, dialects)
    problems += wrong
    if channel is None:
        raise ConfigurationError(problems)
    return Loaded(channel, source, problems, removed)


_OF_MODEL: dict[str, Callable[[ValidationError, Any, dict[Path_, str], Source, Mapping[str, Any]], Salvaged]] = {
    "explained": mistakes.salvaged
}
_OF_YAML: dict[str, Callable[[yaml.MarkedYAMLError, str], tuple[int, str]]] = {"explained": broken_yaml.explained}
"""What makes more of a mistake than the model and the parser of YAML say of it; without it, they are quoted."""


def _channel(data: Any, written: dict[Path_, str], source: Source, dialects: Sequence[str]) -> Salvaged:
    """Return the channel, or what is left of it; every mistake; and what was removed."""
    context = {"dialects": dialects, paths.DIRECTORY: source.directory}
    try:
        return Channel.model_validate(data, context=context), [], Removed()
    except ValidationError as error:
        if "explained" in _OF_MODEL:
            return _OF_MODEL["explained"](error, data, written, source, context)
        return None, [source.problem(one["loc"], one["msg"]) for one in error.errors()], Removed()


def progress_of(file: str, secrets: Secrets, dialects: Sequence[str]) -> Progress:
    """Return where the progress of the channel in `file` is. Only these keys of it are read, and secrets of them alone.

    Raises ConfigurationError, with all problems of the channel, where these keys do not say it.
    """
    text, root = _read(file)
    source, problems = Source(file, {}, secrets), list[Problem]()
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    wanted = [(key, value) for key, value in pairs if str(key.value) in Progress.model_fields]
    node = yaml.MappingNode("", wanted, root.start_mark, root.end_mark)
    try:
        data = Reader(source, problems, text).value(node, ())
        found = Progress.model_validate(data, context={paths.DIRECTORY: source.directory})
    except ValueError:  # which a ValidationError is, and TooMany
        found = None
    if found is None or problems:
        raise ConfigurationError(load(file, RunOptions(secrets=secrets), dialects).problems)
    return found


def _read(file: str) -> tuple[str, yaml.Node]:
    """Return a file's text, and the node of the whole. Raises ConfigurationError for what is no YAML."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError([Problem(file, 0, "", f"the channel cannot be read: {error}")]) from error
    root = _root(file, text)
    if root is None:
        raise ConfigurationError([Problem(file, 1, "", "is empty; a channel has channel, locations and tables")])
    return text, root


def _root(file: str, text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line, reason = (error.problem_mark.line + 1 if error.problem_mark else 0), f"broken YAML: {error.problem}"
        if "explained" in _OF_YAML:
            line, reason = _OF_YAML["explained"](error, text)
        raise ConfigurationError([Problem(file, line, "", reason)]) from error
    except yaml.YAMLError as error:
        raise ConfigurationError([Problem(file, 0, "", f"broken YAML: {error}")]) from error
    except RecursionError:
        raise ConfigurationError([Problem(file, 0, "", "broken YAML: its values are nested too deeply")]) from None
