"""Slices: conditions that cut a table's rows into parts, each of which is read and sent for itself.

https://fivetran.com/docs/hvr6/command-line-interface/command-reference/hvrrefresh, option -S.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from integrator import schema
from integrator.errors import ConfigurationError, Problem
from integrator.plan.restrict import Conditions
from integrator.schema import Table

_MODULO = re.compile(r"([^%<;]*[^%<;\s])\s*%\s*(\d+)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True)
class Slice:
    """A part of a table: the rows for which `condition` is true; all if it is empty. number: from 0, of total.

    value: of a series of values, the slice's.
    """

    table: str
    number: int
    total: int
    condition: str
    value: str | None = None

    @property
    def name(self) -> str:
        """How it is called in files and logs."""
        return f"{self.table}.{self.number}-of-{self.total}"


def slices_of(
    tables: Iterable[Table], wanted: Iterable[str], conditions: dict[str, Conditions], quote: Callable[[str], str]
) -> list[Slice]:
    """Return the slices of tables; `wanted` as HVR writes them, `quote` is the database's way to write a name.

    [T.]COL%N, [T.]COL<B1<B2, [T.]N, [T.]V1;V2; without a table, for each. Raises ConfigurationError.
    """
    known = list(tables)
    expressions: dict[str, str] = {}
    problems: list[str] = []
    named: set[str] = set()
    for text in wanted:
        first, _, rest = text.partition(".")
        name, expression = (first, rest) if first in {table.name for table in known} else ("", text)
        if name in named:
            problems.append(f"--slice {text!r}: {f'table {name}' if name else 'each table'} has one already")
        named.add(name)
        for table in known:
            if name in ("", table.name) and (name or table.name not in expressions):
                expressions[table.name] = expression
    result: list[Slice] = []
    for table in known:
        try:
            parts = _conditions(table, expressions.get(table.name), conditions.get(table.name, Conditions()), quote)
        except ValueError as error:
            problems.append(f"--slice, table {table.name}: {error}")
            continue
        only = conditions.get(table.name, Conditions()).refresh
        for number, (part, value) in enumerate(parts):
            whole = " and ".join(f"({one})" for one in (only, part) if one)
            result.append(Slice(table.name, number, len(parts), whole, value))
    if problems:
        raise ConfigurationError([Problem("refresh", 0, "", text) for text in problems])
    return result


def _conditions(
    table: Table, expression: str | None, own: Conditions, quote: Callable[[str], str]
) -> list[tuple[str, str | None]]:
    """Return the condition of each slice, and its value in a series of values. Raises ValueError."""
    if expression is not None and ";" in expression and "<" not in expression:
        if own.series is None:
            raise ValueError("a series of values needs Restrict SliceSeriesCondition at the source")
        values = [value for value in map(str.strip, expression.split(";")) if value]
        return [(_filled(own.series, {"{hvr_slice_value}": one.replace("'", "''")}), one) for one in values]
    return [(condition, None) for condition in _of_ranges(table, expression, own, quote)]


def _of_ranges(table: Table, expression: str | None, own: Conditions, quote: Callable[[str], str]) -> list[str]:
    if expression is None:
        return [""]
    if modulo := _MODULO.fullmatch(expression.strip()):
        return _modulo(table, modulo[1], int(modulo[2]), quote)
    if "<" in expression:
        name, *bounds = (part.strip() for part in expression.split("<"))
        if not all(bounds):
            raise ValueError("there is nothing after a <")
        if _is_number(table, name) and not all(map(_NUMBER.fullmatch, bounds)):
            raise ValueError(f"{name!r} is a number, and of the bounds {', '.join(bounds)} not all are")
        return _between(_column(table, name, quote), [_literal(bound) for bound in bounds])
    if expression.strip().isdigit():
        if own.count is None:
            raise ValueError("a number of slices needs Restrict SliceCountCondition at the source")
        total = int(expression)
        fill = {"{hvr_slice_total}": str(total)}
        return [_filled(own.count, fill | {"{hvr_slice_num}": str(number)}) for number in range(total)]
    raise ValueError(f"{expression!r} is none of COL%N, COL<B1<B2, a number, or V1;V2")


def _modulo(table: Table, name: str, count: int, quote: Callable[[str], str]) -> list[str]:
    """Return conditions of which each row fulfils one: those of no number (NaN, infinity) the first one's."""
    column = _column(table, name, quote)
    if count < 1:
        raise ValueError("there is at least one slice")
    if not _is_number(table, name):
        raise ValueError(f"{name!r} is no number; choose another column, or bounds: COL<B1<B2")
    rest = f"abs(mod(round(coalesce({column}, 0), 0), {count}))"
    return [f"not ({rest} between 1 and {count - 1})", *(f"{rest} = {number}" for number in range(1, count))]


def _is_number(table: Table, name: str) -> bool:
    column = table.column(name)
    return column is not None and schema.is_number(column.type)


def _column(table: Table, name: str, quote: Callable[[str], str]) -> str:
    if table.column(name) is None:
        known = ", ".join(column.name for column in table.columns)
        raise ValueError(f"{name!r} is no column; there are {known}")
    return quote(name)


def _literal(text: str) -> str:
    plain = text.strip("'")
    return text if _NUMBER.fullmatch(text) else "'" + plain.replace("'", "''") + "'"


def _between(column: str, bounds: list[str]) -> list[str]:
    numbers = all(_NUMBER.fullmatch(bound) for bound in bounds)
    order = [Decimal(bound) for bound in bounds] if numbers else bounds
    if any(not low < high for low, high in pairwise(order)):  # type: ignore[operator] # both are of one kind
        raise ValueError(f"the bounds {', '.join(bounds)} do not rise")
    first = [f"{column} <= {bounds[0]}"]
    middle = [f"{column} > {low} and {column} <= {high}" for low, high in pairwise(bounds)]
    return [*first, *middle, f"{column} > {bounds[-1]} or {column} is null"]


def _filled(condition: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        condition = condition.replace(name, value)
    return condition
