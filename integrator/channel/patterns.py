"""What the patterns of a channel's texts mean, in words, and how a text that does not match one may be meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

NAME = r"^[a-z][a-z0-9_]{0,11}$"
GROUP = r"^[A-Z][A-Z0-9_]*$"
CONTEXT = r"^!?[a-z][a-z0-9_]*$"
TABLE = r"^[a-z_][a-z0-9_]{0,123}$"
TOPIC = r"^[a-zA-Z0-9._-]{1,249}$"
ADDRESS = r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):[0-9]{1,5}$"
JDBC = r"^jdbc:[a-z0-9]+:"
_MOST = 12


@dataclass(frozen=True)
class Pattern:
    """What is wrong with a text that does not match. fit: the text that does and is meant, or nothing."""

    meaning: str
    fit: Callable[[str], str]


def _letters(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def _name(text: str) -> str:
    made = _letters(text).lower()
    return "" if not made[:1].isalpha() else made if len(made) <= _MOST else ""


def _url(text: str) -> str:
    return f"jdbc:{text}" if re.match(r"[a-z]+://", text) else ""


PATTERNS: dict[str, Pattern] = {
    NAME: Pattern("is no name: it has at most 12 lower-case letters, digits and underscores, a letter first", _name),
    GROUP: Pattern(
        "is no group: it has capitals, digits and underscores, a letter first", lambda text: _letters(text).upper()
    ),
    CONTEXT: Pattern(
        "is no context: it has lower-case letters, digits and underscores, a letter first",
        lambda text: ("!" if text.startswith("!") else "") + _letters(text).lower(),
    ),
    TABLE: Pattern(
        "is no table's name: it has at most 124 lower-case letters, digits and underscores, no digit first",
        lambda text: _letters(text).lower(),
    ),
    TOPIC: Pattern(
        "is no topic: it has 1 to 249 of a-z A-Z 0-9 . _ -", lambda text: re.sub(r"[^a-zA-Z0-9._-]+", "-", text)
    ),
    ADDRESS: Pattern("is no address: it is HOST:PORT, such as 127.0.0.1:7010", lambda _: ""),
    JDBC: Pattern("is no JDBC URL: it begins as jdbc:postgresql: does", _url),
}
