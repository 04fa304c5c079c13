"""Loops over bytes and rows that are compiled to machine code, where each step by Arrow or numpy is a pass over all.

Numba compiles a function when it is first called, and keeps the code beside the source, or in the user's cache
directory where that cannot be written (NUMBA_CACHE_DIR names another one). It runs without Python's lock.
https://numba.readthedocs.io/en/stable/developer/caching.html
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Return a function of numbers and numpy arrays as machine code. No index is checked: who calls it sees to that."""
    made = numba.njit(nogil=True)(function)
    with suppress(RuntimeError):  # no directory that can be written: each process compiles for itself, a second's work
        setattr(made, "_cache", _Kept(function))  # type: ignore[no-untyped-call]  # noqa: B010 - as its enable_caching does
    return cast("Function", made)


class _Kept(FunctionCache):
    """Code that is kept. Where it cannot be read or written, a function is compiled again: the data is not at fault."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for types of arguments; None where there is none, or a breakdown cut it off."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001 - whatever bytes that are no code make of unpickling
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for types of arguments, if there is room."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
