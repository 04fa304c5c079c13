"""Images as JSON objects whose members are columns, the shape of most producers of change records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import Mask, first, mask
from integrator.decode import records
from integrator.decode.json.lines import Lines
from integrator.decode.json.lists import from_json_list
from integrator.decode.json.objects import Objects, as_lines, unquoted
from integrator.decode.records import Cells, Images, Unknown
from integrator.decode.text.binary import from_base64
from integrator.decode.text.refused import ValueRefused, guarded
from integrator.decode.text.values import check_moments
from integrator.errors import DataError, shown
from integrator.schema import Column, Table, arrow_type, describe

Ints = npt.NDArray[np.int64]


def none_apart(_name: str) -> bool:
    """Say that every name is a column's."""
    return False


def json_typed(column: Column, values: pa.Array) -> pa.Array:
    """Return the text of JSON values in the column's type. Raises ValueRefused."""
    match column.type:
        case schema.Array(item):
            return from_json_list(values, item, lambda items, _quoted: json_typed(Column("", item), items))
        case schema.Timestamp(zoned=False):  # several producers write Z behind moments without a zone
            return records.typed(column, pc.replace_substring_regex(values, r"(\d\d:\d\d.*)(Z|\+00:?00)$", r"\1"))
        case _:
            return records.typed(column, values)


def zoned(column: Column, values: pa.Array, zone: str) -> pa.Array:
    """Return texts of moments with a zone: those that are written without one are of `zone`. Raises ValueRefused."""

    def made(part: pa.Array) -> pa.Array:
        check_moments(part)
        wanted = arrow_type(column.type)
        bare = mask(pc.invert(pc.match_substring_regex(part, r"([Zz]|[+-]\d\d(:?\d\d)?)$")))
        if not bare.any():
            return part.cast(wanted)
        local = pc.if_else(pa.array(bare), part, None).cast(pa.timestamp(wanted.unit))
        instants = pc.assume_timezone(local, zone).cast(wanted)
        return pc.coalesce(instants, pc.if_else(pa.array(bare), None, part).cast(wanted))

    return guarded(values, made, describe(column.type))


def stamps(file: str, line: Ints, column: Column, values: pa.Array, zone: str) -> pa.Array:
    """Return as `zoned` the moments that records in these lines say beside their values. Raises DataError."""
    try:
        return zoned(column, values, zone)
    except ValueRefused as error:
        raise DataError(f"{file}:{line[error.index]}: {column.name}: {error}; mend the record") from None


def utc_typed(column: Column, values: pa.Array, decode: Callable[[pa.Array], pa.Array] = from_base64) -> pa.Array:
    """Return as `json_typed`; `decode` reads bytes, and moments without a zone are in UTC. Raises ValueRefused."""
    match column.type:
        case schema.Bytes():
            return guarded(values, decode, describe(column.type))
        case schema.Timestamp(zoned=True):
            return zoned(column, values, "UTC")
        case _:
            return json_typed(column, values)


@dataclass(frozen=True)
class JsonValues:
    """The after and the before image of each record, as JSON; null where there is none.

    apart: whether a name is no column though it stands among them. convert: text -> the column's type.
    fold: names of columns may be written in other case than the table's.
    """

    lines: Lines
    line: Ints
    new: pa.Array
    old: pa.Array
    apart: Callable[[str], bool] = none_apart
    convert: Callable[[Column, pa.Array], pa.Array] = json_typed
    fold: bool = False

    def cells(self, table: Table, record: Ints, is_old: Mask) -> Images:
        """Return what images have, by column."""
        images = pa.chunked_array([self.new, self.old]).take(record + len(self.new) * is_old)
        images = pc.fill_null(images.combine_chunks(), "{}")  # a truncate
        lines = as_lines(images, self.lines, np.zeros(len(record), np.int64))
        lines = Lines(lines.file, lines.data, self.line[record], lines.offsets)
        objects = Objects(lines, f"an object of columns of {table.name}")
        columns = {column.name: column.name for column in table.columns}
        folded = {name.lower(): name for name in columns} if self.fold else {}
        found: dict[str, Cells] = {}
        unknown: dict[str, Unknown] = {}
        for name in objects.names:
            column = columns.get(name) or folded.get(name.lower())
            if column is not None:
                cells = _cells(objects, name)
                found[column] = self._either(column, found[column], cells, lines) if column in found else cells
            elif not self.apart(name):
                of = objects.objects_of(name)
                empty = pc.all(pc.equal(objects.values(name), "null")).as_py()
                unknown[name] = Unknown(len(of), int(of[0]), None if empty else pa.string())
        return found, unknown

    @staticmethod
    def _either(column: str, one: Cells, other: Cells, lines: Lines) -> Cells:
        """Return what one of two spellings of a column has. Raises DataError for a record that has both."""
        both = first(one.has & other.has)
        if both is not None:
            raise DataError(f"{lines.file}:{lines.numbers[both]}: the record has column {column} twice, in other case")
        values = pc.if_else(pa.array(one.has), one.values, other.values)
        return Cells(values, one.has | other.has, mask(pc.if_else(pa.array(one.has), one.quoted, other.quoted)))

    def typed(self, column: Column, cells: Cells, _record: Ints) -> pa.Array:
        """Return values in the column's type. Raises ValueRefused."""
        check_nested(column, cells)
        return self.convert(column, cells.values)


def check_nested(column: Column, cells: Cells, structs: tuple[type, ...] = ()) -> None:
    """Raise ValueRefused for an object or a list in JSON in a column that is neither of text nor of lists.

    In a string, `{` begins a list of PostgreSQL's; bytes are strings always. structs: types that may be objects.
    """
    kind = column.type
    if cells.quoted is None or isinstance(kind, structs) or (isinstance(kind, schema.String) and kind.role in _NESTED):
        return
    opening = r"^\{" if isinstance(kind, schema.Array) else "" if isinstance(kind, schema.Bytes) else r"^[{\[]"
    odd = first(mask(pc.match_substring_regex(cells.values, opening)) & ~cells.quoted)
    if odd is not None:
        raise ValueRefused(odd, f"{shown(cells.values[odd].as_py())} is no {describe(kind)}")


_NESTED = ("", "json")
"""Roles of text that may be an object or a list: its JSON is the text."""


def _cells(objects: Objects, name: str) -> Cells:
    raw = objects.raw(name)
    return Cells(unquoted(raw), objects.has(name), mask(pc.starts_with(raw, '"')))
