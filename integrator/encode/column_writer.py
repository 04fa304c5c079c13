"""What writes the values of columns in one call: those of many tables, where the same is done to them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from integrator import schema
from integrator.contracts.message_format import Options
from integrator.contracts.table_recipe import Field, TextRules
from integrator.formats.records import ByColumn, InvalidValue, Write, Written
from integrator.schema import Column, Type
from integrator.transform.cast import Refused
from integrator.transform.columns import MomentFormat, as_field
from integrator.transform.text_rules import with_rules

_NUMBERS = itertools.count()
_AS_THEY_ARE = TextRules()


@dataclass(frozen=True)
class Writer:
    """What writes columns: one for all that can be written in one call. number: it identifies the writer."""

    number: int
    write: Write


@dataclass(frozen=True)
class Writers:
    """The writers of a table's columns: what they depend on beside the column."""

    by_column: ByColumn
    moments: MomentFormat

    def of(self, column: Column, options: Options, kind: Type, rules: TextRules = _AS_THEY_ARE) -> Writer:
        """Return what writes a column of a message. kind: the type of its values; rules: how these are captured."""
        column = replace(column, name="")
        if kind == column.type:
            column = replace(column, type=_same_text(column.type))
        return _writer(self, column, options, _same_text(kind), rules)


@lru_cache(maxsize=1024)
def _writer(writers: Writers, column: Column, options: Options, kind: Type, rules: TextRules) -> Writer:
    write = writers.by_column.write(replace(column, type=_same_text(column.type)), options)
    if kind == column.type and rules == _AS_THEY_ARE:
        return Writer(next(_NUMBERS), write)
    field = Field("", column.type, nullable=True)

    def write_converted(values: pa.Array) -> Written:
        try:
            return write(as_field(with_rules(values, rules), kind, field, writers.moments))
        except Refused as error:
            raise InvalidValue(error.index or 0, str(error)) from None

    return Writer(next(_NUMBERS), write_converted)


def _same_text(kind: Type) -> Type:
    """Return the type by which values are written: for text of any length the same."""
    return schema.String() if isinstance(kind, schema.String) else kind
