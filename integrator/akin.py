"""Tables that differ in their columns: where a batch has few rows of each, what does not depend on these is done once.

A table is divided into the columns that are only written, each by its type, and all the rest: that is its stand-in, a
recipe of its own. Tables with the same stand-in are akin: their rows go through the encoder of the stand-in as one, and
the columns of all of them are written in one call for each type (I6).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from integrator import messages, schema
from integrator.changes import AnyChanges, Changes, Joint, behind_each_other
from integrator.expression import ColumnValue, Constant, Op, Part, Text
from integrator.formats.contract import Arrays, ByColumn, Join, Missing, Options, RefusedValue, Unsayable, Write
from integrator.fragments import Places, Shape
from integrator.recipe import TRUNCATE, Field, Recipe, TableRecipe
from integrator.schema import Column, Type

_ROW, _HASHED = "\0row", "\0hashed"
"""Columns of stand-ins: each row's place, and the columns of the distribution key; no name begins so."""
_BY_COLUMNS = ("hvr_key_names",)
"""Substitutions whose value depends on which columns a table has."""


@dataclass(frozen=True)
class Member:
    """A field of a message: a column that is only written, or, where `source` is empty, a field of the stand-in.

    write: the same for columns that are written in one call. required: they may not be null.
    """

    name: str
    source: str
    required: bool
    write: Write


@dataclass(frozen=True)
class Kin:
    """A table as one of those that are akin.

    given: the columns of the stand-in, each with the table's column that it is. join: makes rows of their members.
    """

    stand_in: TableRecipe
    given: tuple[tuple[str, str], ...]
    members: tuple[Member, ...]
    join: Join


def kin_of(table: TableRecipe, nameless: TableRecipe, channel: Recipe) -> Kin | None:
    """Return how a table, given also without its name, is divided; None where more is done to its columns."""
    by_column = messages.format_of(channel.layout).by_column
    if by_column is None or channel.layout.before or table.coercion.policy != "FATAL":
        return None
    parts = [part for expression in table.expressions for part in expression]
    types = {column.name: column.type for column in table.table.columns}
    own = [_is_own(field, types) for field in table.fields]
    if None in own or not all(map(_is_of_row, parts)):
        return None
    keys = {column.name for column in table.message_key.columns}
    computed = tuple(f for f, is_own in zip(table.fields, own, strict=True) if not is_own or f.name in keys)
    given = _given(table, parts, computed)
    columns = (Column(name, _text_alike(types[source])) for name, source in given)
    place = Column(_ROW, schema.Integer(64), nullable=False)
    stand_in = replace(
        nameless,
        table=replace(nameless.table, columns=(place, *columns), key=()),
        key=(),
        distribution_key=tuple(name for name, _ in given if name.startswith(_HASHED)),
        fields=(Field(_ROW, place.type, nullable=False, source=_ROW), *computed),
        added=(),
    )
    options, of_message = messages.options_of(table, channel), messages.columns(table, channel, Shape())
    members = []
    for field, is_own, said in zip(table.fields, own, of_message, strict=True):
        kind = Column("", _text_alike(said.type), said.nullable)
        source = field.source if is_own and field.source else ""
        members.append(Member(field.name, source, not field.nullable, _writer(by_column, kind, options)))
    return Kin(stand_in, given, tuple(members), by_column.join(of_message, options))


@lru_cache(maxsize=1024)
def _writer(by_column: ByColumn, kind: Column, options: Options) -> Write:
    return partial(by_column.write(kind, options))  # one of its own, though kinds may be written by the same function


def _is_own(field: Field, types: dict[str, Type]) -> bool | None:
    """Say whether a field is a column as it is, or is computed; None for a column that is changed."""
    if field.operations:
        return None
    if field.expression or field.soft_delete or not field.source:
        return False
    return True if types.get(field.source) == field.type else None


def _is_of_row(part: Part) -> bool:
    match part:
        case Text() | Constant() | ColumnValue():
            return True
        case Op(name=name, value_of=value_of):
            return not value_of and name not in _BY_COLUMNS
        case _:
            return False


