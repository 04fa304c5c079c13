"""A function of a C library called for each of many structures, without an object each."""

from __future__ import annotations

from integrator.engine.arrays import Ints
from integrator.engine.compiled import compiled
from integrator.engine.memory import long_of_3


@compiled
def call_each(function: int, first: int, place: int, size: int, counts: Ints, result: Ints) -> int:
    """Call a function for runs of structures that lie one after another, until a call returns another number than 0.

    function: its address; it takes `first`, the address of a run, and how many structures that has. place: of the first
    run. size: of a structure. counts: of each run. result: gets what the last call returned. Returns how many runs were
    taken.
    """
    result[0] = 0
    for at in range(len(counts)):
        result[0] = long_of_3(function, first, place, counts[at])
        if result[0] != 0:
            return at
        place += counts[at] * size
    return len(counts)
