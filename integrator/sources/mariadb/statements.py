"""Statements of the log: what they are for a capture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = r"(?:`(?:[^`]|``)+`|[\w$\u0080-\uffff]+)"
_TABLE = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
_COMMENT = re.compile(r"/\*(?!M?!).*?\*/|--[ \t].*?(?:\n|$)|#.*?(?:\n|$)", re.DOTALL)
_HINT = re.compile(r"/\*M?!\d*|\*/")
_DROP = re.compile(rf"drop\s+(temporary\s+)?tables?\s+(?:if\s+exists\s+)?({_TABLE}(?:\s*,\s*{_TABLE})*)", re.IGNORECASE)
_TRUNCATE = re.compile(rf"truncate\s+(?:table\s+)?({_TABLE})", re.IGNORECASE)
_RENAME = re.compile(r"rename\s+tables?\s+(?:if\s+exists\s+)?(.*)", re.IGNORECASE | re.DOTALL)
_RENAMED = re.compile(rf"({_TABLE})\s+(?:wait\s+\d+\s+|nowait\s+)?to\s+({_TABLE})", re.IGNORECASE)
_ALTER = re.compile(
    rf"alter\s+(?:online\s+)?(?:ignore\s+)?table\s+(?:if\s+exists\s+)?({_TABLE})(.*)", re.IGNORECASE | re.DOTALL
)
_TO = re.compile(rf"\brename\s+(?:to\s+|as\s+)?(?!column\b|key\b|index\b)({_TABLE})", re.IGNORECASE)
_PARTITIONS = re.compile(r"\b(?:truncate|drop|exchange)\s+partition\b", re.IGNORECASE)
_DATABASE = re.compile(rf"drop\s+(?:database|schema)\s+(?:if\s+exists\s+)?({_NAME})", re.IGNORECASE)
_CREATED = re.compile(
    rf"create\s+or\s+replace\s+(?:temporary\s+)?table\s+(?:if\s+not\s+exists\s+)?({_TABLE})", re.IGNORECASE
)
_FIRST = re.compile(r"\s*(\w+)(?:\s+(\w+))?")
CHANGES = frozenset(("insert", "update", "delete", "replace", "load", "call", "execute", "with"))
"""First words of statements that change rows."""
_DEFINES = frozenset(("create", "alter", "drop", "rename", "truncate"))
_OF_TABLES = re.compile(r"\b(table|database|schema|index|tables)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Meaning:
    """What a statement is for a capture.

    defines: it may change what tables there are, or how they are defined. truncated: the tables that it empties,
    DATABASE.TABLE. gone: those that are dropped, and renamed: names that stand for other tables from here on. dropped:
    databases. unlogged: tables whose rows change without events, as those of partitions.
    """

    defines: bool = False
    truncated: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    unlogged: tuple[str, ...] = ()


def first_word(text: str) -> str:
    """Return the first word of a statement, in lower case; nothing where it has none."""
    found = _FIRST.match(_plain(text))
    return found[1].lower() if found else ""


def meaning_of(text: str, database: str) -> Meaning:
    """Return what a statement that defines tables does. database: the one that names without one are of."""
    plain = _plain(text)
    if first_word(text) not in _DEFINES or not (_OF_TABLES.search(plain) or first_word(text) == "truncate"):
        return Meaning()
    if found := _TRUNCATE.match(plain):
        return Meaning(truncated=(_full(found[1], database),))
    if found := _DROP.match(plain):
        names = () if found[1] else tuple(_full(one, database) for one in re.findall(_TABLE, found[2]))
        return Meaning(defines=not found[1], gone=names)
    if found := _DATABASE.match(plain):
        return Meaning(defines=True, dropped=(_bare(found[1]),))
    if found := _RENAME.match(plain):
        pairs = _RENAMED.findall(found[1])
        return Meaning(defines=True, renamed=tuple(_full(one, database) for pair in pairs for one in pair))
    if found := _CREATED.match(plain):
        return Meaning(defines=True, gone=(_full(found[1], database),))
    if found := _ALTER.match(plain):
        own = _full(found[1], database)
        to = _TO.search(_outside_quotes(found[2]))
        renamed = (own, _full(to[1], database)) if to else ()
        return Meaning(True, renamed=renamed, unlogged=(own,) if _PARTITIONS.search(_outside_quotes(found[2])) else ())
    return Meaning(defines=True)


def _plain(text: str) -> str:
    return _HINT.sub(" ", _COMMENT.sub(" ", text)).strip()


def _outside_quotes(text: str) -> str:
    """Return text without what is in quotes, where words of the language may stand for themselves."""
    return re.sub(r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"", "''", text, flags=re.DOTALL)


def _bare(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _full(name: str, database: str) -> str:
    parts = list(_parts(name))
    return ".".join(parts) if len(parts) > 1 else f"{database}.{parts[0]}"


def _parts(name: str) -> Iterator[str]:
    for found in re.finditer(_NAME, name):
        yield _bare(found[0])
