"""The errors of records that are wrong: raised for the first one, or collected, where wrong lines are rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from integrator.arrow.arrays import first
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError, Fault, Place


class Faults:
    """The faults of lines that are read together, collected after which reading could continue.

    What comes out is of use only without the rows of those lines.
    """

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def lines(self) -> Ints:
        """Return the lines that have one: records are checked among each other without these."""
        return np.array([fault.place.line for fault in self.found], np.int64)


def report(error: DataError, faults: Faults | None) -> None:
    """Add what an error finds to `faults`; raise it where there is none, or where it does not name all its lines."""
    if faults is None or error.others is None:
        raise error
    faults.found += error.others()


def for_all_lines(error: DataError, lines: Ints) -> DataError:
    """Return the error of the first of some lines as one of all of them. Raises it where it is of no line."""
    fault = error.fault
    if fault is None:
        raise error
    return type(error)(
        fault, lambda: [replace(fault, place=replace(fault.place, line=line)) for line in lines.tolist()]
    )


def refuse(file: str, line: Ints, wrong: Mask, reason: Callable[[int], str], faults: Faults | None = None) -> None:
    """Raise DataError for records that are wrong; `line` has the line of each, `reason` returns what is wrong.

    faults: reading can continue after them, and they are added to these instead.
    """

    def fault(at: int) -> Fault:
        return Fault(Place(file, int(line[at])), reason(at))

    at = first(wrong)
    if at is not None:
        report(DataError(fault(at), lambda: [fault(one) for one in np.flatnonzero(wrong).tolist()]), faults)
