"""Dead letters as a text file in which people mend them: of each a line about it, and below it the record as it came.

    # {"letter": "9f86…", "place": "0:17", "time": 1795513500000, "file": "/in/a.jsonl", "line": 12, "stage": …}
    {"hvr_op": 1, "id": "x"}

What is below is mended, up to the next line about a letter: as one line or several. A letter without any is not sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from integrator import durable
from integrator.errors import ConfigurationError, EnvironmentFault, shown
from integrator.replay.letters import Letter

_ABOUT = b"# "
"""No record that is right begins so. A wrong one gets a blank before it, which changes nothing in it."""
_TEXTS = ("letter", "place", "file", "stage", "reason")


def write(path: Path, letters: Iterable[Letter]) -> None:
    """Write letters into a new file, which is the owner's alone. Raises EnvironmentFault."""
    if path.exists():
        raise EnvironmentFault(f"{path}: is there already, perhaps with mended records; give another name")
    pieces: list[bytes] = []
    for letter in letters:
        about = {
            "letter": letter.id,
            "place": letter.place,
            "time": letter.time,
            "file": letter.file,
            "line": letter.line,
            "stage": letter.stage,
            "reason": letter.reason,
        }
        pieces += [_ABOUT, json.dumps(about).encode(), b"\n"]
        pieces += [b" " if letter.record.startswith(_ABOUT) else b"", letter.record, b"\n"]
    try:
        durable.replace(path, b"".join(pieces))
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be written: {error}") from error


def read(path: Path) -> list[Letter]:
    """Return the letters of a file that `write` wrote, as they were mended.

    Raises ConfigurationError, or EnvironmentFault where the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be read: {error}") from error
    letters: list[Letter] = []
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else (), 1):
        if line.startswith(_ABOUT) or not letters:
            letters.append(_letter(path, number, line))
        elif line.strip():
            before = letters[-1]
            letters[-1] = replace(before, record=b"\n".join(filter(None, [before.record, line])))
    if len({letter.id for letter in letters}) < len(letters):
        raise ConfigurationError(f"{path}: has a letter twice; leave one of both out")
    return letters


def _letter(path: Path, number: int, about: bytes) -> Letter:
    try:
        known: Any = json.loads(about.removeprefix(_ABOUT)) if about.startswith(_ABOUT) else None
        texts = [known[name] for name in _TEXTS]
        numbers = [known[name] for name in ("time", "line")]
    except (ValueError, TypeError, LookupError):
        texts, numbers = [], []
    valid = all(isinstance(text, str) for text in texts) and all(type(number) is int for number in numbers)
    if not texts or not valid:
        raise ConfigurationError(
            f"{path}:{number}: {shown(about)} is no line about a letter; lines are as `replay --export` wrote them: "
            "one about the letter, then its record"
        )
    letter, place, file, stage, reason = texts
    time, line = numbers
    return Letter(letter, place, time, file, line, stage, reason, b"")
