"""JSON objects, column by column: a text for each row, in which `Leaf` defines how values of a type are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.contracts.message_format import Options
from integrator.formats.contract import (
    PATH,
    Arrays,
    ByColumn,
    Columns,
    Encoder,
    InvalidValue,
    Missing,
    UnsupportedValue,
)
from integrator.schema import Column, Type


@dataclass(frozen=True)
class Value:
    """How values of a type are written, and whether in quotes, which `encode` leaves out."""

    encode: Callable[[pa.Array], pa.Array]
    quoted: bool = False


Leaf = Callable[[Type], Value]


@dataclass(frozen=True)
class _Piece:
    lead: str
    name: str
    value: Value
    nested: Encoder | None = None

    def texts(self, arrays: Arrays, missing: Missing) -> pa.Array:
        """Return the JSON of each value without the quotes around it."""
        values = arrays[self.name]
        try:
            if self.nested is None:
                return self.value.encode(values)
            return _objects(values, self.nested, under(self.name, missing))
        except InvalidValue as error:
            raise UnsupportedValue(self.name, error.index, str(error)) from None
        except UnsupportedValue as error:
            raise UnsupportedValue(f"{self.name}.{error.column}", error.index, str(error)) from None


def object_writer(columns: Columns, leaf: Leaf) -> Encoder:
    """Return a function from the columns' arrays to a JSON object for each row.

    Null becomes null; whether it may be null is for the caller to know. A missing value's name is left out.
    """
    pieces = _pieces(columns, leaf)

    def encode_rows(arrays: Arrays, missing: Missing) -> pa.Array:
        if not pieces:  # of rows that have no value at all
            return pa.repeat("{}", len(next(iter(arrays.values()))))
        if missing:
            return _with_omissions(pieces, arrays, missing)
        return _joined(pieces, [piece.texts(arrays, missing) for piece in pieces])

    return encode_rows


def value_writer(column: Column, leaf: Leaf) -> Encoder:
    """Return a function from a column's array to the JSON of each value, without an object around it."""
    piece = _Piece("", column.name, value_of(column.type, leaf))

    def encode_rows(arrays: Arrays, missing: Missing) -> pa.Array:
        text = piece.texts(arrays, missing)
        return pc.fill_null(quoted(text) if piece.value.quoted else text, "null")

    return encode_rows


def by_column(leaf_of: Callable[[Options], Leaf]) -> ByColumn:
    """Return how JSON objects are made of the texts of each column."""
    return ByColumn(
        lambda column, options: partial(_written, value_of(column.type, leaf_of(options))),
        lambda columns, _options: (*(_lead(place, column.name) for place, column in enumerate(columns)), "}"),
        nests=True,
    )


def _written(value: Value, values: pa.Array) -> tuple[pa.Array, str]:
    """Return the JSON of values, and the quotes around each that are left out: none, where one is null."""
    text = value.encode(values)
    if text.null_count:
        return pc.fill_null(quoted(text) if value.quoted else text, "null"), ""
    return text, '"' if value.quoted else ""


def _pieces(columns: Columns, leaf: Leaf) -> list[_Piece]:
    pieces = []
    for place, column in enumerate(columns):
        lead = _lead(place, column.name)
        if isinstance(column.type, schema.Struct):
            pieces.append(_Piece(lead, column.name, Value(lambda v: v), object_writer(column.type.fields, leaf)))
        else:
            pieces.append(_Piece(lead, column.name, value_of(column.type, leaf)))
    return pieces


def _lead(place: int, name: str) -> str:
    return ("{" if place == 0 else ",") + json.dumps(name, ensure_ascii=False) + ":"


def _joined(pieces: list[_Piece], texts: Sequence[pa.Array]) -> pa.Array:
    """Return objects out of the texts of their members, from which quotes are left out."""
    parts: list[Any] = []
    before = ""
    for piece, text in zip(pieces, texts, strict=True):
        if not piece.value.quoted:
            parts += [_scalar(before + piece.lead), text]
            before = ""
        elif text.null_count:
            parts += [_scalar(before + piece.lead), quoted(text)]
            before = ""
        else:  # the quotes go with the text around: one copy of the column less
            parts += [_scalar(before + piece.lead + '"'), text]
            before = '"'
    parts += [_scalar(before + "}"), _scalar("")]
    return pc.binary_join_element_wise(*parts, null_handling="replace", null_replacement="null")


