"""Records of several tables, with a before and an after image each -> change rows, without a loop over rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch, no_changes
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, TRUNCATE, UPDATE
from integrator.contracts.sequence import integ_seq
from integrator.contracts.streams import Source
from integrator.decode.contract import Reading
from integrator.decode.fields import Where
from integrator.decode.refusal import for_all_lines, report
from integrator.decode.rows.runs import DecodedColumns, Fill, Rows, TableRun, Values, group_by_table
from integrator.decode.source_tables import SourceTables
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError, Place
from integrator.schema import Table

_OPERATIONS = {"I": INSERT, "U": UPDATE, "D": DELETE, "T": TRUNCATE, "k": BEFORE_KEY_UPDATE, "b": BEFORE_UPDATE}
"""What a record does, by the letter of its action; k and b: it is the before image of the update after it."""
_FEW_NAMES = 1 << 10
"""So many combinations of names of databases, schemas and tables are listed, whether records have them or not."""
_OF_LETTER = np.full(128, -1, np.int8)
_OF_LETTER[[ord(letter) for letter in _OPERATIONS]] = [*_OPERATIONS.values()]


@dataclass(frozen=True)
class Records:
    """Records of a batch, in source order.

    action: I, U, D, T, k or b (the before image of the update after it); any other letter makes no row.
    where: where each record is. schema, table: texts, in a dictionary or not. old: which records have a before
    image. cap_tstamp: the commit times, null where a record has none; None where `Positions.begins` has them, and only
    there. fill: which images take values of the other one.
    images: how many rows a record can make: 1 where each image is a record of its own.
    ignored: what else there was in the batch, counted by what it is. database: as schema; None where records do not
    name it. by_topic: whose names are those of their topics, which need not be those that the source gives.
    """

    where: Where
    action: npt.NDArray[np.str_]
    schema: pa.Array
    table: pa.Array
    values: Values
    old: Mask
    cap_tstamp: pa.Array | None
    cap_user: pa.Array | None = None
    fill: Fill = field(default_factory=Fill)
    images: int = 2
    ignored: dict[str, int] = field(default_factory=dict)
    database: pa.Array | None = None
    by_topic: Mask | None = None

    @cached_property
    def letters(self) -> npt.NDArray[np.uint32]:
        """The letters of the actions as numbers, which are compared in less time than texts."""
        return np.ascontiguousarray(self.action, "U1").view(np.uint32)

    @cached_property
    def operation(self) -> npt.NDArray[np.int8]:
        """The operation of each record's row, of an update its after image's; -1 where it makes none."""
        return np.asarray(_OF_LETTER[self.letters], np.int8)

    @cached_property
    def row_counts(self) -> Ints:
        """How many change rows each record makes: an update with a before image makes two."""
        return np.asarray((self.operation >= 0) + ((self.operation == UPDATE) & self.old).astype(np.int64), np.int64)


@dataclass(frozen=True)
class Sequenced:
    """For each record: the first two segments of its integ_seq, the number of its first row, and rows left.

    cap_tstamp: the commit times, where the begins of transactions say them.
    """

    commit: pa.Array
    segment: pa.Array
    rank: Ints
    countdown: Ints
    cap_tstamp: pa.Array | None = None

    @cached_property
    def first(self) -> pa.Array:
        """The integ_seq of each record's first row."""
        return integ_seq(self.commit, self.segment, self.rank)


def change_rows(
    records: Records, placed: Sequenced, reading: Reading, tables: SourceTables
) -> tuple[ChangeBatch, dict[str, int], dict[str, int]]:
    """Return the change rows, and what was counted and not sent: rows, and values of unknown columns."""
    ignored = Counter(records.ignored)
    messages = int((records.letters == ord("M")).sum())
    if messages:
        ignored["logical messages"] += messages
    counts = records.row_counts
    found, table = _tables(records, counts > 0, tables, ignored)
    kept = np.flatnonzero(table >= 0)
    if not len(kept):
        return no_changes(records.where.file), ignored, {}
    variants = records.values.variants()
    parts, order = group_by_table(
        found, table[kept], None if variants is None else variants[kept], counts[kept], reading, records.values.joint
    )
    rows, second, operation = _rows(records, parts, kept[order], counts)
    values = records.values.columns(rows, reading, records.fill)
    operation[rows.after[values.key_changed] - 1] = BEFORE_KEY_UPDATE
    changes = _changes(records, placed, rows, second, operation, values)
    return changes, ignored, dict(values.unknown)


