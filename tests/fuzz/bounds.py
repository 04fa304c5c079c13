"""Whether loops check their indices, as they do with NUMBA_BOUNDSCHECK=1, and as Python's with NUMBA_DISABLE_JIT=1."""

from __future__ import annotations

import os

import numpy as np

from integrator.engine.arrays import Ints
from integrator.engine.compiled import compiled


@compiled
def _element(values: Ints, at: int) -> int:
    return int(values[at])


def check() -> None:
    """Raise RuntimeError where bounds are to be checked and are not."""
    asked = [name for name in ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT") if os.environ.get(name) == "1"]
    if not asked:
        return
    try:
        _element(np.zeros(4, np.int64), 4)
    except IndexError:
        return
    raise RuntimeError(f"{asked[0]}=1 has no effect")
