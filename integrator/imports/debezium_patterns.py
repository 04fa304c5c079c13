"""Debezium's lists: regular expressions of Java, or names with points between, and what they match.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-connector-properties: an
expression is matched, whatever the case, with the whole of a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from integrator.errors import ConfigurationError

_BETWEEN = re.compile(r"(?<!\\),")
_FLAGS = re.compile(r"\(\?([imsx]+)\)")
_LITERAL = re.compile(r"[\w$#-]+(?:\.[\w$#-]+)*")


def items(text: str, between: re.Pattern[str] = _BETWEEN) -> list[str]:
    """Return the expressions of a list."""
    return [one.strip() for one in between.split(text) if one.strip()]


def literal(pattern: str) -> list[str] | None:
    """Return the names of an expression that has nothing but names with points between; else None."""
    plain = pattern.replace("\\.", ".").replace("[.]", ".")
    return plain.split(".") if _LITERAL.fullmatch(plain) else None


def expression(pattern: str, key: str) -> Matches:
    """Return what an expression of Java matches. Raises ConfigurationError."""
    try:
        compiled = re.compile(java(pattern), re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigurationError(f"{key}: {pattern!r} is no regular expression that can be read: {error}") from None
    return Matches(compiled)


@dataclass(frozen=True)
class Matches:
    """What an expression matches as a whole."""

    compiled: re.Pattern[str]

    def __call__(self, text: str) -> bool:
        """Return whether all of `text` matches."""
        return self.compiled.fullmatch(text) is not None


def java(pattern: str) -> str:
    """Return an expression of Java's as Python has it: the names of groups differ, and flags hold for a group."""
    flags = _FLAGS.match(pattern)
    pattern = f"(?{flags[1]}:{pattern[flags.end() :]})" if flags else pattern
    return re.sub(r"\(\?<([A-Za-z]\w*)>", r"(?P<\1>", pattern)
