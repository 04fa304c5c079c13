"""A table's recipe, divided: columns that are only written, and the recipe of all the rest, as a row program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from integrator import schema
from integrator.contracts.fragments import PresentFields
from integrator.contracts.message_format import Options
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import CaptureRecipe, Field, TableRecipe, TextRules
from integrator.encode import messages
from integrator.encode.column_writer import Writers
from integrator.encode.envelopes import ENVELOPES
from integrator.encode.row_program import ROW, Member, MissingAs, RowProgram
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Sql, Text, depends_on
from integrator.schema import Column, Type
from integrator.transform import sql
from integrator.transform.columns import MomentFormat

_HASHED = "\0hashed"
"""What the names of shared recipes' columns of the distribution key begin with; no other name begins so."""


def row_program_of(table: TableRecipe, unnamed: TableRecipe, channel: Recipe) -> RowProgram | None:
    """Return the program of a table, given also without its name; None where more is done to its columns."""
    layout = channel.messages.layout
    by_column = messages.format_of(layout).by_column
    if by_column is None or layout.before or not _is_of_rows(table.capture) or table.coercion.policy != "FATAL":
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
    computed = tuple(
        replace(field, type=_of_any_length(field.type)) if is_own and field.type == types[field.source or ""] else field
        for field, is_own in zip(table.fields, own, strict=True)
        if not is_own or field.name in keys
    )
    given = _given(table, parts, computed)
    if any(source in captured and name != source for name, source in given):
        return None  # the key's hash is of what is captured, and not of what that is made of
    if not captured <= {name for name, _ in given}:
        return None  # what nothing reads is computed all the same
    row = Column(ROW, schema.Integer(64), nullable=False)
    columns = tuple(
        Column(name, types[name] if name in captured else _of_any_length(types[source])) for name, source in given
    )
    recipe = replace(
        unnamed,
        table=replace(unnamed.table, columns=(row, *columns), key=()),
        key=key,
        distribution_key=tuple(name for name, _ in given if name.startswith(_HASHED)),
        fields=(Field(ROW, row.type, nullable=False, source=ROW, extra=True), *computed),
        capture=_shared_capture(table.capture, given, columns),
        added=(),
    )
    images = messages.image_format(table, channel)
    of_message = messages.columns(table, channel, PresentFields()) if images is None else images.columns
    options = messages.options_of(table, channel) if images is None else images.options
    by_column = by_column if images is None else images.by_column
    writers = Writers(by_column, MomentFormat(channel.messages.timezone, table.midnight_is_date))
    members = _members(table, own, of_message, by_column.order(of_message, options), writers)
    reads = {source for _, source in given} | {*table.key, *table.distribution_key}
    missing = _missing(table, parts, channel)
    return RowProgram(
        recipe,
        given,
        members,
        tuple(of_message),
        by_column,
        options,
        missing,
        frozenset(reads),
        _placeholders(table, channel),
        _absent(table, channel),
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
    if layout.envelope and ENVELOPES[layout.envelope].placeholder:
        return "null before"
    missing = messages.format_of(layout).missing
    if missing == "refuse" or (missing == "shape" and layout.envelope):  # the shape is the message's, not its images'
        return "null" if table.missing_as_null else ""
    return missing


def _placeholders(table: TableRecipe, channel: Recipe) -> dict[str, pa.Scalar]:
    """Return what after images have for a missing value, by column: of those that messages have as they are."""
    layout = channel.messages.layout
    placeholder = ENVELOPES[layout.envelope].placeholder if layout.envelope else None
    stands = {column.name: placeholder(column.type) for column in _as_they_are(table)} if placeholder else {}
    return {name: one for name, one in stands.items() if one is not None}


def _absent(table: TableRecipe, channel: Recipe) -> dict[str, pa.Scalar | None]:
    """Return what before images have for a missing value of a column that may not be null there."""
    envelope = ENVELOPES.get(channel.messages.layout.envelope)
    if envelope is None or not envelope.required:
        return {}
    needed = {field.source: None for field in table.fields if field.source and not field.nullable}
    plain = (one for one in _as_they_are(table) if one.name in needed)
    return needed | {one.name: envelope.absent(one.type, one.default) for one in plain}


def _as_they_are(table: TableRecipe) -> list[Column]:
    """Return the columns whose values messages have as they are."""
    kinds: dict[str | None, set[Type]] = {}
    for field in table.fields:
        kinds.setdefault(field.source, set()).add(field.type)
    plain = (column for column in table.table.columns if kinds.get(column.name) == {column.type})
    return [column for column in plain if table.capture.text_rules(column.name) == TextRules()]


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
        column = columns[place]
        field = table.fields[place] if place < len(table.fields) else None  # others are the envelope's
        if field is not None and own[place] and field.source:
            source, rules = field.source, table.capture.text_rules(field.source)
            writer = writers.of(column, options, types[source], rules)
        else:
            source, writer = "", writers.of(column, options, column.type)
        members.append(Member(column.name, source, field is not None and not field.nullable, writer))
    return tuple(members)


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
