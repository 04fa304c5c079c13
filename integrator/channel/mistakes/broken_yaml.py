"""What is wrong with text that is no YAML: the line to mend, which is often not the one where the parser stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import yaml

_QUOTED = {'"': re.compile(r'"(?:[^"\\]|\\.)*"'), "'": re.compile(r"'(?:[^']|'')*'")}
_BEFORE_VALUES = ":-[{,?"
_TIGHT = re.compile(r"\s*(?:- )?[\w.]+:[^\s/\\]")
"""A key whose colon has no blank after it."""
_TWO_COLONS = re.compile(r":\s.*:(\s|$)")
_CONTINUES = re.compile(r"(?::|-)\s+([{\[]).*[}\]]\s*[^\s,}\]#]")
"""A value in brackets that continues after them."""
_APOSTROPHE = re.compile(r"'[^']*'\w")

_LONGEST = 1000
"""Characters of a line in which its mistake is searched for: two of the patterns take the square of that in steps."""

Mend = tuple[int, str]
"""A line, counted from 0, and its remedy."""


@dataclass(frozen=True)
class _Stopped:
    """Where the parser stopped, what it was doing since which line, and the lines of the file."""

    problem: str
    context: str
    at: int
    begun: int
    lines: Sequence[str]

    def line(self, at: int) -> str:
        """Return a line, as far as it is inspected; the last one for those after it."""
        return self.lines[min(at, len(self.lines) - 1)][:_LONGEST]


def explained(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str]:
    """Return the line to mend, counted from 1, and what is wrong with it and what to write."""
    at = error.problem_mark.line if error.problem_mark else 0
    begun = error.context_mark.line if error.context_mark else at
    stopped = _Stopped(error.problem or "", error.context or "", at, begun, text.splitlines() or [""])
    mend = next((mend for rule in _RULES if (mend := rule(stopped)) is not None), None)
    if mend is None:
        return at + 1, f"broken YAML: {stopped.problem}"
    return mend[0] + 1, f"broken YAML: {mend[1]} ({stopped.problem})"


def _character(stopped: _Stopped) -> Mend | None:
    found = re.search(r"found character '(\\t|.)'", stopped.problem)
    if found is None:
        return None
    tab = found[1] == "\\t"
    quotes = f"a value that begins with {found[1]} is written in quotes"
    return stopped.at, "lines are indented with blanks, not with tabs" if tab else quotes


def _sign(stopped: _Stopped) -> Mend | None:
    for word, sign in (("alias", "*"), ("anchor", "&")):
        if word in stopped.context or word in stopped.problem:
            return stopped.begun, f'a value that begins with {sign} is written in quotes: "{sign}"'
    return None


def _worded(stopped: _Stopped) -> Mend | None:
    if "another document" in stopped.problem:
        return stopped.at, "a file is one channel: remove the line ---"
    if "escape character" in stopped.problem:
        return stopped.at, r"in double quotes \ is written \\; in single quotes it stands for itself"
    return None


def _quote(stopped: _Stopped) -> Mend | None:
    unclosed = _unclosed(stopped.lines[: stopped.at + 1])
    if unclosed is not None:
        return unclosed, "a quote that begins in this line does not end in it"
    if "block end" in stopped.problem and _APOSTROPHE.search(stopped.line(stopped.at)):
        return stopped.at, "in single quotes a quote is written twice, as in 'it''s'"
    return None


def _bracket(stopped: _Stopped) -> Mend | None:
    if not stopped.context.startswith("while parsing a flow"):
        too_many = re.search(r"found '([}\]])'", stopped.problem)
        return (stopped.at, f"there is one {too_many[1]} too many") if too_many else None
    bracket = "]" if "sequence" in stopped.context else "}"
    text = f"what begins with a bracket in this line does not end with {bracket}"
    other = ", or a value in it that has a sign of YAML's ({ [ , or a colon and a blank) is to be in quotes"
    return stopped.begun, text + (other if stopped.begun == stopped.at else "")


def _colon(stopped: _Stopped) -> Mend | None:
    if "could not find expected ':'" not in stopped.problem and "mapping values" not in stopped.problem:
        return None
    for line in sorted({stopped.begun, max(stopped.at - 1, 0)}):
        if _TIGHT.match(stopped.line(line)):
            return line, "a key's colon has a blank after it"
    if _TWO_COLONS.search(stopped.line(stopped.at)):
        return stopped.at, "a value with a colon and a blank in it is written in quotes"
    return stopped.at, "this line is indented more than the one before it, or that one lacks its colon"


def _block(stopped: _Stopped) -> Mend | None:
    if "block end" not in stopped.problem:
        return None
    if found := _CONTINUES.search(stopped.line(stopped.at)):
        return (
            stopped.at,
            f"a value that begins with {found[1]} and continues after its bracket is written in quotes",
        )
    text = "the keys of one mapping begin in the same column, and this line does not fit those above it"
    return stopped.at, text


_RULES: tuple[Callable[[_Stopped], Mend | None], ...] = (_character, _sign, _worded, _quote, _bracket, _colon, _block)


def _unclosed(lines: Sequence[str]) -> int | None:
    """Return the first line in which a quoted value begins and does not end."""
    return next((number for number, line in enumerate(lines) if _is_unclosed(line)), None)


def _is_unclosed(line: str) -> bool:
    at, before = 0, ":"
    while at < len(line):
        letter = line[at]
        if letter == "#" and (at == 0 or line[at - 1].isspace()):
            return False
        quoted = _QUOTED.get(letter) if before in _BEFORE_VALUES else None
        found = quoted.match(line, at) if quoted is not None else None
        if quoted is not None and found is None:
            return True
        before = before if letter.isspace() else letter
        at = found.end() if found is not None else at + 1
    return False
