"""Records of several tables, with an old and a new image each -> change rows, without a look at any one row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, mask, places_of_each
from integrator.contracts.changes import MAX_ROWS_IN_TRANSACTION, Changes, integ_seq
from integrator.contracts.recipe import (
    BEFORE_KEY_UPDATE,
    BEFORE_UPDATE,
    DELETE,
    INSERT,
    TRUNCATE,
    UPDATE,
    UnknownColumns,
)
from integrator.decode.contract import ALLOW, Finds, Reading, columns_found, unknown_column
from integrator.decode.json.lines import Lines
from integrator.decode.source_tables import SourceTables
from integrator.decode.text.refused import ValueRefused
from integrator.decode.text.values import from_column
from integrator.errors import DataError, shown
from integrator.schema import Column, Table

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """What rows have in one column: text, or values of any other type; `has`: which rows have the column, null or not.

    quoted: which of the values are strings in JSON; None where that does not matter.
    """

    values: pa.Array
    has: Mask
    quoted: Mask | None = None

    def take(self, places: Ints) -> Cells:
        """Return the cells at these places."""
        quoted = None if self.quoted is None else self.quoted[places]
        return Cells(self.values.take(pa.array(places)), self.has[places], quoted)


@dataclass(frozen=True)
class Unknown:
    """A column that the table does not have: how many rows have it, the first that does, and its type.

    The type is None where all values are null.
    """

    count: int
    row: int
    type: pa.DataType | None


Images = tuple[dict[str, Cells], dict[str, Unknown]]
"""What images have in columns of their table, by name, and the columns that the table does not have."""


class Values(Protocol):
    """The values of records, by the name of the column."""

    def cells(self, table: Table, record: Ints, is_old: Mask) -> Images:
        """Return what the before (`is_old`) or the after images of records have. Raises DataError."""
        ...

    def typed(self, column: Column, cells: Cells, record: Ints) -> pa.Array:
        """Return the values of a column, which come from `record`, in its type. Raises ValueRefused."""
        ...


@dataclass(frozen=True)
class Records:
    """Records of a batch, in source order; action is one of I U D T, or another that makes no row.

    old: which records have an old image. old_of_changes: it holds only what was changed, the rest is as in the new one.
    new_of_changes: what the new one does not have was not changed, and is as in the old one.
    ignored: what else there was in the batch, counted by what it is.
    """

    lines: Lines
    action: npt.NDArray[np.str_]
    schema: pa.Array
    table: pa.Array
    values: Values
    old: Mask
    line: Ints
    cap_tstamp: pa.Array
    cap_user: pa.Array | None = None
    old_of_changes: bool = False
    new_of_changes: bool = True
    ignored: dict[str, int] = field(default_factory=dict)

    @property
    def row_counts(self) -> Ints:
        """How many change rows each record makes: an update with an old image makes two."""
        one = np.isin(self.action, ["I", "U", "D", "T"]).astype(np.int64)
        return np.asarray(one + ((self.action == "U") & self.old), np.int64)


@dataclass(frozen=True)
class Placed:
    """For each record: the first two segments of its integ_seq, the number of its first row, and rows left."""

    commit: pa.Array
    segment: pa.Array
    rank: Ints
    countdown: Ints


def typed(column: Column, values: pa.Array) -> pa.Array:
    """Return text as databases print it, or values of another type, in the column's type. Raises ValueRefused."""
    return from_column(values, column.type)


def change_rows(
    records: Records, placed: Placed, reading: Reading, tables: SourceTables
) -> tuple[list[Changes], dict[str, int], dict[str, int]]:
    """Return the change rows of each table, and what was counted and not sent: rows, and values of unknown columns."""
    ignored = Counter(records.ignored)
    unknown: Counter[str] = Counter()
    messages = int((records.action == "M").sum())
    if messages:
        ignored["logical messages"] += messages
    rows = np.isin(records.action, ["I", "U", "D", "T"])
    names = pc.binary_join_element_wise(
        pc.fill_null(records.schema, ""), pc.fill_null(records.table, ""), "\0"
    ).dictionary_encode()
    result: dict[str, Changes] = {}
    finds = Finds()
    for full_name, at in zip(names.dictionary.to_pylist(), places_of_each(names), strict=True):
        of_table = at[rows[at]]
        if not len(of_table):
            continue
        schema, _, name = full_name.partition("\0")
        table = tables.find(schema, name, f"{records.lines.file}:{records.line[of_table[0]]}")
        if isinstance(table, str):
            ignored[table] += len(of_table)
        else:
            with finds.noted():
                result[full_name] = _rows_of(records, placed, table, of_table, unknown, reading.unknown_columns)
    finds.tell()
    return list(result.values()), ignored, unknown


