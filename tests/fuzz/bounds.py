"""Whether compiled loops check their indices, as NUMBA_BOUNDSCHECK=1 says they do."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from integrator.engine.compiled import compiled


@compiled
def _element(values: npt.NDArray[np.int64], at: int) -> int:
    return int(values[at])


def check() -> None:
    """Raise RuntimeError where bounds are to be checked and are not."""
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        return
    try:
        _element(np.zeros(4, np.int64), 4)
    except IndexError:
        return
    raise RuntimeError("NUMBA_BOUNDSCHECK=1 has no effect")
