"""Paths that a channel names: files of this machine, by their place beside the channel's file.

They are resolved once, while the channel is read, so that nothing else depends on where the command was started. URIs
(s3://…, file:…) stay as they are; so do absolute paths, letter for letter: the state knows change files by their paths.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from stat import S_ISREG
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

DIRECTORY = "directory"
"""What the context of a validation calls the directory of the channel's file."""
PEM_TEXT = "-----BEGIN "
"""What a certificate or a key begins with that is written out, in the place of a file that has it (RFC 7468)."""
ABSENT = "there is no file"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/|file:")
_VARIABLE_PART = re.compile(r"[*?\[{]")


class ElsewhereError(ValueError):
    """A path is not at its place, but where relative paths were searched for before: `meant`."""

    def __init__(self, text: str, meant: str) -> None:
        super().__init__(text)
        self.meant = meant


def directory_of(channel: str) -> str:
    """Return the directory of a channel's file: the same, whatever way leads to it."""
    return os.path.realpath(Path(channel).parent)


def resolved(path: str, directory: str) -> str:
    """Return the path of a file that a channel in `directory` names. A URI is returned as it is.

    `..` is removed only where that leads to the same place: after a symbolic link it does not.
    """
    if is_uri(path):
        return path
    joined = os.path.join(directory, path)  # noqa: PTH118 - pathlib would rewrite absolute paths
    if joined == path or ".." not in path.split("/"):
        return joined
    plain = os.path.normpath(joined)
    return plain if os.path.realpath(plain) == os.path.realpath(joined) else joined


def is_uri(path: str) -> bool:
    """Return whether a path is of a store, or written as a URI."""
    return _URI.match(path) is not None


def no_file(path: str) -> str | None:
    """Return what messages have before the name of a path that leads to no file; None if there is a file.

    A file in a directory that this user may not search is not called absent.
    """
    try:
        return None if S_ISREG(os.stat(path).st_mode) else ABSENT  # noqa: PTH116 - raises no other error
    except PermissionError as error:
        return f"cannot be inspected ({error.strerror}):"
    except (OSError, ValueError):
        return ABSENT


def names_in(directory: Path) -> list[str]:
    """Return the names in a directory, in order; none where it cannot be listed."""
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 - names are wanted
    except OSError:
        return []


def as_known(path: str) -> str:
    """Return a path as it may be written where the command was started: below that directory without its name."""
    try:
        here = str(Path.cwd())
    except OSError:  # the directory is gone
        return path
    return path.removeprefix(f"{here}/") if here != "/" else path


def as_written(place: str, directory: str) -> str:
    """Return how a channel in `directory` names a place: below that directory without its name."""
    return place.removeprefix(f"{directory}/")


def in_channel(path: str, channel: str) -> str:
    """Return how a channel's file names a path that is given where the command was started."""
    directory = directory_of(channel)
    if is_uri(path) or Path(path).is_absolute():
        return path
    there = str(Path(os.path.realpath(Path(path).parent)) / Path(path).name)
    relative = os.path.relpath(there, directory)
    return relative if resolved(relative, directory) == there else str(Path(path).absolute())


def before(path: str) -> str:
    """Return the place that a relative path had when such paths were relative to the directory of the command."""
    try:
        return str(Path(path).absolute())
    except OSError:  # that directory is gone
        return path


def place_of(path: str, info: ValidationInfo) -> str:
    """Return the place of a path. Raises ValueError for what is none."""
    if "\0" in path:
        raise ValueError("a path has no NUL character in it")
    directory = (info.context or {}).get(DIRECTORY)
    return path if directory is None else resolved(path, directory)


def local(path: str, info: ValidationInfo) -> str:
    """Return the place of a path. Raises ElsewhereError if it is only where they were searched for before."""
    place = place_of(path, info)
    if text := elsewhere(path, place):
        raise ElsewhereError(text, before(path))
    return place


def elsewhere(path: str, place: str) -> str:
    """Return what to write where a path is not at its place, but where relative paths were searched for before."""
    if place == path or _exists(place) or not _exists(before(path)):
        return ""
    return (
        f"relative paths are relative to the channel's file, and there is no {as_known(place)}; for the one in the "
        f"directory of the command, write {before(path)}"
    )


def _exists(path: str) -> bool:
    """Return whether the part of a path is there that is before its first pattern or substitution."""
    fixed = _VARIABLE_PART.split(path, maxsplit=1)[0]
    return os.path.exists(fixed if fixed == path else fixed.rpartition("/")[0] or "/")  # noqa: PTH110 - raises nothing


def local_or_text(value: str, info: ValidationInfo) -> str:
    """Return the place of a certificate or a key, or its text as it is. Raises as `local`."""
    return value if PEM_TEXT in value else local(value, info)


NewPath = Annotated[str, AfterValidator(place_of)]
"""A directory that need not be there."""
LocalPath = Annotated[str, AfterValidator(local)]
"""A file or a directory, or a URI."""
