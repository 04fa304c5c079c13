"""What the messages of a table are made of: their columns, the encoders of value and key, the frames around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from integrator.contracts.fragments import PresentFields
from integrator.contracts.message_format import MessageFormat, Options
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import Field, TableRecipe
from integrator.encode.envelopes import ENVELOPES
from integrator.encode.envelopes.contract import image_columns, with_image
from integrator.formats import FORMATS
from integrator.formats.contract import Format, Frame
from integrator.formats.json_object import AS_THEY_ARE
from integrator.formats.keys import KEYS, SchemaType, key_options
from integrator.formats.records import ByColumn, Encoder
from integrator.schema import Column


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema that a registry is to know: of which table's `value` or `key` it is, and its text."""

    table: str
    part: str
    type: SchemaType
    text: str
    record: str


def format_of(layout: MessageFormat) -> Format:
    """Return the format of values."""
    return FORMATS[layout.format]


def old_fields(table: TableRecipe, layout: MessageFormat) -> tuple[Field, ...]:
    """Return the fields that have a value of before the update beside them: BeforeUpdateColumns."""
    return tuple(field for field in table.fields if not field.extra) if layout.before else ()


def columns(table: TableRecipe, recipe: Recipe, shape: PresentFields) -> tuple[Column, ...]:
    """Return the columns of a message of this shape."""
    layout = recipe.messages.layout
    if layout.single_value:
        return tuple(field.as_column(nullable=True) for field in table.fields if field.name == layout.single_value)
    if layout.envelope:
        return ENVELOPES[layout.envelope].columns(table, recipe.messages.channel)
    by_shape = format_of(layout).missing == "shape"
    listed = [
        field.as_column(nullable=field.nullable or (shape.truncate if by_shape else _may_be_null(field, table)))
        for place, field in enumerate(table.fields)
        if place not in shape.absent
    ]
    before = [
        replace(field, name=layout.before + field.name)
        for place, field in enumerate(old_fields(table, layout), len(table.fields))
        if place not in shape.absent
    ]
    return (*listed, *(field.as_column(nullable=True) for field in before))


def _may_be_null(field: Field, table: TableRecipe) -> bool:
    """Return whether the one schema of all rows must let a NOT NULL column be null: for truncates, or if missing."""
    truncates = TRUNCATE in table.operations and not field.extra
    return truncates or (table.missing_as_null and field.source is not None and field.source not in table.key)


def options_of(table: TableRecipe, recipe: Recipe) -> Options:
    """Return the options of the values of `table`."""
    options = (
        replace(recipe.messages.layout.options, numbers=table.numbers)
        if table.numbers
        else recipe.messages.layout.options
    )
    return replace(options, binary=table.binary) if table.binary else options


@dataclass(frozen=True)
class ImageFormat:
    """How the images of a table's rows are written, before the envelopes around them are made."""

    by_column: ByColumn
    columns: tuple[Column, ...]
    options: Options

    @property
    def encoder(self) -> Encoder:
        """The encoder of images."""
        return self.by_column.encoder(self.columns, self.options)


def image_format(table: TableRecipe, recipe: Recipe) -> ImageFormat | None:
    """Return how images are written; None where there are no envelopes, or the format writes whole rows.

    Raises ConfigurationError where an image is not written everywhere in the message in the same way.
    """
    layout = recipe.messages.layout
    by_column = format_of(layout).by_column
    if not layout.envelope or by_column is None:
        return None
    if table.whole_events:
        return ImageFormat(AS_THEY_ARE, image_columns(table.fields[:1], required=False), options_of(table, recipe))
    envelope = ENVELOPES[layout.envelope]
    around = envelope.columns(with_image(table), recipe.messages.channel)
    options = by_column.image_options(around, options_of(table, recipe))
    of_image = image_columns((*table.fields, *envelope.added(table)), required=envelope.required)
    return ImageFormat(by_column.images or by_column, of_image, options)


def value_encoder(table: TableRecipe, recipe: Recipe, shape: PresentFields) -> Encoder:
    """Return the encoder of values of this shape."""
    made_of = columns(table, recipe, shape)
    return format_of(recipe.messages.layout).encoder(made_of, options_of(table, recipe))


def value_frame(table: TableRecipe, recipe: Recipe, shape: PresentFields) -> Frame:
    """Return what stands around values of this shape."""
    made_of = columns(table, recipe, shape)
    name = record(table, recipe)
    return format_of(recipe.messages.layout).frame(name, made_of, options_of(table, recipe), table.value_id)


def record(table: TableRecipe, recipe: Recipe) -> str:
    """Return the name of a value's record: the one that the channel gives, or the table's, or the envelope's."""
    if table.value_record:
        return table.value_record
    if recipe.messages.layout.envelope != "DEBEZIUM":
        return table.table.name
    names = (recipe.messages.channel, table.table.schema, table.table.base_name, "Envelope")
    return ("." if format_of(recipe.messages.layout).name_refusal(".") is None else "_").join(filter(None, names))


def key_frame(table: TableRecipe, recipe: Recipe) -> Frame:
    """Return what stands around keys."""
    key_recipe = table.message_key
    options = key_options(key_recipe.serializer, recipe.messages.layout.options)
    return KEYS[key_recipe.serializer].frame(key_record(table, recipe), key_recipe.columns, options, table.key_id)


def key_record(table: TableRecipe, recipe: Recipe) -> str:
    """Return the name of a key's record (https://fivetran.com/docs/hvr6/action-reference/integrate)."""
    if table.key_record:
        return table.key_record
    struct = KEYS[table.message_key.serializer].of_struct
    if recipe.messages.layout.envelope == "DEBEZIUM" and struct is not None and not struct.schema_type:
        return ".".join(filter(None, (recipe.messages.channel, table.table.schema, table.table.base_name, "Key")))
    return f"{table.table.name}_key"


def value_schema(table: TableRecipe, recipe: Recipe) -> str:
    """Return the text of the schema of full rows; empty where the format has none."""
    made_of = columns(table, recipe, PresentFields())
    options = options_of(table, recipe)
    return format_of(recipe.messages.layout).schema_text(record(table, recipe), made_of, options)


def registered_schemas(recipe: Recipe) -> Iterator[RegisteredSchema]:
    """Yield the schemas that a registry is to know."""
    value = format_of(recipe.messages.layout)
    for table in recipe.tables:
        image_format(table, recipe)  # it may be refused
        key_recipe = table.message_key
        key = KEYS[key_recipe.serializer]
        if value.schema_type:
            text = value_schema(table, recipe)
            yield RegisteredSchema(table.table.name, "value", value.schema_type, text, record(table, recipe))
        if key.schema_type:
            named = key_record(table, recipe)
            options = key_options(key_recipe.serializer, recipe.messages.layout.options)
            text = key.schema_text(named, key_recipe.columns, options)
            yield RegisteredSchema(table.table.name, "key", key.schema_type, text, named)
