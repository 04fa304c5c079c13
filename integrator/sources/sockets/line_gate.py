"""Lines that a sender sends, inspected before they count as received.

Each is one JSON object, null, or blank; and its envelope and its table are what the channel reads. What is refused here
is what the decoder would refuse later, when the sender is gone: it is the same check. Values are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from integrator.decode.contract import Reading
from integrator.decode.dialect import Dialect
from integrator.decode.json.document import first_wrong as first_wrong_json
from integrator.decode.lines.lines import Lines
from integrator.decode.refusal import Faults
from integrator.errors import DataError, Fault, Place
from integrator.sources.spool import never

_FILE = "line"


Check = Callable[[bytes], tuple[int, str] | None]
"""Returns where the first of some lines begins that is refused, and why; None if each is taken.

The last line has its end."""


def line_gate_of(dialect: Dialect, reading: Reading) -> LineGate:
    """Return what is asked of the lines of a source.

    Where wrong lines are rejected, those are taken that are JSON in a known dialect: the others become dead letters.
    """

    def check(lines: bytes) -> tuple[int, str] | None:
        found = first_wrong(lines)
        whole = lines[: found[0]] if found else lines
        return _first_refused(whole, dialect, reading) or found

    checks = dialect.check is not None and (not reading.tolerant or not dialect.marks)
    return LineGate(check if checks else first_wrong, dialect.waits or never, hidden=reading.masks)


def _first_refused(data: bytes, dialect: Dialect, reading: Reading) -> tuple[int, str] | None:
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    offsets = np.concatenate([[0], ends + 1]).astype(np.int32)
    faults = Faults()
    lines = Lines(_FILE, data, np.arange(len(ends)), offsets, hidden=reading.masks, faults=faults)
    lines = lines.take(np.flatnonzero(pc.not_equal(pc.utf8_trim(lines.array, " \t\r\n"), "")))
    if not len(lines) or dialect.check is None:
        return None
    try:
        dialect.check(lines, reading)
    except DataError as error:
        of_first = error.fault or Fault(Place(_FILE, int(lines.numbers[0])), str(error))
        faults.found += [of_first] if error.others is None else error.others()
    if not faults.found:
        return None
    fault = min(faults.found)
    return int(offsets[max(fault.place.line, int(lines.numbers[0]))]), fault.reason


def first_wrong(lines: bytes) -> tuple[int, str] | None:
    """Return where the first line begins that is no record, and why; None if each is one. The last one has its end."""
    try:
        lines.decode()
        good, reason = len(lines), ""
    except UnicodeDecodeError as error:
        good, reason = lines.rfind(b"\n", 0, error.start) + 1, "not UTF-8"
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8, good) == ord("\n"))
    offsets = np.concatenate([[0], ends + 1]).astype(np.int32)
    found, why = first_wrong_json(Lines("", lines[:good], np.arange(len(ends)), offsets))
    if why:
        good, reason = int(offsets[found.line]), f"no JSON record in one line: {why}"
    return (good, reason) if reason else None


@dataclass(frozen=True)
class LineGate:
    """What is asked of lines before they are received.

    waits: whether a line is received with the next one only. hidden: those that are refused are not written down.
    """

    first_refused: Check = first_wrong
    waits: Callable[[bytes], bool] = never
    hidden: bool = False
