"""The `hvr` dialect: one record is one change row, in JSON lines, CSV with a header, or Parquet, chosen by looking.

A record has the columns of its table and these, of which only hvr_op and hvr_tx_seq are always needed:

hvr_op            HVR's operation code, 0 to 5; an update is two records, 3 or 4 (before image) and then 2
hvr_tx_seq        the transaction's place in the order of commits: 1 to 20 hex digits
hvr_tbl_name      the table; may be left out where the location names one, or the channel has only one
hvr_tx_countdown  rows left in the transaction with this one: 3, 2, 1; then the order needs no counting over files
hvr_integ_seq     the row's place itself, 45 characters; then hvr_tx_seq is its first segment, and may be left out
hvr_cap_tstamp    commit time, with zone; hvr_cap_user: the user who made the change
hvr_missing       names of columns that the record has no value for, with commas between: for CSV and Parquet. In JSON
                  lines, a column that is not there is missing, and null is null.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, mask, of_width
from integrator.contracts.change_batch import ChangeBatch, no_changes
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.sequence import MAX_ROWS_IN_TRANSACTION, SEQUENCE_WIDTHS, OpenTransaction, integ_seq
from integrator.decode.contract import Batch, File, PreviousEnd, Reading, TransactionCursor
from integrator.decode.dialect import Dialect, mark
from integrator.decode.dialects import hvr_json, hvr_tables
from integrator.decode.dialects.hvr_records import Records
from integrator.decode.fields import Where
from integrator.decode.lines.lines import Lines
from integrator.decode.order.ascending import Ascending
from integrator.decode.refusal import for_all_lines, refuse, report
from integrator.decode.rejects import each_block, end_by_reading
from integrator.decode.rows.records import truncated_partitions
from integrator.decode.rows.runs import Fill, RowMetadata, Rows, changes_of, group_by_table
from integrator.decode.source_tables import SourceTables
from integrator.engine.arrays import Ints, Mask
from integrator.engine.numbers import pad_hexadecimal
from integrator.errors import DataError, Fault, Place
from integrator.schema import Table

_SEQUENCE = r"^[0-9A-F]{20}\|[0-9A-F]{16}\|[0-9A-F]{7}$"
_NO_TRANSACTION = "0" * SEQUENCE_WIDTHS[1]


def read(file: File, before: PreviousEnd, reading: Reading) -> Iterator[Batch]:
    """Yield the change rows of a file."""
    ascending = Ascending(checked=not reading.repeated_positions)
    order, tables = _Order(file, before, ascending, reading), reading.source_tables()
    blocks, decode = _blocks(file, reading)

    def step(block: Any) -> Batch:
        records = decode(block)
        meta = order.place(records)
        ignored: Counter[str] = Counter()
        changes, unknown = _changes(records, meta, reading, tables, ignored)
        return Batch(changes, order.open, ignored, unknown, ascending.span, dict(tables.new))

    yield from each_block(blocks, step, (ascending, order, tables), reading)


def tail(file: File, reading: Reading) -> OpenTransaction:
    """Return the last transaction of the file, and how many of its last rows belong to it."""
    if reading.tolerant:
        return end_by_reading(read, file, reading)
    state = OpenTransaction()
    columns: Iterator[tuple[pa.Array, pa.Array]]
    container = file.container
    if container == "empty":
        return state
    if container == "json":
        columns = (hvr_json.transactions(lines) for lines in file.lines(replace(reading, whole_files=False)))
    else:
        columns = hvr_tables.transactions(file.path, container)
    for tx, countdown in columns:
        state = _trailing(_padded(file.path, tx, None), countdown).after(state)
    return state


def check(lines: Lines, reading: Reading) -> None:
    """Check JSON lines apart, see `Dialect`."""
    _tables(hvr_json.records(lines, reading), reading.source_tables(), Counter())


def waits(line: bytes) -> bool:
    """Return whether a JSON line is a before image, whose after image is the next line; see `Dialect`."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.get("hvr_op") in (3, 4, "3", "4")


