"""The transactions of letters: a record that has no position alone gets the line above it that begins its transaction.

That is wal2json's version 2, whose changes follow an action B. The line is searched for in the change file that the
letter came from; where that is gone, or the transaction began in an earlier file, the letter stays as it is. Letters
of captured changes have that line already.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from integrator.decode.contract import File
from integrator.decode.dialects import DIALECTS, recognized
from integrator.decode.lines.files import open_file
from integrator.errors import DataError, EnvironmentFault
from integrator.plan import Plan
from integrator.replay.letters import Letter


def with_begins(letters: Iterable[Letter], plan: Plan) -> Iterator[Letter]:
    """Yield letters, those of a transaction with the line that begins it before their own."""
    for file, of_file in itertools.groupby(letters, key=lambda letter: letter.file):
        together = list(of_file)
        lines = {letter.line for letter in together if b"\n" not in letter.record}
        begins = _begins(file, plan.recipe.read.dialect, lines) if file and lines else {}
        for letter in together:
            begin = begins.get(letter.line)
            yield replace(letter, record=begin + b"\n" + letter.record) if begin else letter


def _begins(file: str, dialect: str, wanted: set[int]) -> dict[int, bytes]:
    """Return of lines of a file the one that begins the transaction in which they are, where there is one."""
    found: dict[int, bytes] = {}
    try:
        marks = DIALECTS[recognized(File(file)) if dialect == "auto" else dialect].transactions
        if marks is None:
            return {}
        begin = b""
        with open_file(file) as stream:
            for number, line in enumerate(io.BufferedReader(stream), 1):
                if number in wanted and begin:
                    found[number] = begin
                elif marks.begin.search(line):
                    begin = line.rstrip(b"\r\n")
                elif marks.end.search(line):
                    begin = b""
                if number >= max(wanted):
                    break
    except (EnvironmentFault, DataError):  # it is gone, or is of no dialect: the record itself may be whole
        return found
    return found
