"""A script -> its statements, as the client of the database cuts it, and what is wrong with how it is written.

What says nothing of tables is not read further than to its end. Where a quotation or a routine does not end, reading
continues at the next line that begins a statement of a table, so that no table is lost without a problem.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from integrator.tables.sql import clients, routines
from integrator.tables.sql.lexical import (
    BLOCKS,
    LIKE_POSTGRES,
    TABLE_LINE,
    Mark,
    NotUnderstood,
    is_first,
    is_nested,
    marks_of,
)


@dataclass(frozen=True)
class Statement:
    """A statement, with blanks in place of its comments. start: its place in the script. fault: what is wrong with it.

    routine: whether it is a routine, or a block of statements, which is not read. within: the CREATE SCHEMA before it,
    which it belongs to.
    """

    text: str
    start: int
    line: int
    routine: bool = False
    fault: NotUnderstood | None = None
    within: str = ""


_ROUTINE = re.compile(
    r"(?:create|alter)\s+(?:or\s+(?:replace|alter)\s+)?(?:(?:definer\s*=\s*\S+|aggregate|editionable|noneditionable"
    r"|constraint|temp|temporary)\s+)*(?:trigger|procedure|proc|function|package|type\s+body|event(?!\s+trigger)|module)\b",
    re.IGNORECASE,
)
_BLOCKS = {
    "oracle": re.compile(r"(?:begin|declare)\b|<<", re.IGNORECASE),
    "db2": re.compile(r"begin\b", re.IGNORECASE),
    "mysql": re.compile(r"begin\s+not\s+atomic\b", re.IGNORECASE),
}
"""Statements that have others in them, beside routines."""
_OF_ANOTHER = re.compile(r"(?:grant|revoke|deny|audit|noaudit|show|explain|create\s+audit)\b", re.IGNORECASE)
"""Statements that name CREATE TABLE, but do not make one."""
_DATA = re.compile(r"(?:insert|replace|update|delete|values|select)\b", re.IGNORECASE)
_CONTINUES = re.compile(r"\s*(?:,|to\b|from\b|;|on\b)", re.IGNORECASE)
_HOLDS_TABLES = re.compile(r"create\s+schema\b", re.IGNORECASE)
_OF_TABLES = re.compile(r"(?:create|alter|comment)\b", re.IGNORECASE)
_COPY = re.compile(r"copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)
_BLANK = re.compile(r"(?:[^\S\n]*\n)+|[^\S\n]+|[\x00\x1a\ufeff]+")
_PREFIX = re.compile(r"(?:\b(?:n|e|b|x|q|nq|_\w+)|u&|\W|^)\Z", re.IGNORECASE)


class Scanner:
    """Reads a script from its beginning to its end. skipped: how many parts of it are no statements, by kind."""

    def __init__(self, text: str, sql_dialect: str) -> None:
        self._text, self._sql_dialect = text, sql_dialect
        self._nested = is_nested(sql_dialect)
        self._at, self._terminator = 0, ";"
        self._counted, self._line = 0, 1
        self._within = ""
        self.skipped: Counter[str] = Counter()

    def statements(self) -> Iterator[Statement]:
        """Yield the statements, in their order."""
        while self._next():
            start = self._at
            block = _BLOCKS.get(self._sql_dialect)
            if _ROUTINE.match(self._text, start) or (block and block.match(self._text, start)):
                yield self._routine(start)
            else:
                yield self._statement(start)

    def line_of(self, at: int) -> int:
        """Return the line of a place."""
        if at < self._counted:
            return self._text.count("\n", 0, at) + 1
        self._line, self._counted = self._line + self._text.count("\n", self._counted, at), at
        return self._line

    def _marks(self, at: int, part: str = "") -> Iterator[Mark]:
        """Yield what stands out from a place on. The last one is open where a quotation or comment does not end."""
        pattern = marks_of(self._sql_dialect, self._terminator, part=part)
        while found := pattern.search(self._text, at):
            kind, start, at = str(found.lastgroup), found.start(), found.end()
            if kind in ("block", "tag", "q"):
                end = self._end_of(kind, found[0], at)
                kind = "open" if end < 0 else "comment" if kind == "block" else "quoted"
                at = max(end, at)
            yield Mark("end" if kind == "chosen" else kind, start, at)

    def _end_of(self, kind: str, begins: str, at: int) -> int:
        """Return where a comment or a quotation ends, or -1."""
        if kind == "block" and self._nested:
            depth = 1
            for found in BLOCKS.finditer(self._text, at):
                depth += 1 if found[0] == "/*" else -1
                if not depth:
                    return found.end()
            return -1
        ends = {
            "block": "*/",
            "tag": begins,
            "q": {"[": "]", "{": "}", "(": ")", "<": ">"}.get(begins[-1], begins[-1]) + "'",
        }
        end = self._text.find(ends[kind], at)
        return end + len(ends[kind]) if end >= 0 else -1

    def _next(self) -> bool:
        """Continue to the next statement, past commands of a client; return whether there is one."""
        text = self._text
        while self._at < len(text):
            mark = next(self._at_once(), None)
            if mark is not None and mark.kind in ("comment", "end"):
                self._set_terminator(text[mark.start : mark.end])
                self._at = mark.end
            elif blank := _BLANK.match(text, self._at):
                self._at = blank.end()
            elif set_to := clients.delimiter(text, self._at, self._sql_dialect):
                self._terminator, self._at = set_to
                self.skipped["DELIMITER"] += 1
            elif command := clients.command(text, self._at, self._sql_dialect):
                self.skipped[command[0]] += 1
                self._at = command[1]
            else:
                return True
        return False

    def _at_once(self) -> Iterator[Mark]:
        """Yield what stands out at the place itself."""
        pattern = marks_of(self._sql_dialect, self._terminator)
        if pattern.match(self._text, self._at):
            yield next(self._marks(self._at))

    def _set_terminator(self, comment: str) -> None:
        if self._sql_dialect == "db2" and (sign := clients.terminator(comment)):
            self._terminator = sign

    def _statement(self, start: int) -> Statement:
        depth, hidden, end, stop = 0, list[Mark](), len(self._text), len(self._text)
        fault, ended, line = None, False, self.line_of(start)
        for mark in self._marks(start, "data" if _DATA.match(self._text, start) else ""):
            if mark.kind == "comment":
                hidden.append(mark)
            elif mark.kind in ("left", "right"):
                depth = max(depth + (1 if mark.kind == "left" else -1), 0)
            elif mark.kind == "open" or (mark.kind == "quoted" and self._swallows(start, mark)):
                fault = self._unclosed(mark)
                end, stop = mark.start, self._next_table(mark.start)
                break
            elif mark.kind == "end":
                end, stop, ended = mark.start, mark.end, True
                break
            elif mark.kind in ("table", "verb") and mark.start > start and self._begins(start, mark, depth):
                end = stop = mark.start
                fault = self._missing(start, line, mark, depth)
                break
        self._at = stop
        made = Statement(self._shown(start, end, hidden), start, line, fault=fault, within=self._within)
        if ended or fault is not None:
            self._within = ""
        elif _HOLDS_TABLES.match(made.text):
            self._within = made.text
        if self._sql_dialect in LIKE_POSTGRES and fault is None and _COPY.match(made.text):
            return self._copied(made)
        return made

    def _shown(self, start: int, end: int, hidden: list[Mark]) -> str:
        """Return a part of the text, with blanks in place of comments."""
        parts, at = list[str](), start
        for mark in hidden:
            comment = self._text[mark.start : mark.end]
            parts += [self._text[at : mark.start], re.sub(r"[^\n]", " ", comment)]
            at = mark.end
        return "".join([*parts, self._text[at:end]])

    def _begins(self, start: int, mark: Mark, depth: int) -> bool:
        """Return whether a word in a statement is the beginning of the next one."""
        if mark.kind == "verb":
            return not depth
        if depth:
            return is_first(self._text, mark.start)
        if not _OF_ANOTHER.match(self._text, start):
            return True
        return is_first(self._text, mark.start) and not _CONTINUES.match(self._text, mark.end)

    def _missing(self, start: int, line: int, mark: Mark, depth: int) -> NotUnderstood | None:
        if depth or self._sql_dialect == "tsql" or self._within or _HOLDS_TABLES.match(self._text, start):
            return None
        shown = " ".join(self._text[start : min(mark.start, start + 100)].split()[:6])
        begins = self._text[mark.start : mark.end].split()[0]
        text = f"'{shown} …': expected ; before {begins} in line {self.line_of(mark.start)}"
        return NotUnderstood(text, line)

    def _unclosed(self, mark: Mark) -> NotUnderstood:
        sign = self._text[mark.start : mark.end] if mark.kind == "open" else self._text[mark.start]
        return NotUnderstood(f"bad SQL: the {sign} is not closed", self.line_of(mark.start))

    def _swallows(self, start: int, mark: Mark) -> bool:
        """Return whether a quotation has a statement of a table in it, and cannot be meant to."""
        if self._text.find("\n", mark.start, mark.end) < 0 or not TABLE_LINE.search(self._text, mark.start, mark.end):
            return False
        before = self._text[max(mark.start - 20, 0) : mark.start]
        if _OF_TABLES.match(self._text, start) or not _PREFIX.search(before):
            return True
        self.skipped["CREATE TABLE in a quotation"] += 1
        return False

    def _next_table(self, at: int) -> int:
        found = TABLE_LINE.search(self._text, self._text.find("\n", at) + 1 or len(self._text))
        return found.start() if found else len(self._text)

    def _copied(self, copy: Statement) -> Statement:
        """Pass over the data after COPY … FROM stdin."""
        line_end = self._text.find("\n", self._at)
        end = self._text.find("\n\\.", self._at) if line_end >= 0 else -1
        if end < 0:
            fault = NotUnderstood("bad SQL: the data after COPY do not end with \\. on a line of its own", copy.line)
            self._at = self._next_table(self._at)
            return Statement(copy.text, copy.start, copy.line, fault=fault)
        self._at = self._text.find("\n", end + 1) + 1 or len(self._text)
        return copy

    def _routine(self, start: int) -> Statement:
        line = self.line_of(start)
        found = routines.end_of(self._text, start, self._sql_dialect, self._marks(start, "routine"))
        fault = None
        if found.wrong:
            fault = NotUnderstood(found.wrong.format(line=self.line_of(found.at)), line)
        if found.inside:
            self.skipped["CREATE TABLE in a routine"] += found.inside
        self._at = found.end
        return Statement(self._text[start : start + 100], start, line, routine=True, fault=fault)
