"""Placeholders: values that stand for one that is not there, as Debezium has for a column that was not changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from integrator.arrow.compiled import compiled
from integrator.decode.json.characters import is_null
from integrator.decode.json.grammar import LIST, OPEN
from integrator.decode.json.slices import Slices
from integrator.decode.json.tables import Grid
from integrator.engine.arrays import Ints, Mask, Octets, Places

_SPACE = 0x20


class Placeholders(NamedTuple):
    """Placeholders, as JSON, one after another. bounds: where each begins, and the end."""

    text: Octets
    bounds: Places

    @classmethod
    def of(cls, written: Sequence[bytes]) -> Placeholders:
        """Return placeholders, given as JSON without white space."""
        text = np.frombuffer(b"".join(written), np.uint8)
        return cls(text, np.cumsum([0, *map(len, written)]).astype(np.int32))


@compiled
def is_placeholder(text: Octets, start: int, end: int, known: Octets, bounds: Places) -> bool:
    """Return whether a value is a placeholder."""
    nested = text[start] in (OPEN, LIST)  # which may have white space, as no placeholder here has
    for one in range(len(bounds) - 1):
        at, of_known = start, bounds[one]
        while at < end and of_known < bounds[one + 1]:
            if nested and text[at] <= _SPACE:
                at += 1
                continue
            if text[at] != known[of_known]:
                break
            at, of_known = at + 1, of_known + 1
        if at == end and of_known == bounds[one + 1]:
            return True
    return False


def clear_placeholders(text: Octets, values: Slices, known: Placeholders) -> None:
    """Take away the values that are a placeholder."""
    size = np.diff(known.bounds)
    sizes = np.zeros(known.bounds[-1] + 1, np.bool_)
    sizes[size] = True
    first_bytes = known.text[known.bounds[:-1]]
    nested = size[(first_bytes == OPEN) | (first_bytes == LIST)]
    _clear_placeholders(text, values, known, (sizes, int(nested.min(initial=len(text)))))


@compiled
def _clear_placeholders(text: Octets, values: Slices, known: Placeholders, given: tuple[Mask, int]) -> None:
    """Take away values. given: whether a placeholder has so many bytes, and the bytes of the least list or object."""
    start, end = values.start, values.end
    known_text, bounds = known
    sizes, least_nested = given
    for place in range(len(end)):
        size = end[place] - start[place]
        may_be = size < len(sizes) and sizes[size]
        if not may_be and size > least_nested:  # white space may be in it
            may_be = text[start[place]] in (OPEN, LIST)
        if may_be and is_placeholder(text, start[place], end[place], known_text, bounds):
            start[place], end[place] = 0, 0


@compiled
def clear_beside_keys(
    text: Octets,
    grid: Grid,
    before: Ints,
    values: Slices,
    keys: tuple[Mask, bool],
    empty: Placeholders,
) -> None:
    """Take away what is beside the key in before images of which all that is null, or a placeholder of `empty`.

    before: the rows of before images. keys: which slots are in the key, and whether all beside it is taken away. Tables
    without a key are passed over.
    """
    is_key, always = keys
    base, slots, rows, part = grid
    start, end = values.start, values.end
    known_text, bounds = empty
    for row in before:
        own = part[row]
        alone = bool(is_key[slots[own] : slots[own + 1]].any())
        if not alone:
            continue
        for slot in range(slots[own], slots[own + 1]):
            place = base[slot] + row - rows[own]
            if alone and not always and not is_key[slot]:
                alone = is_null(text, start[place], end[place]) or is_placeholder(
                    text, start[place], end[place], known_text, bounds
                )
        for slot in range(slots[own], slots[own + 1]):
            if alone and not is_key[slot]:
                place = base[slot] + row - rows[own]
                start[place], end[place] = 0, 0


def are_placeholders(text: Octets, values: Slices, known: Placeholders) -> Mask:
    """Return which values are a placeholder."""
    found = np.empty(len(values.end), np.bool_)
    _are_placeholders(text, values, known, found)
    return found


@compiled
def _are_placeholders(text: Octets, values: Slices, known: Placeholders, found: Mask) -> None:
    start, end = values.start, values.end
    known_text, bounds = known
    for place in range(len(end)):
        found[place] = is_placeholder(text, start[place], end[place], known_text, bounds)
