"""Memory that a C library owns, and its functions, by address in compiled loops.

Addresses are arguments, so that machine code can be kept: Numba does not keep a function that has a pointer of ctypes
in it. Without the compiler ctypes does the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_config: Any = numba.config
_cgutils: Any = cgutils
_WORD = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_NUMBER: Any = types.int64


def _load(width: int, result: Any) -> Callable[[int], int]:
    """Return what reads a number of `width` bits at an address."""

    def typed(_typing: Any, _address: Any) -> Any:
        def code(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            return builder.load(builder.inttoptr(given[0], ir.IntType(width).as_pointer()))

        return result(_NUMBER), code

    return cast("Callable[[int], int]", intrinsic(typed))


def _code(count: int, result: Any) -> Any:
    """Return what calls the C function at the first of its arguments with the `count` others, numbers or addresses."""

    def code(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        back = ir.VoidType() if result == types.void else context.get_value_type(result)
        kind = ir.FunctionType(back, [_WORD] * count)
        found = builder.call(builder.inttoptr(given[0], kind.as_pointer()), list(given[1:]))
        return context.get_dummy_value() if result == types.void else found

    return code


def _call_1(result: Any) -> Any:
    def typed(_typing: Any, _function: Any, _a: Any) -> Any:
        return result(*[_NUMBER] * 2), _code(1, result)

    return typed


def _call_2(result: Any) -> Any:
    def typed(_typing: Any, _function: Any, _a: Any, _b: Any) -> Any:
        return result(*[_NUMBER] * 3), _code(2, result)

    return typed


def _call_3(result: Any) -> Any:
    def typed(_typing: Any, _function: Any, _a: Any, _b: Any, _c: Any) -> Any:
        return result(*[_NUMBER] * 4), _code(3, result)

    return typed


def _call_5(_typing: Any, _function: Any, _a: Any, _b: Any, _c: Any, _d: Any, _e: Any) -> Any:
    return types.int32(*[_NUMBER] * 6), _code(5, types.int32)


def _copied(_typing: Any, _to: Any, _source: Any, _size: Any) -> Any:
    def code(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        places = [builder.inttoptr(one, _BYTES) for one in given[:2]]
        _cgutils.raw_memcpy(builder, *places, given[2], 1)
        return context.get_dummy_value()

    return types.void(*[_NUMBER] * 3), code


def _by_ctypes(result: Any, count: int) -> Callable[..., int]:
    kind = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * count)
    return lambda function, *given: kind(int(function))(*map(int, given))


def _read(kind: Any) -> Callable[[int], int]:
    return lambda address: int(kind.from_address(int(address)).value)


def _move(to: int, source: int, size: int) -> None:
    ctypes.memmove(int(to), int(source), int(size))


_compiles = not _config.DISABLE_JIT
load_byte = _load(8, types.uint8) if _compiles else _read(ctypes.c_uint8)
"""Return the byte at an address."""
load_int = _load(32, types.int32) if _compiles else _read(ctypes.c_int32)
"""Return the number of 32 bits at an address."""
load_long = _load(64, types.int64) if _compiles else _read(ctypes.c_int64)
"""Return the number of 64 bits at an address."""
copy = cast("Callable[[int, int, int], None]", intrinsic(_copied) if _compiles else _move)
"""Copy to an address, from another, so many bytes."""
call = cast("Callable[[int, int], None]", intrinsic(_call_1(types.void)) if _compiles else _by_ctypes(None, 1))
"""Call the function at an address with one argument."""
int_of_1: Callable[..., int] = intrinsic(_call_1(types.int32)) if _compiles else _by_ctypes(ctypes.c_int32, 1)
"""Return the number of 32 bits of a function of one argument."""
int_of_2: Callable[..., int] = intrinsic(_call_2(types.int32)) if _compiles else _by_ctypes(ctypes.c_int32, 2)
"""Return the number of 32 bits of a function of two arguments."""
long_of_2: Callable[..., int] = intrinsic(_call_2(types.int64)) if _compiles else _by_ctypes(ctypes.c_int64, 2)
"""Return the number of 64 bits of a function of two arguments."""
int_of_3: Callable[..., int] = intrinsic(_call_3(types.int32)) if _compiles else _by_ctypes(ctypes.c_int32, 3)
"""Return the number of 32 bits of a function of three arguments."""
long_of_3: Callable[..., int] = intrinsic(_call_3(types.int64)) if _compiles else _by_ctypes(ctypes.c_int64, 3)
"""Return the number of 64 bits of a function of three arguments."""
int_of_5: Callable[..., int] = intrinsic(_call_5) if _compiles else _by_ctypes(ctypes.c_int32, 5)
"""Return the number of 32 bits of a function of five arguments."""
