"""The parts of expressions: plain frozen data, and what their values depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from integrator.expressions.substitutions import SUBSTITUTIONS, Context, Dependency


@dataclass(frozen=True)
class Text:
    """Literal text."""

    text: str


@dataclass(frozen=True)
class Op:
    """A substitution `name` with its specification; `value_of` for double braces."""

    name: str
    spec: str = ""
    value_of: bool = False


@dataclass(frozen=True)
class ColumnValue:
    """The value of the column `name` of the row; `spec` formats a timestamp."""

    name: str
    spec: str = ""
    allow_missings: bool = False


@dataclass(frozen=True)
class Constant:
    """A SQL literal: null, a number, or quoted text."""

    value: int | str | None


@dataclass(frozen=True)
class Sql:
    """SQL over the row (extension): a scalar expression. Columns in `allowed` may be missing, and are null then."""

    text: str
    context: Context
    allowed: tuple[str, ...] = ()


Part = Text | Op | ColumnValue | Constant | Sql


def depends_on(parts: Iterable[Part], what: Dependency) -> bool:
    """Return whether an expression has a substitution whose value depends on something."""
    return any(what in SUBSTITUTIONS[name].depends_on for part in parts for name in _substitutions(part))


def _substitutions(part: Part) -> Iterator[str]:
    """Yield the substitutions in a part; of SQL all whose names are in its text."""
    match part:
        case Op(name=name, value_of=value_of):
            yield "hvr_key_names" if value_of else name  # values of the key's columns depend on which these are
        case Sql(text=text):
            yield from (name for name in SUBSTITUTIONS if name in text)
