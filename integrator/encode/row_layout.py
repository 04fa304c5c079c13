"""Tables that differ in their columns: what of a table depends on these, and what does not.

A table is divided into the columns that are only written, each by its type and the message's, and all the rest: that is
a recipe of its own. Tables with the same shared recipe are encoded together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

import pyarrow as pa

from integrator import schema
from integrator.contracts.fragments import Shape
from integrator.contracts.message_format import MessageFormat, Options
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import CaptureRecipe, Field, TableRecipe, TextRules
from integrator.encode import messages
from integrator.encode.column_writer import Writer, Writers
from integrator.encode.envelopes import ENVELOPES
from integrator.encode.envelopes.contract import image_columns
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Sql, Text, depends_on
from integrator.formats.records import Between, ByColumn, InvalidValue
from integrator.schema import Column, Type
from integrator.transform import sql
from integrator.transform.columns import MomentFormat

ROW, _HASHED = "\0row", "\0hashed"
"""Columns of shared recipes: each row's place, and the columns of the distribution key; no name begins so."""


MissingAs: TypeAlias = 'Literal["", "omit", "shape", "null", "null before"]'
"""What becomes of missing values: as in `Format`; or they are null, in all rows or in before images alone."""


@dataclass(frozen=True)
class Member:
    """A field of a message: a column that is only written, or, where `source` is empty, a field of the shared recipe.

    required: it may not be null.
    """

    name: str
    source: str
    required: bool
    writer: Writer


