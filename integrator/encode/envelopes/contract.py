"""What an envelope is: the columns of its messages, and how events become rows of them.

An envelope is columns of the type tree, structs among them, so that every format can write every envelope.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from integrator.contracts.changes import Changes
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import Field, TableRecipe
from integrator.engine.arrays import Ints, Mask
from integrator.formats.contract import Format
from integrator.formats.records import PATH, Arrays, Missing
from integrator.schema import Column, Encoded, Struct, Type
from integrator.transform.columns import Columns
from integrator.transform.events import Events

Rows = tuple[Arrays, Missing]

IMAGE = "\0image"
"""The field with the encoded images: the first one of a table whose images are encoded before the envelopes."""


@dataclass(frozen=True)
class Envelope:
    """An envelope beyond HVR, so that a consumer written for a peer reads our topics unchanged.

    operations: what it can say; other events are counted and not sent. split_key_updates: an update of the key is a
    delete and an insert. key: the serializer of the message key where the channel names none; key_expression: its text,
    where the serializer takes a text. format: the same for the value. tombstones: a delete is followed by a message
    without value, unless the channel sets otherwise. images: an image is a value of its own in the message, and can be
    encoded before the envelope. unavailable: the text that an after image has instead of one that is missing, where a
    before image has null; without it, missing values are in both as the format has them.
    """

    columns: Callable[[TableRecipe, str, Format], tuple[Column, ...]]
    rows: Callable[[Events, Changes, Columns, TableRecipe, Recipe], Rows]
    operations: tuple[int, ...]
    split_key_updates: bool
    key: str
    format: str
    tombstones: bool = False
    key_expression: str = "{hvr_key_hash}"
    images: bool = True
    unavailable: str = ""


def with_image(table: TableRecipe) -> TableRecipe:
    """Return the recipe of a table whose images are encoded before the envelopes around them."""
    return replace(table, fields=(Field(IMAGE, Encoded(), nullable=True), *table.fields))


def image_columns(table: TableRecipe) -> tuple[Column, ...]:
    """Return the columns of a row's image: a value that is not there is null, so each may be null."""
    return tuple(field.as_column(nullable=True) for field in table.fields)


def image_type(table: TableRecipe, name: str = "", present: Container[str] = ()) -> Type:
    """Return the type of a row's image, in which the fields that are `present` are null only where they may be."""
    if table.fields[0].name == IMAGE:
        return table.fields[0].type
    listed = (field.as_column(nullable=field.nullable or field.name not in present) for field in table.fields)
    return Struct(tuple(listed), name)


def image(columns: Columns, fields: Sequence[Field], places: Ints) -> pa.Array:
    """Return the images at `places`, null where a place is -1."""
    none = places < 0
    at = pa.array(places, mask=none)
    if fields[0].name == IMAGE:
        return columns.values[IMAGE].take(at)
    values = [columns.values[field.name].take(at) for field in fields]
    return pa.StructArray.from_arrays(values, [field.name for field in fields], mask=pa.array(none))


def image_missing(columns: Columns, places: Ints, *path: str) -> Missing:
    """Return which values of the images at `places` the source left out, under the struct's path in the message."""
    found = {}
    for name, gone in columns.missing.items():
        out = taken(gone, places)
        if out.any():
            found[PATH.join([*path, name])] = out
    return found


def taken(mask: Mask, places: Ints) -> Mask:
    """Return `mask` at `places`; False where a place is -1."""
    return np.where(places < 0, np.False_, mask[places])


def texts(value: str | None, size: int) -> pa.Array:
    """Return the same text `size` times."""
    return pa.repeat(pa.scalar(value, pa.string()), size)


def key_fields(table: TableRecipe) -> tuple[Field, ...]:
    """Return the fields of the replication key that messages have."""
    return tuple(field for name in table.key for field in table.fields if field.column == name)
