"""Images as JSON objects whose members are columns, the shape of most producers of change records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrays import Mask, mask
from integrator.dialects import records
from integrator.dialects.json_objects import Objects, as_lines
from integrator.dialects.json_text import NULL, all_text
from integrator.dialects.lines import Lines, arrow_json, parse_lines
from integrator.dialects.records import Cells
from integrator.dialects.values import ValueRefused, from_base64, from_json_list, guarded
from integrator.errors import DataError
from integrator.schema import Column, Table, arrow_type, describe

Ints = npt.NDArray[np.int64]


def none_apart(_name: str) -> bool:
    """Say that every name is a column's."""
    return False


def json_typed(column: Column, values: pa.Array) -> pa.Array:
    """Return the text of JSON values in the column's type. Raises ValueRefused."""
    match column.type:
        case schema.Array(item):
            return from_json_list(values, lambda items: json_typed(Column("", item), items))
        case schema.Timestamp(zoned=False):  # several producers write Z behind moments without a zone
            return records.typed(column, pc.replace_substring_regex(values, r"(Z|\+00:?00)$", ""))
        case _:
            return records.typed(column, values)


def zoned(column: Column, values: pa.Array, zone: str) -> pa.Array:
    """Return texts of moments with a zone: those that are written without one are of `zone`. Raises ValueRefused."""

    def made(part: pa.Array) -> pa.Array:
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
    """The new and the old image of each record, as JSON; null where there is none.

    apart: says of a name that it is no column though it stands among them. convert: text -> the column's type.
    fold: names of columns may be written in other case than the table's.
    """

    lines: Lines
    line: Ints
    new: pa.Array
    old: pa.Array
    apart: Callable[[str], bool] = none_apart
    convert: Callable[[Column, pa.Array], pa.Array] = json_typed
    fold: bool = False

    def cells(self, table: Table, record: Ints, is_old: Mask) -> dict[str, Cells]:
        """Return what images have, by column."""
        images = pa.chunked_array([self.new, self.old]).take(pa.array(record + len(self.new) * is_old))
        images = pc.fill_null(images.combine_chunks(), "{}")  # a truncate
        lines = as_lines(images, self.lines, np.zeros(len(record), np.int64))
        lines = Lines(lines.file, lines.data, self.line[record], lines.offsets)
        expected = f"an object of columns of {table.name}"
        names = {column.name: column.name for column in table.columns}
        if self.fold:
            names = {name: _folded(name, names) for name in Objects(lines, expected).names}
        known = pa.schema([(name, pa.string()) for name in names])
        parse = arrow_json(known, "infer")
        parsed = parse_lines(lines, lambda data: parse(all_text(data)), expected)
        found: dict[str, Cells] = {}
        for name in parsed.column_names:
            column = names.get(name, name)
            if table.column(column) or not self.apart(name):
                cells = _cells(parsed[name].combine_chunks())
                found[column] = _either(found[column], cells) if column in found else cells
        return found

    def typed(self, column: Column, values: pa.Array, _record: Ints) -> pa.Array:
        """Return values in the column's type."""
        return self.convert(column, values)


def _folded(name: str, known: dict[str, str]) -> str:
    """Return the column's name of which `name` differs in case only; itself if there is none."""
    return name if name in known else next((one for one in known if one.lower() == name.lower()), name)


def _either(one: Cells, other: Cells) -> Cells:
    """Return what one of two spellings of a column has."""
    return Cells(pc.if_else(pa.array(one.has), one.values, other.values), one.has | other.has)


def _cells(values: pa.Array) -> Cells:
    """Tell null from what is not there."""
    has = mask(pc.is_valid(values)) if values.null_count else np.ones(len(values), bool)
    if pa.types.is_string(values.type):
        null = pc.fill_null(pc.equal(values, NULL), fill_value=False)
        if pc.any(null).as_py():
            values = pc.if_else(null, None, values)
    return Cells(values, has)
