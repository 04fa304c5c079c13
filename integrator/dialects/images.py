"""Records with lists of names and values, old and new -> change rows, table by table, without a look at any one row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, mask
from integrator.changes import MAX_ROWS_IN_TRANSACTION, Changes, integ_seq
from integrator.dialects.lines import Lines
from integrator.dialects.reading import ALLOW, Reading, unknown_column
from integrator.dialects.values import ValueRefused, from_text
from integrator.errors import DataError
from integrator.recipe import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, TRUNCATE, UPDATE
from integrator.schema import Column, Table

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Images:
    """One image a record: names and values of record i stand at offsets[i] to offsets[i+1]; `has` says there is one."""

    offsets: Ints
    names: pa.Array
    values: pa.Array
    has: Mask

    @staticmethod
    def of(offsets: pa.Array, names: pa.Array, values: pa.Array, like: pa.Array) -> Images:
        """Make images of a list array's flattened parts; a record has one where `like` is not null."""
        bounds = offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        has = mask(pc.is_valid(like))
        return Images(bounds - bounds[0], names, values, has)


@dataclass(frozen=True)
class Records:
    """Records of a batch, in source order; action is one of I U D T, or another that makes no row."""

    lines: Lines
    action: npt.NDArray[np.str_]
    schema: pa.Array
    table: pa.Array
    new: Images
    old: Images
    line: Ints
    commit: pa.Array
    transaction: pa.Array
    cap_tstamp: pa.Array
    rank: Ints
    countdown: Ints


def change_rows(records: Records, reading: Reading) -> tuple[list[Changes], dict[str, int], dict[str, int]]:
    """Return the change rows of each table, and what was counted and not sent: rows, and values of unknown columns."""
    ignored: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    messages = int((records.action == "M").sum())
    if messages:
        ignored["logical messages"] = messages
    rows = np.isin(records.action, ["I", "U", "D", "T"])
    names = pc.binary_join_element_wise(
        pc.fill_null(records.schema, ""), pc.fill_null(records.table, ""), "\0"
    ).dictionary_encode()
    codes = names.indices.to_numpy(zero_copy_only=False)
    result: dict[str, Changes] = {}
    for code, full_name in enumerate(names.dictionary.to_pylist()):
        of_table = np.flatnonzero((codes == code) & rows)
        if not len(of_table):
            continue
        schema, _, name = full_name.partition("\0")
        table = reading.find(schema, name)
        if table is None:
            reason = reading.passed_over(name)
            if reason is None:
                raise reading.unknown(records.lines.file, int(records.line[of_table[0]]), name)
            ignored[reason] += len(of_table)
        else:
            result[full_name] = _rows_of(records, table, of_table, unknown if reading.ignore_unknown_columns else None)
    return list(result.values()), ignored, unknown


def _rows_of(records: Records, table: Table, at: Ints, unknown: Counter[str] | None) -> Changes:
    """Return the change rows of a table. unknown: counts values of columns that it has not; None: those are errors."""
    action = records.action[at]
    old_first = (action == "U") & records.old.has[at]
    count = 1 + old_first
    record = np.repeat(at, count)
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])
    is_old = np.zeros(len(record), bool)
    is_old[starts[old_first]] = True
    is_old[starts[action == "D"]] = True
    second = np.ones(len(record), bool)
    second[starts] = False
    updated = records.action[record] == "U"

    rank = records.rank[record] + second
    if len(rank) and int(rank.max()) >= MAX_ROWS_IN_TRANSACTION:
        raise DataError(f"{records.lines.file}: a transaction of more than {MAX_ROWS_IN_TRANSACTION} rows")
    source = _Source(records, table, record, is_old)
    columns, missing, texts = source.columns(np.flatnonzero(second), unknown)
    op = np.select(
        [records.action[record] == "I", records.action[record] == "D", records.action[record] == "T", ~is_old],
        [INSERT, DELETE, TRUNCATE, UPDATE],
        BEFORE_UPDATE,
    ).astype(np.int8)
    changed = _key_changed(table, texts, missing, np.flatnonzero(second))
    op[np.flatnonzero(second)[changed] - 1] = BEFORE_KEY_UPDATE
    countdown = np.where(records.countdown[record] > 0, records.countdown[record] - (updated & second), 0)
    index = pa.array(record)
    commit = records.commit.take(index)
    return Changes(
        table=table.name,
        file=records.lines.file,
        columns=columns,
        missing=missing,
        op=pa.array(op),
        integ_seq=integ_seq(commit, records.transaction.take(index), rank),
        tx_seq=commit,
        countdown=pa.array(countdown.astype(np.int32)),
        cap_tstamp=records.cap_tstamp.take(index),
        cap_user=pa.nulls(len(record), pa.string()),
        line=records.line[record],
        order=record * 2 + second,
    )