@dataclass(frozen=True, eq=False)
class RowLayout:
    """A table as one of those with the same shared recipe. It is equal to itself only: many are soon compared.

    given: the columns of the shared recipe, each with the table's column that it is. columns, options: of the message.
    missing: what becomes of a missing value; empty where rows with such are encoded alone. Formats that leave members
    out have them in the order of the table's fields, as shapes do. keys: the columns that keys are made of.
    placeholder: the text that after images have instead of one that is missing; empty where there is none.
    placeholders: the columns that may have it.
    """

    shared_recipe: TableRecipe
    given: tuple[tuple[str, str], ...]
    members: tuple[Member, ...]
    columns: tuple[Column, ...]
    by_column: ByColumn
    options: Options
    missing: MissingAs
    keys: frozenset[str]
    placeholder: str
    placeholders: frozenset[str]

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The columns that are members."""
        return tuple(member.source for member in self.members if member.source)

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - layouts are kept as long as the channel's recipe
    def between(self, shape: Shape) -> Between:
        """Return what is between the members of rows of a shape. Raises InvalidValue where such have none."""
        columns = shape.present(self.columns)
        if not columns:
            raise InvalidValue(0, "a row without values")
        return self.by_column.between(columns, self.options)


def row_layout_of(table: TableRecipe, nameless: TableRecipe, channel: Recipe) -> RowLayout | None:
    """Return how a table, given also without its name, is divided; None where more is done to its columns."""
    layout = channel.messages.layout
    by_column = messages.format_of(layout).by_column
    changed = layout.before or not _encodes_images(layout) or not _is_of_rows(table.capture)
    if by_column is None or changed or table.coercion.policy != "FATAL":
        return None
    types = {column.name: column.type for column in table.table.columns}
    captured = {name for name, _ in table.capture.expressions}
    own = [_is_own(field, types, captured) for field in table.fields]
    parts = [part for expression in table.expressions for part in expression]
    if None in own or not all(map(_is_of_row, parts)):
        return None
    key = table.key if layout.envelope else ()
    keys = {column.name for column in table.message_key.columns}
    keys |= {field.name for field in table.fields if field.column in key}
    computed = tuple(f for f, is_own in zip(table.fields, own, strict=True) if not is_own or f.name in keys)
    given = _given(table, parts, computed)
    if any(source in captured and name != source for name, source in given):
        return None  # the key's hash is of what is captured, and not of what that is made of
    if not captured <= {name for name, _ in given}:
        return None  # what nothing reads is computed all the same
    row = Column(ROW, schema.Integer(64), nullable=False)
    columns = tuple(
        Column(name, types[name] if name in captured else _of_any_length(types[source])) for name, source in given
    )
    shared_recipe = replace(
        nameless,
        table=replace(nameless.table, columns=(row, *columns), key=()),
        key=key,
        distribution_key=tuple(name for name, _ in given if name.startswith(_HASHED)),
        fields=(Field(ROW, row.type, nullable=False, source=ROW), *computed),
        capture=_shared_capture(table.capture, given, columns),
        added=(),
    )
    of_message = image_columns(table) if layout.envelope else messages.columns(table, channel, Shape())
    options = messages.options_of(table, channel)
    writers = Writers(by_column, MomentFormat(channel.messages.timezone, table.midnight_is_date))
    members = _members(table, own, of_message, by_column.order(of_message, options), writers)
    of_keys = {field.source for field in computed if field.source and field.name in keys}
    of_keys |= {*table.key, *table.distribution_key}
    missing = _missing(table, parts, channel)
    placeholder = ENVELOPES[layout.envelope].unavailable if layout.envelope else ""
    return RowLayout(
        shared_recipe,
        given,
        members,
        tuple(of_message),
        by_column,
        options,
        missing,
        frozenset(of_keys),
        placeholder,
        frozenset(member.source for member in members if placeholder and _is_text(member.source, table)),
    )


def _shared_capture(
    capture: CaptureRecipe, given: Sequence[tuple[str, str]], columns: Sequence[Column]
) -> CaptureRecipe:
    """Return how the columns of the shared recipe, which are given, are captured."""
    has_text = any(pa.types.is_string(schema.arrow_type(column.type)) for column in columns)
    return replace(
        capture,
        augment=False,
        missing=(),
        days=tuple(name for name, source in given if source in capture.days),
        blanks=tuple(name for name, source in given if source in capture.blanks),
        characters=capture.characters if has_text else (),
    )


def _missing(table: TableRecipe, parts: Sequence[Part], channel: Recipe) -> MissingAs:
    """Return what becomes of missing values."""
    layout = channel.messages.layout
    filled = table.capture.augment or table.capture.missing
    if filled or table.capture.condition or depends_on(parts, "missing"):
        return ""  # a CaptureCondition fills rows that an update brings in
    if layout.envelope and ENVELOPES[layout.envelope].unavailable:
        return "null before"
    missing = messages.format_of(layout).missing
    if missing == "refuse" or (missing == "shape" and layout.envelope):  # the shape is the message's, not its images'
        return "null" if table.missing_as_null else ""
    return missing


def _is_text(name: str, table: TableRecipe) -> bool:
    """Return whether a column is text that messages have as it is."""
    column = table.table.column(name)
    if column is None or not isinstance(column.type, schema.String) or table.capture.text_rules(name) != TextRules():
        return False
    return all(field.type == column.type for field in table.fields if field.source == name)


def _members(
    table: TableRecipe,
    own: Sequence[bool | None],
    columns: Sequence[Column],
    order: Sequence[tuple[int, Options]],
    writers: Writers,
) -> tuple[Member, ...]:
    """Return the members of a message with these columns, which the table's fields are, in the format's order."""
    types = {column.name: column.type for column in table.table.columns}
    members = []
    for place, options in order:
        field, column = table.fields[place], columns[place]
        if own[place] and field.source:
            source, rules = field.source, table.capture.text_rules(field.source)
            writer = writers.of(column, options, types[source], rules)
        else:
            source, writer = "", writers.of(column, options, column.type)
        members.append(Member(field.name, source, not field.nullable, writer))
    return tuple(members)


def _encodes_images(layout: MessageFormat) -> bool:
    """Return whether the images in envelopes, if there are any, can be encoded before the envelopes."""
    by_column = messages.format_of(layout).by_column
    return not layout.envelope or (ENVELOPES[layout.envelope].images and by_column is not None and by_column.nests)


def _is_of_rows(capture: CaptureRecipe) -> bool:
    """Return whether a change row with all values is captured by itself, out of the columns that expressions name.

    AugmentIncomplete and MissingRepresentation do nothing to such rows; what is done to text, its writer does.
    """
    of_rows = replace(capture, expressions=(), condition=None, addresses=(), subscribed=(), augment=False, missing=())
    return replace(of_rows, days=(), blanks=(), characters=()) == CaptureRecipe()


def _is_own(field: Field, types: dict[str, Type], captured: set[str]) -> bool | None:
    """Return whether a field is a column that is only written, or is computed; None for one that is both.

    captured: the columns that CaptureExpressions make.
    """
    if field.operations:
        return None
    if field.expression or field.soft_delete or not field.source or field.source in captured:
        return False
    return True if field.source in types else None


def _is_of_row(part: Part) -> bool:
    match part:
        case Text() | Constant() | ColumnValue():
            return True
        case Op() | Sql():
            return not depends_on([part], "columns")


def _given(table: TableRecipe, parts: Sequence[Part], computed: Sequence[Field]) -> tuple[tuple[str, str], ...]:
    """Return the columns that expressions, fields and the key's hash read: names in the shared recipe, and here."""
    read = {part.name for part in parts if isinstance(part, ColumnValue)}
    in_sql = {name for part in parts if isinstance(part, Sql) for name in sql.names(part, table.table)}
    read |= {column.name for column in table.table.columns if column.name in in_sql}
    read |= {field.source for field in computed if field.source and not field.expression}
    hashed = any(isinstance(part, Op) and part.name == "hvr_key_hash" for part in parts)
    of_hash = [(f"{_HASHED}{place}", name) for place, name in enumerate(table.distribution_key if hashed else ())]
    return (*((name, name) for name in sorted(read)), *of_hash)


def _of_any_length(kind: Type) -> Type:
    """Return the type without the length of its text; what stands for a missing value depends on its role."""
    return replace(kind, length=None) if isinstance(kind, schema.String) else kind
