"""The errors of records that are wrong: raised for the first one, or collected, where wrong lines are rejected."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from integrator.arrow.arrays import first
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError

_thread = threading.local()


@contextmanager
def collecting() -> Iterator[list[tuple[int, str]]]:
    """Have this thread collect errors, which `report` raises otherwise; yield the list of lines and texts.

    Reading goes on with the wrong records then: what comes out is of use only without the rows of those lines.
    """
    found: list[tuple[int, str]] = []
    outer, _thread.found = getattr(_thread, "found", None), found  # where the file before is read to its end within
    try:
        yield found
    finally:
        _thread.found = outer


def collected_lines() -> Ints:
    """Return the lines with collected errors: records are checked among each other without these."""
    return np.array([line for line, _ in getattr(_thread, "found", None) or ()], np.int64)


def report(error: DataError) -> None:
    """Raise an error after which reading could go on, or collect it, if errors are collected and it names its lines."""
    found = getattr(_thread, "found", None)
    if found is None or error.others is None:
        raise error
    found += error.others()


def of_all(error: DataError, file: str, lines: Ints) -> DataError:
    """Return the error of the first of some lines as one of all of them."""
    text = str(error).removeprefix(f"{file}:").partition(":")[2]
    return type(error)(str(error), lambda: [(line, f"{file}:{line}:{text}") for line in lines.tolist()])


def refuse(file: str, line: Ints, wrong: Mask, text: Callable[[int], str], *, collected: bool = False) -> None:
    """Raise DataError for records that are wrong; `line` has the line of each, `text` returns what is wrong.

    collected: reading can go on after them, and `report` may collect them instead.
    """

    def located(at: int) -> tuple[int, str]:
        return int(line[at]), f"{file}:{line[at]}: {text(at)}"

    at = first(wrong)
    if at is not None:
        error = DataError(located(at)[1], lambda: [located(one) for one in np.flatnonzero(wrong).tolist()])
        if not collected:
            raise error
        report(error)