@dataclass(frozen=True)
class _Source:
    """Where the values of a table's rows stand among those of all records."""

    records: Records
    table: Table
    record: Ints
    is_old: Mask

    def columns(
        self, pairs: Ints, unknown: Counter[str] | None
    ) -> tuple[dict[str, pa.Array], dict[str, Mask], dict[str, pa.Array]]:
        """Return typed columns, masks of missing values, and text. `pairs`: rows with the old image before."""
        values = pa.concat_arrays([self.records.new.values, self.records.old.values])
        shift = len(self.records.new.values)
        places = self._places(shift)
        columns, missing, texts = {}, {}, {}
        for column in self.table.columns:
            place = places.pop(column.name, np.full(len(self.record), -1, np.int64))
            # unchanged in this update: the old image's value is the value
            unchanged = pairs[(place[pairs] < 0) & (place[pairs - 1] >= 0)]
            place[unchanged] = place[unchanged - 1]
            gone = place < 0
            text = values.take(pa.array(place, mask=gone))
            columns[column.name] = self._typed(column, text)
            texts[column.name] = text
            if gone.any():
                missing[column.name] = gone
        for name, place in places.items():
            if unknown is not None:
                unknown[unknown_column(self.table.name, name)] += int((place >= 0).sum())
                continue
            line = self.records.line[self.record[np.flatnonzero(place >= 0)[0]]]
            known = ", ".join(column.name for column in self.table.columns)
            raise DataError(
                f"{self.records.lines.file}:{line}: table {self.table.name}: column {name!r} is not in its definition, "
                f"which has {known}; {ALLOW}"
            )
        return columns, missing, texts

    def _places(self, shift: int) -> dict[str, Ints]:
        """Return for each column name the place of each row's value among all values, -1 where there is none."""
        places: dict[str, Ints] = {}
        for images, rows, base in (
            (self.records.new, np.flatnonzero(~self.is_old), 0),
            (self.records.old, np.flatnonzero(self.is_old), shift),
        ):
            if not len(images.names):
                continue
            first, last = images.offsets[self.record[rows]], images.offsets[self.record[rows] + 1]
            length = last - first
            row = np.repeat(rows, length)
            within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
            entry = np.repeat(first, length) + within
            names = images.names.take(pa.array(entry)).dictionary_encode()
            codes = names.indices.to_numpy(zero_copy_only=False)
            for code, name in enumerate(names.dictionary.to_pylist()):
                chosen = codes == code
                place = places.setdefault(name, np.full(len(self.record), -1, np.int64))
                place[row[chosen]] = entry[chosen] + base
        return places

    def _typed(self, column: Column, text: pa.Array) -> pa.Array:
        try:
            return from_text(text, column.type)
        except ValueRefused as error:
            line = self.records.line[self.record[error.index]]
            where = f"{self.records.lines.file}:{line}: table {self.table.name}, column {column.name}"
            raise DataError(f"{where}: {error}; mend the record or the table definition") from None


def _key_changed(table: Table, texts: dict[str, pa.Array], missing: dict[str, Mask], second: Ints) -> Mask:
    """Say for each update (the places of its new row) whether a key column has another value than before."""
    changed = np.zeros(len(second), bool)
    key = table.key or tuple(column.name for column in table.columns)
    for name in key:
        new, old = texts[name].take(pa.array(second)), texts[name].take(pa.array(second - 1))
        differs = mask(pc.not_equal(new, old))
        one_null = mask(pc.is_null(new)) != mask(pc.is_null(old))
        known = np.ones(len(second), bool)
        if name in missing:
            known = ~(missing[name][second] | missing[name][second - 1])
        changed |= (differs | one_null) & known
    return changed