def _given(table: TableRecipe, parts: Sequence[Part], computed: Sequence[Field]) -> tuple[tuple[str, str], ...]:
    """Return the columns that expressions, fields and the key's hash read: their names in the stand-in, and here."""
    read = {part.name for part in parts if isinstance(part, ColumnValue)}
    read |= {field.source for field in computed if field.source and not field.expression}
    hashed = any(isinstance(part, Op) and part.name == "hvr_key_hash" for part in parts)
    of_hash = [(f"{_HASHED}{place}", name) for place, name in enumerate(table.distribution_key if hashed else ())]
    return (*((name, name) for name in sorted(read)), *of_hash)


def _text_alike(kind: Type) -> Type:
    """Return the type by which values are written: for text of any length the same."""
    return schema.String() if isinstance(kind, schema.String) else kind


@dataclass(frozen=True)
class Family:
    """Change rows of tables that are akin: full parts of a table, or of several alike, each with how it is divided."""

    parts: Sequence[AnyChanges]
    kin: Sequence[Kin]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the rows are of."""
        return tuple(table for part in self.parts for table in part.tables)

    @property
    def truncates(self) -> bool:
        """Whether a row stands for a whole table, and so has no columns."""
        return any(TRUNCATE in _rows(part).op.to_numpy() for part in self.parts)

    def apart(self) -> Sequence[AnyChanges]:
        """Return the parts."""
        return self.parts

    def joint(self) -> Joint:
        """Return the rows with the columns of the stand-in."""
        parts = [
            replace(_rows(part), columns={name: _rows(part).columns[source] for name, source in kin.given})
            for part, kin in zip(self.parts, self.kin, strict=True)
        ]
        sizes = [size for part in self.parts for size in (part.sizes if isinstance(part, Joint) else (len(part),))]
        joint = behind_each_other(parts, self.tables, sizes)
        places = {_ROW: pa.array(np.arange(len(joint)))}
        return replace(joint, rows=replace(joint.rows, columns=places | joint.rows.columns))

    def encode(self, values: Arrays, _missing: Missing) -> pa.Array:
        """Return the encoded rows of the stand-in, as an Encoder; RefusedValue does not say which row it is."""
        try:
            return pa.concat_arrays(list(self._encoded(values)))
        except (Unsayable, pa.ArrowInvalid) as error:  # the latter: more text than an array holds
            raise RefusedValue(0, str(error)) from None

    def _encoded(self, values: Arrays) -> Iterator[pa.Array]:
        """Yield the rows of each part: what is written of the columns of all parts is divided among them again."""
        kept = np.asarray(values[_ROW])
        bounds = np.cumsum([0, *map(len, self.parts)])
        shares = list(itertools.pairwise(np.searchsorted(kept, bounds).tolist()))
        written = self._written(kept, bounds, shares)
        computed: dict[tuple[str, Write], pa.Array] = {}
        at = dict.fromkeys(written, 0)
        for kin, (start, end) in zip(self.kin, shares, strict=True):
            texts = []
            for member in kin.members:
                if member.source:
                    texts.append(written[member.write].slice(at[member.write], end - start))
                    at[member.write] += end - start
                    continue
                made = member.name, member.write
                if made not in computed:
                    computed[made] = member.write(values[member.name])
                texts.append(computed[made].slice(start, end - start))
            if end > start or not len(kept):
                yield kin.join(texts)

    def _written(self, kept: Places, bounds: Places, shares: Sequence[tuple[int, int]]) -> dict[Write, pa.Array]:
        """Return what each writer makes of its columns, part by part, of the rows that are `kept`."""
        columns: dict[Write, list[pa.Array]] = {}
        for part, kin, before, (start, end) in zip(self.parts, self.kin, bounds[:-1].tolist(), shares, strict=True):
            rows = _rows(part)
            at = None if end - start == len(rows) else pa.array(kept[start:end] - before)
            for member in kin.members:
                if member.source:
                    column = rows.columns[member.source]
                    if member.required and column.null_count:
                        raise RefusedValue(0, "null")
                    columns.setdefault(member.write, []).append(column if at is None else column.take(at))
        return {write: write(pa.concat_arrays(parts)) for write, parts in columns.items()}


def is_full(part: AnyChanges) -> bool:
    """Say whether each row has a value, or null, in each column."""
    rows = _rows(part)
    return not (rows.missing or rows.left_out)


def _rows(part: AnyChanges) -> Changes:
    return part.rows if isinstance(part, Joint) else part
