"""Text and bytes cut and replaced, for all rows at once: TrimDatatype, TrimWhiteSpace, CharacterMapping."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, from_flat, mask
from integrator.contracts.table_recipe import TextRules

_CONTINUATION, _LEAD_BITS = 0x80, 0xC0
_MOST_CONTINUATIONS = 3  # of a character of UTF-8 (RFC 3629)


def trimmed(values: pa.Array, size: int) -> tuple[pa.Array, int]:
    """Return text or bytes of at most `size` bytes, never cut inside a character, and how many were cut."""
    long = mask(pc.greater(pc.binary_length(values), size))
    if not long.any():
        return values, 0
    chosen = values.filter(pa.array(long))
    data, offsets = flat(chosen)
    ends = offsets[:-1] + size
    if pa.types.is_string(values.type):
        for _ in range(_MOST_CONTINUATIONS):
            ends = ends - ((data[ends] & _LEAD_BITS) == _CONTINUATION)
    lengths = ends - offsets[:-1]
    keep = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets)) < np.repeat(lengths, np.diff(offsets))
    cut = from_flat(data[keep], np.concatenate([[0], np.cumsum(lengths)]), values.type, chosen)
    return pc.replace_with_mask(values, pa.array(long), cut), int(long.sum())


def with_rules(values: pa.Array, rules: TextRules) -> pa.Array:
    """Return the values of a column as they are captured."""
    if rules.day:
        values = pc.floor_temporal(values, unit="day")
    if rules.blanks:
        values = pc.utf8_rtrim(values, " ")
    return _mapped(values, rules.characters) if rules.characters and pa.types.is_string(values.type) else values


def _mapped(values: pa.Array, characters: tuple[tuple[str, str], ...]) -> pa.Array:
    """Return text in which characters are replaced, all at once; only texts that have any are inspected one by one."""
    special = "[" + "".join(re.escape(character) for character, _ in characters) + "]"
    odd = mask(pc.match_substring_regex(values, special))
    if not odd.any():
        return values
    table = str.maketrans(dict(characters))
    replaced = [text.translate(table) for text in values.filter(pa.array(odd)).to_pylist()]
    return pc.replace_with_mask(values, pa.array(odd), pa.array(replaced, pa.string()))
