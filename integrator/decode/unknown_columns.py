"""Columns that records have and their tables do not: refused, counted, or added to the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.recipe import UnknownColumns
from integrator.decode.refusal import Faults, report
from integrator.engine.arrays import Ints
from integrator.errors import ColumnsFound, DataError, Fault, Place, PublicDataError, shown
from integrator.names.numbers import counted
from integrator.schema import Table

ALLOW = "define it, or set unknown_columns: ignore at the source location, or unknown_columns: add"
"""What to do about a column that the table's definition does not have."""
Found: TypeAlias = "pa.DataType | str"
"""What the values of a column are: of Arrow's type, or of a datatype that is declared."""
_ONE_CASE = "they differ in case alone: write the column in the definition as records have it, or define both"
_MOST_DIGITS = 20
"""Of an integer of 64 bits, its sign included. Python reads integers of at most 4,300 digits."""


class Others:
    """The columns of a batch's records that their tables do not have. faults: see `Lines`."""

    def __init__(self, file: str, policy: UnknownColumns, faults: Faults | None = None) -> None:
        self._file, self._policy, self._faults = file, policy, faults
        self._counts: dict[str, int] = {}
        self._refused: list[tuple[Ints, str, Table]] = []
        self._mistaken: list[tuple[Ints, str, str, Table]] = []
        self._found: dict[str, dict[str, tuple[int, Found | None, str]]] = {}

    def add(
        self, table: Table, name: str, line: Ints, values: pa.Array, *, infers: bool | None, declared: str = ""
    ) -> None:
        """Add what records have under a name: values in JSON, or in a type, and the line of each.

        declared: the datatype that their schema has of it. infers: whether values in JSON have the type that a column
        of them would have; else it is text, if they are all scalars of one type in JSON. None: they are in a type.
        """
        valued = np.flatnonzero(mask(pc.is_valid(values)))
        reason = unknown_column(table.name, name)
        self._counts[reason] = self._counts.get(reason, 0) + len(valued)
        self._refused.append((line, name, table))
        if len(valued):
            kinds = {"": values.type} if infers is None else _kinds(values)
            kind = _as_text(kinds) if infers is False else next(iter(kinds.values())) if len(kinds) == 1 else None
            found = declared or kind
            self._found.setdefault(table.name, {})[name] = (int(line.min()), found, ", ".join(sorted(kinds)))

    def take_for(self, table: Table, name: str, column: str, line: Ints) -> None:
        """Note records that have a name which may be meant for a column: they differ in case, and it has no value."""
        if len(line):
            self._mistaken.append((line, name, column, table))

    def counts(self) -> dict[str, int]:
        """Return how many values there are, by what they are counted as; none where they are refused.

        Raises DataError or ColumnsFound.
        """
        if self._refused and self._policy == "error":
            first = min(
                ((int(line.min()), name, table) for line, name, table in self._refused), key=lambda one: one[:2]
            )
            report(PublicDataError(self._refusal(*first), lambda: list(self._refusals())), self._faults)
            return {}  # the lines that have them are rejected
        if self._mistaken:
            every = sorted(self._mistakes())
            report(PublicDataError(every[0], lambda: every), self._faults)
            return {}
        if self._policy == "add":
            finds = Finds()
            for name, columns in self._found.items():
                with finds.noted():
                    self._report(name, dict(sorted(columns.items(), key=lambda item: item[1][0])))
            finds.report()
        return self._counts

    def _refusals(self) -> Iterator[Fault]:
        for lines, name, table in self._refused:
            for line in np.unique(lines).tolist():
                yield self._refusal(line, name, table)

    def _mistakes(self) -> Iterator[Fault]:
        for lines, name, column, table in self._mistaken:
            text = f"the record has {shown(name)}, which is not in its definition, and no value of {shown(column)}"
            for line in np.unique(lines).tolist():
                yield Fault(Place(self._file, line), f"table {table.name}: {text}; {_ONE_CASE}")

    def _refusal(self, line: int, name: str, table: Table) -> Fault:
        known = ", ".join(column.name for column in table.columns)
        text = f"column {shown(name)} is not in its definition, which has {known}; {ALLOW}"
        return Fault(Place(self._file, line), f"table {table.name}: {text}")

    def _report(self, table: str, columns: Mapping[str, tuple[int, Found | None, str]]) -> None:
        for name, (line, kind, kinds) in columns.items():
            if kind is None:
                raise _not_added(self._file, line, table, name, kinds)
        raise columns_found(
            self._file, table, {name: (line, kind) for name, (line, kind, _) in columns.items() if kind is not None}
        )


