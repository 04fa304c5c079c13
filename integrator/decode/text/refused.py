"""Values that are refused: which one, and what is accepted instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first_refused, mask, reason
from integrator.engine.arrays import Ints, Mask
from integrator.errors import shortened, shown


class ValueRefused(ValueError):
    """The value at `index` is not of the type.

    text: why; empty where it is only not of the type. is_whole: the text names the value and what it is not. every: all
    values that are refused for the same reason, where they are known; others may be refused too.
    """

    def __init__(self, index: int, text: str, every: Sequence[int] = (), *, is_whole: bool = False) -> None:
        self.index, self.every, self.is_whole = index, every, is_whole
        super().__init__(text)

    def at(self, index: int, every: Sequence[int] = ()) -> ValueRefused:
        """Return the same of another value, such as one of those that this one is a part of."""
        return ValueRefused(index, str(self), every, is_whole=self.is_whole)


def guarded(values: pa.Array, convert: Callable[[pa.Array], pa.Array], what: str) -> pa.Array:
    """Return `convert(values)`. Raises ValueRefused for the first value that it refuses, which is not `what`."""

    def accepts(start: int, stop: int) -> bool:
        try:
            convert(values.slice(start, stop - start))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            return False
        return True

    try:
        return convert(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        index = first_refused(len(values), accepts)
    try:
        convert(values.slice(index, 1))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        why = f" ({shortened(found)})" if (found := reason(error)) else ""
        raise ValueRefused(index, f"{shown(values[index].as_py())} is no {what}{why}", is_whole=True) from None
    raise AssertionError(f"{what}: a value was refused in a batch and accepted alone")


def each(values: pa.Array, cases: Sequence[tuple[Mask | None, Callable[[pa.Array], pa.Array]]]) -> pa.Array:
    """Return each value as the first converter makes it whose mask has it; the mask None has all that are left.

    So a value is read by what it is itself, whatever stands beside it. Null goes with any. Raises ValueRefused.
    """
    case_of = np.full(len(values), -1)
    for number, (which, _) in enumerate(cases):
        case_of[(case_of < 0) & (True if which is None else which)] = number
    used = np.unique(case_of[mask(pc.is_valid(values))]).tolist() or [len(cases) - 1]
    case_of[~mask(pc.is_valid(values))] = used[0]
    return by_group(values, case_of, {number: cases[number][1] for number in used})


def by_group(values: pa.Array, group: Ints, converters: Mapping[int, Callable[[pa.Array], pa.Array]]) -> pa.Array:
    """Return each value as the converter of its group makes it. Raises ValueRefused with the place among all values."""
    if len(converters) == 1:
        return next(iter(converters.values()))(values)
    parts, places = [], []
    for number, convert in converters.items():
        chosen = np.flatnonzero(group == number)
        try:
            parts.append(convert(values.take(pa.array(chosen))))
        except ValueRefused as error:
            raise error.at(int(chosen[error.index])) from None
        places.append(chosen)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))