def _blocks(file: File, reading: Reading) -> tuple[Iterator[Any], Callable[[Any], Records]]:
    """Return the blocks of a file, and what decodes one."""
    match file.container_with("hvr_op", reading):
        case "empty":
            return iter(()), lambda records: records
        case "json":
            return file.lines(reading), lambda lines: hvr_json.records(lines, reading)
        case container:
            return hvr_tables.records(file.path, container, reading), lambda records: records


def _changes(
    records: Records, meta: RowMetadata, reading: Reading, tables: SourceTables, ignored: Counter[str]
) -> tuple[ChangeBatch, dict[str, int]]:
    """Return the rows of tables of the channel, and the values of unknown columns; others are counted in `ignored`."""
    found, of_record = _tables(records, tables, ignored)
    names, codes = [("", "", name) for name in records.table.texts], records.table.codes.astype(np.int64)
    truncates = mask(pc.equal(meta.op, TRUNCATE))
    of_record[truncated_partitions(truncates, codes, names, tables, ignored)] = -1
    kept = np.flatnonzero(of_record >= 0)
    if not len(kept):
        return no_changes(records.file), {}
    ones = np.ones(len(kept), np.int64)
    parts, order = group_by_table(found, of_record[kept], None, ones, reading, joint=records.values.joint)
    record = kept[order]
    meta = meta if len(record) == len(meta.line) and (np.diff(record) == 1).all() else meta.take(record)
    truncates = mask(pc.equal(meta.op, TRUNCATE))
    rows = Rows(
        parts, record, np.zeros(len(record), np.bool_), np.empty(0, np.int64), records.file, records.line, truncates
    )
    values = records.values.columns(rows, reading, Fill(after=False, needs_values=False))
    return changes_of(rows, values, meta), dict(values.unknown)


def _tables(records: Records, tables: SourceTables, ignored: Counter[str]) -> tuple[list[Table], Ints]:
    """Return the tables, and of each record the place of its table, -1 where it is counted in `ignored`."""
    found: dict[str, tuple[int, Table]] = {}
    place = np.full(len(records.table.texts), -1, np.int64)
    firsts = np.zeros(len(place), np.int64)
    firsts[records.table.codes[::-1]] = np.arange(len(records.line))[::-1]
    for code, name in enumerate(records.table.texts):
        try:
            table = tables.find(None, name, Place(records.file, int(records.line[firsts[code]])))
        except DataError as error:
            report(for_all_lines(error, records.line[records.table.codes == code]))
            continue
        if isinstance(table, str):
            ignored[table] += int((records.table.codes == code).sum())
        else:
            place[code] = found.setdefault(table.name, (len(found), table))[0]
    return [table for _, table in found.values()], place[records.table.codes]


def _padded(file: str, tx_seq: pa.Array, line: Ints | None) -> pa.Array:
    """Return transaction sequences as 20 upper-case hex digits."""
    digits, offsets = flat(tx_seq)
    padded = np.full((len(tx_seq), SEQUENCE_WIDTHS[0]), ord("0"), np.uint8)
    at = pad_hexadecimal(digits, offsets, padded)
    if at < len(tx_seq):
        place = Place(file, int(line[at]) if line is not None else 0)
        raise DataError(Fault(place, f"hvr_tx_seq is {tx_seq[at].as_py()!r}; expected 1 to 20 hex digits as text"))
    return of_width(padded)


def _starts(tx: pa.Array) -> Mask:
    """Return of each row whether its transaction is another than that of the row before it."""
    starts = np.ones(len(tx), bool)
    if len(tx) > 1:
        starts[1:] = mask(pc.not_equal(tx.slice(1), tx.slice(0, len(tx) - 1)))
    return starts


def _trailing(tx: pa.Array, countdown: pa.Array) -> OpenTransaction:
    """Return where rows end, seen alone; the last one says by its countdown whether its transaction goes on."""
    if not len(tx):
        return OpenTransaction()
    first, goes_on = int(np.flatnonzero(_starts(tx))[-1]), (countdown[len(tx) - 1].as_py() or 0) > 1
    return OpenTransaction(tx[len(tx) - 1].as_py(), len(tx) - first, since_start=first == 0, goes_on=goes_on)


