"""Dead letters as a text file in which people mend them: of each a line about it, and below it the record as it came.

    # {"letter": "9f86…", "place": "0:17", "file": "/in/a.jsonl", "line": 12, "stage": "VALUE_CONVERTER", "reason": "…"}
    {"hvr_op": 1, "id": "x"}

The second line is what is mended; where it is emptied, the letter is not sent.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from integrator import durable
from integrator.errors import ConfigurationError, EnvironmentFault, shown
from integrator.replay.letters import Letter

_ABOUT = b"# "
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
            "file": letter.file,
            "line": letter.line,
            "stage": letter.stage,
            "reason": letter.reason,
        }
        pieces += [_ABOUT, json.dumps(about, ensure_ascii=False).encode(), b"\n", letter.record, b"\n"]
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
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    pairs = itertools.zip_longest(lines[::2], lines[1::2], fillvalue=b"")
    letters = [_letter(path, 2 * number + 1, about, record) for number, (about, record) in enumerate(pairs)]
    if len({letter.id for letter in letters}) < len(letters):
        raise ConfigurationError(f"{path}: has a letter twice; leave one of both out")
    return letters


def _letter(path: Path, number: int, about: bytes, record: bytes) -> Letter:
    try:
        known: Any = json.loads(about.removeprefix(_ABOUT)) if about.startswith(_ABOUT) else None
        texts = [known[name] for name in _TEXTS]
        line = known["line"]
    except (ValueError, TypeError, LookupError):
        texts, line = [], None
    if not texts or not all(isinstance(text, str) for text in texts) or type(line) is not int:
        raise ConfigurationError(
            f"{path}:{number}: {shown(about)} is no line about a letter; lines are as `replay --export` wrote them: "
            "one about the letter, then its record, in one line; an emptied record is not sent"
        )
    letter, place, file, stage, reason = texts
    return Letter(letter, place, file, line, stage, reason, record.removesuffix(b"\r"))
