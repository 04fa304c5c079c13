"""wal2json, format versions 1 and 2, chosen by looking (https://github.com/eulerto/wal2json).

The position of a change is its transaction's `nextlsn`, its xid, and the number of the row in the transaction. The old
image of an update is the replica identity. A value that PostgreSQL left out of a new image (unchanged TOAST) is taken
from the old image where that has it, and is missing otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import first, mask
from integrator.changes import OpenTransaction
from integrator.dialects import images
from integrator.dialects.images import Records
from integrator.dialects.lines import Lines, arrow_json, parse_lines, quote_scalars, read_lines
from integrator.dialects.reading import Batch, Before, Reading
from integrator.errors import DataError

_TEXT = pa.string()
_NAMED = pa.list_(pa.struct([("name", _TEXT), ("value", _TEXT)]))
_TEXTS = pa.list_(_TEXT)
V2 = pa.schema(
    [(name, _TEXT) for name in ("action", "xid", "timestamp", "lsn", "nextlsn", "schema", "table")]
    + [("columns", _NAMED), ("identity", _NAMED)]
)
V2_TAIL = pa.schema([(name, _TEXT) for name in ("action", "xid", "timestamp", "nextlsn")] + [("identity", _NAMED)])
V1 = pa.schema(
    [
        ("xid", _TEXT),
        ("timestamp", _TEXT),
        ("nextlsn", _TEXT),
        (
            "change",
            pa.list_(
                pa.struct(
                    [
                        ("kind", _TEXT),
                        ("schema", _TEXT),
                        ("table", _TEXT),
                        ("columnnames", _TEXTS),
                        ("columnvalues", _TEXTS),
                        ("oldkeys", pa.struct([("keynames", _TEXTS), ("keyvalues", _TEXTS)])),
                    ]
                )
            ),
        ),
    ]
)
KINDS = {"insert": "I", "update": "U", "delete": "D", "truncate": "T", "message": "M"}
WHOLE = 1 << 30


def read(file: str, before: Before, reading: Reading) -> Iterator[Batch]:
    """Yield the change rows of a wal2json file, of either version."""
    position = _Position(before)
    version = 0
    for lines in read_lines(file, WHOLE) if reading.whole_files else read_lines(file):
        version = version or _version(lines)
        records = _records_v1(lines) if version == 1 else _records_v2(lines, position)
        changes, ignored = images.change_rows(records, reading)
        yield Batch(changes, position.open if version == 2 else OpenTransaction(since_start=False), ignored)


def tail(file: str, _reading: Reading) -> OpenTransaction:
    """Return where the file ends; a file of version 1 holds whole transactions only."""
    state = OpenTransaction()
    for lines in read_lines(file):
        if _version(lines) == 1:
            return OpenTransaction(since_start=False)
        table = parse_lines(lines, lambda data: arrow_json(V2_TAIL, "ignore")(quote_scalars(data)), "wal2json")
        state = _advance(_actions(table), _row_counts(table), _begins(table)).after(state)
    return state


class _Position:
    """The open transaction, asked of the file before only where a record needs it."""

    def __init__(self, before: Before) -> None:
        self._before = before
        self._known: OpenTransaction | None = None

    @property
    def open(self) -> OpenTransaction:
        if self._known is None:
            self._known = self._before()
        return self._known

    def move(self, part: OpenTransaction) -> None:
        self._known = part.after(self.open) if part.since_start else part


def _version(lines: Lines) -> int:
    """Tell the version by the first line: a transaction with its changes (1), or one action (2)."""
    first = lines.array[0].as_py()
    if '"action"' in first:
        return 2
    if '"change"' in first:
        return 1
    raise DataError(
        f'{lines.file}:{lines.numbers[0]}: neither wal2json version 1 (a line has a "change" list) nor version 2 '
        f'(a line has an "action"); the line is {first[:200].rstrip()}'
    )


def _actions(table: pa.Table) -> npt.NDArray[np.str_]:
    return np.asarray(pc.fill_null(table["action"], "?").combine_chunks(), "U1")


def _row_counts(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return how many change rows each line makes: an update with an old image makes two."""
    actions = _actions(table)
    has_old = mask(pc.is_valid(table["identity"]))
    rows = np.isin(actions, ["I", "D", "T", "U"]).astype(np.int64)
    return np.asarray(rows + ((actions == "U") & has_old), np.int64)


