"""wal2json, format version 2: a line is one action: B begin, C commit, I U D T changes, M message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.contracts.changes import OpenTransaction
from integrator.decode.contract import Standing
from integrator.decode.dialects import postgres
from integrator.decode.fields import Where
from integrator.decode.json.lines import Lines, arrow_json, parse_lines
from integrator.decode.json.text import quote_scalars
from integrator.decode.named_values import Named, NamedValues
from integrator.decode.records import Placed, Records
from integrator.errors import DataError, shown

_TEXT = pa.string()
_ACTIONS = pa.array([*"BCIUDTM"])
_NAMED = pa.list_(pa.struct([("name", _TEXT), ("value", _TEXT)]))
V2 = pa.schema(
    [(name, _TEXT) for name in ("action", "xid", "timestamp", "lsn", "nextlsn", "schema", "table")]
    + [("columns", _NAMED), ("identity", _NAMED)]
)
V2_TAIL = pa.schema([(name, _TEXT) for name in ("action", "xid", "timestamp", "nextlsn")] + [("identity", _NAMED)])


class Position(Standing):
    """The open transaction, and how it goes on."""

    def move(self, part: OpenTransaction) -> None:
        """Go on to the end of a part of the file, which seen alone ends so."""
        self.known = part.after(self.open) if part.since_start else part


def tail(lines: Lines) -> OpenTransaction:
    """Return where `lines`, seen alone, end."""
    table = parse_lines(lines, lambda data: arrow_json(V2_TAIL, "ignore")(quote_scalars(data)), "wal2json version 2")
    return _advance(_actions(lines, table), _row_counts(lines, table), _begins(lines, table))


def records(lines: Lines, position: Position) -> tuple[Records, Placed]:
    """Return the changes in `lines`, and move `position` to their end. Raises DataError."""
    table = parse_lines(lines, lambda data: arrow_json(V2, "ignore")(quote_scalars(data)), "wal2json version 2")
    actions = _actions(lines, table)
    rows = _row_counts(lines, table)
    begins = _begins(lines, table)
    transactions = _transactions(lines, actions, rows, begins, position)
    position.move(_advance(actions, rows, begins))
    columns, identity = table["columns"].combine_chunks(), table["identity"].combine_chunks()
    commit, xid, stamp = _split(lines, transactions)
    new = Named.of(columns.offsets, columns.flatten().field(0), columns.flatten().field(1), columns)
    old = Named.of(identity.offsets, identity.flatten().field(0), identity.flatten().field(1), identity)
    found = Records(
        lines=lines,
        action=actions,
        schema=table["schema"].combine_chunks(),
        table=table["table"].combine_chunks(),
        values=NamedValues(new, old, lines.file, lines.numbers),
        old=old.has,
        line=lines.numbers,
        cap_tstamp=stamp,
    )
    return found, Placed(commit, xid, transactions.rank, transactions.countdown)


def _actions(lines: Lines, table: pa.Table) -> npt.NDArray[np.str_]:
    """Return what each line does. Raises DataError for a word that is none of a version 2."""
    actions = table["action"].combine_chunks()
    wrong = first(~mask(pc.is_in(actions, _ACTIONS)))
    if wrong is not None:
        text = f"the action {shown(actions[wrong].as_py())} is none of {' '.join(_ACTIONS.to_pylist())}"
        raise DataError(f"{lines.file}:{lines.numbers[wrong]}: {text}")
    return np.asarray(actions, "U1")


def _row_counts(lines: Lines, table: pa.Table) -> npt.NDArray[np.int64]:
    """Return how many change rows each line makes: an update with an old image makes two."""
    actions = _actions(lines, table)
    has_old = mask(pc.is_valid(table["identity"]))
    rows = np.isin(actions, ["I", "D", "T", "U"]).astype(np.int64)
    return np.asarray(rows + ((actions == "U") & has_old), np.int64)


def _begins(lines: Lines, table: pa.Table) -> pa.Array:
    """Return for each line the transaction that it begins, as commit|xid|timestamp, or null."""
    commit, xid = (
        postgres.commit(lines, table["nextlsn"].combine_chunks()),
        postgres.transaction(lines, table["xid"].combine_chunks()),
    )
    stamp = pc.fill_null(table["timestamp"], "").combine_chunks()
    return pc.if_else(
        pc.equal(table["action"].combine_chunks(), "B"), pc.binary_join_element_wise(commit, xid, stamp, "|"), None
    )


def _advance(actions: npt.NDArray[np.str_], rows: npt.NDArray[np.int64], begins: pa.Array) -> OpenTransaction:
    """Return where a part of a file, seen alone, ends."""
    starts, ends = np.flatnonzero(actions == "B"), np.flatnonzero(actions == "C")
    if len(ends) and (not len(starts) or ends[-1] > starts[-1]):
        return OpenTransaction(None, int(rows[ends[-1] :].sum()), since_start=False, goes_on=False)
    if not len(starts):
        return OpenTransaction(None, int(rows.sum()), since_start=True)
    last = starts[-1]
    return OpenTransaction(begins[int(last)].as_py(), int(rows[last:].sum()), since_start=False, goes_on=True)


@dataclass(frozen=True)
class _Transactions:
    """For each line: the transaction it belongs to (an index), and the number of its first row in that.

    names: of the transaction that was open before, and of those that begin at the lines `starts`.
    """

    names: list[str | None]
    starts: npt.NDArray[np.int64]
    index: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int64]
    countdown: npt.NDArray[np.int64]


def _transactions(
    lines: Lines,
    actions: npt.NDArray[np.str_],
    rows: npt.NDArray[np.int64],
    begins: pa.Array,
    position: Position,
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
    late = np.flatnonzero((rows > 0) & (ends[index] >= 0) & (before >= ends[index]))
    if len(late):
        at = late[0]
        raise DataError(f"{lines.file}:{lines.numbers[at]}: a change behind its transaction's end; is a file missing?")
    countdown = np.where(ends[index] >= 0, ends[index] - before, 0)
    return _Transactions(names, starts, index, rank, countdown)


def _split(lines: Lines, transactions: _Transactions) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return commit, transaction and commit time of each line's transaction."""
    parts = [(name or "||").split("|") for name in transactions.names]
    index = pa.array(transactions.index)
    commit = pa.array([part[0] for part in parts]).take(index)
    xid = pa.array([part[1] for part in parts]).take(index)
    line = np.concatenate([lines.numbers[:1], lines.numbers[transactions.starts]])
    moments = pa.array([part[2] or None for part in parts], pa.string())
    return commit, xid, postgres.instants(moments, Where(lines.file, line)).take(index)
