"""Message keys and headers: out of an expression's text, or of the key columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.errors import DataError, Fault, Place
from integrator.expressions.parse import natural_type
from integrator.expressions.parts import Part, Sql
from integrator.formats.header_values import HEADERS
from integrator.formats.keys import KEYS, key_options
from integrator.formats.records import Encoder, UnsupportedValue
from integrator.schema import String, Type, arrow_type
from integrator.transform.cast import Refused, cast
from integrator.transform.columns import Columns
from integrator.transform.expression import EvaluationContext, RunClock
from integrator.transform.key_hash import require_key

Keys = Callable[[ChangeBatch, Columns, RunClock], pa.Array]


def key_maker(recipe: TableRecipe, channel: Recipe) -> Keys:
    """Return a function from change rows and their fields to what stands inside each key's frame; null is no key."""
    key_recipe = recipe.message_key
    key_format = KEYS[key_recipe.serializer]
    if key_recipe.columns and key_format.encoder is not None:
        options = key_options(key_recipe.serializer, channel.messages.layout.options)
        encoder = key_format.encoder(key_recipe.columns, options)
        return lambda changes, columns, _clock: _of_columns(changes, columns, recipe, encoder)
    if not key_recipe.expression:
        return lambda changes, _columns, _clock: pa.nulls(len(changes), pa.binary())

    def of_text(changes: ChangeBatch, _columns: Columns, clock: RunClock) -> pa.Array:
        texts = _text(key_recipe.expression, "MessageKey", changes, recipe, channel, clock)
        encoded = key_format.encode_text(texts)
        return encoded.cast(pa.binary())

    return of_text


def _of_columns(changes: ChangeBatch, columns: Columns, recipe: TableRecipe, encoder: Encoder) -> pa.Array:
    require_key(changes, recipe.key)
    try:
        keys = encoder({column.name: columns.values[column.name] for column in recipe.message_key.columns}, {})
        keys = keys.cast(pa.binary())
    except UnsupportedValue as error:
        place = Place(changes.file, int(changes.line[error.index]))
        raise DataError(
            Fault(place, f"table {changes.table_of(error.index)}, key column {error.column}: {error}")
        ) from None
    truncate = pc.equal(changes.op, TRUNCATE)  # the whole table has no key
    return pc.if_else(truncate, pa.scalar(None, pa.binary()), keys) if pc.any(truncate).as_py() else keys


def headers(changes: ChangeBatch, recipe: TableRecipe, channel: Recipe, clock: RunClock) -> pa.Array:
    """Return the values of the message headers of each row, in the order of their names; null without headers."""
    kind = pa.list_(pa.binary())
    if not recipe.headers:
        return pa.nulls(len(changes), kind)
    written = [_header(name, parts, changes, recipe, channel, clock) for name, parts in recipe.headers]
    size, each = len(changes), len(written)
    interleaved = np.arange(size * each).reshape(each, size).T.ravel()
    values = pa.concat_arrays(written).take(pa.array(interleaved))
    return pa.ListArray.from_arrays(pa.array(np.arange(0, size * each + 1, each), pa.int32()), values)


def _header(
    name: str, parts: tuple[Part, ...], changes: ChangeBatch, recipe: TableRecipe, channel: Recipe, clock: RunClock
) -> pa.Array:
    """Return the values of a header, as its serializer writes them. Raises DataError."""
    written = HEADERS[recipe.header_serializer]
    if not written.typed or isinstance(parts[0], Sql):
        kind: Type = String()
        values = _text(parts, f"header {name}", changes, recipe, channel, clock)
    else:
        kind, context = natural_type(parts, recipe.table), EvaluationContext(changes, recipe, channel, clock)
        try:
            values = context.evaluate(parts)
            values = values if values.type == arrow_type(kind) else cast(values, kind, channel.messages.timezone)
        except Refused as error:
            raise context.error(f"header {name}", error, parts) from None
    try:
        return written.write(kind, key_options("CONNECT", channel.messages.layout.options))(values)
    except UnsupportedValue as error:
        place = Place(changes.file, int(changes.line[error.index]))
        raise DataError(Fault(place, f"table {changes.table_of(error.index)}, header {name}: {error}")) from None


def _text(
    parts: tuple[Part, ...], name: str, changes: ChangeBatch, recipe: TableRecipe, channel: Recipe, clock: RunClock
) -> pa.Array:
    context = EvaluationContext(changes, recipe, channel, clock)
    try:
        return cast(context.evaluate(parts), String(), channel.messages.timezone)
    except Refused as error:
        raise context.error(name, error, parts) from None