def _begins(table: pa.Table) -> pa.Array:
    """Return for each line the transaction that it begins, as commit|xid|timestamp, or null."""
    commit, xid = _commit(table["nextlsn"].combine_chunks()), _xid(table["xid"].combine_chunks())
    stamp = pc.fill_null(table["timestamp"], "").combine_chunks()
    return pc.if_else(
        pc.equal(table["action"].combine_chunks(), "B"), pc.binary_join_element_wise(commit, xid, stamp, "|"), None
    )


def _commit(nextlsn: pa.Array) -> pa.Array:
    """Return LSNs (`0/3BD39C8`) as 20 hex digits (https://www.postgresql.org/docs/15/datatype-pg-lsn.html)."""
    halves = pc.split_pattern(nextlsn, "/", max_splits=1)
    high, low = pc.list_element(halves, 0), pc.list_element(halves, 1)
    return pc.utf8_upper(pc.binary_join_element_wise("0000", pc.utf8_lpad(high, 8, "0"), pc.utf8_lpad(low, 8, "0"), ""))


def _xid(xid: pa.Array) -> pa.Array:
    return images.decimal_to_hex(pc.fill_null(xid, "0"), 16)


def _advance(actions: npt.NDArray[np.str_], rows: npt.NDArray[np.int64], begins: pa.Array) -> OpenTransaction:
    """Return where a part of a file, seen alone, ends."""
    starts = np.flatnonzero(actions == "B")
    if not len(starts):
        return OpenTransaction(None, int(rows.sum()), since_start=True)
    last = starts[-1]
    return OpenTransaction(begins[int(last)].as_py(), int(rows[last:].sum()), since_start=False)


@dataclass(frozen=True)
class _Transactions:
    """For each line: the transaction it belongs to (an index), and the number of its first row in that."""

    names: list[str | None]
    index: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int64]
    countdown: npt.NDArray[np.int64]


def _records_v2(lines: Lines, position: _Position) -> Records:
    table = parse_lines(lines, lambda data: arrow_json(V2, "ignore")(quote_scalars(data)), "wal2json version 2")
    actions = _actions(table)
    wrong = np.flatnonzero(~np.isin(actions, ["B", "C", "I", "U", "D", "T", "M"]))
    if len(wrong):
        at = int(wrong[0])
        raise DataError(
            f"{lines.file}:{lines.numbers[at]}: the action {table['action'][at].as_py()!r} is none of B C I U D T M"
        )
    rows = _row_counts(table)
    begins = _begins(table)
    transactions = _transactions(lines, actions, rows, begins, position)
    position.move(_advance(actions, rows, begins))
    columns, identity = table["columns"].combine_chunks(), table["identity"].combine_chunks()
    commit, xid, stamp = _split(lines, transactions)
    return Records(
        lines=lines,
        action=actions,
        schema=table["schema"].combine_chunks(),
        table=table["table"].combine_chunks(),
        new=images.Images.of(columns.offsets, columns.flatten().field(0), columns.flatten().field(1), columns),
        old=images.Images.of(identity.offsets, identity.flatten().field(0), identity.flatten().field(1), identity),
        line=lines.numbers,
        commit=commit,
        transaction=xid,
        cap_tstamp=stamp,
        rank=transactions.rank,
        countdown=transactions.countdown,
    )


