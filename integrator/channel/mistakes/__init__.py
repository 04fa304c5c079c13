"""Plain data -> the model of a channel. Where it is wrong, every mistake is reported; what is left is still a channel.

All mistakes are those of one validation. What somebody means is put in the place of what is wrong (a near key, a word
in capitals, a number without its unit); what nobody can guess is removed. Where the rest is a channel, its plan is
checked too, so that one run of `check` finds what is wrong elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from integrator.channel.access import KafkaAccess
from integrator.channel.mistakes.explained import EXPLAINED
from integrator.channel.mistakes.mistake import NOTHING, Mistake, ModelError
from integrator.channel.mistakes.shape import field_at, value_at
from integrator.channel.model import Channel
from integrator.channel.problems import Removed
from integrator.channel.reader import Path_, Source
from integrator.errors import Problem

_STAND_INS: dict[str, Any] = {
    "channel": "channel",
    "path": "changes",
    "format": "csv",
    "url": "jdbc:postgresql://localhost/none",
    "Kafka_Brokers": ["localhost"],
    "topics": ["*"],
    "failed": 0,
    "of": 1,
}
"""In the place of keys that must be there."""
_IDLE = {"action": "Capture"}
"""In the place of an action that is none; it does nothing."""
_OF_LOCATION = len(("locations", "NAME", "KEY"))
_BRANCHES = ("str", "TableFile")
"""What an entry of `tables` may be, as the model calls it."""


def salvaged(
    error: ValidationError, data: Any, written: dict[Path_, str], source: Source, context: Mapping[str, Any]
) -> tuple[Channel | None, list[Problem], Removed]:
    """Return the channel that is left of what the model refused, if any is, every mistake, and what was removed."""
    removed, mistakes = Removed(), _mistakes(error.errors(), data, written)
    problems = [source.problem(mistake.path, mistake.text) for mistake in mistakes.values()]
    if () in mistakes:  # the file is no mapping
        return None, problems, removed
    for path, mistake in sorted(mistakes.items(), key=lambda one: not one[1].key and one[1].replacement is NOTHING):
        _apply(path, mistake, data, source, removed)
    try:
        return Channel.model_validate(data, context=context), problems, removed
    except ValidationError:  # what is meant is wrong too, or something that must be there has no stand-in
        return None, problems, removed


def _mistakes(errors: Sequence[ErrorDetails], data: Any, written: dict[Path_, str]) -> dict[Path_, Mistake]:
    """Return each mistake once, by its path: none within another one, no missing key that is misspelled."""
    found: dict[Path_, Mistake] = {}
    missing: set[Path_] = set()
    for error in errors:
        path = _path(data, error["loc"], is_missing=error["type"] == "missing")
        if path is not None:
            found.setdefault(path, _mistake(error, path, data, written))
            missing |= {path} if error["type"] == "missing" else set()
    misspelled = missing & {(*path[:-1], mistake.key) for path, mistake in found.items() if mistake.key}
    outer = {path: one for path, one in found.items() if not any(path[:at] in found for at in range(len(path)))}
    return {path: mistake for path, mistake in outer.items() if path not in misspelled}


def _mistake(error: ErrorDetails, path: Path_, data: Any, written: dict[Path_, str]) -> Mistake:
    found = ModelError(error["type"], path, error.get("input"), error["msg"], error.get("ctx", {}), data, written)
    explain = EXPLAINED.get(error["type"])
    made = (explain(found) if explain is not None else None) or Mistake(path, f"{error['msg']}; found {found.shown}")
    if error["loc"][-1:] == ("[key]",):
        return Mistake(path, made.text, "" if made.replacement is NOTHING else str(made.replacement))
    return made


def _apply(path: Path_, mistake: Mistake, data: Any, source: Source, removed: Removed) -> None:
    """Put what is meant in the place of what is wrong, or remove that."""
    above, last = value_at(path[:-1], data), path[-1]
    if mistake.key and mistake.key not in above:
        above[mistake.key] = above.pop(last)
        _move_lines(source, path, (*path[:-1], mistake.key))
    elif mistake.replacement is not NOTHING:
        value_at(mistake.path[:-1], data)[mistake.path[-1]] = mistake.replacement
    else:
        _remove(path, data, removed)


def _move_lines(source: Source, old: Path_, new: Path_) -> None:
    """Let the lines of what is at a path be known at another one."""
    for path, line in list(source.lines.items()):
        if path[: len(old)] == old:
            source.lines[(*new, *path[len(old) :])] = line


def _remove(path: Path_, data: Any, removed: Removed) -> None:
    """Remove what is at a path; what must be there has something else in its place."""
    removed.paths |= _together(path, data)
    above, last = value_at(path[:-1], data), path[-1]
    if path[0] == "actions" and len(path) > 1:
        action = data["actions"][path[1]]
        removed.columns |= {str(action["Name"])} if isinstance(action, dict) and "Name" in action else set()
    if path[0] == "actions" and len(path) == 2:
        above[last] = dict(_IDLE)
    elif isinstance(above, dict) and last in above:
        del above[last]
    elif last in _STAND_INS:
        above[last] = _STAND_INS[str(last)]
    elif path[0] == "actions":
        _remove(path[:2], data, removed)
    elif isinstance(above, list) and isinstance(last, int):
        above[last] = above[(last + 1) % len(above)]


def _together(path: Path_, data: Any) -> set[Path_]:
    """Return where something may be wrong because of what is removed: there, and where what goes together with it is.

    The keys of an action go together, and so do those of a section, such as `errors`; of a location those that say how
    Kafka is accessed.
    """
    above, last = path[:-1], path[-1]
    if not above or isinstance(last, int) or field_at(path, data) is None:  # a key that is none causes nothing
        return {path}
    if path[0] != "locations" or len(path) > _OF_LOCATION:
        return {above}
    return {path, *((*above, key) for key in KafkaAccess.model_fields if last in KafkaAccess.model_fields)}


def _path(data: Any, loc: tuple[str | int, ...], *, is_missing: bool) -> Path_ | None:
    """Drop from pydantic's `loc` the names of union branches, which the file does not have.

    is_missing: it ends with a key that the file does not have either. None for an error of a branch that is not meant.
    """
    if loc[:1] == ("tables",) and len(loc) > 2 and loc[2] in _BRANCHES:
        is_file = isinstance(value_at(loc[:2], data), dict)
        if (loc[2] == "TableFile") != is_file:
            return None
    path: list[str | int] = []
    for index, step in enumerate(loc):
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            if index == len(loc) - 1 and is_missing:
                path.append(step)
            continue
        path.append(step)
    return tuple(path)
