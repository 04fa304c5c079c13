"""Where a routine ends: a trigger, procedure, function or package, or a block of statements; none of it is read.

A client ends it with a sign of its own (GO, a slash, what DELIMITER sets). Where there is none, it ends with the
semicolon after its last END, or with its first one where it has no BEGIN.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from integrator.tables.sql.lexical import Mark, is_first


class Ended(NamedTuple):
    """Where a routine ends. inside: how many tables it makes. wrong, at: what is wrong with it, and where."""

    end: int
    inside: int = 0
    wrong: str = ""
    at: int = 0


_PACKAGE = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:(?:non)?editionable\s+)?(?:package|type\s+body)\b", re.IGNORECASE
)
_LOOPS = ("if", "loop", "while", "repeat", "for")
_CONTINUES = "the routine that begins here has no end before the table in line {line}: "
_REMEDY = {
    "tsql": "write GO after it",
    "oracle": "write END; after it, and a slash on a line of its own",
}


def end_of(text: str, start: int, sql_dialect: str, marks: Iterable[Mark]) -> Ended:
    """Return where the routine that begins at `start` ends."""
    reading = _Reading(text, start, sql_dialect)
    for mark in marks:
        ended = reading.take(mark)
        if ended is not None:
            return ended
    return reading.at_end_of_script()


class _Reading:
    """A routine as far as it is read. depth: how many END are to come. ended: the first place where it may end."""

    def __init__(self, text: str, start: int, sql_dialect: str) -> None:
        self._text, self._sql_dialect = text, sql_dialect
        self._depth = 1 if sql_dialect == "oracle" and _PACKAGE.match(text, start) else 0
        self._begun, self._ended = self._depth > 0, -1
        self._inside: list[int] = []

    def take(self, mark: Mark) -> Ended | None:
        """Take what stands out; return where the routine ends, if that is here."""
        sign = self._text[mark.start : mark.end].strip()
        match mark.kind:
            case "word":
                self._word(sign.lower().split())
            case "open":
                return Ended(len(self._text), 0, f"bad SQL: the {sign} in line {{line}} is not closed", mark.start)
            case "end" if sign != ";":
                return self._made(mark.end)
            case "end" if self._sql_dialect == "oracle":
                if self._begun and not self._depth and self._ended < 0:
                    self._ended = mark.end
            case "end" if self._sql_dialect != "tsql" and not self._depth:
                return self._made(mark.end)
            case "table" if is_first(self._text, mark.start):
                return self._table(mark)
        return None

    def _word(self, words: list[str]) -> None:
        if words[0] != "end":
            if words[1:] and words[1].startswith("tran"):
                return
            self._depth += 1
            self._begun |= words[0] == "begin"
        elif self._sql_dialect == "tsql" or not words[1:] or words[1] not in _LOOPS:
            self._depth = max(self._depth - 1, 0)

    def _table(self, mark: Mark) -> Ended | None:
        words = self._text[mark.start : mark.end].lower().split()
        if words[0] == "drop" or words[1].startswith("temp") or self._text[mark.end : mark.end + 9].lstrip()[:1] == "#":
            return None
        if self._ended >= 0:
            return Ended(self._ended)
        closed = self._begun and not self._depth
        if self._sql_dialect == "oracle" or (self._sql_dialect == "tsql" and closed):
            return self._continues(mark.start)
        self._inside += [mark.start] if words[0] == "create" else []
        return None

    def _continues(self, at: int) -> Ended:
        remedy = _REMEDY.get(self._sql_dialect, "write END; after it")
        return Ended(at, 0, f"{_CONTINUES}{remedy}, or give the file's sql_dialect", at)

    def _made(self, end: int) -> Ended:
        return Ended(end, len(self._inside))

    def at_end_of_script(self) -> Ended:
        """Return where a routine ends that the script does not end."""
        if self._ended >= 0:
            return Ended(self._ended)
        if self._inside and (self._depth or (self._sql_dialect == "tsql" and not self._begun)):
            return self._continues(self._inside[0])
        return self._made(len(self._text))