def _transactions(
    lines: Lines,
    actions: npt.NDArray[np.str_],
    rows: npt.NDArray[np.int64],
    begins: pa.Array,
    position: _Position,
) -> _Transactions:
    index = np.cumsum(actions == "B")  # 0: the transaction that was open before these lines
    starts = np.flatnonzero(actions == "B")
    names: list[str | None] = [None, *begins.take(pa.array(starts)).to_pylist()]
    before = np.concatenate([[0], np.cumsum(rows)[:-1]])
    base = np.concatenate([[0], before[starts]])
    first = np.flatnonzero((rows > 0) & (index == 0))
    if len(first):
        opened = position.open
        if opened.tx is None:
            raise DataError(
                f"{lines.file}:{lines.numbers[first[0]]}: a change whose transaction began in no file before this one; "
                "start with a file that holds the transaction's begin (action B), and record with include-transaction"
            )
        names[0] = opened.tx
        base[0] = -opened.rows
    nameless = np.flatnonzero([name is None for name in names[1:]])
    if len(nameless):
        at = starts[nameless[0]]
        raise DataError(
            f"{lines.file}:{lines.numbers[at]}: the transaction has no nextlsn, so its changes have no place in the "
            "order; record with the options include-lsn=1 and include-xids=1"
        )
    rank = before - base[index]
    ends = np.full(len(names), -1, np.int64)
    commits = np.flatnonzero(actions == "C")
    ends[index[commits]] = before[commits]
    countdown = np.where(ends[index] >= 0, ends[index] - before, 0)
    return _Transactions(names, index, rank, countdown)


def _split(lines: Lines, transactions: _Transactions) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return commit, transaction and commit time of each line's transaction."""
    parts = [(name or "||").split("|") for name in transactions.names]
    index = pa.array(transactions.index)
    commit = pa.array([part[0] for part in parts]).take(index)
    xid = pa.array([part[1] for part in parts]).take(index)
    return commit, xid, images.instants(lines, pa.array([part[2] or None for part in parts])).take(index)


def _records_v1(lines: Lines) -> Records:
    table = parse_lines(lines, lambda data: arrow_json(V1, "ignore")(quote_scalars(data)), "wal2json version 1")
    for name in ("change", "nextlsn"):
        absent = first(pc.is_null(table[name]))
        if absent is not None:
            raise DataError(
                f"{lines.file}:{lines.numbers[absent]}: the transaction has no {name}; record with the option "
                "include-lsn=1, and without write-in-chunks"
            )
    change = table["change"].combine_chunks()
    flat = change.flatten()
    parent = pc.list_parent_indices(change).to_numpy(zero_copy_only=False)
    kinds = pc.fill_null(flat.field("kind"), "?").to_numpy(zero_copy_only=False)
    wrong = [(at, kind) for at, kind in enumerate(kinds) if kind not in KINDS]
    if wrong:
        at, kind = wrong[0]
        raise DataError(f"{lines.file}:{lines.numbers[parent[at]]}: the kind {kind!r} is none of {', '.join(KINDS)}")
    actions = np.array([KINDS[kind] for kind in kinds], "U1")
    old = flat.field("oldkeys")
    rows = (actions != "M").astype(np.int64)
    rows += (actions == "U") & mask(pc.is_valid(old))
    before = np.concatenate([[0], np.cumsum(rows)])
    starts = np.searchsorted(parent, np.arange(len(lines)))
    rank = before[:-1] - before[starts][parent]
    total = np.concatenate([before[starts[1:]], before[-1:]])
    index = pa.array(parent)
    names, values = flat.field("columnnames"), flat.field("columnvalues")
    old_names, old_values = old.field("keynames"), old.field("keyvalues")
    return Records(
        lines=lines,
        action=actions,
        schema=flat.field("schema"),
        table=flat.field("table"),
        new=images.Images.of(names.offsets, names.flatten(), values.flatten(), names),
        old=images.Images.of(old_names.offsets, old_names.flatten(), old_values.flatten(), old),
        line=lines.numbers[parent],
        commit=_commit(table["nextlsn"].combine_chunks()).take(index),
        transaction=_xid(table["xid"].combine_chunks()).take(index),
        cap_tstamp=images.instants(lines, table["timestamp"].combine_chunks()).take(index),
        rank=rank,
        countdown=total[parent] - before[:-1],
    )
