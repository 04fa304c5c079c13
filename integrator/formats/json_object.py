"""JSON objects, column by column: a text for each row, in which `Leaf` defines how values of a type are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask
from integrator.contracts.message_format import Options
from integrator.formats.records import (
    ByColumn,
    Columns,
    Encoder,
    InvalidValue,
    UnsupportedValue,
    Write,
    Written,
)
from integrator.schema import Column, Type


@dataclass(frozen=True)
class Value:
    """How values of a type are written, and whether in quotes, which `encode` leaves out."""

    encode: Callable[[pa.Array], pa.Array]
    quoted: bool = False


Leaf = Callable[[Type], Value]


def by_column(leaf_of: Callable[[Options], Leaf]) -> ByColumn:
    """Return how JSON objects are made of the texts of each column. Null becomes null."""

    def write(column: Column, options: Options) -> Write:
        leaf = leaf_of(options)
        if isinstance(column.type, schema.Struct):
            objects = _objects_of(column.type, leaf)
            return lambda values: _written(_objects(values, objects), quoted=False)
        value = value_of(column.type, leaf)
        return lambda values: _written(value.encode(values), quoted=value.quoted)

    return ByColumn(write, _between)


AS_THEY_ARE = ByColumn(lambda _column, _options: lambda values: Written(values, "", ""), lambda *_: ("", ""))
"""How objects are written that are JSON text already, in a column of their own."""


def _between(columns: Columns, _options: Options) -> tuple[str, ...]:
    """Return the names of members, and the braces; those of an object without members as one piece."""
    names = [json.dumps(column.name, ensure_ascii=False) + ":" for column in columns]
    return ("{" + names[0], *("," + name for name in names[1:]), "}") if names else ("{}",)


def _written(text: pa.Array, *, quoted: bool) -> Written:
    """Return the JSON of values, and the quotes around each that are left out of it: none, where one is null."""
    if text.null_count:
        return Written(pc.fill_null(in_quotes(text) if quoted else text, "null"), "", "")
    return Written(text, '"', '"') if quoted else Written(text, "", "")


def _objects_of(kind: Type, leaf: Leaf) -> Encoder:
    """Return how structs of a type are written as objects."""
    fields = kind.fields if isinstance(kind, schema.Struct) else ()
    encoder = by_column(lambda _options: leaf).encoder(fields, Options())
    if not (isinstance(kind, schema.Struct) and kind.sparse):
        return encoder
    return lambda values, _: encoder(
        values, {name: mask(pc.is_null(column)) for name, column in values.items() if column.null_count}
    )


def in_quotes(text: pa.Array) -> pa.Array:
    """Return text in quotes; null stays null."""
    return pc.binary_join_element_wise('"', text, '"', "")


def value_of(kind: Type, leaf: Leaf) -> Value:
    """Return how values of `kind` are written: arrays and structs out of their items, encoded rows as they are."""
    match kind:
        case schema.Array(item):
            inner = value_of(item, leaf)
            return Value(lambda values: _list(values, inner))
        case schema.Struct():
            objects = _objects_of(kind, leaf)
            return Value(lambda values: _refusing(values, objects))
        case schema.Encoded():
            return Value(lambda values: values)
        case _:
            return leaf(kind)


def _refusing(values: pa.Array, writer: Encoder) -> pa.Array:
    try:
        return _objects(values, writer)
    except UnsupportedValue as error:
        raise InvalidValue(error.index, f"{error.column}: {error}") from None


def _objects(values: pa.StructArray, writer: Encoder) -> pa.Array:
    """Return structs as JSON objects; those that are null are inspected no further."""
    there = np.flatnonzero(pc.is_valid(values).to_numpy(zero_copy_only=False)) if values.null_count else None
    rows = values if there is None else values.take(pa.array(there))
    names = [values.type.field(place).name for place in range(values.type.num_fields)]
    try:
        texts = writer(dict(zip(names, rows.flatten(), strict=True)), {})
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
    items = pc.fill_null(in_quotes(items) if inner.quoted else items, "null")
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
