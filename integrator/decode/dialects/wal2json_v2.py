"""wal2json, format version 2: a line is one action: B begin, C commit, I U D T changes, M message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first
from integrator.contracts.sequence import OpenTransaction
from integrator.decode.contract import TransactionCursor
from integrator.decode.dialects import postgres
from integrator.decode.dialects.wal2json_v1 import CODING
from integrator.decode.fields import Where
from integrator.decode.json.document import Document
from integrator.decode.json.named import NamedLists, as_objects, lists_of_pairs, plain_names
from integrator.decode.json.objects import Objects
from integrator.decode.refusal import refuse
from integrator.decode.rows.images import JsonImages
from integrator.decode.rows.records import Records, Sequenced
from integrator.engine.arrays import Ints, Mask
from integrator.engine.grammar import LIST
from integrator.errors import DataError, Fault, Place, PublicDataError, shown

EXPECTED = "wal2json version 2"
_ACTIONS = "BCIUDTM"
_MEMBERS = ("action", "xid", "timestamp", "lsn", "nextlsn", "schema", "table", "columns", "identity")


class Position(TransactionCursor):
    """The open transaction, and how it goes on."""

    def move(self, part: OpenTransaction) -> None:
        """Go on to the end of a part of the file, which seen alone ends so."""
        self.known = part.after(self.open) if part.since_start else part


def tail(document: Document) -> OpenTransaction:
    """Return where a document, seen alone, ends."""
    objects = _objects(document)
    actions, has_old = _actions(objects), _lists_of(objects, "identity")
    return _advance(actions, _row_counts(actions, has_old), _Begins.of(objects))


def records(document: Document, position: Position) -> tuple[Records, Sequenced]:
    """Return the changes in a document, and move `position` to their end. Raises DataError."""
    objects = _objects(document)
    images = [_named(objects, name) for name in ("columns", "identity")]
    plain = plain_names(document, np.concatenate([image.name for image in images]), EXPECTED)
    if plain is not None:
        return records(plain, position)
    actions, has_old = _actions(objects), images[1].counts > 0
    rows = _row_counts(actions, has_old)
    begins = _Begins.of(objects)
    where = Where(document.lines.file, objects.numbers)
    transactions = _transactions(where, actions, rows, begins, position)
    position.move(_advance(actions, rows, begins))
    placed, stamp = transactions.placed(where)
    after, before = as_objects(document, images)
    found = Records(
        file=where.file,
        action=actions,
        schema=objects.labels("schema").encoded(),
        table=objects.labels("table").encoded(),
        values=JsonImages(after, before, CODING),
        old=has_old,
        line=where.line,
        cap_tstamp=stamp,
    )
    return found, placed


def _objects(document: Document) -> Objects:
    return Objects.of_lines(document).required(EXPECTED).find(*_MEMBERS)


def _lists_of(objects: Objects, name: str) -> Mask:
    """Return which records have a list of that name with something in it. Raises DataError for what is no list."""
    at, text, node = objects.slices(name), objects.document.text, objects.node(name)
    is_list = np.asarray((at.first_bytes(text) == LIST) & (at.end > 0), np.bool_)
    wrong = first(~(is_list | at.nulls(text)))
    if wrong is not None:
        where = Place(objects.lines.file, int(objects.numbers[wrong]))
        raise DataError(Fault(where, f"{name} is no list of names and values; expected {EXPECTED}"))
    return np.asarray(is_list & (objects.document.nodes.after[node] > node + 1), np.bool_)


def _named(objects: Objects, name: str) -> NamedLists:
    """Return the images that are lists of objects with a name and a value each. Raises DataError."""
    _lists_of(objects, name)
    return lists_of_pairs(objects, name, "name", "value", EXPECTED)


def _actions(objects: Objects) -> npt.NDArray[np.str_]:
    """Return what each line does. Raises DataError for a word that is none of a version 2."""
    words = objects.labels("action")
    unknown = [place for place, word in enumerate(words.texts) if word not in tuple(_ACTIONS)]

    def text(at: int) -> str:
        word = words.texts[words.codes[at]] if words.codes[at] >= 0 else None
        return f"the action {shown(word)} is none of {' '.join(_ACTIONS)}"

    refuse(objects.lines.file, objects.numbers, np.isin(words.codes, [*unknown, -1]), text)
    return np.array(words.texts, "U1")[words.codes]


def _row_counts(actions: npt.NDArray[np.str_], has_old: Mask) -> Ints:
    """Return how many change rows each line makes: an update with a before image makes two."""
    rows = np.isin(actions, ["I", "D", "T", "U"]).astype(np.int64)
    return np.asarray(rows + ((actions == "U") & has_old), np.int64)


@dataclass(frozen=True)
class _Begins:
    """Where each line says that its transaction commits, its number in 16 hex digits, and the commit time as text."""

    commit: pa.Array
    xid: pa.Array
    stamp: pa.Array

    @staticmethod
    def of(objects: Objects) -> _Begins:
        """Read the lines. Raises DataError."""
        where = Where(objects.lines.file, objects.numbers)
        commit = postgres.commit(where, objects.text("nextlsn"))
        return _Begins(commit, postgres.transaction(where, objects.text("xid")), objects.text("timestamp"))

    def name(self, line: int) -> str | None:
        """Return what names the transaction that a line begins: commit|xid|timestamp, or None without a commit."""
        commit = self.commit[line].as_py()
        return commit and f"{commit}|{self.xid[line].as_py()}|{self.stamp[line].as_py() or ''}"

    def of_transactions(self, opened: str | None, starts: Ints) -> _Begins:
        """Return those of the transaction that was open before, given by its name, and of those that begin after."""
        parts = (opened or "||").split("|")
        at = pa.array(starts)
        return _Begins(
            *(
                pa.concat_arrays([pa.array([part or None], pa.string()), values.take(at)])
                for part, values in zip(parts, (self.commit, self.xid, self.stamp), strict=True)
            )
        )


def _advance(actions: npt.NDArray[np.str_], rows: Ints, begins: _Begins) -> OpenTransaction:
    """Return where a part of a file, seen alone, ends."""
    starts, ends = np.flatnonzero(actions == "B"), np.flatnonzero(actions == "C")
    if len(ends) and (not len(starts) or ends[-1] > starts[-1]):
        return OpenTransaction(None, int(rows[ends[-1] :].sum()), since_start=False, goes_on=False)
    if not len(starts):
        return OpenTransaction(None, int(rows.sum()), since_start=True)
    last = starts[-1]
    return OpenTransaction(begins.name(int(last)), int(rows[last:].sum()), since_start=False, goes_on=True)


@dataclass(frozen=True)
class _Transactions:
    """For each line: the transaction it belongs to (an index), and the number of its first row in that.

    begins: of the transaction that was open before, and of those that begin at the lines `starts`.
    """

    begins: _Begins
    starts: Ints
    index: Ints
    rank: Ints
    countdown: Ints

    def placed(self, where: Where) -> tuple[Sequenced, pa.Array]:
        """Return the places of lines, and the commit time of each one's transaction."""
        index = pa.array(self.index)
        line = np.concatenate([where.line[:1], where.line[self.starts]])
        moments = postgres.instants(self.begins.stamp, Where(where.file, line))
        commit, xid = (values.take(index) for values in (self.begins.commit, self.begins.xid))
        return Sequenced(commit, xid, self.rank, self.countdown), moments.take(index)


