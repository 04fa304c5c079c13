"""Loops over bytes and rows that are compiled to machine code, where each step by Arrow or numpy is a pass over all.

Numba compiles a function when it is first called, and keeps the code (`cache` has where). It runs without
Python's lock. With NUMBA_DISABLE_JIT=1 functions stay Python's, for a debugger or to measure coverage: they are
hundreds of times slower, and each index is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba
import numpy as np

from integrator.engine import cache

Function = TypeVar("Function", bound=Callable[..., object])
_config: Any = numba.config
_make = partial(cast("Callable[..., Any]", numba.njit), nogil=True, _nrt=False)
_KEPT = not _config.DISABLE_JIT and cache.choose()
"""Whether code is kept; else each process compiles for itself, some seconds' work."""


def compiled(function: Function) -> Function:
    """Return a function of numbers and numpy arrays as machine code.

    It cannot make arrays: the caller passes those that it fills. No index is checked, unless NUMBA_BOUNDSCHECK is 1:
    the caller ensures that all are within the arrays. References are not counted (`_nrt`, which Numba's types do not
    have): each call of another compiled function would count those of its arrays, a quarter of the time of indexing.
    """
    return cast("Function", _make(cache=_KEPT)(function))


def inlined(function: Function) -> Function:
    """Return as `compiled`, for a function that becomes part of those that call it: many arrays are dear to pass."""
    return cast("Function", _make(cache=_KEPT, forceinline=True)(function))


def wrapping(function: Function) -> Function:
    """Return as `compiled`, for a function whose numbers wrap around, as is meant there: numpy would warn of it."""
    return compiled(np.errstate(over="ignore")(function) if _config.DISABLE_JIT else function)
