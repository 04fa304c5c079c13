"""Columns that come in JSON lines of the hvr dialect and that the table does not have: what they would be."""

from __future__ import annotations

import json
from collections.abc import Container

import pyarrow as pa

from integrator.decode.contract import columns_found
from integrator.decode.json.lines import Lines
from integrator.errors import DataError
from integrator.schema import Table


def tell_added(lines: Lines, table: Table, known: Container[str]) -> None:
    """Raise ColumnsFound for other columns that have values; null in a column that comes later is null anyway.

    Raises DataError for one whose values have no one type.
    """
    first_of: dict[str, int] = {}
    kinds: dict[str, set[type]] = {}
    for line, text in zip(lines.numbers.tolist(), lines.array.to_pylist(), strict=True):
        others = {name: value for name, value in json.loads(text).items() if name not in known}
        for name, value in others.items():
            first_of.setdefault(name, line)
            kinds.setdefault(name, set()).update([] if value is None else [_kind(value)])
    found = {name: (first_of[name], _COLUMNS.get(frozenset(said))) for name, said in kinds.items() if said}
    for name, (line, kind) in found.items():
        if kind is None:
            raise DataError(
                f"{lines.file}:{line}: table {table.name}: column {name!r} is not in its definition, and is not added "
                f"by itself: its values are {', '.join(sorted(one.__name__ for one in kinds[name]))}; define it"
            )
    if found:
        raise columns_found(lines.file, table.name, {name: (line, kind) for name, (line, kind) in found.items()})


def _kind(value: object) -> type:
    """Return the type of a value; an integer of more than 64 bits is as what has no column."""
    return object if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else type(value)


_COLUMNS: dict[frozenset[type], pa.DataType] = {
    frozenset([bool]): pa.bool_(),
    frozenset([int]): pa.int64(),
    frozenset([str]): pa.string(),
}
"""What a column is, by its values in JSON; numbers with fractions may be decimals, whose digits a double would lose."""
