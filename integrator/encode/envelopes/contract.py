"""What an envelope is: the columns of its messages, and how events become rows of them.

An envelope is columns of the type tree, structs among them, so that every format can write every envelope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import Field, TableRecipe
from integrator.engine.arrays import Ints
from integrator.formats.records import Arrays
from integrator.schema import Column, Encoded, Struct, Type
from integrator.transform.columns import Columns
from integrator.transform.events import Events

IMAGE = "\0image"
"""The field with the encoded images: the first one of a table whose images are encoded before the envelopes."""


@dataclass(frozen=True)
class Envelope:
    """An envelope beyond HVR, so that a consumer written for a peer reads our topics unchanged.

    operations: what it can say; other events are counted and not sent. split_key_updates: an update of the key is a
    delete and an insert. key: the serializer of the message key where the channel names none; key_expression: its text,
    where the serializer takes a text. format: the same for the value. tombstones: a delete is followed by a message
    without value, unless the channel sets otherwise. has_before: it has the before images of updates. image_fields:
    what images have beside the table's fields; image_values: these of change rows. placeholder: what an after image has
    for a missing value of a type, None where there is nothing for that; without it, missing values are as the format
    has them. absent: what a before image has, with a placeholder, for a missing value of a type and a default that may
    not be null; it has null where that may be. required: images have NOT NULL columns as such. version: of Connect's
    schema.
    """

    columns: Callable[[TableRecipe, str], tuple[Column, ...]]
    rows: Callable[[Events, ChangeBatch, Columns, TableRecipe, Recipe], Arrays]
    operations: tuple[int, ...]
    split_key_updates: bool
    key: str
    format: str
    tombstones: bool = False
    key_expression: str = "{hvr_key_hash}"
    has_before: bool = True
    image_fields: tuple[Field, ...] = ()
    image_values: Callable[[ChangeBatch], Arrays] = lambda _changes: {}
    placeholder: Callable[[Type], pa.Scalar | None] | None = None
    absent: Callable[[Type, Any], pa.Scalar | None] = lambda _kind, _default: None
    required: bool = False
    version: int = 0


def with_image(table: TableRecipe) -> TableRecipe:
    """Return the recipe of a table whose images are encoded before the envelopes around them."""
    return replace(table, fields=(Field(IMAGE, Encoded(), nullable=True), *table.fields))


def image_columns(fields: Sequence[Field], *, required: bool) -> tuple[Column, ...]:
    """Return the columns of a row's image, NOT NULL ones as such where they are `required`."""
    return tuple(field.as_column(nullable=field.nullable or not required) for field in fields)


def image_type(fields: Sequence[Field], name: str = "", *, required: bool = False) -> Type:
    """Return the type of a row's image; each column may be null, for the value may not be there, or as `required`."""
    if fields[0].name == IMAGE:
        return fields[0].type
    return Struct(image_columns(fields, required=required), name)


def image(columns: Columns, fields: Sequence[Field], places: Ints) -> pa.Array:
    """Return the images at `places`, null where a place is -1."""
    none = places < 0
    at = pa.array(places, mask=none)
    if fields[0].name == IMAGE:
        return columns.values[IMAGE].take(at)
    values = [columns.values[field.name].take(at) for field in fields]
    return pa.StructArray.from_arrays(values, [field.name for field in fields], mask=pa.array(none))


def texts(value: str | None, size: int) -> pa.Array:
    """Return the same text `size` times."""
    return pa.repeat(pa.scalar(value, pa.string()), size)


def key_fields(table: TableRecipe) -> tuple[Field, ...]:
    """Return the fields of the replication key that messages have."""
    return tuple(field for name in table.key for field in table.fields if field.column == name)
