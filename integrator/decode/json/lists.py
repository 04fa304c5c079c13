"""Lists in records: JSON's, or PostgreSQL's array literals, as text -> Arrow's lists."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, mask
from integrator.decode.json.document import read_document
from integrator.decode.json.objects import Objects, as_lines
from integrator.decode.json.slices import raw_of, texts_of
from integrator.decode.lines.lines import Lines
from integrator.decode.text.literals import in_words, read_arrays
from integrator.decode.text.refused import ValueRefused, each, guarded
from integrator.engine.arrays import Mask
from integrator.engine.grammar import LIST, OPEN
from integrator.engine.values import Slices
from integrator.engine.words import WORD
from integrator.errors import DataError
from integrator.schema import Type


def from_json_list(values: pa.Array, item: Type, convert: Callable[[pa.Array, Mask], pa.Array]) -> pa.Array:
    """Return lists, as text, as Arrow's: JSON's lists of scalars, or PostgreSQL's array literals.

    `convert` makes items of the type out of text, given which of them were strings in JSON. Raises ValueRefused.
    """
    literal = mask(pc.starts_with(values, "{"))

    def of_literals(part: pa.Array) -> pa.Array:
        lists = guarded(part, read_arrays, "array literal")
        return _converted(lists, lambda items: convert(in_words(items, item), _all(items)))

    def of_json(part: pa.Array) -> pa.Array:
        raw = guarded(part, _split, "JSON list of scalars")
        return _converted(raw, lambda items: convert(unquoted(items), mask(pc.starts_with(items, '"'))))

    return each(values, [(literal, of_literals), (None, of_json)])


def unquoted(values: pa.Array) -> pa.Array:
    """Return JSON texts with texts as their characters."""
    text = mask(pc.starts_with(values, '"'))
    octets, offsets = flat(values)
    octets = np.append(octets, np.zeros(WORD, np.uint8))
    ends = np.where(mask(pc.is_valid(values)), offsets[1:], 0).astype(np.int32)
    starts = np.where(ends > 0, offsets[:-1], 0).astype(np.int32)
    return texts_of(octets, Slices(starts, ends, text))


def _all(items: pa.Array) -> Mask:
    return np.ones(len(items), bool)


def _converted(lists: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return lists with their items converted. Raises ValueRefused with the place of the list."""
    try:
        items = convert(lists.flatten())
    except ValueRefused as error:
        raise error.at(pc.list_parent_indices(lists)[error.index].as_py()) from None
    return pa.ListArray.from_arrays(lists.offsets, items, mask=pc.is_null(lists))


def _split(values: pa.Array) -> pa.Array:
    """Return JSON lists of scalars as lists of JSON texts, null where an item is null. Raises ValueError.

    The text of a list may come from a text of JSON, so that nothing has checked it yet.
    """
    no_lines = Lines("", b"", np.zeros(len(values), np.int64), np.zeros(1, np.int32))
    wrapped = pc.binary_join_element_wise('{"":', pc.fill_null(values, "null"), "}", "")
    try:
        document = read_document(as_lines(wrapped, no_lines, np.arange(len(values))), "a list")
    except DataError:
        raise ValueError("expected a list in JSON") from None
    objects = Objects.of_lines(document)
    at = objects.slices("")
    byte, null = at.first_bytes(document.text), at.nulls(document.text)
    if not ((byte == LIST) | null).all() or (objects.counts() != 1).any():
        raise ValueError("expected a list in JSON")
    if null.sum() > values.null_count:
        raise ValueError("expected a list in JSON, not the text null")
    nodes, parent = objects.elements("")
    items = Slices.of_nodes(document.nodes, nodes)
    if np.isin(items.first_bytes(document.text), (LIST, OPEN)).any() and len(nodes):
        raise ValueError("expected scalars; declare a column of lists in lists as text")
    counts = np.bincount(parent, minlength=len(values))
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, raw_of(document.text, items), mask=pc.is_null(values))
