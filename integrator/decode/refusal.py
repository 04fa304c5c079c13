"""The errors of records that are wrong: raised for the first one, or collected, where wrong lines are rejected."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from integrator.arrow.arrays import first
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError, Fault, Place

_thread = threading.local()


@contextmanager
def collecting() -> Iterator[list[Fault]]:
    """Have this thread collect the faults of errors, which `report` raises otherwise; yield the list of them.

    Reading goes on with the wrong records then: what comes out is of use only without the rows of those lines.
    """
    found: list[Fault] = []
    outer, _thread.found = getattr(_thread, "found", None), found  # where the file before is read to its end within
    try:
        yield found
    finally:
        _thread.found = outer


def collected_lines() -> Ints:
    """Return the lines with collected faults: records are checked among each other without these."""
    return np.array([fault.place.line for fault in getattr(_thread, "found", None) or ()], np.int64)


def report(error: DataError) -> None:
    """Raise an error after which reading could go on, or collect it, if errors are collected and it names its lines."""
    found = getattr(_thread, "found", None)
    if found is None or error.others is None:
        raise error
    found += error.others()


def for_all_lines(error: DataError, lines: Ints) -> DataError:
    """Return the error of the first of some lines as one of all of them. Raises it where it is of no line."""
    fault = error.fault
    if fault is None:
        raise error
    return type(error)(
        fault, lambda: [replace(fault, place=replace(fault.place, line=line)) for line in lines.tolist()]
    )


def refuse(file: str, line: Ints, wrong: Mask, reason: Callable[[int], str], *, collected: bool = False) -> None:
    """Raise DataError for records that are wrong; `line` has the line of each, `reason` returns what is wrong.

    collected: reading can go on after them, and `report` may collect them instead.
    """

    def fault(at: int) -> Fault:
        return Fault(Place(file, int(line[at])), reason(at))

    at = first(wrong)
    if at is not None:
        error = DataError(fault(at), lambda: [fault(one) for one in np.flatnonzero(wrong).tolist()])
        if not collected:
            raise error
        report(error)