def _transactions(
    where: Where, actions: npt.NDArray[np.str_], rows: Ints, begins: _Begins, position: Position
) -> _Transactions:
    index = np.cumsum(actions == "B")  # 0: the transaction that was open before these lines
    starts = np.flatnonzero(actions == "B")
    opened, rows_before = None, 0
    before = np.concatenate([[0], np.cumsum(rows)[:-1]])
    early = first((rows > 0) & (index == 0))
    if early is not None:
        opened, rows_before = position.open.tx, position.open.rows
        if opened is None:
            where.refuse(
                (rows > 0) & (index == 0),
                lambda _: (
                    "a change whose transaction began in no file before this one; start with a file that holds "
                    "the transaction's begin (action B), and record with include-transaction"
                ),
            )
    base = np.concatenate([[-rows_before], before[starts]])
    found = begins.of_transactions(opened, starts)
    nameless = first(pc.is_null(found.commit.slice(1)))
    if nameless is not None:
        at = starts[nameless]
        raise PublicDataError(
            Fault(
                Place(where.file, int(where.line[at])),
                "the transaction has no nextlsn, so its changes have no place in the "
                "order; record with the options include-lsn=1 and include-xids=1",
            )
        )
    rank = before - base[index] + position.first_row
    ends = np.full(len(starts) + 1, -1, np.int64)
    commits = np.flatnonzero(actions == "C")
    ends[index[commits]] = before[commits]
    late = (rows > 0) & (ends[index] >= 0) & (before >= ends[index])
    where.refuse(late, lambda _: "a change after its transaction's end; is a file missing?")
    countdown = np.where(ends[index] >= 0, ends[index] - before, 0)
    return _Transactions(found, starts, index, rank, countdown)