_CLASSES = dict.fromkeys(("int", "float", "object"), "number")
_NESTED = {"dict", "list"}


def _as_text(kinds: Iterable[str]) -> pa.DataType | None:
    """Return text, if values of these types in JSON are scalars of one class; None for others."""
    classes = {_CLASSES.get(kind, kind) for kind in kinds}
    return pa.string() if len(classes) == 1 and not classes & _NESTED else None


def _kinds(values: pa.Array) -> dict[str, pa.DataType | None]:
    """Return the types of values in JSON by name; a number with a fraction has none: it may be a decimal."""
    found: dict[str, pa.DataType | None] = {}
    for text in pc.unique(values.drop_null()).to_pylist():
        if text.startswith('"'):
            found["str"] = pa.string()
        elif text in ("true", "false"):
            found["bool"] = pa.bool_()
        elif text[0] in "{[":
            found["dict" if text[0] == "{" else "list"] = None
        elif text.lstrip("-").isdigit():
            small = len(text) <= _MOST_DIGITS and -(1 << 63) <= int(text) < 1 << 63
            found["int" if small else "object"] = pa.int64() if small else None
        else:
            found["float"] = None
    return found


def _not_added(file: str, line: int, table: str, name: str, kinds: object) -> DataError:
    return PublicDataError(
        Fault(
            Place(file, int(line)),
            f"table {table}: column {name!r} is not in its definition, and is not added by itself: its "
            f"values are {kinds}; define it",
        )
    )


def columns_found(file: str, table: str, found: Mapping[str, tuple[int, Found]]) -> ColumnsFound:
    """Return what says that columns are to be added: by name the first line that has it, and what its values are.

    That is a datatype, where the records' schema declares one.

    Raises DataError for values of which no column can be made unless its type is declared.
    """
    columns = {}
    for name, (line, kind) in found.items():
        datatype = kind if isinstance(kind, str) else next((one for is_of, one in _DATATYPES if is_of(kind)), None)
        if datatype is None:
            raise _not_added(file, line, table, name, kind)
        columns[name] = (datatype, line)
    line = min(line for line, _ in found.values())
    text = f"{file}:{line}: table {table}: not in its definition: {', '.join(found)}"
    return ColumnsFound(text, {table: columns})


def types_found(file: str, table: str, found: Mapping[str, tuple[str, str, bool]]) -> ColumnsFound:
    """Return the error by which the driver learns that columns have other types in records than in their table.

    found: of each column the type in records, the type in the table, and whether it may be null.
    """
    changed = ", ".join(f"{name} ({new}, which was {old})" for name, (new, old, _) in found.items())
    columns = {name: (new, 0, old, nullable) for name, (new, old, nullable) in found.items()}
    return ColumnsFound(f"{file}: table {table}: records have other types: {changed}", {table: columns})


class Finds:
    """The columns that are found in a block, of all tables: reported at once, for each report ends a cycle."""

    def __init__(self) -> None:
        self._found: list[ColumnsFound] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note ColumnsFound, and continue."""
        try:
            yield
        except ColumnsFound as found:
            self._found.append(found)

    def report(self) -> None:
        """Raise ColumnsFound for all that was noted, if anything was."""
        if self._found:
            text, more = str(self._found[0]), len(self._found) - 1
            tables = {table: columns for found in reversed(self._found) for table, columns in found.tables.items()}
            ordinal = self._found[0].ordinal
            raise ColumnsFound(f"{text}; and {counted(more, 'more table')}" if more else text, tables, ordinal)


_DATATYPES: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "text"),
    (lambda kind: pa.types.is_integer(kind) and kind != pa.uint64(), "bigint"),
    (pa.types.is_floating, "double"),
    (pa.types.is_boolean, "boolean"),
)
"""What a column is that is added, by its first values."""


def unknown_column(table: str, name: str) -> str:
    """Return as what values of a column that a table does not have are counted."""
    return f"values of {table}.{name}, which the table does not have"
