"""Lists in records: JSON's, or PostgreSQL's array literals, as text -> Arrow's lists."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, mask
from integrator.decode.json.canonical import checked
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Objects, as_lines, elements, unquoted
from integrator.decode.text.literals import in_words, parse_array
from integrator.decode.text.refused import ValueRefused, each, guarded
from integrator.errors import DataError
from integrator.schema import Type


def from_json_list(values: pa.Array, item: Type, convert: Callable[[pa.Array, Mask], pa.Array]) -> pa.Array:
    """Return lists, as text, as Arrow's: JSON's lists of scalars, or PostgreSQL's array literals.

    `convert` makes items of the type out of text, given which of them were strings in JSON. Raises ValueRefused.
    """
    literal = mask(pc.starts_with(values, "{"))

    def of_literals(part: pa.Array) -> pa.Array:
        lists = guarded(part, _parsed_literals, "array literal")
        return _converted(lists, lambda items: convert(in_words(items, item), _all(items)))

    def of_json(part: pa.Array) -> pa.Array:
        raw = guarded(part, _split, "JSON list of scalars")
        return _converted(raw, lambda items: convert(unquoted(items), mask(pc.starts_with(items, '"'))))

    return each(values, [(literal, of_literals), (None, of_json)])


def _all(items: pa.Array) -> Mask:
    return np.ones(len(items), bool)


def _converted(lists: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return lists with their items converted. Raises ValueRefused with the place of the list."""
    try:
        items = convert(lists.flatten())
    except ValueRefused as error:
        raise ValueRefused(pc.list_parent_indices(lists)[error.index].as_py(), str(error)) from None
    return pa.ListArray.from_arrays(lists.offsets, items, mask=pc.is_null(lists))


def _parsed_literals(values: pa.Array) -> pa.Array:
    lists = [None if text is None else parse_array(text) for text in values.to_pylist()]
    return pa.array(lists, pa.list_(pa.string()))


def _split(values: pa.Array) -> pa.Array:
    """Return JSON lists of scalars as lists of JSON texts, null where an item is null. Raises ValueError.

    The text of a list may come from a string of JSON, so that nothing has looked at it yet.
    """
    no_lines = Lines("", b"", np.zeros(len(values), np.int64), np.zeros(1, np.int32))
    wrapped = pc.binary_join_element_wise('{"":', pc.fill_null(values, "null"), "}", "")
    try:
        lists = Objects(checked(as_lines(wrapped, no_lines, np.arange(len(values))), "a list"), "a list").raw("")
    except DataError:
        raise ValueError("expected a list in JSON") from None
    if not pc.all(pc.starts_with(lists, "[")).as_py() and values.null_count < len(values):
        raise ValueError("expected a list in JSON")
    items, parent = elements(lists, no_lines)
    if pc.any(pc.match_substring_regex(items, r"^[\[{]")).as_py():
        raise ValueError("expected scalars; declare a column of lists in lists as text")
    if lists.null_count > values.null_count:
        raise ValueError("expected a list in JSON, not a text that says null")
    counts = np.bincount(parent, minlength=len(values))
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pc.if_else(pc.equal(items, "null"), None, items), mask=pc.is_null(lists))
