"""Plain data -> the model of a channel. Where it is wrong, each mistake is reported; what is left is still a channel.

What somebody means is taken in the place of what is wrong (a near key, a word in capitals, a number without its unit);
what nobody can guess is removed. So the plan of the rest is checked too, and one run of `check` finds all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from integrator.channel import paths, wrong_keys, wrong_values
from integrator.channel.mistake import NOTHING, Found, Mistake
from integrator.channel.model import Channel
from integrator.channel.reader import Path_, Source
from integrator.channel.shape import field_at
from integrator.errors import Problem

_ROUNDS = 8
"""How often what was taken for a mistake may be a mistake itself."""
_EXPLAINED = {**wrong_keys.EXPLAINED, **wrong_values.EXPLAINED}
_STAND_INS: dict[str, Any] = {
    "channel": "channel",
    "path": "changes",
    "format": "csv",
    "url": "jdbc:postgresql://localhost/none",
    "Kafka_Brokers": ["localhost"],
    "failed": 0,
    "of": 1,
}
"""In the place of keys that must be there."""
_IDLE = {"action": "Capture"}
"""In the place of an action that is none; it does nothing."""
_BRANCHES = ("str", "TableFile")
"""What an entry of `tables` may be, as the model calls it."""


@dataclass
class Removed:
    """What was taken out of a channel. What is wrong because of that is no mistake of the author's."""

    paths: set[Path_] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def caused(self, path: Path_, text: str) -> bool:
        """Return whether a problem may be of what was removed: it is there, or its text names that.

        So may one of a whole of which a part was removed: of an action, or of the locations.
        """
        if any(path[: len(one)] == one or (path and one[:-1] == path) for one in self.paths):
            return True
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in self.words)


def channel_of(
    data: Any, written: dict[Path_, str], source: Source, dialects: Sequence[str]
) -> tuple[Channel | None, list[Problem], Removed]:
    """Return the channel that is left, if any is, every mistake, and what was removed."""
    mending = _Mending(data, written, source)
    context = {"dialects": dialects, paths.DIRECTORY: source.directory}
    for _ in range(_ROUNDS):
        try:
            return Channel.model_validate(mending.data, context=context), mending.problems, mending.removed
        except ValidationError as error:
            mending.mend(error)
    return None, mending.problems, mending.removed


class _Mending:
    def __init__(self, data: Any, written: dict[Path_, str], source: Source) -> None:
        self.data, self.written, self.source = data, written, source
        self.problems: list[Problem] = []
        self.removed = Removed()
        self._made: set[Path_] = set()
        self._renamed: set[Path_] = set()

    def mend(self, error: ValidationError) -> None:
        """Report each mistake once, and mend it."""
        mistakes: dict[Path_, Mistake] = {}
        for one in error.errors():
            path = _path(self.data, one["loc"], is_missing=one["type"] == "missing")
            if path is None:
                continue
            given, context = one.get("input"), one.get("ctx", {})
            found = Found(one["type"], path, given, one["msg"], context, self.data, self.written)
            explain = _EXPLAINED.get(one["type"])
            made = explain(found) if explain is not None else None
            made = made or Mistake(path, f"{one['msg']}; found {found.shown}")
            if one["loc"][-1:] == ("[key]",):
                made = Mistake(path, made.text, "" if made.meant is NOTHING else str(made.meant))
            mistakes.setdefault(path, made)
        wrong = set(mistakes)
        mistakes = {
            path: one for path, one in mistakes.items() if not any(path[:at] in wrong for at in range(len(path)))
        }
        keys = {(*path[:-1], one.key) for path, one in mistakes.items() if one.key}
        for path, mistake in mistakes.items():
            if path not in keys and not self._is_of_ours(path):
                self.problems.append(self.source.problem(mistake.path, mistake.text))
        for path, mistake in mistakes.items():
            if path not in keys:
                self._apply(path, mistake)

    def _is_of_ours(self, path: Path_) -> bool:
        """Return whether what is at a path is not the author's: it was made in the place of a mistake."""
        return path in self._renamed or any(path[: len(one)] == one for one in self._made)

    def _apply(self, path: Path_, mistake: Mistake) -> None:
        if not path:  # the file is no mapping
            self.data = {}
            self._made.add(())
            return
        above, last = _value_at(self.data, path[:-1]), path[-1]
        if mistake.key and isinstance(above, dict) and mistake.key not in above:
            above[mistake.key] = above.pop(last)
            self._rename(path, (*path[:-1], mistake.key))
        elif mistake.meant is not NOTHING:
            _put(self.data, mistake.path, mistake.meant)
            self._made.add(mistake.path)
        else:
            self._remove(path, above, last)

    def _rename(self, old: Path_, new: Path_) -> None:
        """Let what is at a path be known at another one, with the lines of all that is below it."""
        self._renamed.add(new)
        for path, line in list(self.source.lines.items()):
            if path[: len(old)] == old:
                self.source.lines[(*new, *path[len(old) :])] = line
        for path, text in list(self.written.items()):
            if path[: len(old)] == old:
                self.written[(*new, *path[len(old) :])] = text

    def _remove(self, path: Path_, above: Any, last: str | int) -> None:
        """Take out what cannot be meant; what must be there has something else in its place."""
        self.removed.paths.add(path)
        self._made.add(path)
        if path[0] == "actions" and len(path) == 2:
            given = above[last]
            self.removed.words |= {str(given["Name"])} if isinstance(given, dict) and "Name" in given else set()
            above[last] = dict(_IDLE)
            return
        if isinstance(last, str) and field_at(path, self.data) is not None:  # a key that is none causes nothing
            self.removed.words.add(last)
        if isinstance(above, dict) and last in above:
            del above[last]
        elif last in _STAND_INS:
            above[last] = _STAND_INS[str(last)]
        elif path[0] == "actions":
            self._remove(path[:2], self.data["actions"], path[1])
        elif isinstance(above, list) and isinstance(last, int):
            above[last] = above[(last + 1) % len(above)]


def _value_at(data: Any, path: Path_) -> Any:
    for step in path:
        data = data[step]
    return data


def _put(data: Any, path: Path_, value: Any) -> None:
    _value_at(data, path[:-1])[path[-1]] = value


def _path(data: Any, loc: tuple[str | int, ...], *, is_missing: bool) -> Path_ | None:
    """Drop from pydantic's `loc` the names of union branches, which the file does not have.

    is_missing: it ends with a key that the file does not have either. None for an error of a branch that is not meant.
    """
    if loc[:1] == ("tables",) and len(loc) > 2 and loc[2] in _BRANCHES:
        is_file = isinstance(_value_at(data, loc[:2]), dict)
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
