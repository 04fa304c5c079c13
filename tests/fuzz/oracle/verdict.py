"""What the oracle says of a line: the rows that it must become, or why an error is right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class Wrong(Exception):
    """An error is right; the text is the class of the reason."""


class Skip(Exception):
    """The line changes how other lines are read, so that a line alone does not say what is right."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""A column of which the record says nothing, which is not null."""


@dataclass(frozen=True)
class JsonText:
    """The text of a nested JSON value: white space and escapes may differ, names, order and numbers may not."""

    tree: Any


@dataclass(frozen=True)
class OneOf:
    """Values each of which is right."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """A change row. values: by column; None of a truncate, which has none."""

    op: int
    table: str
    values: dict[str, Any] | None


@dataclass
class Verdict:
    """rows: None where an error is right, for `reason`. notes: reasons for which an error is right as well as the rows."""

    rows: list[Row] | None = None
    reason: str = ""
    notes: set[str] = field(default_factory=set)
    skipped: bool = False