def _rows_of(
    records: Records, placed: Placed, table: Table, at: Ints, unknown: Counter[str], policy: UnknownColumns
) -> Changes:
    """Return the change rows of a table. unknown: counts values of columns that it has not, where these are ignored."""
    action = records.action[at]
    old_first = (action == "U") & records.old[at]
    count = 1 + old_first
    record = np.repeat(at, count)
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])
    is_old = np.zeros(len(record), bool)
    is_old[starts[old_first]] = True
    is_old[starts[action == "D"]] = True
    second = np.ones(len(record), bool)
    second[starts] = False
    updated = records.action[record] == "U"

    rank = placed.rank[record] + second
    if len(rank) and int(rank.max()) >= MAX_ROWS_IN_TRANSACTION:
        raise DataError(f"{records.lines.file}: a transaction of more than {MAX_ROWS_IN_TRANSACTION} rows")
    rows = _Rows(records, table, record, np.flatnonzero(second))
    cells, others = records.values.cells(table, record, is_old)
    rows.check_known(others, unknown, policy)
    cells = rows.filled(cells)
    rows.check_said(cells)
    op = np.select(
        [records.action[record] == "I", records.action[record] == "D", records.action[record] == "T", ~is_old],
        [INSERT, DELETE, TRUNCATE, UPDATE],
        BEFORE_UPDATE,
    ).astype(np.int8)
    changed = _key_changed(table, cells, rows.pairs)
    op[rows.pairs[changed] - 1] = BEFORE_KEY_UPDATE
    countdown = np.where(placed.countdown[record] > 0, placed.countdown[record] - (updated & second), 0)
    index = pa.array(record)
    commit = placed.commit.take(index)
    user = pa.nulls(len(record), pa.string()) if records.cap_user is None else records.cap_user.take(index)
    return Changes(
        table=table.name,
        file=records.lines.file,
        columns={column.name: rows.typed(column, cells[column.name]) for column in table.columns},
        missing={column.name: ~cells[column.name].has for column in table.columns if not cells[column.name].has.all()},
        op=pa.array(op),
        integ_seq=integ_seq(commit, placed.segment.take(index), rank),
        tx_seq=commit,
        countdown=pa.array(countdown.astype(np.int32)),
        cap_tstamp=records.cap_tstamp.take(index),
        cap_user=user,
        line=records.line[record],
        order=record * 2 + second,
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of one table: which record each comes from, and the places of new rows that stand behind old ones."""

    records: Records
    table: Table
    record: Ints
    pairs: Ints

    def filled(self, cells: dict[str, Cells]) -> dict[str, Cells]:
        """Return the columns of the table, with what the other image of an update has."""
        none = Cells(pa.nulls(len(self.record), pa.string()), np.zeros(len(self.record), bool))
        filled = {}
        for column in self.table.columns:
            found = cells.get(column.name, none)
            if len(self.pairs) and not found.has.all():
                found = self._filled(found)
            filled[column.name] = found
        return filled

    def _filled(self, cells: Cells) -> Cells:
        has, place = cells.has.copy(), np.arange(len(self.record))
        new, old = self.pairs, self.pairs - 1
        # unchanged in this update: the old image's value is the value
        unchanged = new[~has[new] & has[old] & self.records.new_of_changes]
        place[unchanged] -= 1
        if self.records.old_of_changes:
            untold = old[~has[old] & has[new]]
            place[untold] += 1
            has[untold] = True
        has[unchanged] = True
        return replace(cells.take(place), has=has)

    def check_known(self, others: dict[str, Unknown], unknown: Counter[str], policy: UnknownColumns) -> None:
        """Count values of columns that the table does not have, or raise DataError or ColumnsFound for them."""
        if policy == "ignore":
            unknown.update({unknown_column(self.table.name, name): found.count for name, found in others.items()})
            return
        lines = {name: int(self.records.line[self.record[others[name].row]]) for name in others}
        if policy == "add":
            found = {
                name: (lines[name], kind) for name, one in sorted(others.items()) if (kind := one.type) is not None
            }
            if found:
                raise columns_found(self.records.lines.file, self.table.name, found)
            return
        if others:
            name = min(others, key=lambda name: (lines[name], name))
            known = ", ".join(column.name for column in self.table.columns)
            raise DataError(
                f"{self.records.lines.file}:{lines[name]}: table {self.table.name}: column {shown(name)} is not in its "
                f"definition, which has {known}; {ALLOW}"
            )

    def check_said(self, cells: dict[str, Cells]) -> None:
        """Raise DataError for the first record that has no value of its row, as one whose image was left out."""
        said = self.records.action[self.record] == "T"
        for found in cells.values():
            said |= found.has
        if not said.all():
            line = self.records.line[self.record[np.flatnonzero(~said)[0]]]
            raise DataError(
                f"{self.records.lines.file}:{line}: table {self.table.name}: the record has no value of its row; "
                "what makes the records must write its image"
            )

    def typed(self, column: Column, cells: Cells) -> pa.Array:
        try:
            return self.records.values.typed(column, cells, self.record)
        except ValueRefused as error:
            line = self.records.line[self.record[error.index]]
            where = f"{self.records.lines.file}:{line}: table {self.table.name}, column {column.name}"
            raise DataError(f"{where}: {error}; mend the record or the table definition") from None


def _key_changed(table: Table, cells: dict[str, Cells], pairs: Ints) -> Mask:
    """Say for each update (the places of its new row) whether a key column has another value than before."""
    changed = np.zeros(len(pairs), bool)
    for name in table.key or tuple(column.name for column in table.columns) if len(pairs) else ():
        new, old = cells[name].values.take(pa.array(pairs)), cells[name].values.take(pa.array(pairs - 1))
        differs = mask(pc.not_equal(new, old))
        one_null = mask(pc.is_null(new)) != mask(pc.is_null(old))
        known = cells[name].has[pairs] & cells[name].has[pairs - 1]
        changed |= (differs | one_null) & known
    return changed
