"""A channel's YAML -> the model, every problem with its line; unknown and duplicate keys are problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from integrator.channel import broken_yaml, paths, salvage
from integrator.channel.model import Channel, Progress
from integrator.channel.reader import Path_, Reader, Source, TooMany
from integrator.channel.salvage import Removed
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
    channel, mistakes, removed = salvage.channel_of(data, reader.written, source, dialects)
    problems += mistakes
    if channel is None:
        raise ConfigurationError(problems)
    return Loaded(channel, source, problems, removed)


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
        line, reason = broken_yaml.explained(error, text)
        raise ConfigurationError([Problem(file, line, "", reason)]) from error
    except yaml.YAMLError as error:
        raise ConfigurationError([Problem(file, 0, "", f"broken YAML: {error}")]) from error
    except RecursionError:
        raise ConfigurationError([Problem(file, 0, "", "broken YAML: its values are nested too deeply")]) from None