def _changes(
    records: Records,
    placed: Sequenced,
    rows: Rows,
    second: Mask,
    operation: npt.NDArray[np.int8],
    values: DecodedColumns,
) -> ChangeBatch:
    """Return rows with their columns; `second` are the second ones of their records."""
    record, paired, size = rows.record, bool(second.any()), len(rows.record)
    all_in_order = size == len(records.where.line) and not paired and bool((np.diff(record) == 1).all())
    index = None if all_in_order else pa.array(record)

    def of_rows(values: pa.Array) -> pa.Array:
        return values if index is None else values.take(index)

    commit = of_rows(placed.commit)
    first = (
        integ_seq(commit, of_rows(placed.segment), placed.rank[record] + second) if paired else of_rows(placed.first)
    )
    countdown = placed.countdown[record]
    stamp = records.cap_tstamp if placed.cap_tstamp is None else placed.cap_tstamp
    return ChangeBatch(
        rows.file,
        tuple(values.segments),
        op=pa.array(operation),
        integ_seq=first,
        tx_seq=commit,
        countdown=pa.array(np.where(countdown > 0, countdown - second, 0).astype(np.int32)),
        cap_tstamp=of_rows(stamp),
        cap_user=pa.nulls(size, pa.string()) if records.cap_user is None else of_rows(records.cap_user),
        record=pa.nulls(size) if records.where.record is None else of_rows(records.where.record),
        without_form=pa.nulls(size, pa.string()) if values.without_form is None else values.without_form,
        line=records.where.line[record],
        order=record * records.images + second,
    )


def check_tables(records: Records, tables: SourceTables) -> None:
    """Raise DataError for records that make rows of a table that the channel does not have, or collect it."""
    _tables(records, records.row_counts > 0, tables, Counter())


def _tables(records: Records, used: Mask, tables: SourceTables, ignored: Counter[str]) -> tuple[list[Table], Ints]:
    """Return the tables, and of each record the place of its table, -1 where it makes no row to be sent.

    ignored: counts the others of those that are `used`. Raises DataError.
    """
    where, (codes, names) = records.where, _names(records)
    used = used & ~_truncated_partitions(records.operation == TRUNCATE, codes, names, tables, ignored)
    at = np.flatnonzero(used)
    firsts = np.full(len(names), -1, np.int64)
    firsts[codes[at[::-1]]] = at[::-1]
    place = np.full(len(names), -1, np.int64)
    found: dict[str, tuple[int, Table]] = {}
    there = np.flatnonzero(firsts >= 0)
    for code in there[np.argsort(firsts[there])].tolist():  # in the order in which records name them
        by_topic, source = names[code]
        try:
            table = tables.find(source, Place(where.file, int(where.line[firsts[code]])), by_topic=by_topic)
        except DataError as error:
            report(for_all_lines(error, where.line[used & (codes == code)]), where.faults)
            continue
        if isinstance(table, str):
            ignored[table] += int((used & (codes == code)).sum())
        else:
            place[code] = found.setdefault(table.name, (len(found), table))[0]
    return [table for _, table in found.values()], np.where(used, place[codes], -1)


def _truncated_partitions(
    truncates: Mask, codes: Ints, names: Sequence[_Named], tables: SourceTables, ignored: Counter[str]
) -> Mask:
    """Return which records truncate a partition, or a partitioned table of which each partition is a table here.

    They are counted: of the first a table has rows left, of the second each partition has a record of its own. codes:
    of each record the place of its database, schema and table in `names`.
    """
    found = np.zeros(len(codes), np.bool_)
    for code in np.unique(codes[truncates]).tolist():
        reason = tables.truncated(names[code].source)
        if reason:
            of_code = truncates & (codes == code)
            ignored[reason] += int(of_code.sum())
            found |= of_code
    return found


class _Named(NamedTuple):
    """A table of the source, empty text where records name none, and whether it is named by a topic."""

    by_topic: bool
    source: Source


def _names(records: Records) -> tuple[Ints, list[_Named]]:
    """Return of each record which of the names it has, and these."""
    schemas, codes = _coded(records.schema)
    tables, of_table = _coded(records.table)
    codes = codes * len(tables) + of_table
    databases = [""]
    if records.database is not None:
        databases, of_database = _coded(records.database)
        codes += of_database * (len(schemas) * len(tables))
    every = len(databases) * len(schemas) * len(tables)
    if records.by_topic is not None:
        codes += records.by_topic * every
    if every <= _FEW_NAMES:
        found = itertools.product((False, True), databases, schemas, tables)
        return codes, [
            _Named(by_topic, Source(schema or None, name, base or None)) for by_topic, base, schema, name in found
        ]
    coded = pa.array(codes).dictionary_encode()
    names = []
    for code in coded.dictionary.to_pylist():
        by_topic, rest = divmod(code, every)
        rest, table = divmod(rest, len(tables))
        database, schema = divmod(rest, len(schemas))
        source = Source(schemas[schema] or None, tables[table], databases[database] or None)
        names.append(_Named(bool(by_topic), source))
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
    operation = records.operation[record]
    after = np.flatnonzero(second)
    operation[after - 1] = BEFORE_UPDATE
    is_before = operation == DELETE
    is_before[after - 1] = True
    rows = Rows(parts, record, is_before, after, records.where.file, records.where.line, operation == TRUNCATE)
    return rows, second, operation
