"""The error for records that are wrong: of the first one, and of all others that are wrong in the same way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from integrator.arrow.arrays import Mask, first
from integrator.errors import DataError

Ints = npt.NDArray[np.int64]


def of_all(error: DataError, file: str, lines: Ints) -> DataError:
    """Return the error of the first of some lines as one of all of them."""
    text = str(error).removeprefix(f"{file}:").partition(":")[2]
    return DataError(str(error), lambda: [(line, f"{file}:{line}:{text}") for line in lines.tolist()])


def refuse(file: str, line: Ints, wrong: Mask, text: Callable[[int], str]) -> None:
    """Raise DataError for the first record that is wrong; `line` has the line of each, `text` returns what is wrong."""

    def located(at: int) -> tuple[int, str]:
        return int(line[at]), f"{file}:{line[at]}: {text(at)}"

    at = first(wrong)
    if at is not None:
        raise DataError(located(at)[1], lambda: [located(one) for one in np.flatnonzero(wrong).tolist()])
