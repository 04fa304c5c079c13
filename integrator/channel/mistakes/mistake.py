"""What is wrong at a place of a channel, and what is taken in its place so that the rest can be checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from integrator.channel.databases import ADDRESS
from integrator.channel.reader import Path_
from integrator.channel.secret import HIDDEN, SENSITIVE
from integrator.errors import shown

NOTHING = object()
"""In the place of a value that is none which could be meant: it is left out."""


@dataclass(frozen=True)
class Mistake:
    """What is wrong at a path, and what to write. key: the key that is meant; replacement: the value that is."""

    path: Path_
    text: str
    key: str = ""
    replacement: Any = NOTHING


@dataclass(frozen=True)
class ModelError:
    """What the model found at a path: a kind of error (https://docs.pydantic.dev/latest/errors/validation_errors/).

    written: what the author wrote for values that YAML does not take for text.
    """

    kind: str
    path: Path_
    given: Any
    message: str
    context: Mapping[str, Any]
    data: Any
    written: Mapping[Path_, str]

    @property
    def is_secret(self) -> bool:
        """Return whether the value may be in no message (I7): a key above it says that it is secret.

        So is an address of which it is not clear where a password in it ends.
        """
        return self.kind == ADDRESS or any(SENSITIVE.search(str(step)) for step in self.path)

    @property
    def shown(self) -> str:
        """Return the value as messages show it."""
        return repr(HIDDEN) if self.is_secret else shown(self.given)
