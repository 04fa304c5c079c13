"""Where Debezium's events stand, by connector: https://debezium.io/documentation/reference/stable/connectors/."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.contracts.sequence import SEQUENCE_WIDTHS
from integrator.decode.fields import Where, bytes_of, digits, whole_numbers
from integrator.decode.json.slices import DictionaryTexts, texts_of
from integrator.decode.order.positions import NO_TRANSACTION, Positions, binlog, number
from integrator.engine.arrays import Ints, Mask
from integrator.engine.log_numbers import find_first_of_two
from integrator.engine.values import Slices
from integrator.engine.words import WORD
from integrator.errors import DataError, Fault

SOURCE = (
    *("connector", "ts_ms", "ts_us", "db", "schema", "table", "user_name"),
    *("sequence", "txId", "lsn", "snapshot", "file", "pos", "gtid", "commit_lsn", "scn", "commit_scn"),
)
"""The fields of source blocks that are read."""


class Source(Protocol):
    """The source blocks of events."""

    @property
    def partial(self) -> Mask:
        """Which have only the fields that were asked for (add.fields)."""
        ...

    def text(self, name: str) -> pa.Array:
        """Return a field of each."""
        ...

    def has(self, name: str) -> bool:
        """Return whether any event has a field that is not null."""
        ...

    def labels(self, name: str) -> DictionaryTexts:
        """Return a field of each, of which many are the same."""
        ...


Text = Callable[[str], pa.Array]
Positioned = tuple[pa.Array, pa.Array, pa.Array]
"""The transaction, the commit's position in 20 hex digits, and the transaction's segment in 16."""


def positions(status: pa.Array | None, marks: Mask, source: Source, at: Ints, where: Where, rows: Ints) -> Positions:
    """Return the positions of events at some places among all, which make so many rows; `marks` are of transactions.

    status: of all events, what marks say.
    """
    by_connector = _by_fields(source)
    if by_connector is None:
        connector = source.text("connector")
        odd = mask(pc.is_in(connector, _WITH_POSITIONS)) & ~source.partial
        where.check(connector, odd, "source.connector", "with it, its position in the source block, as it writes it")
        placed = Positions.none(rows)
    else:
        placed = Positions(*by_connector(source.text, where), rows)
        nowhere = mask(pc.equal(source.text("file"), "")) if by_connector is _mysql else np.zeros(len(at), bool)
        lost = first(mask(pc.is_null(placed.commit)) & ~nowhere)
        if lost is not None:
            text = "the event's source block does not say its position, as others do"
            raise DataError(Fault(where.place(lost), text))
    ends, closed = (None, False) if status is None else _ends(status, marks, at)
    return replace(placed, ends=ends, closed=closed, marked=status is not None)


_WITH_POSITIONS = pa.array(["postgresql", "mysql", "mariadb", "sqlserver", "oracle"])
"""Connectors whose events have positions."""


def _by_fields(source: Source) -> Callable[[Text, Where], Positioned] | None:
    """Choose by the field that only one kind of database has."""
    for name, place in {"commit_lsn": _log_sequence, "scn": _oracle, "file": _mysql, "lsn": _postgres}.items():
        if source.has(name):
            return place
    return None


def _postgres(text: Text, where: Where) -> Positioned:
    sequence = text("sequence")
    lsn, xid, snapshot = text("lsn"), text("txId"), _snapshot(text)
    last = _last_of(sequence, where)
    numbers = whole_numbers(xid)
    if numbers is None or pc.any(pc.less(numbers, 0)).as_py():
        wrong = ~mask(pc.match_substring_regex(xid, r"^\d{1,18}$"))
        where.check(xid, wrong, "source.txId", "the number of a transaction")
    digits(lsn, SEQUENCE_WIDTHS[1], where, "source.lsn")
    if not snapshot.any():
        return xid, digits(pc.coalesce(last, lsn), SEQUENCE_WIDTHS[0], where, "source.lsn"), number(xid)
    in_snapshot = pa.array(snapshot)
    commit = pc.if_else(in_snapshot, lsn, pc.coalesce(last, lsn))
    transaction = pc.if_else(in_snapshot, pc.binary_join_element_wise("snapshot", lsn, " "), xid)
    segment = pc.if_else(in_snapshot, NO_TRANSACTION, number(xid))
    return transaction, digits(commit, SEQUENCE_WIDTHS[0], where, "source.lsn"), segment


def _last_of(sequence: pa.Array, where: Where) -> pa.Array:
    """Return the first position of each sequence, null where it has none. Raises DataError for what is no sequence."""
    plain = bytes_of(sequence)
    bounds = np.zeros((2, len(sequence)), np.int32)
    if plain is not None and len(plain[0]) >= WORD and find_first_of_two(*plain, bounds):
        return texts_of(plain[0], Slices(bounds[0], bounds[1], np.zeros(len(sequence), np.bool_)))
    parts = pc.extract_regex(sequence, r'^\[(?:null|"(?P<last>\d*)"),(?:null|"\d*")\]$')
    where.check(sequence, mask(pc.is_null(parts)), "source.sequence", 'two positions, ["24023119","24023128"]')
    last = pc.struct_field(parts, "last")
    return pc.if_else(pc.equal(last, ""), None, last)


def _snapshot(text: Text) -> Mask:
    return ~mask(pc.is_in(pc.fill_null(text("snapshot"), "false"), pa.array(["false"])))


def _mysql(text: Text, where: Where) -> Positioned:
    file, pos, gtid = text("file"), text("pos"), text("gtid")
    file = pc.if_else(pc.equal(file, ""), None, file)  # of snapshots of Flink CDC, and of TiCDC
    where.check(pos, mask(pc.match_substring(pos, ":")), "source.pos", "a number")  # else it could be a place itself
    place = pc.binary_join_element_wise(file, pos, ":")
    commit, transaction = binlog(place, where, "source.file and source.pos"), pc.coalesce(gtid, place)
    of_gtid = pc.struct_field(pc.extract_regex(gtid, r":(?P<number>\d+)$"), "number")
    return transaction, commit, number(of_gtid)


_DIGIT = "[0-9a-fA-F]"
_LSN = rf"^(?P<high>{_DIGIT}{{1,8}}):(?P<middle>{_DIGIT}{{1,8}}):(?P<low>{_DIGIT}{{1,16}})$"
_DIGITS_OF_LSN = (("high", 8), ("middle", 8), ("low", 4))
_LONG = 16
"""Digits of the last part of Db2's positions, of 16 bytes, of which the first six are zeros: others have no place."""


