"""Tables that differ in their columns: what of a table depends on these, and what does not.

A table is divided into the columns that are only written, each by its type, and all the rest: that is a recipe of its
own. Tables with the same shared recipe are encoded together.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from integrator import schema
from integrator.contracts.fragments import Shape
from integrator.contracts.message_format import Options
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import CaptureRecipe, Field, TableRecipe
from integrator.encode import messages
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Text, depends_on
from integrator.formats.contract import Between, ByColumn, Write
from integrator.schema import Column, Type

ROW, _HASHED = "\0row", "\0hashed"
"""Columns of shared recipes: each row's place, and the columns of the distribution key; no name begins so."""
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Writer:
    """What writes columns: one for all that can be written in one call. number: it identifies the writer."""

    number: int
    write: Write


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

    given: the columns of the shared recipe, each with the table's column that it is. between: what is between members.
    """

    shared_recipe: TableRecipe
    given: tuple[tuple[str, str], ...]
    members: tuple[Member, ...]
    between: Between

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The columns that are members."""
        return tuple(member.source for member in self.members if member.source)


def row_layout_of(table: TableRecipe, nameless: TableRecipe, channel: Recipe) -> RowLayout | None:
    """Return how a table, given also without its name, is divided; None where more is done to its columns."""
    by_column = messages.format_of(channel.messages.layout).by_column
    layout = channel.messages.layout
    changed = layout.before or layout.envelope or table.capture != CaptureRecipe()
    if by_column is None or changed or table.coercion.policy != "FATAL":
        return None
    parts = [part for expression in table.expressions for part in expression]
    types = {column.name: column.type for column in table.table.columns}
    own = [_is_own(field, types) for field in table.fields]
    if None in own or not all(map(_is_of_row, parts)):
        return None
    keys = {column.name for column in table.message_key.columns}
    computed = tuple(f for f, is_own in zip(table.fields, own, strict=True) if not is_own or f.name in keys)
    given = _given(table, parts, computed)
    columns = (Column(name, _same_text(types[source])) for name, source in given)
    place = Column(ROW, schema.Integer(64), nullable=False)
    shared_recipe = replace(
        nameless,
        table=replace(nameless.table, columns=(place, *columns), key=()),
        key=(),
        distribution_key=tuple(name for name, _ in given if name.startswith(_HASHED)),
        fields=(Field(ROW, place.type, nullable=False, source=ROW), *computed),
        added=(),
    )
    options, of_message = messages.options_of(table, channel), messages.columns(table, channel, Shape())
    members = []
    for field, is_own, column in zip(table.fields, own, of_message, strict=True):
        kind = Column("", _same_text(column.type), column.nullable)
        source = field.source if is_own and field.source else ""
        members.append(Member(field.name, source, not field.nullable, _writer(by_column, kind, options)))
    return RowLayout(shared_recipe, given, tuple(members), by_column.between(of_message, options))


@lru_cache(maxsize=1024)
def _writer(by_column: ByColumn, kind: Column, options: Options) -> Writer:
    return Writer(next(_NUMBERS), by_column.write(kind, options))


def _is_own(field: Field, types: dict[str, Type]) -> bool | None:
    """Return whether a field is a column as it is, or is computed; None for a column that is changed."""
    if field.operations:
        return None
    if field.expression or field.soft_delete or not field.source:
        return False
    return True if types.get(field.source) == field.type else None


def _is_of_row(part: Part) -> bool:
    match part:
        case Text() | Constant() | ColumnValue():
            return True
        case Op():
            return not depends_on([part], "columns")
        case _:
            return False


def _given(table: TableRecipe, parts: Sequence[Part], computed: Sequence[Field]) -> tuple[tuple[str, str], ...]:
    """Return the columns that expressions, fields and the key's hash read: names in the shared recipe, and here."""
    read = {part.name for part in parts if isinstance(part, ColumnValue)}
    read |= {field.source for field in computed if field.source and not field.expression}
    hashed = any(isinstance(part, Op) and part.name == "hvr_key_hash" for part in parts)
    of_hash = [(f"{_HASHED}{place}", name) for place, name in enumerate(table.distribution_key if hashed else ())]
    return (*((name, name) for name in sorted(read)), *of_hash)


def _same_text(kind: Type) -> Type:
    """Return the type by which values are written: for text of any length the same."""
    return schema.String() if isinstance(kind, schema.String) else kind
