"""Where Debezium's events stand, by connector: https://debezium.io/documentation/reference/stable/connectors/."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, mask
from integrator.changes import SEQUENCE_WIDTHS
from integrator.dialects.reading import File
from integrator.dialects.records import Records
from integrator.dialects.transactions import NO_TRANSACTION, Positions, binlog, by_line, digits, number
from integrator.errors import DataError

Ints = npt.NDArray[np.int64]


class Source(Protocol):
    """The source block of events."""

    def text(self, name: str) -> pa.Array:
        """Return a field of it."""
        ...


Where = tuple[pa.Array, pa.Array, pa.Array]
"""The transaction, the commit's position in 20 hex digits, and the transaction's segment in 16."""


def positions(status: pa.Array, marks: Mask, source: Source, file: File, at: Ints, found: Records) -> Positions:
    """Return the positions of the events at `at`, the `found` ones; `marks` are of transactions, with a status."""
    keep = pa.array(at)
    by_connector = _by_fields(source, keep)
    unplaced = pa.nulls(len(at), pa.string()), by_line(file.number, found.line), pa.repeat(NO_TRANSACTION, len(at))
    try:
        where = unplaced if by_connector is None else by_connector(lambda name: source.text(name).take(keep))
    except pa.ArrowInvalid as error:
        raise DataError(f"{file.path}: an event's position cannot be read: {error}") from None
    transaction, commit, segment = where
    lost = np.flatnonzero(mask(pc.is_null(commit)))
    if len(lost):
        raise DataError(
            f"{file.path}:{found.line[lost[0]]}: the event's source block does not say its position, as others do"
        )
    ends, closed = _ends(status, marks, at)
    return Positions(transaction, commit, segment, found.row_counts, ends, closed)


def _by_fields(source: Source, keep: pa.Array) -> Callable[[Callable[[str], pa.Array]], Where] | None:
    """Choose by the field that only one kind of database has."""
    for name, where in {"commit_lsn": _sql_server, "scn": _oracle, "file": _mysql, "lsn": _postgres}.items():
        if source.text(name).take(keep).null_count < len(keep):
            return where
    return None


def _postgres(text: Callable[[str], pa.Array]) -> Where:
    last = pc.struct_field(pc.extract_regex(text("sequence"), r'^\["(?P<last>\d+)"'), "last")
    lsn, xid, snapshot = text("lsn"), text("txId"), _snapshot(text)
    commit = pc.if_else(snapshot, lsn, pc.coalesce(last, lsn))
    transaction = pc.if_else(snapshot, pc.binary_join_element_wise("snapshot", lsn, " "), xid)
    segment = pc.if_else(snapshot, NO_TRANSACTION, number(xid))
    return transaction, digits(commit, SEQUENCE_WIDTHS[0]), segment


def _snapshot(text: Callable[[str], pa.Array]) -> pa.Array:
    return pc.invert(pc.is_in(pc.fill_null(text("snapshot"), "false"), pa.array(["false"])))


def _mysql(text: Callable[[str], pa.Array]) -> Where:
    file, pos, gtid = text("file"), text("pos"), text("gtid")
    place = pc.binary_join_element_wise(file, pos, ":")
    commit, transaction = binlog(place), pc.coalesce(gtid, place)
    of_gtid = pc.struct_field(pc.extract_regex(gtid, r":(?P<number>\d+)$"), "number")
    return transaction, commit, number(of_gtid)


def _sql_server(text: Callable[[str], pa.Array]) -> Where:
    lsn = text("commit_lsn")
    commit = pc.utf8_upper(pc.utf8_lpad(pc.replace_substring(lsn, ":", ""), SEQUENCE_WIDTHS[0], "0"))
    return lsn, commit, pa.repeat(NO_TRANSACTION, len(lsn))


def _oracle(text: Callable[[str], pa.Array]) -> Where:
    scn, xid = pc.coalesce(text("commit_scn"), text("scn")), text("txId")
    hexadecimal_id = pc.match_substring_regex(xid, "^[0-9a-fA-F]{1,16}$")
    segment = pc.if_else(hexadecimal_id, pc.utf8_upper(pc.utf8_lpad(xid, SEQUENCE_WIDTHS[1], "0")), NO_TRANSACTION)
    transaction = pc.coalesce(xid, pc.binary_join_element_wise("snapshot", scn, " "))
    return transaction, digits(scn, SEQUENCE_WIDTHS[0]), pc.fill_null(segment, NO_TRANSACTION)


def _ends(status: pa.Array, marks: Mask, at: Ints) -> tuple[Mask | None, bool]:
    """Say behind which events a mark of their transaction's end stands (None: there are no marks), or before all."""
    if not marks.any():
        return None, False
    closing = np.flatnonzero(mask(pc.equal(status, "END")) & marks)
    before = np.searchsorted(at, closing) - 1
    ends = np.zeros(len(at), bool)
    ends[before[before >= 0]] = True
    return ends, bool((before < 0).any())