@lru_cache(maxsize=1 << 16)
def _scalar(text: str) -> pa.Scalar:
    """Return text as Arrow's: to make that anew for each argument costs more than to join a hundred rows."""
    return pa.scalar(text)


def _with_omissions(pieces: list[_Piece], arrays: Arrays, missing: Missing) -> pa.Array:
    """Write each member with a comma before it, if it is there; the first comma then becomes the brace."""
    parts = []
    for piece in pieces:
        encoded = piece.texts(arrays, missing)
        text = pc.fill_null(quoted(encoded) if piece.value.quoted else encoded, "null")
        member = pc.binary_join_element_wise("," + piece.lead[1:], text, "")
        gone = missing.get(piece.name)
        parts.append(member if gone is None else pc.if_else(pa.array(gone), "", member))
    members = pc.binary_join_element_wise(*parts, "")
    return pc.binary_join_element_wise(pc.binary_replace_slice(members, 0, 1, "{"), "}", "")


def under(name: str, missing: Missing) -> Missing:
    """Return what is missing inside the struct `name`, by the paths in it."""
    start = name + PATH
    return {path[len(start) :]: gone for path, gone in missing.items() if path.startswith(start)}


def quoted(text: pa.Array) -> pa.Array:
    """Return text in quotes; null stays null."""
    return pc.binary_join_element_wise('"', text, '"', "")


def value_of(kind: Type, leaf: Leaf) -> Value:
    """Return how values of `kind` are written: arrays and structs out of their items, encoded rows as they are."""
    match kind:
        case schema.Array(item):
            inner = value_of(item, leaf)
            return Value(lambda values: _list(values, inner))
        case schema.Struct(fields):
            writer = object_writer(fields, leaf)
            return Value(lambda values: _refusing(values, writer))
        case schema.Encoded():
            return Value(lambda values: values)
        case _:
            return leaf(kind)


def _refusing(values: pa.Array, writer: Encoder) -> pa.Array:
    try:
        return _objects(values, writer, {})
    except UnsupportedValue as error:
        raise InvalidValue(error.index, f"{error.column}: {error}") from None


def _objects(values: pa.StructArray, writer: Encoder, missing: Missing) -> pa.Array:
    """Return structs as JSON objects; those that are null are looked into no further."""
    there = np.flatnonzero(pc.is_valid(values).to_numpy(zero_copy_only=False)) if values.null_count else None
    rows = values if there is None else values.take(pa.array(there))
    if there is not None:
        missing = {name: gone[there] for name, gone in missing.items()}
    names = [values.type.field(place).name for place in range(values.type.num_fields)]
    try:
        texts = writer(dict(zip(names, rows.flatten(), strict=True)), missing)
    except UnsupportedValue as error:
        index = error.index if there is None else int(there[error.index])
        raise UnsupportedValue(error.column, index, str(error)) from None
    if there is None:
        return texts
    places = np.full(len(values), -1, np.int64)
    places[there] = np.arange(len(there))
    return texts.take(pa.array(places, mask=places < 0))


def _list(values: pa.Array, inner: Value) -> pa.Array:
    try:
        items = inner.encode(values.flatten())
    except InvalidValue as error:
        raise InvalidValue(pc.list_parent_indices(values)[error.index].as_py(), str(error)) from None
    items = pc.fill_null(quoted(items) if inner.quoted else items, "null")
    joined = pc.binary_join_element_wise("[", pc.binary_join(relisted(values, items), ","), "]", "")
    return pc.if_else(pc.is_valid(values), joined, None) if values.null_count else joined


def relisted(values: pa.Array, items: pa.Array) -> pa.Array:
    """Return lists of the lengths of those in `values`, a null one empty, out of the items of all of them."""
    offsets = values.offsets
    if values.null_count or values.offset or (len(offsets) and offsets[0].as_py()):
        lengths = pc.fill_null(pc.list_value_length(values), 0)
        ends = pc.cumulative_sum(lengths.cast(pa.int32()))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    return pa.ListArray.from_arrays(offsets, items)