def _log_sequence(text: Text, where: Where) -> Positioned:
    lsn = text("commit_lsn")
    parts = pc.extract_regex(lsn, _LSN)
    where.check(lsn, mask(pc.is_null(parts)), "source.commit_lsn", "a position such as 00000027:00000ac0:0002")
    padded = [pc.utf8_lpad(pc.struct_field(parts, name), width, "0") for name, width in _DIGITS_OF_LSN]
    is_long = pc.greater(pc.binary_length(padded[-1]), _DIGITS_OF_LSN[-1][1])
    padded[-1] = pc.if_else(is_long, pc.utf8_lpad(padded[-1], _LONG, "0"), padded[-1])
    digits_of = pc.utf8_lpad(pc.binary_join_element_wise(*padded, ""), 2 * _LONG, "0")
    beyond = ~mask(pc.match_substring_regex(digits_of, f"^0{{{2 * _LONG - SEQUENCE_WIDTHS[0]}}}"))
    where.check(lsn, beyond, "source.commit_lsn", f"a position of at most {SEQUENCE_WIDTHS[0]} digits")
    commit = pc.utf8_upper(pc.utf8_slice_codeunits(digits_of, 2 * _LONG - SEQUENCE_WIDTHS[0]))
    return lsn, commit, pa.repeat(NO_TRANSACTION, len(lsn))


def _oracle(text: Text, where: Where) -> Positioned:
    scn, xid = pc.coalesce(text("commit_scn"), text("scn")), text("txId")
    hexadecimal_id = pc.match_substring_regex(xid, "^[0-9a-fA-F]{1,16}$")
    segment = pc.if_else(hexadecimal_id, pc.utf8_upper(pc.utf8_lpad(xid, SEQUENCE_WIDTHS[1], "0")), NO_TRANSACTION)
    transaction = pc.coalesce(xid, pc.binary_join_element_wise("snapshot", scn, " "))
    return transaction, digits(scn, SEQUENCE_WIDTHS[0], where, "source.scn"), pc.fill_null(segment, NO_TRANSACTION)


def _ends(status: pa.Array, marks: Mask, at: Ints) -> tuple[Mask, bool]:
    """Return after which events a mark of their transaction's end stands, and whether one stands before all."""
    closing = np.flatnonzero(mask(pc.equal(status, "END")) & marks)
    before = np.searchsorted(at, closing) - 1
    ends = np.zeros(len(at), bool)
    ends[before[before >= 0]] = True
    return ends, bool((before < 0).any())
