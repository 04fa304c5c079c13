"""Records of several tables, with a before and an after image each -> change rows, without a look at any one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch, no_changes
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, TRUNCATE, UPDATE
from integrator.contracts.sequence import MAX_ROWS_IN_TRANSACTION, integ_seq
from integrator.decode.contract import Reading
from integrator.decode.refusal import for_all_lines, report
from integrator.decode.rows.runs import Fill, RowMetadata, Rows, TableRun, Values, changes_of, group_by_table
from integrator.decode.source_tables import SourceTables
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError, Fault, Place
from integrator.schema import Table

_OPERATIONS = {"I": INSERT, "U": UPDATE, "D": DELETE, "T": TRUNCATE}


@dataclass(frozen=True)
class Records:
    """Records of a batch, in source order; action is one of I U D T, or another that makes no row.

    file, line: where each record is. schema, table: texts, in a dictionary or not. old: which records have a before
    image. old_of_changes: it holds only what was changed, the rest is as in the after image. new_of_changes: what the
    after image does not have was not changed, and is as in the before image. ignored: what else there was in the batch,
    counted by what it is. database: as schema; None where records do not name it.
    """

    file: str
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
    database: pa.Array | None = None

    @property
    def row_counts(self) -> Ints:
        """How many change rows each record makes: an update with a before image makes two."""
        one = np.isin(self.action, [*_OPERATIONS]).astype(np.int64)
        return np.asarray(one + ((self.action == "U") & self.old), np.int64)


@dataclass(frozen=True)
class Sequenced:
    """For each record: the first two segments of its integ_seq, the number of its first row, and rows left."""

    commit: pa.Array
    segment: pa.Array
    rank: Ints
    countdown: Ints


def change_rows(
    records: Records, placed: Sequenced, reading: Reading, tables: SourceTables
) -> tuple[ChangeBatch, dict[str, int], dict[str, int]]:
    """Return the change rows, and what was counted and not sent: rows, and values of unknown columns."""
    ignored = Counter(records.ignored)
    messages = int((records.action == "M").sum())
    if messages:
        ignored["logical messages"] += messages
    counts = records.row_counts
    found, table = _tables(records, counts > 0, tables, ignored)
    kept = np.flatnonzero(table >= 0)
    if not len(kept):
        return no_changes(records.file), ignored, {}
    variants = records.values.variants()
    parts, order = group_by_table(
        found, table[kept], None if variants is None else variants[kept], counts[kept], reading, records.values.joint
    )
    rows, second, operation = _rows(records, parts, kept[order], counts)
    rank = placed.rank[rows.record] + second
    if int(rank.max()) >= MAX_ROWS_IN_TRANSACTION:
        raise DataError(Fault(Place(records.file), f"a transaction of more than {MAX_ROWS_IN_TRANSACTION} rows"))
    fill = Fill(records.new_of_changes, records.old_of_changes)
    values = records.values.columns(rows, reading, fill)
    operation[rows.after[values.key_changed] - 1] = BEFORE_KEY_UPDATE
    countdown = placed.countdown[rows.record]
    countdown = np.where(countdown > 0, countdown - second, 0).astype(np.int32)
    index = pa.array(rows.record)
    commit = placed.commit.take(index)
    user = pa.nulls(len(rank), pa.string()) if records.cap_user is None else records.cap_user.take(index)
    meta = RowMetadata(
        op=pa.array(operation),
        integ_seq=integ_seq(commit, placed.segment.take(index), rank),
        tx_seq=commit,
        countdown=pa.array(countdown),
        cap_tstamp=records.cap_tstamp.take(index),
        cap_user=user,
        line=records.line[rows.record],
        order=rows.record * 2 + second,
    )
    return changes_of(rows, values, meta), ignored, dict(values.unknown)


def check_tables(records: Records, tables: SourceTables) -> None:
    """Raise DataError for records that make rows of a table that the channel does not have, or collect it."""
    _tables(records, records.row_counts > 0, tables, Counter())


def _tables(records: Records, used: Mask, tables: SourceTables, ignored: Counter[str]) -> tuple[list[Table], Ints]:
    """Return the tables, and of each record the place of its table, -1 where it makes no row to be sent.

    ignored: counts the others of those that are `used`. Raises DataError.
    """
    codes, names = _names(records)
    used = used & ~truncated_partitions(records.action == "T", codes, names, tables, ignored)
    at = np.flatnonzero(used)
    firsts = np.full(len(names), -1, np.int64)
    firsts[codes[at[::-1]]] = at[::-1]
    place = np.full(len(names), -1, np.int64)
    found: dict[str, tuple[int, Table]] = {}
    for code, (database, schema, name) in enumerate(names):
        if firsts[code] < 0:
            continue
        try:
            table = tables.find(schema, name, Place(records.file, int(records.line[firsts[code]])), database)
        except DataError as error:
            report(for_all_lines(error, records.line[used & (codes == code)]))
            continue
        if isinstance(table, str):
            ignored[table] += int((used & (codes == code)).sum())
        else:
            place[code] = found.setdefault(table.name, (len(found), table))[0]
    return [table for _, table in found.values()], np.where(used, place[codes], -1)


def truncated_partitions(
    truncates: Mask, codes: Ints, names: Sequence[tuple[str, str, str]], tables: SourceTables, ignored: Counter[str]
) -> Mask:
    """Return which records truncate a partition, or a partitioned table of which each partition is a table here.

    They are counted: of the first a table has rows left, of the second each partition has a record of its own. codes:
    of each record the place of its database, schema and table in `names`.
    """
    found = np.zeros(len(codes), np.bool_)
    for code in np.unique(codes[truncates]).tolist():
        database, schema, name = names[code]
        reason = tables.truncated(schema, name, database)
        if reason:
            of_code = truncates & (codes == code)
            ignored[reason] += int(of_code.sum())
            found |= of_code
    return found


def _names(records: Records) -> tuple[Ints, list[tuple[str, str, str]]]:
    """Return of each record which database, schema and table it names, and these; empty where it names none."""
    schemas, codes = _coded(records.schema)
    tables, of_table = _coded(records.table)
    codes = codes * len(tables) + of_table
    databases = [""]
    if records.database is not None:
        databases, of_database = _coded(records.database)
        codes += of_database * (len(schemas) * len(tables))
    coded = pa.array(codes).dictionary_encode()
    names = []
    for code in coded.dictionary.to_pylist():
        rest, table = divmod(code, len(tables))
        database, schema = divmod(rest, len(schemas))
        names.append((databases[database], schemas[schema], tables[table]))
    return coded.indices.to_numpy(), names


def _coded(texts: pa.Array) -> tuple[list[str], Ints]:
    """Return texts, each once, and of each place which it has; null is empty."""
    encoded = texts if isinstance(texts, pa.DictionaryArray) else texts.dictionary_encode()
    different = encoded.dictionary.to_pylist()
    codes = pc.fill_null(encoded.indices, len(different)).to_numpy(zero_copy_only=False)
    return [*different, ""], codes.astype(np.int64)


def _rows(
    records: Records, parts: list[list[TableRun]], at: Ints, counts: Ints
) -> tuple[Rows, Mask, npt.NDArray[np.int8]]:
    """Return the rows of records, which are given part by part; which are the second ones; and their operations."""
    pairs = counts[at] > 1
    if pairs.any():
        record = np.repeat(at, counts[at])
        starts = np.cumsum(counts[at]) - counts[at]
        second = np.ones(len(record), bool)
        second[starts] = False
    else:
        record, second = at, np.zeros(len(at), bool)
    action = records.action[record]
    operation = np.full(len(record), UPDATE, np.int8)
    for word, code in _OPERATIONS.items():
        operation[action == word] = code
    after = np.flatnonzero(second)
    operation[after - 1] = BEFORE_UPDATE
    is_before = operation == DELETE
    is_before[after - 1] = True
    rows = Rows(parts, record, is_before, after, records.file, records.line, operation == TRUNCATE)
    return rows, second, operation
