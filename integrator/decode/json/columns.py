"""Columns of records in JSON: the types into which Arrow parses them, and from there into the table's."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first_refused
from integrator.decode.text.refused import ValueRefused
from integrator.decode.text.values import from_text
from integrator.schema import Type, arrow_type

_TEXTUAL = (schema.Date, schema.Time, schema.Timestamp, schema.Interval, schema.Bytes)
"""Types that are text in JSON; zones are inspected later."""


@lru_cache(maxsize=1024)
def json_type(kind: Type) -> pa.DataType:
    """Return the Arrow type to parse into."""
    match kind:
        case schema.Array(item):
            return pa.list_(json_type(item))
        case schema.Struct(fields):
            return pa.struct([(field.name, json_type(field.type)) for field in fields])
        case _:
            return pa.string() if isinstance(kind, _TEXTUAL) else arrow_type(kind)


def is_number_text(kind: Type) -> bool:
    """Return whether values are exact numbers as text, for which JSON may have numbers or strings."""
    return isinstance(kind, schema.String) and kind.role in ("number", "unconstrained")


def exact(values: pa.Array) -> pa.Array:
    """Return values that Arrow's JSON parser made; it lets in decimals of more digits than their type has.

    Raises ValueRefused for such a one.
    """

    def fits(start: int, stop: int) -> bool:
        try:
            values.slice(start, stop - start).validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True

    if pa.types.is_list(values.type):
        try:
            exact(values.flatten())
        except ValueRefused as error:
            raise error.at(pc.list_parent_indices(values)[error.index].as_py()) from None
    elif pa.types.is_struct(values.type):
        for part in values.flatten():
            exact(part)
    elif pa.types.is_decimal(values.type) and not fits(0, len(values)):
        index = first_refused(len(values), fits)
        raise ValueRefused(index, f"{values[index].as_py()} has more digits than {values.type} holds")
    return values


def typed(values: pa.Array, kind: Type) -> pa.Array:
    """Return values that were parsed into `json_type(kind)` as `arrow_type(kind)`. Raises ValueRefused."""
    if values.type == arrow_type(kind):
        return values
    match kind:
        case schema.Array(item):
            try:
                items = typed(values.flatten(), item)
            except ValueRefused as error:
                raise error.at(pc.list_parent_indices(values)[error.index].as_py()) from None
            return pa.ListArray.from_arrays(values.offsets, items, mask=pc.is_null(values))
        case schema.Struct(fields):
            names = [field.name for field in fields]
            parts = [typed(part, field.type) for part, field in zip(values.flatten(), fields, strict=True)]
            return pa.StructArray.from_arrays(parts, names, mask=pc.is_null(values))
        case _:
            return from_text(values, kind)
