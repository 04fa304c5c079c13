"""A defect's line, made as short as it can be with the same defect."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.fuzz import units
from tests.fuzz.check import Checker, Defect
from tests.fuzz.units import Unit

_SCALAR = r'(?:"(?:[^"\\]|\\.)*"|[^\s",:{}\[\]]+|\[\]|\{\}|\[[^\[\]{}"]*\])'
_MEMBERS = (re.compile(rf'"(?:[^"\\]|\\.)*":{_SCALAR},'), re.compile(rf',"(?:[^"\\]|\\.)*":{_SCALAR}(?=\}})'))
_ENTRY = re.compile(
    rf'\{{"name":"[^"]*","type":"[^"]*","value":{_SCALAR}\}},|,\{{"name":"[^"]*","type":"[^"]*","value":{_SCALAR}\}}'
)
_MOST = 150


def shrunk(checker: Checker, defect: Defect) -> Defect:
    """Return the defect with a shorter line; the same one if there is none."""
    tried = 0
    going = True
    while going and tried < _MOST:
        going = False
        for line in _shorter(defect.line):
            tried += 1
            made = units.with_line(checker.setup, defect.place, defect.number, line.encode())
            found = next((one for one in _defects(checker, made) if one.cause == defect.cause), None)
            if found is not None:
                defect, going = found, True
                break
            if tried >= _MOST:
                break
    return defect


def _defects(checker: Checker, made: Unit) -> Iterator[Defect]:
    return iter(()) if made.verdict.skipped else checker.alone(made)


def _shorter(line: str) -> Iterator[str]:
    """Yield lines without one member each, the longest first."""
    found = [match.span() for pattern in (*_MEMBERS, _ENTRY) for match in pattern.finditer(line)]
    found += [(start[0], end[1]) for start, end in zip(found, found[4:], strict=False) if start[1] < end[0]]
    for start, end in sorted(set(found), key=lambda span: span[0] - span[1]):
        yield line[:start] + line[end:]