class _Order(TransactionCursor):
    """Numbers the rows of each transaction, on from where the file before ended."""

    def __init__(self, file: File, before: PreviousEnd, ascending: Ascending, reading: Reading) -> None:
        super().__init__(before, file.first_row(reading))
        self.file, self.ascending = file.path, ascending

    def place(self, records: Records) -> RowMetadata:
        """Give each row of a batch its place in the order of changes."""
        meta, line = records.meta, records.line
        given, tx_seq = meta["hvr_integ_seq"], meta["hvr_tx_seq"]
        self._check_op(meta["hvr_op"], line)
        if given.null_count < len(given):
            self._check_given(given, line)
            tx_seq = pc.if_else(pc.is_valid(given), pc.utf8_slice_codeunits(given, 0, SEQUENCE_WIDTHS[0]), tx_seq)
        padded = _padded(self.file, tx_seq, line)
        countdown = pc.fill_null(meta["hvr_tx_countdown"], 0)
        left = countdown.to_numpy(zero_copy_only=False).astype(np.int64)
        self._check_countdown(left, line)
        rank = self._ranks(padded, countdown, counting=bool(given.null_count and (left <= 0).any()))
        rank = np.where(left > 0, MAX_ROWS_IN_TRANSACTION - left, rank + self.first_row)
        sequence = integ_seq(padded, pa.repeat(_NO_TRANSACTION, len(padded)), rank)
        sequence = pc.coalesce(given, sequence) if given.null_count < len(given) else sequence
        self.ascending.extend_with(sequence, sequence, Where(self.file, line))
        return RowMetadata(
            op=meta["hvr_op"].cast(pa.int8()),
            integ_seq=sequence,
            tx_seq=padded,
            countdown=countdown,
            cap_tstamp=meta["hvr_cap_tstamp"],
            cap_user=meta["hvr_cap_user"],
            line=line,
            order=np.arange(len(line)),
        )

    def _ranks(self, tx: pa.Array, countdown: pa.Array, *, counting: bool) -> Ints:
        """Return the number of each row in its transaction, and go on to after them."""
        starts = _starts(tx)
        places = np.arange(len(tx))
        rank = places - np.maximum.accumulate(np.where(starts, places, 0))
        if not counting:
            self.known = _trailing(tx, countdown)
            return rank
        first = int(np.flatnonzero(starts)[1]) if starts.sum() > 1 else len(tx)
        if self.open.tx == tx[0].as_py():
            rank[:first] += self.open.rows
        self.known = _trailing(tx, countdown).after(self.open)
        if int(rank.max()) >= MAX_ROWS_IN_TRANSACTION:
            raise DataError(Fault(Place(self.file), f"a transaction of more than {MAX_ROWS_IN_TRANSACTION} rows"))
        return rank

    def _check_countdown(self, left: Ints, line: Ints) -> None:
        refuse(
            self.file,
            line,
            (left < 0) | (left >= MAX_ROWS_IN_TRANSACTION),
            lambda at: (
                f"hvr_tx_countdown is {left[at]}; expected the rows left in the transaction, this one included: "
                f"1 to {MAX_ROWS_IN_TRANSACTION - 1}, or 0 where that is not known"
            ),
            collected=True,
        )

    def _check_op(self, op: pa.Array, line: Ints) -> None:
        refuse(
            self.file,
            line,
            ~mask(pc.and_(pc.greater_equal(op, 0), pc.less_equal(op, 5))),
            lambda at: (
                f"hvr_op is {op[at].as_py()}; expected 0 delete, 1 insert, 2 update, 3 before key update, "
                "4 before other update, 5 truncate"
            ),
            collected=True,
        )

    def _check_given(self, given: pa.Array, line: Ints) -> None:
        refuse(
            self.file,
            line,
            mask(pc.invert(pc.match_substring_regex(given, _SEQUENCE))),
            lambda at: (
                f"hvr_integ_seq is {given[at].as_py()!r}; expected 20, 16 and 7 upper-case hex digits joined by |"
            ),
        )


DIALECT = Dialect(read, tail, (mark("hvr_op", certain=True),), commit_positions=True, check=check, waits=waits)
